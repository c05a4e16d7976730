#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A recorded program that is killed at any instruction leaves a readable recording.

The program calls from several threads and forks, under a signal every 200 us; SIGKILL ends it and its children at a
random moment. Every call that it logged as returned is then in a journal, in its thread's order, and `replay import`
reads each journal. 10 kills; with REPLAY_LONG_TESTS 1,000. How many there were, and what was found, is printed.
"""
import collections
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ALLOC, FREE = 1, 2
SEED = 9
HEAD_BYTES, RECORD = 256, struct.Struct("<QQQQQQIiBBBBI")


def calls_of(path):
    """The allocations and frees of a journal: by thread, in order. None: it has no head yet."""
    with open(path, "rb") as f:
        data = f.read().rstrip(b"\0") + bytes(RECORD.size)       # without the room that no record took
    if data[:14] != b"replay-calls-1":
        return None
    found = collections.defaultdict(list)
    for at in range(HEAD_BYTES, len(data) - RECORD.size + 1, RECORD.size):
        _, addr, size, _, _, _, thread, _, kind, _, _, _, is_whole = RECORD.unpack_from(data, at)
        if is_whole == 1 and kind in (ALLOC, FREE):
            found[thread].append(("A", addr, size) if kind == ALLOC else ("F", addr, 0))
    return found


def logged(path):
    """What the program says: by thread, in order."""
    found = collections.defaultdict(list)
    with open(path, "rb") as f:
        for line in f.read().split(b"\n")[:-1]:
            kind, thread, addr, *rest = line.decode().split()
            found[int(thread)].append((kind, int(addr, 16), int(rest[0]) if kind == "A" else 0))
    return found


def kill_once(program, library, fake, replay, delay, with_stacks, work):
    """One run that is killed after `delay` seconds. Returns what is wrong, the journals and the calls."""
    if os.path.exists(work):
        shutil.rmtree(work)
    os.makedirs(work + "/journals")
    env = dict(os.environ, LD_PRELOAD=library, LD_LIBRARY_PATH=fake, REPLAY_RECORD_DIR=work + "/journals")
    if with_stacks:
        env["REPLAY_RECORD_STACKS"] = "1"
    child = subprocess.Popen([program, "storm", work + "/log"], env=env, start_new_session=True,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    while True:                                          # its children are another's to wait for
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            break
    recorded, wrong, names = collections.defaultdict(list), [], sorted(os.listdir(work + "/journals"))
    for name in names:
        path = f"{work}/journals/{name}"
        if os.stat(path).st_mode & 0o777 != 0o600:
            wrong.append(f"{name} is not for its owner alone")
        found = calls_of(path)
        for thread, calls in (found or {}).items():
            recorded[thread] += calls
        if found is None or not found:
            continue                                     # killed before its first call had returned
        done = subprocess.run([replay, "import", path, "-o", work + "/trace"], capture_output=True, check=False)
        if done.returncode != 0:
            wrong.append(f"{name} cannot be imported: {done.stderr.decode()[-300:]}")
    n = 0
    if os.path.exists(work + "/log"):
        for thread, calls in logged(work + "/log").items():
            n += len(calls)
            if recorded[thread][:len(calls)] != calls:
                wrong.append(f"thread {thread}: what returned is not what is recorded")
    return wrong, len(names), n


def main():
    replay, build = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    library = build + "/record/libreplay-record.so"
    program, fake = build + "/tests/record/record_program", build + "/tests/record/fake"
    draws = random.Random(SEED)
    kills = 1000 if os.environ.get("REPLAY_LONG_TESTS") else 10
    n_journals = n_calls = n_wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(kills):
            delay = draws.uniform(0, 0.04)
            wrong, journals, calls = kill_once(program, library, fake, replay, delay, i % 2 == 1, folder + "/one")
            n_journals, n_calls, n_wrong = n_journals + journals, n_calls + calls, n_wrong + len(wrong)
            for text in wrong:
                print(f"FAILED: kill {i} after {delay * 1000:.1f} ms: {text}")
    print(f"{kills} kills, {n_journals} journals, {n_calls} calls that had returned, {n_wrong} wrong")
    return n_wrong > 0 or n_calls == 0


if __name__ == "__main__":
    sys.exit(main())
