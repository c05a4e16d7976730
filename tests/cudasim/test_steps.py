#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The rules of cudasim/python/replay_steps.py and replay_rhythm.py, without PyTorch: which steps are a stair, and what
a loop does once in many turns.

    test_steps.py REPLAY BUILD SOURCE

What is held after each step is a list of numbers. tests/against-torch/predict.py tries the same on PyTorch."""
import argparse
import pathlib
import sys
import types
import weakref

sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "cudasim" / "python"))
for name in "torch", "torch.optim", "torch.optim.optimizer":
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook = None
import replay_rhythm                                 # noqa: E402
import replay_steps                                  # noqa: E402

LEAST = 5
MIB = 1 << 20
failures = 0


def expect(what, is_true):
    global failures
    if not is_true:
        failures += 1
        print("FAILED: %s" % what, file=sys.stderr)


# ---- stairs ----

def steps_that_hold(*held):
    steps = replay_steps._Optimizer()
    steps.steps = [((100, MIB), bytes_held, bytes_held + MIB, 1 << 30) for bytes_held in held]
    return steps


def every(turns, n, bytes_each=MIB):
    """Something is kept in every such turn."""
    return steps_that_hold(*(100 * MIB + (i + 1) // turns * bytes_each for i in range(n)))


def test_stairs():
    expect("equal steps are no stair", not steps_that_hold(*[MIB] * 50).stairs())
    expect("what the first steps leave is made once", not steps_that_hold(MIB, 3 * MIB, *[4 * MIB] * 50).stairs())
    expect("a stair is where more is held from then on", every(25, 60).stairs() == [24, 49])
    expect("what comes and goes is none",
           not steps_that_hold(*([MIB] * 10 + [9 * MIB]) * 5, *[MIB] * 5).stairs())
    expect("a list of losses is none", not steps_that_hold(*(100 * MIB + 512 * i for i in range(50))).stairs())
    expect("one that matters is seen among them",
           steps_that_hold(*(100 * MIB + 512 * i + i // 20 * MIB for i in range(50))).stairs() == [20, 40])


def test_waits():
    expect("after equal steps nothing is waited for", not steps_that_hold(*[MIB] * 50).may_rise(LEAST))
    for n in 26, 40, 50, 52:
        expect("after the first stair the second is waited for, of %d steps" % n, every(25, n).may_rise(LEAST))
    once = [100 * MIB] * 24 + [101 * MIB]
    expect("one that does not come again is over",
           not steps_that_hold(*once, *[101 * MIB] * (24 + LEAST)).may_rise(LEAST))
    expect("but not before it was due", steps_that_hold(*once, *[101 * MIB] * 20).may_rise(LEAST))
    expect("a cache that filled in three stairs has settled",
           not steps_that_hold(*(100 * MIB + min(i // 10, 3) * MIB for i in range(60))).may_rise(LEAST))
    expect("stairs without an end go on as a growth", every(25, 1000).rises() and not every(25, 999).rises())
    expect("a growth says how often it comes", every(25, 1000).every() == 25)
    expect("and how much it is on average", MIB // 30 < every(25, 1000).growth() < MIB // 20)
    expect("one of each step comes in each", every(1, 1000).every() == 1)


# ---- what a loop does once in many turns ----

class Tensor:
    pass


def of_options(options, names):
    found, gone = [], []
    for i in range(2):
        x = Tensor()
        gone.append(weakref.ref(x))
        found.append(replay_rhythm.slowest())
        del x
        if i % 2 == 0 and i % options.evaluate == 0:
            gone.append(None)
        if i % names["save"] == 1:                   # the slowest
            gone.append(None)
        if i % 500 == 0:
            print("prints alone are left out")
    return found, gone


def of_gradients():
    for i in range(8):
        if i % 8 == 7:                               # holds the step
            return replay_rhythm.slowest()


def of_outer():
    found = None
    for epoch in range(1):
        for i in range(1):
            found = replay_rhythm.slowest()
        if epoch % 30 == 29:
            return None
    return found


def of_text(i):
    while i < 1:
        i, found = 1, replay_rhythm.slowest()
        if "%d" % 77 == "78" and i % unknown() == 1:
            return None
    return found


def unknown():
    raise AssertionError("the program was called")


def test_rhythm():
    found, gone = of_options(argparse.Namespace(evaluate=40), {"save": 70})
    line = of_options.__code__.co_firstlineno + 9
    expect("the rarest branch is named: %s" % found, found == [(70, "test_steps.py:%d" % line)] * 2)
    expect("no variable lives longer for it", all(g is None or g() is None for g in gone))
    expect("what holds the step itself is none", of_gradients() is None)
    expect("nor a branch of an outer loop", of_outer() is None)
    expect("nor a text, and nothing is called", of_text(0) is None)


test_stairs()
test_waits()
test_rhythm()
sys.exit(failures > 0)
