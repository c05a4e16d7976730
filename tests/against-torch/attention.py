#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Holds what cuDNN's attention asks for under run-sim against what it asked for on a card (tests/data/attention.jsonl).

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/attention.py [--build FOLDER]

The release of PyTorch is to be the recorded one: which attention it takes depends on it. Requests, frees and strides of
both passes are compared, shape by shape. Exit status: 0 all equal, 1 not, 2 another release.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    o = parser.parse_args()
    card, *recorded = lines(ROOT / "tests/data/attention.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        said = pathlib.Path(folder, "said.jsonl")
        subprocess.run([o.build / "replay", "run-sim", "--device", card["card"], "--", sys.executable,
                        ROOT / "tests/gpu/attention", "--out", said], check=True, stderr=subprocess.DEVNULL)
        here, *simulated = lines(said)
    if here["torch"] != card["torch"]:
        print("attention.py: recorded with PyTorch %s, not %s" % (card["torch"], here["torch"]), file=sys.stderr)
        return 2
    different = [(a, b) for a, b in zip(recorded, simulated, strict=True) if a != b]
    for a, b in different:
        print("%s, %s: on the card %s, here %s" % (a["shape"], a["pass"], a["requests"], b["requests"]))
    print("attention: %d of %d passes equal" % (len(recorded) - len(different), len(recorded)))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
