#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Prints which lines the fuzz targets reach: `coverage.py BUILD FILE...`, BUILD compiled with --coverage and run.

For each source file the share of its lines that ran, and those that never did.
"""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile


def counts(build):
    """By source file and line: how often it ran in any program."""
    found = collections.defaultdict(lambda: collections.defaultdict(int))
    data = [os.path.abspath(os.path.join(folder, name)) for folder, _, names in os.walk(build) for name in names
            if name.endswith(".gcda")]
    with tempfile.TemporaryDirectory() as out:
        for first in range(0, len(data), 50):
            subprocess.run(["gcov", "--json-format", *data[first:first + 50]], cwd=out, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in os.listdir(out):
                with gzip.open(os.path.join(out, name)) as f:
                    unit = json.load(f)
                for source in unit["files"]:
                    path = os.path.realpath(os.path.join(unit["current_working_directory"], source["file"]))
                    for line in source["lines"]:
                        found[path][line["line_number"]] += line["count"]
                os.remove(os.path.join(out, name))
    return found


def stretches(lines):
    """[1, 2, 3, 7] as "1-3 7"."""
    parts = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return " ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in parts)


def main():
    wanted, total, reached = sys.argv[2:], 0, 0
    for name, lines in sorted(counts(sys.argv[1]).items()):
        short = os.path.relpath(name, os.getcwd())
        if not any(short == w or short.startswith(w) for w in wanted):
            continue
        never = [line for line, n in lines.items() if n == 0]
        total, reached = total + len(lines), reached + len(lines) - len(never)
        print(f"{100 * (len(lines) - len(never)) / len(lines):5.1f} %  {short}  never: {stretches(never) or '-'}")
    print(f"{100 * reached / max(total, 1):5.1f} %  {reached} of {total} lines")


if __name__ == "__main__":
    main()
