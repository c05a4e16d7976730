#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""tests/fuzz/README.md names every source that reads files, every fuzz target, and nothing that is not there.

    test_fuzz_parsers.py PROGRAM BUILD SOURCE
"""
import os
import re
import sys

READS = re.compile(r"\b(input_open|input_open_bytes|input_open_whole|input_peek|fgets|getline|fscanf|json_loadb?"
                   r"|load_json|sqlite3_open_v2|fread|pread|dlopen)\(|\bcursor_over\(|\bfopen\([^;]*\"r")
ROOMS = ["base", "capture", "cudasim", "import", "live", "loads", "policies", "record", "replay", "report", "sim",
         "traces"]


def sources(root):
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in names:
                if name.endswith(".c"):
                    yield os.path.relpath(os.path.join(folder, name), root)


def reads_files(path):
    with open(path, encoding="utf-8") as f:
        return READS.search(f.read()) is not None


def complaints(root):
    with open(os.path.join(root, "tests/fuzz/README.md"), encoding="utf-8") as f:
        text = f.read()
    named = set(re.findall(r"`([a-z_0-9/]+\.c)`", text))
    targets = set(re.findall(r"`(fuzz_[a-z_0-9]+)`", text))
    there = {name[:-2] for name in os.listdir(os.path.join(root, "tests/fuzz")) if re.fullmatch(r"fuzz_.*\.c", name)}
    for path in sorted(sources(root)):
        if reads_files(os.path.join(root, path)) and path not in named:
            yield f"{path} reads files, and no row says which target gives it bytes"
    for path in sorted(named):
        if "/" in path and not os.path.exists(os.path.join(root, path)):
            yield f"{path} is not there"
    for name in sorted(there ^ targets):
        yield f"{name}: " + ("no row names this target" if name in there else "is no target")
    for name in sorted(there):
        folder = os.path.join(root, "tests/fuzz/corpus", name)
        if not os.path.isdir(folder) or not os.listdir(folder):
            yield f"{name} has no corpus"


def main():
    found = list(complaints(sys.argv[3]))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
