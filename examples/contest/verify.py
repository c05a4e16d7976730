#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Check a file of decisions of `replay bench-suite --edition 2 --decisions`, by replaying them. Needs Python only.

    verify.py FILE [EDITION_2_TRACES.DEF]

For each run: requests are those of the trace's digest, the bound is their live peak, every request lies in memory that
the allocator held then, no two live requests overlap, memory under two addresses counts once and is not used twice, no
more is held than the card has or the run says, and driver calls are as many as it says. With the second file, the
digests and bounds are those that were published.

Not checked: whether memory of another stream was reused too early, and page rounding: a run may take of the card up to
the pages that its segments touch.
"""
import bisect
import gzip
import hashlib
import re
import sys


class Run:
    def __init__(self, words):
        self.capacity, self.card, self.calls = map(int, words[1:4])
        self.policy, self.name = words[4], " ".join(words[5:])
        self.text, self.n_calls, self.held, self.peak = [], 0, 0, 0
        self.starts, self.ends, self.names = [], [], []     # pieces with memory, by address; which memory it is
        self.handles, self.live = {}, {}                    # bytes by handle; what is known of a request, by slot
        self.used, self.at = {}, []                         # where requests lie: by memory, and by address
        self.now = self.most = 0

    def piece_add(self, start, size, name):
        i = bisect.bisect_left(self.starts, start)
        assert i == 0 or self.ends[i - 1] <= start, "memory under an address that is taken"
        assert i == len(self.starts) or start + size <= self.starts[i], "memory under an address that is taken"
        for column, value in ((self.starts, start), (self.ends, start + size), (self.names, name)):
            column.insert(i, value)

    def piece_drop(self, start, end=None):
        i = bisect.bisect_left(self.starts, start)
        while end is None or (i < len(self.starts) and self.starts[i] < end):
            assert self.starts[i] == start or end is not None, "no memory there"
            k, size = bisect.bisect_left(self.at, (self.ends[i],)) - 1, self.ends[i] - self.starts[i]
            assert k < 0 or self.at[k][1] <= self.starts[i], "memory under a live request is given back"
            for column in (self.starts, self.ends, self.names):
                del column[i]
            if end is None:
                return size

    def parts(self, start, size):
        """Where a request lies, in memory rather than in addresses: (which memory, from, to)."""
        i, at = bisect.bisect_right(self.starts, start) - 1, start
        while at < start + size:
            assert 0 <= i < len(self.starts) and self.starts[i] <= at < self.ends[i], "a request without memory"
            to = min(start + size, self.ends[i])
            yield self.names[i], at - self.starts[i], to - self.starts[i]
            at, i = to, i + 1

    def hold(self, size):
        self.held += size
        self.peak = max(self.peak, self.held)
        assert not self.capacity or self.held <= self.capacity, "more than the card has"

    def ask(self, slot, size, address):
        where = list(self.parts(address, size))
        for name, begin, end in where:
            spans = self.used.setdefault(name, [])
            i = bisect.bisect_left(spans, (begin, end))
            assert i == 0 or spans[i - 1][1] <= begin, "two live requests overlap"
            assert i == len(spans) or end <= spans[i][0], "two live requests overlap"
            spans.insert(i, (begin, end))
        bisect.insort(self.at, (address, address + size))
        self.live[slot] = where, (address, address + size), (size + 511) // 512 * 512
        self.now += self.live[slot][2]
        self.most = max(self.most, self.now)

    def free(self, slot):
        where, at, rounded = self.live.pop(slot)
        self.now -= rounded
        del self.at[bisect.bisect_left(self.at, at)]
        for name, begin, end in where:
            self.used[name].remove((begin, end))

    def take(self, kind, v):
        self.n_calls += kind in "+-cdmu"
        if kind == "+":
            self.hold(v[1])
            self.piece_add(v[0], v[1], ("segment", v[0], self.n_calls))
        elif kind == "-":
            self.hold(-self.piece_drop(v[0]))
        elif kind == "c":
            self.handles[v[0]] = v[1]
            self.hold(v[1])
        elif kind == "d":
            self.hold(-self.handles.pop(v[0]))
        elif kind == "m":
            assert self.handles[v[2]] == v[1], "a part of a handle is mapped"
            self.piece_add(v[0], v[1], ("handle", v[2]))
        elif kind == "u":
            self.piece_drop(v[0], v[0] + v[1])
        elif kind == "a":
            self.ask(v[0], v[1], v[4])
        elif kind == "f":
            self.free(v[0])

    def end(self, trace):
        text = "".join(self.text).encode() + b"\0"
        assert hashlib.sha256(text).hexdigest() == trace[2], "other requests than the trace's"
        assert self.most == int(trace[3]), f"the bound is {self.most}, not {trace[3]}"
        assert self.peak <= self.card, f"{self.peak} bytes were held, not {self.card}"
        assert self.n_calls <= self.calls, f"{self.n_calls} driver calls, not {self.calls}"


def main():
    published = None
    if len(sys.argv) > 2:
        published = dict(re.findall(r'CONTEST_TRACE\("(\w+)", (\d+)\)', open(sys.argv[2], encoding="utf-8").read()))
    runs, trace, run, number = 0, None, None, 0
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as lines:
        assert next(lines) == "contest 2\n", "not a file of decisions"
        try:
            for number, line in enumerate(lines, 2):
                words = line.split()
                if words[0] in ("trace", "run") and run:
                    run.end(trace)
                    run = None
                if words[0] == "trace":
                    trace = words
                    assert published is None or published.get(trace[2]) == trace[3], "not a published trace"
                elif words[0] == "run":
                    run, runs = Run(words), runs + 1
                else:
                    run.take(words[0], [int(word) for word in words[1:]])
                    if words[0] in "afe":
                        run.text.append(" ".join(words[:5]) + "\n")
            if run:
                run.end(trace)
        except (AssertionError, IndexError, KeyError, ValueError) as wrong:
            sys.exit(f"line {number}: {wrong!r}, in {run and run.policy} on {trace and trace[5:]}")
    print(f"{runs} runs are as they say")


main()
