#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The closed loop without a card: a few steps are recorded, planned, and the program runs on the plan under PyTorch.

    tests/against-torch/plans.py --build FOLDER PYTHON [PROGRAM...]

PYTHON has PyTorch. For each program of plans_program.py one line: what its streams have live at most, what was reserved
on the plan, and by PyTorch's own allocator. Exit status: 0 if each reserves at most 1.01 of what is live and nothing
fell back, 1 if not.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(__file__).resolve().parent / "plans_program.py"
PROGRAMS = ["mlp", "transformer", "inference", "accumulation", "side_stream"]
MIB = 1 << 20
RECORDED_STEPS = {"transformer": 15}             # three rounds of its five lengths
STEPS_MORE = 15
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": MIB, "GiB": 1 << 30}


def run(*command, **variables):
    environment = dict(os.environ, OMP_NUM_THREADS="1", CUBLAS_WORKSPACE_CONFIG=":4096:8", **variables)
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"{command[1:4]}: status {done.returncode}: {done.stderr[-800:]}")
    return done


def reserved_by_pytorch(replay, trace):
    run(replay, trace, "--policy", "best-fit", "--json", trace.with_suffix(".json"))
    return json.loads(trace.with_suffix(".json").read_text())["runs"][0]["peak"]["reserved_bytes"]


def of_report(text):
    """From the library's last line: how many fell back, and bytes reserved at most."""
    found = re.search(r"served by plan, (\d+) fell back .*reserved at most ([\d.]+) (\w+)", text)
    return int(found[1]), float(found[2]) * UNITS[found[3]]


def close_loop(o, program, folder):
    replay, steps = o.build / "replay", RECORDED_STEPS.get(program, 5)
    trace, plan, proof = (folder / f"{program}.{ending}" for ending in ("zst", "plan", "proof"))
    run(replay, "run-sim", "--device", "24GiB", "--record", trace, "--", o.python, PROGRAM, program, steps)
    run(replay, "plan", trace, "--loop", "-o", plan, "--json", proof)
    live = run(replay, "run-sim", "--device", "24GiB", "--", o.python, PROGRAM, program, steps + STEPS_MORE,
               REPLAY_POLICY=f"plan:{plan}", LIBRARY=str(o.build / "libreplay-alloc.so"))
    fell_back, reserved = of_report(live.stderr)
    least = json.loads(proof.read_text())["apart_bytes"]
    is_good = fell_back == 0 and reserved <= 1.01 * least
    print(f"{'ok' if is_good else 'FAILED':7} {program}: {least / MIB:.2f} MiB at least, {reserved / MIB:.2f} MiB on "
          f"the plan: {reserved / least:.4f}; {fell_back} fell back; PyTorch's own "
          f"{reserved_by_pytorch(replay, trace) / MIB:.0f} MiB", flush=True)
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("python")
    parser.add_argument("programs", nargs="*", default=PROGRAMS)
    o = parser.parse_args()
    o.build = o.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        good = [close_loop(o, program, pathlib.Path(folder)) for program in o.programs]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
