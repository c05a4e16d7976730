#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A recording that breaks one rule of its format is refused, or its notes say so, or nothing changes; never is another
answer given in silence.

    test_broken_rules.py REPLAY BUILD SOURCE [TIMES]

A whole snapshot of PyTorch's allocator and two logs as CSV are made from a sample. Each rule is then broken alone, at
places that a seed draws: in the final segments and blocks, in each kind of record, in a line or one of its fields.
`info` and a replay of the result must end with 0 or 2, and:

  refused   status 2, and the error names the file
  told      the notes have a line that the whole file's have not
  the same  both print what they print of the whole file: the rule is one that no answer rests on

What only makes another valid recording (another stream, another pool) is no rule.
"""
import copy
import os
import pickle
import random
import subprocess
import sys
import tempfile

RECORDS = ("alloc", "free_requested", "free_completed", "segment_alloc")
KIND_OF_END = "inactive"


def records(snapshot, action):
    return [r for r in snapshot["device_traces"][0] if action in (None, r["action"])]


def blocks(snapshot, is_free=None):
    return [b for g in snapshot["segments"] for b in g["blocks"]
            if is_free is None or (b["state"] == KIND_OF_END) == is_free]


def moved(segment, by):
    segment["address"] += by
    for block in segment["blocks"]:
        block["address"] += by


# ---- rules of the final state: each breaks one, by a draw ----

def two_segments_overlap(snapshot, draws):
    low, high = draws.sample(snapshot["segments"], 2)
    moved(high, low["address"] + 512 - high["address"])


def a_segment_is_there_twice(snapshot, draws):
    snapshot["segments"].append(copy.deepcopy(draws.choice(snapshot["segments"])))


def a_segment_is_missing(snapshot, draws):
    snapshot["segments"].pop(draws.randrange(len(snapshot["segments"])))


def a_segment_was_never_recorded(snapshot, draws):
    segment = copy.deepcopy(draws.choice(snapshot["segments"]))
    moved(segment, 1 << 40)
    snapshot["segments"].append(segment)


def a_segment_has_no_size(snapshot, draws):
    draws.choice(snapshot["segments"])["total_size"] = draws.choice((0, -512, 1.5, "x", 1 << 62))


def a_segment_has_no_blocks(snapshot, draws):
    draws.choice(snapshot["segments"])["blocks"] = []


def a_block_ends_before_the_next(snapshot, draws):
    draws.choice(blocks(snapshot))["size"] -= 256


def a_block_lies_elsewhere(snapshot, draws):
    draws.choice(blocks(snapshot))["address"] += draws.choice((512, -512, 1 << 40))


def a_block_reaches_into_the_next(snapshot, draws):
    draws.choice(blocks(snapshot))["size"] += 512


def a_block_is_missing(snapshot, draws):
    of = draws.choice([g["blocks"] for g in snapshot["segments"] if len(g["blocks"]) > 1])
    of.pop(draws.randrange(len(of)))


def a_block_was_asked_for_more_than_it_has(snapshot, draws):
    block = draws.choice(blocks(snapshot, False))
    block["requested_size"] = draws.choice((block["size"] + 1, 1 << 62, 0, -1))


def a_live_block_is_free(snapshot, draws):
    draws.choice(blocks(snapshot, False))["state"] = KIND_OF_END


def a_free_block_is_live(snapshot, draws):
    draws.choice(blocks(snapshot, True))["state"] = draws.choice(("active_allocated", "active_pending_free"))


# ---- rules of records ----

def of_each(action):
    def twice(snapshot, draws):
        of = snapshot["device_traces"][0]
        at = draws.choice([i for i, r in enumerate(of) if r["action"] == action])
        of.insert(at, copy.deepcopy(of[at]))

    def gone(snapshot, draws):
        snapshot["device_traces"][0].remove(draws.choice(records(snapshot, action)))

    def size(snapshot, draws):
        draws.choice(records(snapshot, action))["size"] = draws.choice((-5, 1.5, "x", 1 << 62))

    def addr(snapshot, draws):
        record = draws.choice(records(snapshot, action))
        record["addr"] = draws.choice((record["addr"] + 512, record["addr"] + (1 << 41), (1 << 64) - 512, "x"))

    def key(snapshot, draws):
        draws.choice(records(snapshot, action)).pop(draws.choice(("action", "addr", "size")))

    def unknown(snapshot, draws):
        draws.choice(records(snapshot, action))["action"] = "dance"

    def clock(snapshot, draws):
        draws.choice(records(snapshot, action)[:-1])["time_us"] += draws.choice((10**10, -10**10))
    return {f"{action}: {f.__name__}": f for f in (twice, gone, size, addr, key, unknown, clock)}


def a_segment_is_given_back_while_blocks_live(snapshot, draws):
    record = copy.deepcopy(draws.choice(records(snapshot, "segment_alloc")))
    record["action"] = "segment_free"
    snapshot["device_traces"][0].append(record)


def a_segment_is_given_back_that_never_was(snapshot, draws):
    record = copy.deepcopy(draws.choice(records(snapshot, "segment_alloc")))
    record.update(action="segment_free", addr=record["addr"] + (1 << 40))
    snapshot["device_traces"][0].insert(draws.randrange(800), record)


def a_refusal_with_less_than_nothing_free(snapshot, draws):
    record = copy.deepcopy(records(snapshot, None)[0])
    record.update(action="oom", device_free=draws.choice((-1, -(1 << 40), 1 << 62, 1.5)))
    del record["addr"]
    snapshot["device_traces"][0].insert(draws.randrange(800), record)


RULES = {f.__name__.replace("_", " "): f for f in (
    two_segments_overlap, a_segment_is_there_twice, a_segment_is_missing, a_segment_was_never_recorded,
    a_segment_has_no_size, a_segment_has_no_blocks, a_block_ends_before_the_next, a_block_lies_elsewhere,
    a_block_reaches_into_the_next, a_block_is_missing, a_block_was_asked_for_more_than_it_has, a_live_block_is_free,
    a_free_block_is_live,
    a_segment_is_given_back_while_blocks_live, a_segment_is_given_back_that_never_was,
    a_refusal_with_less_than_nothing_free)}
for of_action in RECORDS:
    RULES.update(of_each(of_action))



# ---- rules of lines: a log with a request or its end in each, and one with a life in each; the last one is "" ----

def changed(lines, draws, column, values):
    at = draws.randrange(1, len(lines) - 1)
    fields = lines[at].split(",")
    fields[lines[0].split(",").index(column)] = draws.choice(values)
    lines[at] = ",".join(fields)


def of_column(column):
    def empty(lines, draws):
        changed(lines, draws, column, ("",))

    def no_number(lines, draws):
        changed(lines, draws, column, ("-5", "x", "99999999999999999999", "1 2"))
    return {f"{column}: {f.__name__}": f for f in (empty, no_number)}


def a_line_is_there_twice(lines, draws):
    at = draws.randrange(1, len(lines) - 1)
    lines.insert(at, lines[at])


def the_last_line_is_cut_off(lines, draws):
    lines.pop()
    lines.append(lines.pop().rsplit(",", draws.choice((1, 2)))[0])


def what_happened_is_unknown(lines, draws):
    changed(lines, draws, "op", ("dance", "", "allo"))


def a_life_ends_before_it_begins(lines, draws):
    changed(lines, draws, "upper", ("0",))


OF_LINES = {"the last line is cut off": the_last_line_is_cut_off}
OF_EVENTS = {**OF_LINES, **of_column("ptr"), **of_column("time"),
             **{f.__name__.replace("_", " "): f for f in (a_line_is_there_twice, what_happened_is_unknown)}}
OF_LIVES = {**OF_LINES, **of_column("lower"), **of_column("upper"), **of_column("size"),
            "a life ends before it begins": a_life_ends_before_it_begins}

# These must be refused or told wherever they are broken: an answer that rests on them would be wrong.
NEVER_THE_SAME = ("two segments overlap", "a segment is missing", "a segment has no blocks", "a block is missing",
                  "a block ends before the next", "a block reaches into the next", "a live block is free",
                  "a refusal with less than nothing free", "alloc: gone", "alloc: size", *OF_EVENTS, *OF_LIVES)


class Trial:
    def __init__(self, replay, folder):
        self.replay, self.folder = os.path.abspath(replay), folder

    def ask(self, name):
        """Status, text and errors of `info` and of a replay."""
        asked = [subprocess.run([self.replay, *words], cwd=self.folder, capture_output=True, check=False,
                                stdin=subprocess.DEVNULL) for words in (["info", name], [name, "--policy", "best-fit"])]
        return [(a.returncode, a.stdout.decode().replace(name, "FILE"), a.stderr.decode()) for a in asked]

    @staticmethod
    def notes(text):
        lines = text.split("\n")
        first = next((i for i, line in enumerate(lines) if line.startswith("notes")), len(lines))
        block = lines[first:first + 1]
        for line in lines[first + 1:]:
            if not line.startswith(" "):
                break
            block.append(line)
        return {line.removeprefix("notes").strip() for line in block}

    def verdict(self, whole, name):
        asked = self.ask(name)
        for status, _, said in asked:
            if status not in (0, 2) or (status == 2 and name not in said):
                return f"status {status}: {said[-300:]}"
        if 2 in (asked[0][0], asked[1][0]):
            return "refused"
        if self.notes(asked[0][1]) - self.notes(whole[0][1]):
            return "told"
        if [a[:2] for a in asked] == [w[:2] for w in whole]:
            return "the same"
        return "another answer, in silence: " + "; ".join(
            line.strip() for line in asked[0][1].split("\n") if line not in whole[0][1].split("\n"))[:300]

    def make(self, source):
        """The whole files: (name, what is broken, its rules, how it is written)."""
        sample = os.path.abspath(os.path.join(source, "samples", "mlp-adam.trace.zst"))
        for words in (["snapshot", sample, "-o", "whole.pickle"],
                      ["export", sample, "--to", "csv", "-o", "whole.events"],
                      ["export", sample, "--to", "minimalloc", "-o", "whole.lives_"]):
            subprocess.run([self.replay, *words], cwd=self.folder, check=True, stderr=subprocess.DEVNULL)
        with open(os.path.join(self.folder, "whole.pickle"), "rb") as f:
            yield "whole.pickle", pickle.load(f), RULES, lambda value: pickle.dumps(value, protocol=2)
        for name, rules in (("whole.events", OF_EVENTS), ("whole.lives_", OF_LIVES)):
            with open(os.path.join(self.folder, name), encoding="ascii") as f:
                yield name, f.read().split("\n"), rules, lambda lines: "\n".join(lines).encode()

    def break_all(self, name, value, rules, written, times):
        """What each rule's breaks lead to: (verdict, rule and number)."""
        whole, broken_name = self.ask(name), "broken" + name[len("whole"):]
        for rule, breaks in rules.items():
            for i in range(times):
                broken = copy.deepcopy(value)
                breaks(broken, random.Random(f"{rule} {i}"))
                with open(os.path.join(self.folder, broken_name), "wb") as f:
                    f.write(written(broken))
                verdict = self.verdict(whole, broken_name)
                yield "nothing said" if verdict == "the same" and rule in NEVER_THE_SAME else verdict, f"{rule}, {i}"

    def run(self, times, source):
        counts, wrong = dict.fromkeys(("refused", "told", "the same"), 0), []
        for name, value, rules, written in self.make(source):
            for verdict, which in self.break_all(name, value, rules, written, times):
                if verdict in counts:
                    counts[verdict] += 1
                else:
                    wrong.append(f"{name}: {which}: {verdict}")
        for text in wrong:
            print("FAILED:", text)
        print(f"{len(RULES) + len(OF_EVENTS) + len(OF_LIVES)} rules, each broken {times} times:",
              ", ".join(f"{n} {verdict}" for verdict, n in counts.items()) + f", {len(wrong)} wrong")
        return bool(wrong) or sum(counts.values()) == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        return Trial(sys.argv[1], folder).run(int(sys.argv[4]) if len(sys.argv) > 4 else 3, sys.argv[3])


if __name__ == "__main__":
    sys.exit(main())
