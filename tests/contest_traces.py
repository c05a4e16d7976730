#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Write what the traces of edition 2 of the benchmark are, digests and bounds, from what a program draws.

    tests/contest_traces.py REPLAY

REPLAY is the program. An edition that was published is not written again: what is to change makes another one. A
program that knows the old list refuses other traces, so the list is emptied and the program built before this.
"""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LIST = os.path.join(ROOT, "replay", "contest", "edition_2_traces.def")


def main():
    command = [os.path.abspath(sys.argv[1]), "bench-suite", "samples", "--edition", "2", "--policy", "none",
               "--json", "-"]
    found = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    rows = [f'CONTEST_TRACE("{one["digest"]}", {one["bound_bytes"]})\n' for one in found["inputs"]]
    with open(LIST, encoding="utf-8") as old:
        head = [line for line in old if not line.startswith("CONTEST_TRACE(")]
    end = head.index("#undef CONTEST_TRACE\n")
    with open(LIST, "w", encoding="utf-8") as new:
        new.write("".join(head[:end] + rows + head[end:]))


main()
