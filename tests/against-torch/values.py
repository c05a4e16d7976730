#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Values of small tensors under `replay run-sim`, with real PyTorch: programs that branch on them go the right way, and
PyTorch's history is the same with and without them.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/values.py [--build FOLDER] [NAME ...]

values_program.py has the programs. `generate` needs the package transformers; without it, it is said to be left out.
Exit status 0: all true.
"""
import argparse
import importlib.util
import pathlib
import pickle
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests/against-torch/values_program.py"
NAMES = ("counters", "branches", "masks", "samplers", "scaler", "written_unseen", "inference", "unknown", "decides",
         "stops", "numbers", "graph", "compiled", "encoder", "blocks", "layouts", "matrices", "below", "operators",
         "scripted", "large", "masked_training", "accepted", "agree", "looked_up", "written",
         "placed", "generate")
BY_DEFAULT = ("counters", "branches", "masks", "inference", "masked_training")       # also with the card as the default
failures = 0


def check(what, is_true, seen=""):
    global failures
    failures += not is_true
    print("%s  %s%s" % ("ok    " if is_true else "FAILED", what, "" if is_true else ": %s" % (seen,)), flush=True)


def run(o, folder, options, *program):
    """Runs a program on the simulated card: its exit status, what it said, and its history."""
    trace = pathlib.Path(folder, "t.zst")
    done = subprocess.run([str(o.build.resolve() / "replay"), "run-sim", "--device", "24GiB", *options,
                           "-o", str(trace), "--", sys.executable, "-W", "ignore", *map(str, program)],
                          cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    snapshot = trace.with_suffix(".pickle")
    history = pickle.loads(snapshot.read_bytes())["device_traces"][0] if snapshot.exists() else []
    return done.returncode, done.stdout, [(r["action"], r["addr"], r["size"], r["stream"]) for r in history]


def check_program(o, name, *before):
    with tempfile.TemporaryDirectory() as folder:
        status, said, _ = run(o, folder, [], PROGRAM, *before, name)
        check(" ".join((*before, name)), status == 0 and "true: " + name in said, said[-2000:])
        lines = [line for line in said.splitlines() if line.startswith("replay cudasim: ") and PROGRAM.name in line]
        n_told = {"unknown": 1, "decides": 2, "graph": 2, "accepted": 2, "numbers": 4,
                  "operators": 1, "blocks": 1, "agree": 8, "looked_up": 5, "written": 3, "placed": 1}.get(name, 0)
        check("%s: %d lines are told" % (name, n_told), len(lines) == n_told, lines)


def check_unseen(o, *before):
    """No request more, and none at another address."""
    with tempfile.TemporaryDirectory() as on, tempfile.TemporaryDirectory() as off:
        _, said, with_values = run(o, on, [], PROGRAM, *before, "training")
        _, _, without = run(o, off, ["--values", "0"], PROGRAM, *before, "training")
        check("%s: the history is the same with values and without, %d records" %
              (" ".join((*before, "training")), len(with_values)),
              len(without) > 1000 and with_values == without, said[-2000:])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=[])
    o = parser.parse_args()
    for name in o.names or NAMES:
        if name == "generate" and importlib.util.find_spec("transformers") is None:
            print("left out: generate (the package transformers is not there)")
        else:
            check_program(o, name)
    if not o.names:
        for name in BY_DEFAULT:
            check_program(o, name, "card_by_default")
        check_unseen(o)
        check_unseen(o, "card_by_default")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
