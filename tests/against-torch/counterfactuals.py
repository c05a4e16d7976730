# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Random programs, each recorded under one setting on a large card and run under another on a card of any size.

Run by `run` below `replay run-sim`, as programs.py. For each program there is N.pickle, what was recorded; N.policy and
N.device, what to replay it under; and N.stats, what PyTorch itself counted there, as `replay stats` prints it. A
recording does not tell of all that a program did: here are programs of which it does.
"""
import os
import pickle
import random
import sys

import torch

import programs

KEPT = ("a", "f", "rs", "pool_new", "pool_begin", "pool_end", "capture_begin", "capture_end")
LARGE = 24576 * programs.MIB
WHOLE = (0, 400000)


def make_recorded_settings(rnd):
    """None that refuse a request on a large card, or release memory."""
    while True:
        text = programs.make_settings(rnd, rnd.random() < 0.3, True)
        if not any(word in text for word in ("garbage", "fraction", "throw")):
            return text


def make_operations(rnd, kept):
    """Events are never held, pools have no options, and in a capture its own stream alone asks for memory: the first is
    not recorded, the second neither, and the third needs the bounds of a capture, which are not."""
    maker = programs.Maker(rnd)
    maker.has.update(settings=False, fractions=False, resets=False)
    maker.has["captures"] &= not programs.IS_2_0            # whose snapshots do not tell one pool from another
    maker.turn_events = lambda: None
    for _ in range(rnd.randint(60, 400)):
        maker.turn()
    maker.finish()
    captured, ops = None, []
    for op in maker.ops:
        if op[0] not in kept:
            continue
        if op[0] == "capture_begin":
            captured = op[2]
        elif op[0] == "capture_end":
            captured = None
        elif op[0] == "a" and captured is not None:
            op[2] = captured
        ops.append(op[:2] if op[0] == "pool_new" else op)
    return ops, maker.n_streams


def write_recording(path):
    with open(path, "wb") as f:
        pickle.dump(torch.cuda.memory._snapshot(), f)


def write_stats(path):
    stats = torch.cuda.memory_stats(0)
    with open(path, "w") as f:
        f.writelines("%s %d\n" % (name, stats[name]) for name in sorted(stats))


def run(ops, n_streams, conf, total, history, write, path):
    """Ends the process, as programs.child does. `history`: before which operation the recording begins, and how many
    records it keeps, the last ones."""
    os.environ["REPLAY_CUDASIM_DEVICE"] = "sim:%dB,packing=off,addresses=linux" % total
    if conf:
        os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
    case = {"fraction": None}
    if not programs.init(case):
        raise programs.NotBegun()
    machine = programs.Machine(n_streams)
    for i, op in enumerate(ops):
        if i == history[0]:
            programs.record_history(history[1])
        programs.run_op(machine, op)
    write(path)
    os._exit(0)


def main():
    folder, first, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    failed = left_out = 0
    for seed in range(first, first + n):
        rnd = random.Random(seed)
        ops, n_streams = make_operations(rnd, KEPT)
        recorded, asked = make_recorded_settings(rnd), programs.make_settings(rnd, rnd.random() < 0.35, True)
        total = rnd.choice([64 * programs.MIB, 200 * programs.MIB, 600 * programs.MIB, LARGE])
        base = os.path.join(folder, str(seed))
        states = [programs.in_child("seed %d" % seed, run, ops, n_streams, recorded, LARGE, WHOLE, write_recording,
                                    base + ".pickle"),
                  programs.in_child("seed %d" % seed, run, ops, n_streams, asked, total, WHOLE, write_stats,
                                    base + ".stats")]
        left_out += programs.LEFT_OUT in states
        failed += any(state not in (0, programs.LEFT_OUT) for state in states)
        if states == [0, 0]:
            with open(base + ".policy", "w") as f:
                f.write("pytorch:" + ",".join(filter(None, [asked, "version=" + torch.__version__.split("+")[0]])))
            with open(base + ".device", "w") as f:
                f.write("sim:%dB,packing=off,addresses=linux" % total)
    print("%d recordings by torch %s, %d left out, %d failed" % (n, torch.__version__, left_out, failed))
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
