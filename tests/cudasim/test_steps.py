#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The rules of cudasim/python/replay_steps.py, replay_rhythm.py, replay_loops.py and replay_follows.py without PyTorch:
which steps are a stair, what a loop does once in many turns, which loops come to their end early, what follows them.

    test_steps.py REPLAY BUILD SOURCE

What is held after each step is a list of numbers. tests/against-torch/predict.py tries the same on PyTorch."""
import argparse
import os
import pathlib
import sys
import threading
import time
import types
import weakref

sys.path.insert(0, str(pathlib.Path(sys.argv[3]) / "cudasim" / "python"))
for name in "torch", "torch.optim", "torch.optim.optimizer":
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch.optim.optimizer"].register_optimizer_step_post_hook = None
import replay_follows                                # noqa: E402
import replay_loops                                  # noqa: E402
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


# ---- loops that come to their end early ----

class Fed:
    """A loader."""

    def __init__(self):
        self.is_over = False

    def __iter__(self):
        return self

    def __next__(self):
        if self.is_over:
            raise StopIteration
        return 7


def step(before):
    """As an optimizer's step: of the loops that have lasted, that one is ended. Returns those around it."""
    loops = replay_loops.around(lambda path: False)
    for loop in replay_loops.lasted(loops, before)[:1]:
        if loop.can_end(Fed):
            loop.end(Fed, lambda fed: setattr(fed, "is_over", True))
    return {loop.key: loop.left for loop in loops}


def step_in_parts(before, parts):
    """The same, but turns in between are taken."""
    loops = replay_loops.around(lambda path: False)
    for loop in replay_loops.lasted(loops, before)[:1]:
        loop.end(Fed, None, parts.pop())
    return {loop.key: loop.turns_left() for loop in loops}


def of_parts(turns):
    before, seen, parts = {}, [], [1, 1, 1, 2, 3, 4]
    for i in range(turns):
        seen.append(i)
        before = step_in_parts(before, parts)
    return seen


def of_while_parts(turns):
    before, seen, parts, i = {}, [], [1, 1, 1, 2, 3, 4], 0
    while i < turns:
        seen.append(i)
        before = step_in_parts(before, parts)
        i += 1
    return seen


def wrapped(iterable):
    for x in iterable:
        yield x


def of_range(turns):
    before, seen = {}, []
    with open("/dev/null"):
        for i in range(turns):
            seen.append(i)
            if True:
                before = step(before)
        else:
            seen.append("else")
    return seen


def of_nested():
    seen = []
    for epoch in range(4):
        before = {}
        for i, (x, _) in enumerate(zip(wrapped(range(100)), [None] * 100)):
            try:
                before = step(before)
            finally:
                seen.append((epoch, x))
    return seen


def of_loader():
    before, n = {}, 0
    for _ in wrapped(Fed()):
        before = step(before)
        n += 1
    return n


def of_while(turns):
    before, seen, i = {}, [], 0
    while i < turns:
        seen.append(i)
        before = step(before)
        i += 1
    return seen


class Model:
    def eval(self):
        return self


def of_break():
    """The number reaches the bound, and one turn is left."""
    before, state, n = {}, argparse.Namespace(steps=0), 0
    Model().eval()                                   # a method: nothing is handed out
    while True:
        before = step(before)
        n += 1
        state.steps += 1
        if state.steps > 5000:
            break
        expect("the loop can end", all(loop.number for loop in replay_loops.around(lambda path: False)[:1]))
    return n, state.steps


def of_locals(turns):
    before, n, i, held = {}, 0, 0, locals()
    while i < turns:
        before = step(before)
        n += 1
        i += 1
    return n, held["turns"]


def of_optimizers():
    seen = []
    for turn in range(3):
        for name in ["a", "b", "c"]:
            seen.append(name)
            around = step({})                        # of each optimizer the first step in this loop
    return seen, around


def of_except():
    n = 0
    try:
        raise ValueError
    except ValueError:
        for i in range(3):
            step(step({}))
            n += 1
    return n


def test_loops():
    expect("two turns and the last", of_range(1000) == [0, 1, 999, "else"])
    expect("few turns stay", of_range(2) == [0, 1, "else"])
    expect("an inner loop alone", of_nested() == [(e, x) for e in range(4) for x in (0, 1, 99)])
    expect("a loader gives nothing more", of_loader() == 2)
    expect("a number is counted up: %s" % of_while(1000), of_while(1000) == [0, 1, 999])
    expect("also of an object: %d, %d" % of_break(), of_break() == (4, 5001))
    expect("a dictionary that the program holds stays", of_locals(9) == (9, 9))
    expect("what has not lasted stays", of_optimizers()[0] == ["a", "b", "c"] * 3)
    expect("the outer loop lies around, too", len(of_optimizers()[1]) >= 2)
    expect("in a handler nothing is known", of_except() == 3)
    expect("turns in between: %s" % of_parts(1002), of_parts(1002) == [0, 1, 251, 501, 751, 1001])
    expect("also of a number: %s" % of_while_parts(1002), of_while_parts(1002) == [0, 1, 251, 501, 751, 1001])


# ---- what follows a loop ----

def is_last():
    """Whether nothing follows the loop around the call."""
    return replay_follows.nothing_follows(sys._getframe(1), lambda path: False)


def ends_in_prints():
    loss, began, out = 0.5, time.time(), None
    for _ in range(1):
        out = is_last()
    elapsed = time.time() - began
    print("loss %.3f" % loss, f"in {elapsed:.1f} s", len("abc") / 3, file=open(os.devnull, "w"))
    return out


def ends_in_a_call():
    out = None
    for _ in range(1):
        out = is_last()
    evaluate()
    return out


def evaluate():
    return [x + 1 for x in range(3)]


def ends_in_a_quiet_call():
    out = None
    for _ in range(1):
        out = is_last()
    say()
    return out


total = 0.25


def says_with_its_own():
    total = 0.5
    print(total, file=open(os.devnull, "w"))


def ends_in_a_call_with_its_own():
    out = None
    for _ in range(1):
        out = is_last()
    says_with_its_own()
    return out


def doubles(total):
    return total + total


def ends_in_a_sum():
    out, model = None, Model()
    for _ in range(1):
        out = is_last()
        if out is not None:
            break
    else:
        doubles(model)
    return out


def binds_a_pair():
    out, a, b = None, 1, Model()
    for _ in range(1):
        out = is_last()
        if out is not None:
            break
    else:
        a, b = b, b
        print(a + a)
    return out


def goes_through_tensors():
    out, a, models = None, 1, [Model()]
    for _ in range(1):
        out = is_last()
        if out is not None:
            break
    else:
        for a in models:
            print(a * 2)
    return out


def writes_by_a_mask():
    out, kept, mask = None, {}, Model
    for _ in range(1):
        out = is_last()
    kept[mask] = 0
    return out


def differ(*turns):
    skipped = replay_steps._Skipped()
    skipped.usual = {1}
    for did in turns:
        skipped.add("place", did)
    return skipped.differ


def test_skipped():
    expect("each turn differs", differ(1, 1, 2, 3, 4, 4, 4))
    expect("stages are seen", not differ(1, 2, 3, 3, 4, 5, 5, 6))
    expect("usual ones do not", not differ(2, 1, 3, 1, 4, 1, 5))


def say():
    open(os.devnull, "w").write("done")


def has_an_outer_loop():
    out = None
    for _ in range(1):
        for _ in range(1):
            out = is_last()
    return out


def adds_tensors():
    out, total, other = None, Model(), Model()
    for _ in range(1):
        out = is_last()
        if out is not None:
            break
    else:
        total = total + other
    return out


def takes_a_part():
    out, losses = None, [0.5, 0.25]
    for _ in range(1):
        out = is_last()
    print(losses[-1], losses[0:1], file=open(os.devnull, "w"))
    return out


def takes_by_a_mask():
    out, losses, mask = None, {Model: 0.5}, Model
    for _ in range(1):
        out = is_last()
    print(losses[mask], file=open(os.devnull, "w"))
    return out


def turns_a_sign():
    out, total = None, Model()
    for _ in range(1):
        out = is_last()
        if out is not None:
            break
    else:
        print(-total)
    return out


def has_no_end():
    while True:
        raise StopIteration(is_last())


def alone(function):
    """What it returns, or raises as StopIteration, if nothing but a thread calls it."""
    found = []

    def call():
        try:
            found.append(function())
        except StopIteration as end:
            found.append(end.value)
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return found[0]


def test_follows():
    expect("prints follow", alone(ends_in_prints))
    expect("a function that does something", not alone(ends_in_a_call))
    expect("a function that prints", alone(ends_in_a_quiet_call))
    expect("one with a name of its own", alone(ends_in_a_call_with_its_own))
    expect("the program's name stays", globals().get("total") == 0.25)
    expect("an argument may be a tensor", not alone(ends_in_a_sum))
    expect("a name of a pair is a tensor now", not alone(binds_a_pair))
    expect("as one that goes through some", not alone(goes_through_tensors))
    expect("what is written by a mask", not alone(writes_by_a_mask))
    expect("the next turn of an outer loop", not alone(has_an_outer_loop))
    expect("a sum of what may be tensors", not alone(adds_tensors))
    expect("a part of what is there", alone(takes_a_part))
    expect("what a mask copies", not alone(takes_by_a_mask))
    expect("another sign of what may be a tensor", not alone(turns_a_sign))
    expect("without a loop nobody knows", not alone(is_last))
    expect("what is never reached", alone(has_no_end))


test_stairs()
test_waits()
test_rhythm()
test_loops()
test_skipped()
test_follows()
sys.exit(failures > 0)
