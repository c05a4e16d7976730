#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""No input of n bytes takes more than OPERATIONS * n * log2(n) operations (count_operations.c), whatever is in it, and
four times the input no more than GROWTH times what that allows.

The inputs were made to be slow (slow_inputs.py). Operations, not seconds: a busy machine changes nothing.
"""
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import slow_inputs

OPERATIONS = 80                      # those of the sanitizers count too, an eighth to a quarter more
PHRASES = 6                          # of a text so many times more: it is looked through for 250 phrases
GROWTH = 1.4                         # of these from one size to the next: a square grows by 3.4
FEW = 8                              # up to so many operations it does not count
SIZES = (100_000, 400_000)
LONG_SIZES = (3_000_000,)

PICKLES = ("collide", "numbers", "deep_stack", "long_names", "devices", "too_many_devices", "shared_segments",
           "shared_records", "pools", "long_run", "short_runs", "collected", "descending", "ranges", "waits")
RESULTS = ("warnings", "result_runs", "nested", "shared_members", "null_settings", "null_cases", "refused_cases")
PAIRS = ("policies",)                  # results that are compared with the same in another order
GROWTHS = ("csv_sizes",)               # recordings at three values, of which only the last is of many sizes
REPETITIONS = ("one_size",)            # where steps are looked for
LOGS = ("csv_ends", "csv_long_lines", "csv_days", "csv_lives", "profile_ends", "profile_objects",
        "pprof_lines", "pprof_no_lines", "pprof_shared", "pprof_devices")
STACKS = ("shared_stack", "nested_stacks")             # every command that reads call stacks
SIDES = ("freed_by_turns",)            # every command that asks for the stacks of many events
CAPTURES = ("captures", "capture_streams", "unlike_captures")
COURSES = ("steps_of_sizes",)
STARTS = ("start_ranges",)
STREAMS = ("csv_streams",)
RETRIES = ("csv_retries",)
SEGMENTS = ("spans",)                  # on a card without a limit
FACTS = ("facts",)
POLICIES = ("pytorch", "pytorch:expandable_segments:True", "cupy", "paddle", "rmm-pool", "rmm-fixed:block=2GiB,count=1",
            "rmm-arena", "cuda-async:reuse=same")       # those that keep something for each stream
GIVE_BACK = ("pytorch", "pytorch:garbage_collection_threshold:0.5", "pytorch:expandable_segments:True", "tf-bfc",
             "paddle", "cuda-async", "first-fit")      # some that give back what they can when a request is refused
TEXTS = ("refusals", "nearly_refusals")


# Commands without an offline plan.
BOUNDED = ("import", "who", "verify", "technique", "trace", "graphs", "snapshot", "report", "stats", "extrapolate")


def commands(kind, size, path, folder):
    """What is run on an input of a kind."""
    if kind in PICKLES:
        return [["info", path], ["import", path, "-o", folder + "/out.zst"], ["verify", path]]
    if kind in LOGS:
        return [["import", path, "-o", folder + "/out.zst"], ["who", path]]
    if kind in STACKS:
        out = folder + "/out"
        return [["info", path], ["who", path, "--folded", out + ".folded", "--speedscope", out + ".json"],
                ["who", path, "--by", "category"], [path, "--policy", "best-fit", "--plan", "--perfetto", out],
                ["snapshot", path, "-o", out], ["diff", path, path], ["graphs", path],
                ["technique", path, "--optimizer", "sgd"], ["trace", "cut", path, "--events", "1..9999999", "-o", out]]
    if kind in SIDES:
        return [["who", path, "--by", "category"], ["why", path], ["technique", path, "--optimizer", "sgd"],
                ["trace", "repeat", path, "--times", "2", "-o", folder + "/out"]]
    if kind in CAPTURES:
        return [["graphs", path]]
    if kind in COURSES:
        return [["technique", path, "--optimizer", "sgd"]]
    if kind in STARTS:
        return [["info", path], [path, "--start", "faithful", "--plan"], ["verify", path]]
    if kind in FACTS:
        return [["info", path], ["stats", path]]
    if kind in REPETITIONS:
        return [["info", path]]
    if kind in STREAMS:
        return [[path, "--policy", policy, "--plan"] for policy in POLICIES]
    if kind in SEGMENTS:
        return [["stats", path, "--policy", "best-fit", "--device", "sim:unlimited,addresses=" + order]
                for order in ("linux", "first-fit")]
    if kind in RETRIES:
        return [["stats", path, "--device", "80GiB", "--on-oom", "skip", "--policy", policy] for policy in GIVE_BACK]
    if kind in GROWTHS:
        for name in ("/one", "/two"):
            with open(folder + name, "wb") as f:
                f.write(slow_inputs.csv_sizes(size, 0))
        return [["extrapolate", folder + "/one:batch=1", folder + "/two:batch=2", path + ":batch=4", "--to", "batch=8"]]
    if kind in TEXTS:
        return [["why", path]]
    if kind in PAIRS:
        with open(folder + "/other", "wb") as f:
            f.write(slow_inputs.policies(size, True))
        return [["diff", path, folder + "/other"]]
    return [["report", path, "--md", folder + "/out.md", "--html", folder + "/out.html"], ["diff", path, path]]


def is_capped(kind, arguments):
    """Whether something squares up to a number that is stated: the offline plan of a replay at 16,384 requests, what a
    policy gives back at the pages of the card, captures at a table's cells, a stack at 4,096 frames."""
    return kind in RETRIES + CAPTURES + STACKS or arguments[0] not in BOUNDED


def operations(program, arguments, folder):
    """How many operations a command took; None if it did not end by itself."""
    count = folder + "/operations"
    env = dict(os.environ, REPLAY_OPERATIONS=count, ASAN_OPTIONS="detect_leaks=0")
    if os.path.exists(count):
        os.remove(count)
    done = subprocess.run([program] + arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, timeout=800, check=False)
    if done.returncode not in (0, 1, 2):
        print(f"replay {' '.join(arguments)}: status {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
        return None
    with open(count, encoding="ascii") as f:
        return sum(int(line) for line in f)


def main():
    program = os.path.join(sys.argv[2], "tests", "replay_counted")
    sizes = SIZES + (LONG_SIZES if os.environ.get("REPLAY_LONG_TESTS") else ())
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/input"
        for kind in (PICKLES + RESULTS + PAIRS + GROWTHS + REPETITIONS + LOGS + STACKS + SIDES + CAPTURES + COURSES +
                     STARTS + STREAMS + RETRIES + SEGMENTS + FACTS + TEXTS):
            before = {}
            for size in sizes:
                slow_inputs.write(kind, size, path)
                n = os.path.getsize(path)
                for arguments in commands(kind, size, path, folder):
                    taken = operations(program, arguments, folder)
                    share = None if taken is None else taken / (n * math.log2(n))
                    command = (arguments[0], arguments[-1])
                    grown = max(FEW, GROWTH * before.get(command, OPERATIONS * PHRASES))
                    limit = OPERATIONS * (PHRASES if kind in TEXTS else 1)
                    most = limit if is_capped(kind, arguments) else min(limit, grown)
                    is_good = share is not None and share <= most
                    before[command] = share or 0
                    failures += not is_good
                    name = arguments[-1] if kind in STREAMS + RETRIES + SEGMENTS else arguments[0]
                    print(f"{'ok' if is_good else 'FAILED':6} {kind:18} {n:8} bytes, {name:6}: " +
                          ("did not end" if share is None else f"{share:.1f} operations per n log n"))
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
