#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Whether the scripts of `replay shrink` do in real PyTorch what they say, without a GPU.

    tests/against-torch/shrunk.py REPLAY PYTHON [RECORDING...]

PYTHON has torch. Each recording (default: the samples) is shrunk with a refusal on a card of 90 % of its peak, and with
the difference from expandable segments; each script runs under `replay run-sim`. It must reserve what the answer says,
to the byte, or end in an OutOfMemoryError if a refusal was kept. Exit status 0: all do.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def ask(replay, *words):
    done = subprocess.run([replay, *words, "--json", "-"], capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def run(replay, python, script, card):
    return subprocess.run([replay, "run-sim", "--device", card, "--", python, script], capture_output=True, text=True,
                          check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})


def try_one(replay, python, recording, keep, card, script):
    """What is wrong; None: nothing, or the recording has nothing to keep."""
    answer = ask(replay, "shrink", recording, "--keep", keep, "--device", card, "--script", script)
    if answer is None:
        return None
    done = run(replay, python, script, card.replace("unlimited", "80GiB"))
    print(f"{os.path.basename(recording)}: {keep.split(':')[0]}, {answer['calls']} of {answer['calls_before']} calls")
    if keep == "refused":
        return None if "torch.OutOfMemoryError" in done.stderr else f"{recording}: no refusal: {done.stderr[-400:]}"
    said = f"{answer['peak_reserved_bytes']} bytes reserved at most"
    return None if said in done.stdout else f"{recording}: not {said}: {done.stdout}{done.stderr[-400:]}"


def main(replay, python, *recordings):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "shrunk.py")
        for recording in recordings or sorted(map(str, ROOT.glob("samples/*.trace.zst"))):
            peak = ask(replay, "blame", recording, "--policy", "best-fit", "--device", "sim:unlimited")
            if peak is None:
                continue
            card = f"sim:{peak['peak_reserved_bytes'] * 9 // 10}"
            wrong += [try_one(replay, python, recording, "refused", card, script),
                      try_one(replay, python, recording, "differs:expandable_segments:True", "sim:unlimited", script)]
    wrong = [one for one in wrong if one]
    print("\n".join(wrong) if wrong else "all scripts do what they say")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
