#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Means over time are those of the states between events, as samples show them.

    test_means.py REPLAY BUILD SOURCE
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

REPLAY, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[3])


def mean_of_samples(path, column):
    """A sample stands before the event at its time: its state lasted until then."""
    total, since = 0, 0
    with open(path, encoding="utf-8") as samples:
        for row in csv.DictReader(samples):
            if row["kind"] == "peak":            # the state after the event at its time
                continue
            total += (int(row["time_ns"]) - since) * int(row[column])
            since = int(row["time_ns"])
    return int(total / since)


def check(trace, policy):
    samples = f"{policy}.csv"
    said = subprocess.run([REPLAY, trace, "--policy", policy, "--samples", samples, "--sample-every", "1", "--json",
                           "-"], check=True, capture_output=True, text=True).stdout
    answer = json.loads(said)
    reserved = mean_of_samples(samples, "reserved_bytes")
    live = mean_of_samples(samples, "requested_bytes")
    got = answer["runs"][0]["mean"]["reserved_bytes"], answer["trace"]["mean_live_bytes"]
    if abs(got[0] - reserved) > 1 or abs(got[1] - live) > 1:
        sys.exit(f"FAILED: {trace}, {policy}: means {got}, and by samples {(reserved, live)}")


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    for name in ("mlp-adam", "gpt-varlen-default"):
        for policy in ("best-fit", "none", "first-fit"):
            check(os.path.join(SOURCE, "samples", f"{name}.trace.zst"), policy)
    with open("untimed.csv", "w", encoding="utf-8") as untimed:
        untimed.write("action,ptr,size\nalloc,1,512\nfree,1,512\n")
    answer = json.loads(subprocess.run([REPLAY, "untimed.csv", "--policy", "best-fit", "--json", "-"], check=True,
                                       capture_output=True, text=True).stdout)
    if answer["trace"]["mean_live_bytes"] is not None or answer["runs"][0]["mean"] is not None:
        sys.exit("FAILED: a trace without times has means over time")
