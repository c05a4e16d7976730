#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Which lines and branches ran, of a build compiled with --coverage.

    coverage.py BUILD rooms [ROOM...]    a line for each room: the share of its lines and of its branches that ran
    coverage.py BUILD never PATH...      for each source file below the paths the lines that never ran
    coverage.py BUILD branches PATH...   the same for lines that ran, of which a branch was never taken

A branch is a way that the compiler made: each part of a condition has two.
"""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

# What people look at: a room, and the paths that make it.
ROOMS = {
    "policies": ["policies/"],
    "traces": ["traces/"],
    "sim": ["sim/"],
    "replay/engine": ["replay/engine/"],
    "replay/plan": ["replay/plan/"],
    "replay/why": ["replay/why/"],
    "import": ["import/"],
    "base": ["base/"],
}


class Source:
    def __init__(self):
        self.lines = collections.defaultdict(int)            # how often each ran in any program
        self.branches = collections.defaultdict(int)         # (line, number): how often it was taken

    def never(self):
        return [line for line, n in self.lines.items() if n == 0]

    def one_sided(self):
        return sorted({line for (line, _), n in self.branches.items() if n == 0 and self.lines[line] > 0})


def counts(build, ending):
    """By source file; of what was compiled (.gcno), or of the programs that ran (.gcda)."""
    found = collections.defaultdict(Source)
    tests = os.path.join(build, "tests")
    data = [os.path.abspath(os.path.join(folder, name)) for folder, _, names in os.walk(build) for name in names
            if name.endswith(ending) and not folder.startswith(tests + "/CMakeFiles")]
    with tempfile.TemporaryDirectory() as out:
        for first in range(0, len(data), 50):
            subprocess.run(["gcov", "--json-format", "--branch-probabilities", *data[first:first + 50]], cwd=out,
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for name in os.listdir(out):
                with gzip.open(os.path.join(out, name)) as f:
                    unit = json.load(f)
                for source in unit["files"]:
                    path = os.path.realpath(os.path.join(unit["current_working_directory"], source["file"]))
                    for line in source["lines"]:
                        found[path].lines[line["line_number"]] += line["count"]
                        for i, branch in enumerate(line["branches"]):
                            found[path].branches[line["line_number"], i] += branch["count"]
                os.remove(os.path.join(out, name))
    return {os.path.relpath(path): source for path, source in found.items()}


def stretches(lines):
    """[1, 2, 3, 7] as "1-3 7"."""
    parts = []
    for line in sorted(lines):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return " ".join(f"{a}-{b}" if a < b else f"{a}" for a, b in parts)


def below(found, paths):
    return {path: source for path, source in sorted(found.items()) if any(path.startswith(p) for p in paths)}


def share(part, whole):
    return f"{100 * part / max(whole, 1):.1f} %"


def show_rooms(found, rooms):
    print("| room | lines | that ran | branches | that were taken |\n|---|--:|--:|--:|--:|")
    for room in rooms:
        sources = below(found, ROOMS[room]).values()
        lines = [n for s in sources for n in s.lines.values()]
        branches = [n for s in sources for n in s.branches.values()]
        print(f"| `{room}` | {len(lines):,} | {share(sum(n > 0 for n in lines), len(lines))} | {len(branches):,} | "
              f"{share(sum(n > 0 for n in branches), len(branches))} |")


def show_never(found, paths):
    total = reached = 0
    for path, source in below(found, paths).items():
        never = source.never()
        ran = len(source.lines) - len(never)
        total, reached = total + len(source.lines), reached + ran
        print(f"{share(ran, len(source.lines)):>7}  {path}  never: {stretches(never) or '-'}")
    print(f"{share(reached, total):>7}  {reached} of {total} lines")


def show_branches(found, paths):
    for path, source in below(found, paths).items():
        taken = sum(n > 0 for n in source.branches.values())
        print(f"{share(taken, len(source.branches)):>7}  {path}  {stretches(source.one_sided()) or '-'}")


def main():
    build, what, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    found = counts(build, ".gcda" if what == "never" else ".gcno")
    if what == "rooms":
        show_rooms(found, names or list(ROOMS))
    else:
        (show_never if what == "never" else show_branches)(found, names)


if __name__ == "__main__":
    main()
