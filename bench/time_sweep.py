#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Times sweeps of 64 settings, compared with 64 lanes of the engine: time_sweep.py CASE ROUNDS REPLAY ENGINE TRACE...

If the only TRACE is a folder with a truth.json, its complete recordings are taken. Prints lines as bench_engine does.
"""
import contextlib
import json
import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile

SETTINGS = {
    # settings as a person tries them: many turn out to decide alike, before or during the replay
    "tried": "pytorch:max-split={none,32,64,128}MiB,gc={off,0.6,0.8,0.9},roundup={off,2,4,8}",
    # each rounds some size in its own way
    "distinct": "pytorch:roundup=[1:{2,4,8,16,32,64,128,256},4:{2,4,8,16,32,64,128,256}]",
}
LANES = ["lanes64", "mix:2000", "200000"]


def traces_of(paths):
    truth = os.path.join(paths[0], "truth.json")
    if not os.path.exists(truth):
        return paths
    with open(truth, encoding="utf-8") as file:
        files = json.load(file)
    return [os.path.join(paths[0], os.path.basename(f["file"])) for f in files
            if f.get("devices") and all(device["complete"] for device in f["devices"])]


def time_sweep(replay, traces, settings, database):
    """Seconds of CPU time, and how many runs were not replayed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([replay, "sweep", *traces, "--policy", settings, "--on-oom", "skip", "-o", database],
                          check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spared = re.search(r"(\d+) could not differ", done.stdout.replace(",", ""))
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
            int(spared.group(1)) if spared else 0)


def main():
    case, rounds, replay, engine, *paths = sys.argv[1:]
    traces = traces_of(paths)
    for i in range(int(rounds) + 1):                        # the first only warms up
        lanes = subprocess.run([engine, *LANES], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        for name, settings in SETTINGS.items():
            with tempfile.TemporaryDirectory() as folder:
                database = os.path.join(folder, "results.db")
                cpu, spared = time_sweep(replay, traces, settings, database)
                with contextlib.closing(sqlite3.connect(database)) as db:
                    events, runs = db.execute("SELECT sum(trace_events), count(*) FROM runs").fetchone()
            line = f"sweep,{case} {name}"
            if i == 0:
                print(f"{line},traces,{len(traces)}\n{line},run_events,{events / runs:.6g}\n"
                      f"{line},replayed_share,{1 - spared / runs:.6g}")
                continue
            print(f"{line},policy_events_per_s,{events / cpu:.6g}\n{line},lanes_events_per_s,{lanes}")


if __name__ == "__main__":
    main()
