#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The project's figures: how long and how branched its functions are, and how dense comments and assertions.

    python3 tests/figures.py [ROOT]          # `./dev figures` installs lizard and runs this

Counted are the program's own .c and .h files. Tests, benchmarks and examples are not. Length is lines of code of a
function, without comments and blank lines, and complexity is McCabe's; both are lizard's. A comment line is one that
has only comment on it.
"""
import pathlib
import re
import statistics
import sys

import lizard

NOT_COUNTED = {"bench", "build", "doc", "examples", "samples", "tests"}
STRING = re.compile(r'"(?:\\.|[^"\\])*"' + r"|'(?:\\.|[^'\\])*'")
ASSERT = re.compile(r"\bassert\(")


def percentile(values, percent):
    """The smallest value that `percent` percent of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def comments_and_code(text):
    """(lines with only comment, lines with code) of a C file."""
    comments = code = 0
    inside = False
    for line in text.splitlines():
        rest, has_comment, has_code = STRING.sub('""', line), inside, False
        while rest.strip():
            if inside:
                end = rest.find("*/")
                has_comment, inside = True, end < 0
                rest = "" if end < 0 else rest[end + 2:]
                continue
            start, single = rest.find("/*"), rest.find("//")
            if single >= 0 and (start < 0 or single < start):
                has_code |= bool(rest[:single].strip())
                has_comment, rest = True, ""
            elif start >= 0:
                has_code |= bool(rest[:start].strip())
                inside, rest = True, rest[start + 2:]
                has_comment = True
            else:
                has_code, rest = True, ""
        code += has_code
        comments += has_comment and not has_code
    return comments, code


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[1])
    rooms = [d for d in root.iterdir() if (d / "CMakeLists.txt").is_file() and d.name not in NOT_COUNTED]
    files = sorted(p for room in rooms for p in room.rglob("*.[ch]"))
    functions, comments, code, lines, asserts = [], 0, 0, 0, 0
    for path in files:
        text = path.read_text()
        lines += text.count("\n")
        asserts += sum(len(ASSERT.findall(line)) for line in text.splitlines())
        if path.suffix == ".c":
            functions += [(f.nloc, f.cyclomatic_complexity, f.name)
                          for f in lizard.analyze_file(str(path)).function_list]
            more = comments_and_code(text)
            comments, code = comments + more[0], code + more[1]
    length = [f[0] for f in functions]
    branches = [f[1] for f in functions]
    print(f"{len(functions)} functions in {len(files)} files of {lines} lines")
    print(f"length in lines: median {statistics.median_low(length)}, p90 {percentile(length, 90)}, max {max(length)}")
    print(f"complexity: p90 {percentile(branches, 90)}, max {max(branches)}")
    print(f"comment lines per line of code in .c: {comments / code:.2f}")
    print(f"assertions: {asserts}, {1000 * asserts / lines:.2f} per 1,000 lines")
    for what, k in (("longest", 0), ("most branched", 1)):
        worst = sorted(functions, key=lambda f: -f[k])[:5]
        print(f"{what}: " + ", ".join(f"{f[2]} {f[k]}" for f in worst))


main()
