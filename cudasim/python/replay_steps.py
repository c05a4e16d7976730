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
layer that is thawed may come after equal steps. If its steps are equal then, the epoch is cut short: the loader that
feeds the steps ends, as it does after its last batch, and a Trainer of Transformers is asked for the evaluation that it
makes now and then. What the program does there counts, too. After it, the next steps show that the training goes on. A
program that fails because its loader ended is answered as if it had been stopped before. At the end the program's
history is written, and it waits to be stopped.

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
LOOK_S = 120                         # for what follows the epoch
LOOK_STEPS = 2                       # after the epoch: a loader that is one batch ahead gives another one
LOOK_STEPS_MOST = 6                  # if the loader is not asked again


def _sum(stats, name, what):
    return sum(s[name]["all"][what] for s in stats)


class _Optimizer:
    """The steps of one optimizer."""

    def __init__(self):
        self.counts = None           # requests and their bytes at its last step, since the program began
        self.steps = []              # what lay between two: (requests, bytes), live, peak and reserved bytes at its end

    def add(self, stats):
        asked = "requested_bytes" if "requested_bytes" in stats[0] else "allocated_bytes"
        counts = _sum(stats, "allocation", "allocated"), _sum(stats, asked, "allocated")
        if self.counts is not None:
            did = counts[0] - self.counts[0], counts[1] - self.counts[1]
            self.steps.append((did, _sum(stats, asked, "current"), _sum(stats, asked, "peak"),
                               _sum(stats, "reserved_bytes", "current")))
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


class _Epoch:
    """The loaders that feed the steps, and how they end early."""

    def __init__(self):
        self.fed = weakref.WeakKeyDictionary()       # iterators of loaders: the steps made when they were asked
        self.ending = weakref.WeakSet()              # those that are to end
        self.has_ended = False
        self.n_steps = 0

    def install(self):
        iterator, epoch = torch.utils.data.dataloader._BaseDataLoaderIter, self
        give = iterator.__next__

        def __next__(self):
            if epoch.ends(self):
                raise StopIteration
            return give(self)

        __next__.__code__ = __next__.__code__.replace(co_filename="<string>")
        iterator.__next__ = __next__

    def ends(self, iterator):
        is_end = iterator in self.ending
        self.ending.discard(iterator)
        self.has_ended = self.has_ended or is_end
        self.fed[iterator] = self.n_steps
        return is_end

    def cut(self):
        """Ends the loaders that were asked for the last step. False: none was."""
        self.ending.update(i for i, n in self.fed.items() if n >= self.n_steps - 1)
        return len(self.ending) > 0


def _trainer():
    """The Trainer of Transformers that makes this step, or None."""
    frame = sys._getframe(1) if "transformers" in sys.modules else None
    while frame is not None:
        one = frame.f_locals.get("self")
        if any(c.__name__ == "Trainer" and c.__module__.startswith("transformers.") for c in type(one).__mro__):
            return one
        frame = frame.f_back
    return None


def _ask_for_evaluation(trainer):
    """False: it makes none."""
    strategy = getattr(trainer.args, "eval_strategy", getattr(trainer.args, "evaluation_strategy", "no"))
    trainer.control.should_evaluate = getattr(strategy, "value", strategy) != "no" and trainer.eval_dataset is not None
    return trainer.control.should_evaluate


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
        self.epoch = _Epoch()
        self.has_ended = False
        self.repeated = 0                                    # steps, for which the epoch was cut short
        self.rhythm_until = 0                                # steps that are waited for
        self.unseen = None                                   # (turns, place): what the loop does once in so many
        self.steps_left = self.steps_more = 0                # until it is over; if no loader ends

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
        self.epoch.install()

    def tell(self, repeated, was_followed=False, growth=0, every=1):
        """For predict: this process trains, and so many steps of it repeated; 0: it goes on. `growth`: bytes that each
        of them left behind, on average; it comes once in `every` steps. What the loop does too seldom to be seen
        follows."""
        if not self.has_ended:
            path = os.path.join(self.folder, "%d.steps" % os.getpid())
            with open(path + ".part", "w") as f:
                f.write("%d %d %d %d %d %s" % (repeated, was_followed, growth, every, *(self.unseen or (0, ""))))
            os.replace(path + ".part", path)

    def look(self, optimizer):
        if self.has_ended or not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
            return
        self.n += 1
        self.epoch.n_steps += 1
        if self.n == 1:
            self.tell(0)
        if self.repeated > 0:
            self.end_if_epoch_is_over()
            return
        stats = [torch._C._cuda_memoryStats(i) for i in range(torch.cuda.device_count())]
        steps = self.known.setdefault(optimizer, _Optimizer())
        if _sum(stats, "allocation", "allocated") > 0:
            steps.add(stats)
            self.end_if_repeated(steps)

    def end_if_repeated(self, steps):
        period, n = steps.period(self.least), len(steps.steps)
        waits = any(other.counts is None for other in self.known.values()) and self.n < IDLE_STEPS
        if period == 0 or waits or steps.counts[0] < LOOK_REQUESTS:
            return
        has_settled = steps.has_settled(period, self.least) and not steps.may_rise(self.least) and not steps.rises()
        if has_settled and self.waits_for_rhythm(steps):
            return
        if has_settled and self.cut_epoch():
            self.repeated = self.least
        elif has_settled:
            self.end(self.least)
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

    # ---- what follows the epoch ----

    def cut_epoch(self):
        """Lets the program come to what follows its steps. False: nothing here can."""
        trainer = None if _is_one_of_ranks() else _trainer()
        if _is_one_of_ranks() or not (_ask_for_evaluation(trainer) if trainer is not None else self.epoch.cut()):
            return False
        self.steps_left, self.steps_more = (1, 1) if trainer is not None else (LOOK_STEPS, LOOK_STEPS_MOST)
        self.recorder.keep(self.program_ended)
        timer = threading.Timer(LOOK_S, self.end, (self.least,))
        timer.daemon = True
        timer.start()
        return True

    def end_if_epoch_is_over(self):
        self.steps_more -= 1
        self.steps_left -= self.epoch.has_ended
        if self.steps_left == 0 or self.steps_more == 0:
            self.end(self.repeated, True)

    def program_ended(self):
        """The program ended before the next epoch. Whether its history to the end counts: not if it failed because its
        loader ended."""
        has_failed = getattr(sys, "last_type", None) is not None
        is_refused = has_failed and "out of memory" in str(sys.last_value)
        if not is_refused:
            self.tell(self.repeated, not has_failed)
        if has_failed and not is_refused:
            print("replay: the error is ours: predict ended the program's epoch, to see what follows. What was seen "
                  "before it counts.", file=sys.stderr)
        self.has_ended = True
        return is_refused or not has_failed

    def end(self, repeated, was_followed=False, growth=0, every=1):
        if self.has_ended:
            return
        self.recorder.settle()
        self.tell(repeated, was_followed, growth, every)
        self.has_ended = True
        if threading.current_thread() is threading.main_thread():
            self.wait()

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
