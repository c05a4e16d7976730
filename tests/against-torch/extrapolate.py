#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold `replay extrapolate` against the program itself at the foretold size, on real PyTorch without a GPU.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/extrapolate.py [--build FOLDER] [NAME...]

The programs of sizes_program.py run under `run-sim` at three sizes; a fourth is foretold, inside and outside of the
three, and then run. Equal means: the peak of reserved and of requested memory, to the byte.
Exit status 0: all are equal.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/against-torch/sizes_program.py"
# What grows, the recorded values, the foretold ones. Above 3,072 tokens PyTorch sorts for the embedding's gradient, so
# that a batch of 4 x 128 and a length of 4 x 1024 lie on other ways than their neighbours.
CASES = [
    ("batch", (8, 16, 24), (12, 20)),
    ("length", (64, 128, 192), (160, 256, 512)),
    ("side", (32, 48, 96), (64, 224)),
    ("width", (256, 512, 1024), (768, 4096)),
]


def record(replay, name, value, folder):
    """The snapshot of a run, and the two peaks of a replay of it."""
    out = folder / ("%s-%d.zst" % (name, value))
    done = subprocess.run([replay, "run-sim", "--device", "sim:80GiB", "-o", str(out), "--", sys.executable,
                           str(PROGRAM), name, str(value)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s %d: %s" % (name, value, done.stderr[-2000:]))
    snapshot = str(out.with_suffix(".pickle"))
    told = json.loads(subprocess.run([replay, snapshot, "--policy", "best-fit", "--device", "sim:unlimited",
                                      "--json", "-"],
                                     capture_output=True, check=True).stdout)["runs"][0]["peak"]
    return snapshot, (told["reserved_bytes"], told["requested_bytes"])


def foretell(replay, name, recorded, value):
    """The least and the most that is foretold; the words of a refusal where there is one."""
    done = subprocess.run([replay, "extrapolate",
                           *("%s:%s=%d" % (snapshot, name, v) for v, snapshot in recorded.items()),
                           "--to", "%s=%d" % (name, value), "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    told = json.loads(done.stdout)
    return told, "%d requests, %d without a formula" % (told["requests"], told["requests_without_formula"])


def hold(replay, case, folder):
    name, values, others = case
    failures = 0
    recorded = {v: record(replay, name, v, folder)[0] for v in values}
    for value in others:
        told, words = foretell(replay, name, recorded, value)
        _, (reserved, requested) = record(replay, name, value, folder)
        is_equal = told is not None and requested == told["peak_requested_bytes"] and \
            told["least_peak_reserved_bytes"] == told["most_peak_reserved_bytes"] == reserved and \
            told["is_beyond_recorded"] == (value > max(values))
        print("%s  %s %s -> %d: %.2f MiB reserved, %s%s"
              % ("equal " if is_equal else "FAILED", name, values, value, reserved / 2**20,
                 words, "" if is_equal or told is None else ", foretold %.2f to %.2f MiB"
                 % (told["least_peak_reserved_bytes"] / 2**20, told["most_peak_reserved_bytes"] / 2**20)), flush=True)
        failures += not is_equal
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.environ.pop("PYTORCH_CUDA_ALLOC_CONF", None)
    failures = 0
    for case in CASES:
        if not args.names or case[0] in args.names:
            with tempfile.TemporaryDirectory() as work:
                failures += hold(str(args.build.resolve() / "replay"), case, pathlib.Path(work))
    print("%d failed" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
