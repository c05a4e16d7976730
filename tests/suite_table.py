#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Compare the table of all policies in doc/zoo.md with what the benchmark finds, or write it anew.

    tests/suite_table.py REPLAY [--write]

REPLAY is the program. Exit status 1 if the table differs.
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "doc", "zoo.md")
BEGIN, END = "<!-- bench-suite: begin -->\n", "<!-- bench-suite: end -->\n"


def main():
    replay = os.path.abspath(sys.argv[1])
    table = subprocess.run([replay, "bench-suite", "samples", "--markdown", "-"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout
    with open(PAGE, encoding="utf-8") as page:
        before, rest = page.read().split(BEGIN)
    written, after = rest.split(END)
    if written == table:
        return 0
    if "--write" not in sys.argv:
        print(f"FAILED: the table in doc/zoo.md is not the benchmark's: {sys.argv[0]} {sys.argv[1]} --write")
        return 1
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(before + BEGIN + table + END + after)
    print("doc/zoo.md: written")
    return 0


sys.exit(main())
