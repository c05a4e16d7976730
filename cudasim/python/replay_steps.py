# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Tells `replay predict` when a training has shown what it takes: when steps that did the work repeat, and the
validation was seen.

A step is what lies between two steps of one optimizer: a forward pass, a backward pass, an update. Layers of a forward
pass, what a compiler tries, and requests during a warm-up are none. The place where enough steps were equal follows
from the program, never from the clock:

    steps of the optimizer     1      2      3      4      5      6
    between them                  A      B      B      B      B      B
                                                                      ^ five were equal

A program is looked at for some seconds more, as long as it has made few requests: an evaluation, a larger image, a
layer that is thawed may come after equal steps. If its steps are equal then, its loops are cut short (replay_loops.py),
and a Trainer is told to stop: of each loop two turns and the last are seen, and all that follows it, to the program's
end. Outer loops, of epochs for one, take all their turns, as long as these are few. The steps of an optimizer that
comes later are looked at in the same way. A program that fails because a loop ended is answered as if it had been
stopped before. If a loop cannot be ended, or what follows takes long, the program's history is written, and it waits to
be stopped.

Equal steps may hide what comes once in many of them: a copy of the weights, an evaluation whose results are kept. Live
memory after the steps is then a stair:

    steps            1 . . . . . . . 25 . . . . . . . 50
                                                       _________
                                      _________________
                     _________________

After a stair the next one is waited for. Of a stair that was not reached yet the program's loop may tell
(replay_rhythm.py): it is waited for if it is near, else it is named.
"""
import os
import statistics
import sys
import threading
import time
import weakref

import replay_follows
import replay_loops
import replay_rhythm
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

PERIOD_MOST = 32                     # steps that differ among themselves, and as a whole repeat
LOOK_REQUESTS = 20000                # a program that has made fewer is not stopped; these take some seconds
SOON_REQUESTS = 40000                # what comes until then is waited for
IDLE_STEPS = 50                      # after so many steps of others nobody waits for an optimizer that made none
GROWING_STEPS = 1000                 # a program that holds more with every step goes on for so long
MATTERS = 100000                     # a growth matters if so many steps of it double the peak
WARM_STEPS = 3                       # what these leave is made once: gradients, the optimizer's states
WAIT_S = 120                         # for the end; longer if nobody is there to stop the program
LOOK_S = 300                         # for what follows the steps
TURNS_REQUESTS = 20000               # loops around the one that was cut short take all their turns within these
PARTS_MOST = 16                      # turns that are seen of a loop that is cut short, at equal distances
LATER_REQUESTS = 5000                # of an optimizer whose steps came after a loop was cut short

# What was seen after equal steps: none, an epoch's end, all; there is nothing; all but turns that differ.
NOT_FOLLOWED, EPOCH_FOLLOWED, ALL_FOLLOWED, FOLLOWED_BY_NOTHING, PART_FOLLOWED = range(5)


def _sum(stats, name, what):
    return sum(s[name]["all"][what] for s in stats)


class _Optimizer:
    """The steps of one optimizer."""

    def __init__(self):
        self.counts = None           # requests and their bytes at its last step, since the program began
        self.began = 0               # the requests before its first
        self.steps = []              # what lay between two: (requests, bytes), live, peak and reserved bytes at its end

    def add(self, stats):
        asked = "requested_bytes" if "requested_bytes" in stats[0] else "allocated_bytes"
        counts = _sum(stats, "allocation", "allocated"), _sum(stats, asked, "allocated")
        if self.counts is not None:
            did = counts[0] - self.counts[0], counts[1] - self.counts[1]
            self.steps.append((did, _sum(stats, asked, "current"), _sum(stats, asked, "peak"),
                               _sum(stats, "reserved_bytes", "current")))
        else:
            self.began = counts[0]
        self.counts = counts

    def period(self, least):
        """How many of its steps repeat as a whole, `least` times at the end; 0: none do."""
        n = len(self.steps)
        for period in range(1, min(PERIOD_MOST, n // least) + 1):
            if all(self.steps[i][0] == self.steps[i - period][0] for i in range(n - period * (least - 1), n)):
                return period
        return 0

    def has_settled(self, period, least):
        """Whether the repetitions leave nothing behind, reach no higher and make the allocator hold no more, by what
        matters."""
        first, last = self.steps[-1 - period * (least - 1)], self.steps[-1]
        grown = max(last[1] - first[1], last[2] - first[2])
        return grown * MATTERS <= last[2] * (least - 1) and last[3] == first[3]

    def stairs(self):
        """The steps from which on more was held than ever before, if that matters."""
        floors = [step[1] for step in self.steps]            # what is held from a step on
        for i in range(len(floors) - 2, -1, -1):
            floors[i] = min(floors[i], floors[i + 1])
        least, at, before = self.steps[-1][2] // MATTERS, [], 0
        for i in range(WARM_STEPS, len(floors)):
            if floors[i] - floors[i - 1] > least * (i - before):
                at.append(i)
                before = i
        return at

    def may_rise(self, least):
        """Whether another stair may come, as far as the last ones tell: it is not over when it was due."""
        at = [0] + self.stairs()
        return len(at) > 1 and len(self.steps) < 2 * at[-1] - at[-2] + least

    def rises(self):
        """Whether it rose more than once, and has made as many steps as one that grows."""
        return len(self.steps) >= GROWING_STEPS and len(self.stairs()) > 1

    def every(self):
        """Steps from one stair to the next, the usual number."""
        at = self.stairs()
        return statistics.mode(b - a for a, b in zip(at, at[1:])) if len(at) > 2 else 1

    def growth(self):
        """Bytes by which a step of the later half leaves more behind than it found, if that matters; else 0."""
        n = len(self.steps)
        first, last = self.steps[n // 2], self.steps[-1]
        grown = max(last[1] - first[1], 0) // max(n - 1 - n // 2, 1)
        return grown if grown * MATTERS > last[2] else 0


class _Skipped:
    """The turns after which others were skipped. If some in a row differ each from the one before, and from the steps
    that repeated, those in between differ, too: there are more stages than turns that were seen."""

    IN_A_ROW = 3

    def __init__(self):
        self.usual = set()           # what the steps that repeated did
        self.last, self.n_new = {}, {}               # by a loop's place
        self.differ = False

    def add(self, place, did):
        is_new = place in self.last and did != self.last[place] and did not in self.usual
        self.n_new[place] = self.n_new.get(place, 0) + 1 if is_new else 0
        self.last[place] = did
        self.differ = self.differ or self.n_new[place] == self.IN_A_ROW


class _Loaders:
    """The loaders that feed the steps, and how they end early."""

    def __init__(self):
        self.fed = weakref.WeakKeyDictionary()       # iterators of loaders: the steps made when they were asked
        self.ending = weakref.WeakSet()              # those that are to end
        self.n_steps = 0

    @staticmethod
    def kind():
        return torch.utils.data.dataloader._BaseDataLoaderIter

    def install(self):
        iterator, loaders = self.kind(), self
        give = iterator.__next__

        def __next__(self):
            if loaders.ends(self):
                raise StopIteration
            return give(self)

        __next__.__code__ = __next__.__code__.replace(co_filename="<string>")
        iterator.__next__ = __next__

    def ends(self, iterator):
        is_end = iterator in self.ending
        self.ending.discard(iterator)
        self.fed[iterator] = self.n_steps
        return is_end

    def end_fed(self):
        """Ends those that were asked for the last step. False: none was."""
        fed = [i for i, n in self.fed.items() if n >= self.n_steps - 1]
        self.ending.update(fed)
        return len(fed) > 0


_TRAINERS = ("transformers", "lightning", "pytorch_lightning")


def _trainer():
    """The Trainer of a library that makes this step, or None."""
    frame = sys._getframe(1) if any(name in sys.modules for name in _TRAINERS) else None
    while frame is not None:
        one = replay_rhythm.variable(frame, "self") if "self" in frame.f_code.co_varnames else None
        if any(c.__name__ == "Trainer" and c.__module__.split(".")[0] in _TRAINERS for c in type(one).__mro__):
            return one
        frame = frame.f_back
    return None


def _tell_to_stop(trainer):
    """It leaves its loops, after an evaluation if it makes some."""
    if not hasattr(trainer, "control"):
        trainer.should_stop = True                   # Lightning's
        return
    strategy = getattr(trainer.args, "eval_strategy", getattr(trainer.args, "evaluation_strategy", "no"))
    trainer.control.should_evaluate = getattr(strategy, "value", strategy) != "no" and trainer.eval_dataset is not None
    trainer.control.should_training_stop = True


def _is_of_torch(path):
    return path.startswith((os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep))


def _is_one_of_ranks():
    """Ranks make the same calls, in the same order: none may end its epoch alone."""
    distributed = getattr(torch, "distributed", None)
    return distributed is not None and distributed.is_available() and distributed.is_initialized() and \
        distributed.get_world_size() > 1


class Steps:
    """Looks on at all optimizers. `recorder`: sitecustomize's, which writes the program's history."""

    def __init__(self, least, recorder):
        self.least, self.folder, self.recorder = least, recorder.folder, recorder
        self.known = weakref.WeakKeyDictionary()             # optimizers and their steps
        self.n = 0                                           # steps of all of them
        self.loaders = _Loaders()
        self.has_ended = False
        self.repeated = 0                                    # steps, for which loops are cut short
        self.reserved = 0                                    # bytes that the allocator had by then
        self.settled = weakref.WeakSet()                     # optimizers whose loops are
        self.around = weakref.WeakKeyDictionary()            # the loops around their first and their last steps since
        self.turns = 0                                       # requests since then, from one such step to the next
        self.turned = 0                                      # requests at the last of these steps
        self.cost = 1                                        # requests of one of the steps that repeated
        self.parts = {}                                      # by a loop's place: the parts in which it is skipped
        self.left = {}                                       # by a loop's key: the turns left when one was skipped
        self.skipped = _Skipped()
        self.has_left = False                                # a loop was left, and another came to its steps
        self.followed, self.is_refused = NOT_FOLLOWED, False # at the program's end
        self.rhythm_until = 0                                # steps that are waited for
        self.unseen = None                                   # (turns, place): what the loop does once in so many

    def install(self):
        init, steps = torch.optim.Optimizer.__init__, self

        def __init__(self, *args, **kwargs):
            init(self, *args, **kwargs)
            steps.known.setdefault(self, _Optimizer())
            steps.tell(0)

        def step_ended(optimizer, _args, _kwargs):
            steps.look(optimizer)

        __init__.__code__ = __init__.__code__.replace(co_filename="<string>")    # in no call stack is it the program's
        torch.optim.Optimizer.__init__ = __init__
        register_optimizer_step_post_hook(step_ended)
        self.loaders.install()

    def tell(self, repeated, followed=NOT_FOLLOWED, growth=0, every=1):
        """For predict: this process trains, and so many steps of it repeated; 0: it goes on. `growth`: bytes that each
        of them left behind, on average; it comes once in `every` steps. What was reserved when loops were cut short
        follows (0: none were), and what the loop does too seldom to be seen."""
        if not self.has_ended:
            path = os.path.join(self.folder, "%d.steps" % os.getpid())
            with open(path + ".part", "w") as f:
                f.write("%d %d %d %d %d %d %s" % (repeated, followed, growth, every, self.reserved,
                                                  *(self.unseen or (0, ""))))
            os.replace(path + ".part", path)

    def look(self, optimizer):
        if self.has_ended or not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
            return
        self.n += 1
        self.loaders.n_steps += 1
        if self.n == 1:
            self.tell(0)
        stats = [torch._C._cuda_memoryStats(i) for i in range(torch.cuda.device_count())]
        steps = self.known.setdefault(optimizer, _Optimizer())
        requests = _sum(stats, "allocation", "allocated")
        if optimizer in self.settled:
            steps.add(stats)
            self.leave_loops_if_possible(optimizer, requests)
        elif requests > 0:
            steps.add(stats)
            self.end_if_repeated(steps)

    def end_if_repeated(self, steps):
        period, n = steps.period(self.least), len(steps.steps)
        waits = any(other.counts is None for other in self.known.values()) and self.n < IDLE_STEPS
        has_few = steps.counts[0] < LOOK_REQUESTS if self.repeated == 0 else \
            steps.counts[0] - steps.began < LATER_REQUESTS
        if period == 0 or waits or has_few:
            return
        has_settled = steps.has_settled(period, self.least) and not steps.may_rise(self.least) and not steps.rises()
        if has_settled and self.waits_for_rhythm(steps):
            return
        if has_settled:
            self.cost = max(1, steps.steps[-1][0][0])
            self.skipped.usual.update(step[0] for step in steps.steps[-period * self.least:])
            self.begin_to_leave(steps.counts[0], steps.steps[-1][3])
        elif n >= GROWING_STEPS and (len(steps.stairs()) != 1 or not steps.may_rise(self.least)):
            self.end(n, growth=steps.growth(), every=steps.every())

    def waits_for_rhythm(self, steps):
        """Whether what the loop does once in so many turns will have come twice soon. If not, it is named."""
        n = len(steps.steps)
        if n < self.rhythm_until:
            return True
        rhythm = replay_rhythm.slowest()
        needs = 2 * rhythm[0] + self.least if rhythm is not None else 0
        self.unseen = rhythm if needs > n else None
        is_soon = needs > n and steps.counts[0] // n * needs <= SOON_REQUESTS
        self.rhythm_until = needs if is_soon else 0
        return is_soon

    # ---- what follows the steps ----

    def begin_to_leave(self, requests, reserved):
        """From now on the loops around these optimizers' steps are cut short."""
        self.settled.update(o for o, steps in self.known.items() if steps.counts is not None)
        self.turns, self.turned = 0, requests
        if self.repeated > 0:
            return
        self.repeated, self.reserved = self.least, reserved
        if _is_one_of_ranks():
            self.end(self.repeated)
            return
        self.recorder.keep(self.counts_end, self.tell_end)
        timer = threading.Timer(LOOK_S, self.end_so_far)
        timer.daemon = True
        timer.start()

    def leave_loops_if_possible(self, optimizer, requests):
        """No error of ours reaches the program."""
        try:
            can_leave = self.leave_loops(optimizer, requests)
        except Exception as reason:
            print("replay: the program's loops cannot be cut short: %s: %s" % (type(reason).__name__, reason),
                  file=sys.stderr)
            can_leave = False
        if not can_leave:
            self.end_so_far()

    def leave_loops(self, optimizer, requests):
        """A loop that has lasted from the optimizer's last step to this one is one of steps. False: none can end."""
        trainer = _trainer()
        if trainer is not None:
            _tell_to_stop(trainer)
            return True
        loops = replay_loops.around(_is_of_torch)
        left = {loop.key: loop.left for loop in loops}
        first, before = self.around.get(optimizer, (left, {}))
        self.around[optimizer] = first, left
        lasted = replay_loops.lasted(loops, before)
        self.has_left = self.has_left or (len(before) > 0 and not lasted)
        self.turns, self.turned = self.turns + requests - self.turned, requests
        if loops and not lasted:
            return True
        if self.turns > TURNS_REQUESTS:
            self.end_loops((loop for loop in lasted[1:] if loop.has_turned(first)), 3 * self.cost, optimizer)
        return self.cut_short(lasted, optimizer) and self.turns <= 3 * TURNS_REQUESTS

    def cut_short(self, lasted, optimizer):
        """Ends the innermost. False: none can."""
        is_loader = _Loaders.kind()
        can_end = [loop for loop in lasted if loop.can_end(is_loader)]
        if (not can_end or can_end[0] is not lasted[0]) and self.loaders.end_fed():
            return True
        self.end_loops(can_end[:1], self.cost, optimizer)
        return len(can_end) > 0

    def end_loops(self, loops, turn_requests, optimizer):
        """Skips turns of each, once in a turn of it. The first time at a place, some turns in between are seen."""
        for loop in loops:
            if loop.left is not None and loop.left == self.left.get(loop.key):
                continue
            parts = self.parts.get(loop.place, max(1, min(PARTS_MOST, TURNS_REQUESTS // turn_requests)))
            loop.end(_Loaders.kind(), self.loaders.ending.add, parts)
            self.parts[loop.place] = max(1, parts - 1)
            self.left[loop.key] = loop.turns_left()
            if loop.left is not None and self.left[loop.key] < loop.left:
                self.skipped.add(loop.place, self.known[optimizer].steps[-1][0])

    def end_so_far(self):
        self.end(self.repeated, EPOCH_FOLLOWED if self.has_left else NOT_FOLLOWED)

    def counts_end(self):
        """The program came to its end. Its history to there counts, unless it failed because a loop ended."""
        has_failed = getattr(sys, "last_type", None) is not None
        self.is_refused = has_failed and "out of memory" in str(sys.last_value)
        if has_failed and not self.is_refused:
            print("replay: the error is ours: predict cut the program's loops short, to see what follows. What was "
                  "seen before it counts.", file=sys.stderr)
        self.followed = NOT_FOLLOWED if has_failed else PART_FOLLOWED if self.skipped.differ else ALL_FOLLOWED
        return self.is_refused or not has_failed

    def tell_end(self):
        if not self.is_refused:
            self.tell(self.repeated, self.followed)
        self.has_ended = True

    def end(self, repeated, followed=NOT_FOLLOWED, growth=0, every=1):
        if self.has_ended:
            return
        self.recorder.settle()
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and followed == NOT_FOLLOWED and self.unseen is None and self.nothing_follows():
            followed = FOLLOWED_BY_NOTHING
        self.tell(repeated, followed, growth, every)
        self.has_ended = True
        if is_main:
            self.wait()

    @staticmethod
    def nothing_follows():
        """No error of ours reaches the program."""
        try:
            return replay_follows.nothing_follows(sys._getframe(1), _is_of_torch)
        except Exception:
            return False

    @staticmethod
    def wait():
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            time.sleep(0.05)


def install(recorder):
    """Steps are looked for if predict asks for some. `recorder`: sitecustomize's."""
    least = int(os.environ.get("REPLAY_TORCH_FOLLOW") or 0)
    if least > 0:
        Steps(least, recorder).install()
