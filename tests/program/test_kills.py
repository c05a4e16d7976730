#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A command that SIGKILL ends leaves no part of a file: a new output is not there, one that was to be replaced is the
old one, the database holds whole rows, and the same command then does the rest. What a kill in the last instant could
leave under a temporary name is removed by the next output of that name, unless its writer lives."""
import fcntl
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SEED = 15
COMMANDS = [
    (["generate", "mix:2000", "--events", "400000", "-o", "o.zst"], "o.zst"),
    (["import", "big.pickle", "-o", "o.zst"], "o.zst"),
    (["big.zst", "--policy", "best-fit", "--json", "o.json", "--perfetto", "o.perfetto"], "o.json"),
    (["snapshot", "big.zst", "-o", "o.pickle"], "o.pickle"),
]
SWEEP = ["sweep", "big.zst", "--policy", "pytorch:gc=0.{1..9}", "--device", "sim:24GiB", "-o", "o.db"]


def killed_after(replay, arguments, delay):
    """Runs a command for `delay` seconds at most. True if it had to be killed."""
    child = subprocess.Popen([replay] + arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        child.wait(delay)
        return False
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return True


def main():
    replay = os.path.abspath(sys.argv[1])
    draws = random.Random(SEED)
    kills = 200 if os.environ.get("REPLAY_LONG_TESTS") else 6
    failures, n_killed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for arguments in (["generate", "mix:500", "--events", "200000", "-o", "big.zst"],
                          ["snapshot", "big.zst", "-o", "big.pickle"]):
            subprocess.run([replay] + arguments, check=True, stdout=subprocess.DEVNULL)
        inputs = set(os.listdir("."))
        for arguments, output in COMMANDS:
            start = time.monotonic()
            subprocess.run([replay] + arguments, check=True, stdout=subprocess.DEVNULL)
            takes = time.monotonic() - start
            with open(output, "rb") as f:
                whole = f.read()
            for name in set(os.listdir(".")) - inputs:
                os.remove(name)
            for i in range(kills):
                if i % 2 == 1:
                    with open(output, "wb") as f:
                        f.write(b"old")
                was_killed = killed_after(replay, arguments, draws.uniform(0, takes))
                n_killed += was_killed
                left = set(os.listdir(".")) - inputs
                if left - {output, "o.perfetto"}:
                    failures.append(f"{arguments[0]}: left behind: {left}")
                if os.path.exists(output):
                    with open(output, "rb") as f:
                        got = f.read()
                    if got not in (whole, b"old"):
                        failures.append(f"{arguments[0]}: {output} is neither old nor whole ({len(got)} bytes)")
                for name in left:
                    os.remove(name)

        # A database: kills all the way, and the same command goes on.
        for i in range(kills):
            n_killed += killed_after(replay, SWEEP, draws.uniform(0.02, 0.4))
        subprocess.run([replay] + SWEEP, check=True, stdout=subprocess.DEVNULL)
        db = sqlite3.connect("o.db")
        sound = db.execute("PRAGMA integrity_check").fetchone()[0]
        rows = db.execute("SELECT count(*), count(DISTINCT key), count(peak_reserved_bytes) FROM runs").fetchone()
        db.close()
        if sound != "ok" or rows != (9, 9, 9):
            failures.append(f"the database: {sound}, {rows}")

        # Leftovers: of a dead writer, of a living one, and another file of a similar name.
        for name in ("x.json.replay-aaaaaa", "x.json.replay-bbbbbb", "x.json.replay-ccccccc"):
            with open(name, "w", encoding="ascii"):
                pass
        with open("x.json.replay-bbbbbb", encoding="ascii") as living:
            fcntl.flock(living, fcntl.LOCK_EX)
            subprocess.run([replay, "big.zst", "--policy", "none", "--json", "x.json"], check=True,
                           stdout=subprocess.DEVNULL)
            left = sorted(name for name in os.listdir(".") if name.startswith("x.json"))
            if left != ["x.json", "x.json.replay-bbbbbb", "x.json.replay-ccccccc"]:
                failures.append(f"leftovers: {left}")
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(folder)
    for text in failures:
        print("FAILED:", text)
    print(f"{n_killed} commands killed, {len(failures)} wrong")
    return len(failures) > 0 or n_killed == 0


if __name__ == "__main__":
    sys.exit(main())
