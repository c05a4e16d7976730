#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The workspaces in what tests/gpu/convolutions wrote, as the rows of tests/data/convolutions.csv.

    tests/gpu/convolution_rows.py FILE.jsonl... > tests/data/convolutions.csv

What is asked for and given back at once is a workspace: of the forward pass after the output, of the gradient of the
input after that, of the gradient of the weights last. A third of the rows, drawn by a fixed seed, is marked as kept
apart: no rule was read off it.
"""
import json
import random
import sys

SEED = 55
COLUMNS = ["element_bytes", "channels_last", "batch", "channels", "filters", "width", "kernel", "stride", "padding",
           "groups", "forward", "input_gradient", "weight_gradient", "kept_apart"]


def workspaces(requests, n_passes):
    """Of each pass, the bytes that are given back at once after its own tensor was asked for."""
    found, passed = [0] * n_passes, 0
    for asked, next_one in zip(requests, requests[1:] + [0]):
        if asked > 0 and next_one == -asked:
            found[passed - 1] += asked
        elif asked > 0:
            passed += 1
    return found


def row_of(r):
    channels, filters, width, kernel, stride, padding, groups = r["shape"]
    element_bytes = 4 if r["type"] == "torch.float32" else 2
    return (element_bytes, int("channels_last" in r["layout"]), r["batch"], channels, filters, width, kernel, stride,
            padding, groups, *workspaces(r["forward"], 1), *workspaces(r["backward"], 2))


def in_order(r):
    """A text to sort answers by before they are drawn."""
    channels, filters, width, kernel, stride, padding, groups = r["shape"]
    return json.dumps({"b": r["backward"], "c": channels, "cl": "channels_last" in r["layout"], "e": row_of(r)[0],
                       "f": r["forward"], "g": groups, "h": width, "k": filters, "n": r["batch"],
                       "o": (width + 2 * padding - kernel) // stride + 1, "p": padding, "r": kernel, "s": stride})


def main():
    lines = [json.loads(line) for name in sys.argv[1:] for line in open(name)]
    answers = sorted({in_order(r): row_of(r) for r in lines if "shape" in r}.items())
    random.Random(SEED).shuffle(answers)
    n_apart = len(answers) // 3
    print(",".join(COLUMNS))
    for row, is_apart in sorted((row, i < n_apart) for i, (_, row) in enumerate(answers)):
        print(",".join(map(str, row + (int(is_apart),))))


if __name__ == "__main__":
    main()
