#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Times pickle.load of one file, in the lines that bench_engine prints: time_pickle.py CASE FILE"""
import os
import pickle
import resource
import sys
import time


def main():
    case, path = sys.argv[1:]
    with open(path, "rb") as file:
        cpu, clock = time.process_time(), time.monotonic()
        snapshot = pickle.load(file)
        cpu, clock = time.process_time() - cpu, time.monotonic() - clock
    records = sum(len(trace) for trace in snapshot["device_traces"])
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"import,{case},file_mb,{os.path.getsize(path) / 1e6:.6g}")
    print(f"import,{case},records,{records}")
    print(f"import,{case},pickle_load_mb_per_s,{os.path.getsize(path) / 1e6 / cpu:.6g}")
    print(f"import,{case},cpu_share,{cpu / clock:.6g}")
    print(f"import,{case},pickle_load_peak_mib,{peak_mib:.6g}")


if __name__ == "__main__":
    main()
