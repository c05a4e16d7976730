# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Stands in for pip, which takes seconds to start: the releases of a package `toy`, whose module says how many MiB a
program is to take. Release 1.2 needs another PyTorch."""
import json
import os
import sys

RELEASES = {"2.0": 260, "1.4.0rc1": 260, "1.3": 100, "1.2": 100, "1.0": 100}
words = sys.argv[1:]
name = words[2] if words[0] == "index" else words[-1].split("==")[0]
if name != "toy":
    sys.exit(f"ERROR: No matching distribution found for {name}")
if words[0] == "index":
    print("toy (2.0)\nAvailable versions: " + ", ".join(n for n in RELEASES if "--pre" in words or "rc" not in n))
elif "--dry-run" in words:
    number = words[-1].split("==")[1]
    wanted = [("toy", number)] + ([("torch", "0.0.1")] if number == "1.2" else [])
    with open(words[words.index("--report") + 1], "w") as f:
        json.dump({"install": [{"metadata": {"name": n, "version": v}} for n, v in wanted]}, f)
else:
    folder, number = words[words.index("--target") + 1], words[-1].split("==")[1]
    os.makedirs(f"{folder}/toy-{number}.dist-info")
    with open(f"{folder}/toy-{number}.dist-info/METADATA", "w") as f:
        f.write(f"Metadata-Version: 2.1\nName: toy\nVersion: {number}\n")
    with open(f"{folder}/toy.py", "w") as f:
        f.write(f"MIB = {RELEASES[number]}\n")
