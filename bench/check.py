#!/usr/bin/env python3
"""Says what got slower by more than a tenth: check.py BEFORE AFTER, two files as bench/results.csv

Machines differ and have good and bad hours: speeds are first divided by how fast zstd, which is not ours, unpacked one
and the same trace while that section was measured. A figure is slower when both its median and its best are: other
work on the machine makes medians worse, and hardly ever all repetitions. Those whose median alone is are named, too.
One that was kept from an earlier run is not compared. Exit status 1 where one is slower.
"""
import csv
import statistics
import sys

TOLERATED = 0.10


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {(row["measure"], row["case"], row["metric"]): row for row in csv.DictReader(file)}


def machine_speeds(before, after):
    """How much faster the machine was afterwards, by section: in the middle, and at its best. That of "" is all over,
    for what has no yardstick in both."""
    speeds = {}
    for key in before.keys() & after.keys():
        if key[0] == "machine" and key[2] == "zstd_events_per_s":
            pair = [float(after[key][name]) / float(before[key][name]) for name in ("median", "max")]
            for section in ("", key[1]):
                speeds.setdefault(section, []).append(pair)
    return {section: [statistics.median(some) for some in zip(*pairs)] for section, pairs in speeds.items()}


def slowdown(metric, old, new, speed):
    """New time over old, less 1: of the medians, and of the best. None: no figure of speed."""
    if metric.endswith("_per_s"):
        return [float(old[name]) * faster / float(new[name]) - 1 for name, faster in zip(("median", "max"), speed)]
    if metric.endswith(("_ns", "_ms")):
        return [float(new[name]) * faster / float(old[name]) - 1 for name, faster in zip(("median", "min"), speed)]
    return None


def main():
    before, after = (read(path) for path in sys.argv[1:])
    speeds = machine_speeds(before, after)
    everywhere = speeds.get("", [1.0, 1.0])
    both = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    slower, slower_by_median = [], []
    for key in both:
        change = slowdown(key[2], before[key], after[key], speeds.get(key[0], everywhere))
        is_ours = not key[2].startswith(("zstd_", "torch_", "pickle_"))
        if is_ours and change is not None and change[0] > TOLERATED:
            (slower if change[1] > TOLERATED else slower_by_median).append((change[0], key))
    print(f"compared with the last commit: the machine by zstd {everywhere[0]:.2f} times as fast; "
          f"{len(slower)} of {len(both)} figures slower by more than {TOLERATED:.0%}")
    for some, remark in (slower, ""), (slower_by_median, ", but not the best repetition"):
        for change, (measure, case, metric) in sorted(some, reverse=True):
            print(f"  {change:+.0%} time: {measure}, {case}, {metric}{remark}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
