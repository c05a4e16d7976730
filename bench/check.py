#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Says what got slower by more than a tenth: check.py BEFORE AFTER, two files as bench/results.csv

Machines differ and their speed varies. So a speed is first divided by how fast zstd, which is not ours, unpacked the
same plain records while that section was measured. Other work also slows shared caches, which zstd hardly needs: if
something that is not ours was measured in turn with a figure, the one that suffered most counts. A figure is slower if
both its median and its best are: other work makes medians worse, but hardly ever all repetitions. Figures whose median
alone is slower are named, too. A figure kept from an earlier run is not compared. Exit status 1 if a figure is slower.
"""
import csv
import statistics
import sys

TOLERATED = 0.10
BESIDE = {"engine": ("lines_per_s", "zstd_plain_events_per_s"), "torch": ("torch_ns",)}  # of the same case, not ours
NOT_OURS = ("zstd_", "torch_", "pickle_", "lines_")


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {(row["measure"], row["case"], row["metric"]): row for row in csv.DictReader(file)}


def speedup(metric, old, new):
    """Old time over new: of the medians, and of the best. None: no figure of speed."""
    if metric.endswith("_per_s"):
        return [float(new[name]) / float(old[name]) for name in ("median", "max")]
    if metric.endswith(("_ns", "_ms")):
        return [float(old[name]) / float(new[name]) for name in ("median", "min")]
    return None


def machine_speeds(before, after):
    """How much faster the machine was afterwards, by section. That of "" is all over, for what has no yardstick in
    both."""
    speeds = {}
    for key in before.keys() & after.keys():
        if key[0] == "machine" and key[2] == "zstd_plain_events_per_s":
            for section in ("", key[1]):
                speeds.setdefault(section, []).append(speedup(key[2], before[key], after[key]))
    medians = {section: [statistics.median(some) for some in zip(*pairs)] for section, pairs in speeds.items()}
    return {"": [1.0, 1.0], **medians}


def speed_at(key, before, after, speeds):
    """How much faster the machine was for one figure."""
    speed = speeds.get(key[0], speeds[""])
    for metric in BESIDE.get(key[0], ()):
        beside = key[0], key[1], metric
        if beside in before and beside in after:
            speed = [min(pair) for pair in zip(speed, speedup(metric, before[beside], after[beside]))]
    return speed


def main():
    before, after = (read(path) for path in sys.argv[1:])
    speeds = machine_speeds(before, after)
    both = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    slower, slower_by_median = [], []
    for key in both:
        change = speedup(key[2], before[key], after[key])
        if change is None or key[2].startswith(NOT_OURS):
            continue
        median, best = (faster / ours - 1 for faster, ours in zip(speed_at(key, before, after, speeds), change))
        if median > TOLERATED:
            (slower if best > TOLERATED else slower_by_median).append((median, key))
    print(f"compared with the last commit: the machine by zstd {speeds[''][0]:.2f} times as fast; "
          f"{len(slower)} of {len(both)} figures slower by more than {TOLERATED:.0%}")
    for some, remark in (slower, ""), (slower_by_median, ", but not the best repetition"):
        for change, (measure, case, metric) in sorted(some, reverse=True):
            print(f"  {change:+.0%} time: {measure}, {case}, {metric}{remark}")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
