#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Every program in the tables of doc/adversary.md does what its row says, by a plain replay.

    test_adversary_certificates.py PROGRAM BUILD SOURCE
"""
import json
import os
import subprocess
import sys
import tempfile

UNITS = {"K": 1 << 10, "M": 1 << 20}


def size(text):
    return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)


def write(program, path):
    """The program as CSV, and the most that is live."""
    sizes, live, most = [], 0, 0
    with open(path, "w", encoding="ascii") as out:
        out.write("action,ptr,size\n")
        for word in program.split():
            if word[0] == "-":
                live -= sizes[int(word[1:]) - 1]
                out.write(f"free,{word[1:]},\n")
            else:
                sizes.append(size(word))
                live += sizes[-1]
                out.write(f"alloc,{len(sizes)},{sizes[-1]}\n")
            most = max(most, live)
    return most


def runs(replay, path, policies, card):
    options = [word for policy in policies for word in ("--policy", policy)]
    done = subprocess.run([replay, path, *options, "--device", card, "--json", "-"], capture_output=True,
                          text=True, check=False)
    return [("refused" if run["outcome"] == "oom" else run["peak"]["reserved_bytes"])
            for run in json.loads(done.stdout)["runs"]]


def check_releases(replay, path, row):
    releases, setting, card, calls, first, second, program = row
    setting = "" if setting == "none" else "," + setting.strip("`")
    policies = [f"pytorch:version={release}{setting}" for release in releases.split(", ")]
    write(program, path)
    got = runs(replay, path, policies, card)
    want = [text if text == "refused" else size(text) for text in (first, second)]
    return got == want and got[0] != got[1] and len(program.split()) == int(calls)


def check_worst(replay, path, row):
    policy, calls, live, card, times, _robson, program = row
    most = write(program, path)
    got = runs(replay, path, [policy.strip("`")], f"sim:{size(card)}")
    return (got == ["refused"] and most == size(live) <= 1 << 30
            and f"{size(card) / most:.2f}" == times and len(program.split()) == int(calls))


def main(replay, _build, source):
    with open(os.path.join(source, "doc/adversary.md"), encoding="utf-8") as page:
        rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in page if line.startswith("| ")]
    rows = [[*row[:-1], row[-1].strip("`")] for row in rows if row[-1].startswith("`")]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.csv")
        for row in rows:
            check = check_releases if row[0].startswith("2.") else check_worst
            if not check(replay, path, row):
                wrong.append(f"does not do what its row says: {row}")
    print("\n".join(wrong) if wrong else f"{len(rows)} programs do what their rows say")
    return len(wrong) > 0 or len(rows) < 20


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
