#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Times the command as a person runs it, output included: time_command.py CASE ROUNDS REPLAY TRACE

Prints lines as bench_engine does.
"""
import json
import os
import subprocess
import sys
import time


def run(command):
    """Its seconds by the clock and of the processors."""
    begin, before = time.monotonic(), os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return time.monotonic() - begin, sum(after[2:4]) - sum(before[2:4])


def main():
    case, rounds, replay, trace = sys.argv[1:]
    command = [replay, trace, "--policy", "pytorch", "--device", "sim:4096GiB"]
    told = subprocess.run([*command, "--json", "-"], check=True, stdout=subprocess.PIPE).stdout
    events = json.loads(told)["trace"]["events"]
    print(f"command,{case},events,{events}")
    for _ in range(int(rounds)):
        clock, cpu = run(command)
        with_plan = run([*command, "--plan"])[1]
        print(f"command,{case},clock_ms,{1e3 * clock:.6g}\ncommand,{case},cpu_ms,{1e3 * cpu:.6g}\n"
              f"command,{case},cpu_events_per_s,{events / cpu:.6g}\ncommand,{case},plan_cpu_ms,{1e3 * with_plan:.6g}")


if __name__ == "__main__":
    main()
