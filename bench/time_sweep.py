#!/usr/bin/env python3
"""Times sweeps of 64 settings, each beside 64 lanes of the engine: time_sweep.py CASE ROUNDS REPLAY ENGINE TRACE...

Where the one TRACE is a folder with a truth.json, its complete recordings are taken. Prints lines as bench_engine does.
"""
import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile

SETTINGS = "pytorch:max-split={none,32,64,128}MiB,gc={off,0.6,0.8,0.9},roundup={off,2,4,8}"
LANES = ["lanes64", "mix:2000", "200000"]


def traces_of(paths):
    truth = os.path.join(paths[0], "truth.json")
    if not os.path.exists(truth):
        return paths
    with open(truth, encoding="utf-8") as file:
        files = json.load(file)
    return [os.path.join(paths[0], os.path.basename(f["file"])) for f in files
            if f.get("devices") and all(device["complete"] for device in f["devices"])]


def time_sweep(replay, traces, database):
    """Seconds of CPU time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([replay, "sweep", *traces, "--policy", SETTINGS, "--on-oom", "skip", "-o", database], check=True,
                   stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    case, rounds, replay, engine, *paths = sys.argv[1:]
    traces = traces_of(paths)
    for i in range(int(rounds) + 1):                        # the first only warms up
        with tempfile.TemporaryDirectory() as folder:
            database = os.path.join(folder, "results.db")
            cpu = time_sweep(replay, traces, database)
            with sqlite3.connect(database) as db:
                events, runs = db.execute("SELECT sum(trace_events), count(*) FROM runs").fetchone()
            db.close()
        lanes = subprocess.run([engine, *LANES], check=True, stdout=subprocess.PIPE, text=True).stdout
        if i == 0:
            print(f"sweep,{case},traces,{len(traces)}\nsweep,{case},run_events,{events / runs:.6g}")
            continue
        print(f"sweep,{case},policy_events_per_s,{events / cpu:.6g}\nsweep,{case},lanes_events_per_s,{lanes.strip()}")


if __name__ == "__main__":
    main()
