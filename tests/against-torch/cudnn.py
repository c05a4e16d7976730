#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Holds what cuDNN's attention and RNNs ask for under run-sim against what they asked for on a card
(tests/data/attention.jsonl, rnns.jsonl).

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/cudnn.py [--build FOLDER]

The release of PyTorch is to be the recorded one: which attention and which algorithm it takes depends on it. Requests
and frees are compared, pass by pass. Workspaces of half a dozen RNNs are not exact (rnn_sizes.h): in those, two
requests are equal that differ by less than 2 %. Exit status: 0 all equal, 1 not, 2 another release.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PASSES = {"attention": ["requests", "strides"], "rnns": ["weights", "forward", "backward", "evaluate"]}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def is_near(shape):
    """Whether the shape is one of those that are not exact."""
    return bool(shape.get("project")) or shape.get("layers", 1) > 1 and not shape.get("both")


def are_near(a, b):
    return len(a) == len(b) and all(abs(x - y) < 0.02 * abs(x) for x, y in zip(a, b))


def compare(name, card, recorded, here, simulated):
    """How many passes are equal, near and different; prints what differs."""
    if here["torch"] != card["torch"]:
        print("cudnn.py: recorded with PyTorch %s, not %s" % (card["torch"], here["torch"]), file=sys.stderr)
        sys.exit(2)
    by_shape = {json.dumps([s["shape"], s.get("pass")], sort_keys=True): s for s in simulated}
    equal = near = different = 0
    for row in recorded:
        other = by_shape[json.dumps([row["shape"], row.get("pass")], sort_keys=True)]
        for key in (k for k in PASSES[name] if k in row):
            if row[key] == other[key]:
                equal += 1
            elif is_near(row["shape"]) and are_near(row[key], other[key]):
                near += 1
            else:
                different += 1
                print("%s, %s: on the card %s, here %s" % (row["shape"], key, row[key], other[key]))
    print("%s: %d equal, %d near, %d different" % (name, equal, near, different))
    return different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    o = parser.parse_args()
    different = 0
    for name in PASSES:
        card, *recorded = lines(ROOT / "tests/data" / (name + ".jsonl"))
        with tempfile.TemporaryDirectory() as folder:
            said = pathlib.Path(folder, "said.jsonl")
            subprocess.run([o.build / "replay", "run-sim", "--device", card["card"], "--", sys.executable, "-W",
                            "ignore", ROOT / "tests/gpu" / name, "--out", said], check=True,
                           stderr=subprocess.DEVNULL)
            here, *simulated = lines(said)
        different += compare(name, card, recorded, here, simulated)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
