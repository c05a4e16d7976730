# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Random programs of which a recording holds the last part only: it begins in mid-run, or keeps the last records.

Run by `run` below `replay run-sim`, as programs.py. For each program there is N.pickle, what was recorded, and
N.policy, the setting it ran under: `replay verify` finds them equal.
"""
import os
import random
import sys

import torch

import counterfactuals
import programs


def make_settings(rnd):
    """Up to 2.2 they are not recorded: how large blocks are that were live before is known of default rounding only."""
    while True:
        text = counterfactuals.make_recorded_settings(rnd)
        if not (programs.RELEASE < (2, 3) and "roundup" in text):
            return text


def make_history(rnd, n_ops):
    """2.0 does not record the free of a block that is older than the recording."""
    if not programs.IS_2_0 and rnd.random() < 0.5:
        return rnd.randrange(n_ops * 2 // 3), counterfactuals.WHOLE[1]
    return 0, rnd.randint(10, 10 + n_ops)


def main():
    folder, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = left_out = 0
    for seed in range(first, first + n):
        rnd = random.Random(seed)
        ops, n_streams = counterfactuals.make_operations(rnd, counterfactuals.KEPT + ("empty_cache",))
        settings = make_settings(rnd)
        base = os.path.join(folder, str(seed))
        state = programs.in_child("seed %d" % seed, counterfactuals.run, ops, n_streams, settings,
                                  counterfactuals.LARGE, make_history(rnd, len(ops)), counterfactuals.write_recording,
                                  base + ".pickle")
        left_out += state == programs.LEFT_OUT
        failed += state not in (0, programs.LEFT_OUT)
        if state == 0:
            with open(base + ".policy", "w") as f:
                f.write("pytorch:" + ",".join(filter(None, [settings, "version=" + torch.__version__.split("+")[0]])))
    print("%d parts of recordings by torch %s, %d left out, %d failed" % (n, torch.__version__, left_out, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
