#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Compare the tables of all policies in doc/zoo.md with what the benchmark finds, or write them anew.

    tests/suite_table.py REPLAY [EDITION] [--write]

REPLAY is the program; EDITION is 1 unless given. Edition 2 takes a quarter of a minute of a release build. Exit status
1 if the table differs.
"""
import argparse
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PAGE = os.path.join(ROOT, "doc", "zoo.md")


def main():
    words = argparse.ArgumentParser()
    words.add_argument("replay")
    words.add_argument("edition", nargs="?", default="1")
    words.add_argument("--write", action="store_true")
    asked = words.parse_args()
    name = "bench-suite" if asked.edition == "1" else "bench-suite --edition " + asked.edition
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    table = subprocess.run([os.path.abspath(asked.replay), "bench-suite", "samples", "--edition", asked.edition,
                            "--markdown", "-"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    with open(PAGE, encoding="utf-8") as page:
        before, rest = page.read().split(begin)
    written, after = rest.split(end)
    if written == table:
        return 0
    if not asked.write:
        print(f"FAILED: the table in doc/zoo.md is not the benchmark's: {' '.join(sys.argv)} --write")
        return 1
    with open(PAGE, "w", encoding="utf-8") as page:
        page.write(before + begin + table + end + after)
    print("doc/zoo.md: written")
    return 0


sys.exit(main())
