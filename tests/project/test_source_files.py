#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""No source has a line of more than 120 columns, what begins with #! runs by its name, and no script leaves a database
open. The check finds each that breaks this.

    test_source_files.py PROGRAM BUILD SOURCE
"""
import os
import subprocess
import sys
import tempfile

COLUMNS = 120
ENDINGS = (".c", ".h", ".def", ".py", ".sh", ".js", ".css", ".html", ".cmake", "CMakeLists.txt")
DATA = ("tests/data/", "tests/fuzz/corpus/")


def is_source(root, path):
    return not path.startswith(DATA) and (path.endswith(ENDINGS) or has_interpreter(os.path.join(root, path)))


def files(root):
    """Those that git knows or would add; without git, those that are there, but for what was built."""
    if os.path.exists(os.path.join(root, ".git")):
        git = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = []
    for folder, names, here in os.walk(root):
        names[:] = [n for n in names if not n.startswith((".", "build", "dist"))]
        paths += [os.path.relpath(os.path.join(folder, f), root) for f in here]
    return paths


def long_lines(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            width = len(line.rstrip("\n").expandtabs())
            if width > COLUMNS:
                yield f"{path}:{number}: {width} columns, more than {COLUMNS}"


def left_open(root, path):
    """A with statement ends a transaction of sqlite3 and leaves the database open, until Python collects its cycles. By
    then the files beside that name may be another process's, and they are removed."""
    with open(os.path.join(root, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.lstrip().startswith("with sqlite3." + "connect("):
                yield f"{path}:{number}: leaves the database open; contextlib.closing closes it"


def has_interpreter(path):
    with open(path, "rb") as f:
        return f.read(2) == b"#!"


def complaints(root):
    for path in sorted(files(root)):
        there = os.path.join(root, path)
        if not os.path.isfile(there):                            # removed, and git does not know it yet
            continue
        if is_source(root, path):
            yield from long_lines(root, path)
            yield from left_open(root, path)
        if has_interpreter(there) and not os.access(there, os.X_OK):
            yield f"{path}: begins with #! and is not executable"


def find_what_is_wrong():
    """On a small tree: the complaints that there must be, and no others."""
    long, most = "x" * (COLUMNS + 1), "ü" * COLUMNS + "\n"
    there = {"dev": most, "base/low.c": most + long, "base/low.h": "\t" + "x" * (COLUMNS - 7) + "\n",
             "report/page/page.js": "// " + long, "README.md": long, "build/made.c": long, "dist/made.py": long,
             "bench/time.py": "if 1:\n    with sqlite3.connect(x) as db:\n",
             "bench/time2.py": "    with contextlib.closing(sqlite3.connect(x)) as db:\n",
             "tests/run": "#!/bin/sh\n" + long, "tests/data/page.html": long, "report/CMakeLists.txt": long}
    want = ["base/low.c:2: 121 columns, more than 120", "base/low.h:1: 121 columns, more than 120",
            "bench/time.py:2: leaves the database open; contextlib.closing closes it",
            "report/CMakeLists.txt:1: 121 columns, more than 120", "report/page/page.js:1: 124 columns, more than 120",
            "tests/run:2: 121 columns, more than 120", "tests/run: begins with #! and is not executable"]
    with tempfile.TemporaryDirectory() as root:
        for path, text in there.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        found = list(complaints(root))
    return [] if found == want else [f"in a small tree {found} is found, not {want}"]


def main():
    found = list(complaints(sys.argv[3])) + find_what_is_wrong()
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
