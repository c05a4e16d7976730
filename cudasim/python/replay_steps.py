# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Tells `replay predict` when a training has shown what it takes: when steps that did the work repeat.

A step is what lies between two steps of one optimizer: a forward pass, a backward pass, an update. Layers of a forward
pass, what a compiler tries, and requests during a warm-up are none. The place where enough steps were equal follows
from the program, never from the clock. There the program's history is written, and it waits to be stopped:

    steps of the optimizer     1      2      3      4      5      6
    between them                  A      B      B      B      B      B
                                                                      ^ five were equal
"""
import os
import time
import weakref

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

PERIOD_MOST = 32                     # steps that differ among themselves, and as a whole repeat
IDLE_STEPS = 50                      # after so many steps of others nobody waits for an optimizer that made none
GROWING_STEPS = 1000                 # a program that holds more with every step goes on for so long
MATTERS = 100000                     # a growth matters if so many steps of it double the peak
WAIT_S = 120                         # for the end; longer if nobody is there to stop the program


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


class Steps:
    """Looks on at all optimizers. `write`: writes the program's history for the last time."""

    def __init__(self, least, folder, write):
        self.least, self.folder, self.write = least, folder, write
        self.known = weakref.WeakKeyDictionary()             # optimizers and their steps
        self.n = 0                                           # steps of all of them
        self.has_ended = False

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

    def tell(self, repeated):
        """For predict: this process trains, and so many steps of it repeated; 0: it goes on."""
        if not self.has_ended:
            path = os.path.join(self.folder, "%d.steps" % os.getpid())
            with open(path + ".part", "w") as f:
                f.write("%d" % repeated)
            os.replace(path + ".part", path)

    def look(self, optimizer):
        if self.has_ended or not torch.cuda.is_initialized() or torch.cuda.is_current_stream_capturing():
            return
        stats = [torch._C._cuda_memoryStats(i) for i in range(torch.cuda.device_count())]
        steps = self.known.setdefault(optimizer, _Optimizer())
        self.n += 1
        if self.n == 1:
            self.tell(0)
        if _sum(stats, "allocation", "allocated") > 0:
            steps.add(stats)
            self.end_if_repeated(steps)

    def end_if_repeated(self, steps):
        period, n = steps.period(self.least), len(steps.steps)
        waits = any(other.counts is None for other in self.known.values()) and self.n < IDLE_STEPS
        if period == 0 or waits:
            return
        has_settled = steps.has_settled(period, self.least)
        if has_settled or n >= GROWING_STEPS:
            self.write()
            self.tell(self.least if has_settled else n)
            self.wait()

    def wait(self):
        self.has_ended = True
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            time.sleep(0.05)


def install(recorder):
    """Steps are looked for if predict asks for some. `recorder`: sitecustomize's."""
    least = int(os.environ.get("REPLAY_TORCH_FOLLOW") or 0)
    if least > 0:
        Steps(least, recorder.folder, recorder.settle).install()
