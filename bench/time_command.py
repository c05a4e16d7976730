#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Times the command as a person runs it, output included: time_command.py CASE ROUNDS REPLAY TRACE

Prints lines as bench_engine does.
"""
import json
import subprocess
import sys
import time


def main():
    case, rounds, replay, trace = sys.argv[1:]
    command = [replay, trace, "--policy", "pytorch", "--device", "sim:4096GiB"]
    told = subprocess.run([*command, "--json", "-"], check=True, stdout=subprocess.PIPE).stdout
    events = json.loads(told)["trace"]["events"]
    print(f"command,{case},events,{events}")
    for _ in range(int(rounds)):
        begin = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - begin
        print(f"command,{case},clock_ms,{1e3 * seconds:.6g}\ncommand,{case},clock_events_per_s,{events / seconds:.6g}")


if __name__ == "__main__":
    main()
