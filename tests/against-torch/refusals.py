# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Random programs under expandable segments on a card too small for them: many requests are refused, and it goes on.

Run by `run` below `replay run-sim`, as programs.py. For each program there is N.pickle, what PyTorch recorded of it;
N.policy and N.device, its own setting and card; and N.stats, what PyTorch counted. Every other card hands out rising
addresses, as on Windows, the rest as on Linux. N.device does not say which: a replay has to see it in the recording,
because a refused request leaves an empty range, and the next request takes the lowest range that it fits.
"""
import os
import random
import sys

import torch

import counterfactuals
import programs

TOTAL = 512 * programs.MIB
LARGEST = [20 * programs.MIB, 64 * programs.MIB, 200 * programs.MIB, TOTAL + 10 * programs.MIB]


def make_operations(rnd):
    ops, live, n_streams = [], [], rnd.choice([1, 1, 1, 2, 3])
    largest, crowd = rnd.choice(LARGEST), rnd.randint(3, 40)
    for number in range(1, rnd.randint(100, 500)):
        if live and rnd.random() < len(live) / crowd / 2:
            ops.append(["f", live.pop(rnd.randrange(len(live)))])
            continue
        size = rnd.randint(1, largest) if rnd.random() < 0.7 else int(largest ** rnd.random()) + 1
        live.append(number)
        ops.append(["a", number, rnd.randrange(n_streams), size])
    return ops, n_streams


def make_settings(rnd):
    """None under which requests are rejected before the device is asked: those are counted, but not recorded."""
    while True:
        text = programs.make_settings(rnd, False, True) if rnd.random() < 0.3 else ""
        if "throw" not in text:
            return ",".join(filter(None, ["expandable_segments:True", text]))


def run(ops, n_streams, conf, order, base):
    """Ends the process, as programs.child does."""
    os.environ["REPLAY_CUDASIM_DEVICE"] = "sim:%dB,packing=off,addresses=%s" % (TOTAL, order)
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    if not programs.init({"fraction": None}):
        raise programs.NotBegun()
    machine = programs.Machine(n_streams)
    programs.record_history(400000)
    n_refused = sum(isinstance(programs.run_op(machine, op), list) and op[0] == "a" and op[1] not in machine.live
                    for op in ops)
    counterfactuals.write_recording(base + ".pickle")
    counterfactuals.write_stats(base + ".stats")
    with open(base + ".refused", "w") as f:
        f.write("%d" % n_refused)
    os._exit(0)


def main():
    folder, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = left_out = refused = 0
    for seed in range(first, first + n):
        rnd = random.Random(seed)
        ops, n_streams = make_operations(rnd)
        conf = make_settings(rnd)
        base = os.path.join(folder, str(seed))
        state = programs.in_child("seed %d" % seed, run, ops, n_streams, conf, "linux" if seed % 2 else "rising", base)
        left_out += state == programs.LEFT_OUT
        failed += state not in (0, programs.LEFT_OUT)
        if state == 0:
            with open(base + ".refused") as f:
                refused += int(f.read())
            with open(base + ".policy", "w") as f:
                f.write("pytorch:%s,version=%s" % (conf, torch.__version__.split("+")[0]))
            with open(base + ".device", "w") as f:
                f.write("sim:%dB,packing=off" % TOTAL)
    print("%d recordings by torch %s, %d left out, %d failed, %d requests refused" %
          (n, torch.__version__, left_out, failed, refused))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
