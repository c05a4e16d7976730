#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Runs programs of this folder to their death and keeps their recordings, under a simulated card:

    replay run-sim --device 64GiB -- python tests/dying/record.py REPLAY FOLDER [PROGRAM...]

Each program is a child of this process, so that torch is imported once. A card given as a share is that share of what
the program needs, which a first run on a large card tells. A program that does not run out of memory is named."""
import os
import pickle
import subprocess
import sys
import traceback

import torch

import programs_drawn
import programs_eighth
import programs_fifth
import programs_fourth
import programs_fresh
import programs_kept
import programs_more
import programs_ninth
import programs_seen
import programs_seventh
import programs_sixth
import programs_streams
import programs_third
import programs_variants
from parts import PROGRAMS

LARGE_CARD_MIB = 65536


def run_child(work):
    """Runs it in a child and returns what it wrote."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work().encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def choose_card(mib, program):
    """A program that is recorded with devices=2 finds two cards of that size; others=220: others hold so many MiB."""
    count, others = program["record"].get("devices", 1), program["record"].get("others", 0)
    os.environ["REPLAY_CUDASIM_DEVICE"] = f"sim:{mib}MiB,count={count},others={others}MiB"


def need_of(program):
    def work():
        choose_card(LARGE_CARD_MIB, program)
        program["run"]()
        return str(torch.cuda.max_memory_allocated())
    return int(run_child(work)) >> 20


def hide_paths(frames):
    """Recordings do not tell on which machine they were made."""
    for frame in frames or []:
        path = frame["filename"].replace(sys.prefix, "/home/ada/venv").replace(sys.base_prefix, "/home/ada/python")
        frame["filename"] = path.replace(os.path.dirname(os.path.abspath(__file__)), "/home/ada/dying")


def write_snapshot(path):
    snapshot = torch.cuda.memory._snapshot()
    for trace in snapshot["device_traces"]:
        for entry in trace:
            hide_paths(entry.get("frames"))
    for segment in snapshot["segments"]:
        for block in [segment, *segment["blocks"]]:
            hide_paths(block.get("frames"))
    with open(path, "wb") as out:
        pickle.dump(snapshot, out)


def die(program, card_mib, snapshot_file):
    def work():
        choose_card(card_mib, program)
        record = dict(program["record"])
        stacks = record.pop("stacks", "python")
        if record.pop("late", False):                  # uses by other streams end when the program waits
            os.environ["REPLAY_CUDASIM_WAITS"] = "late"
        record.pop("devices", None)
        record.pop("others", None)
        torch.cuda.init()
        if "mid-run" not in program["kind"]:
            how = {"context": None} if stacks is None else {"stacks": stacks}
            torch.cuda.memory._record_memory_history(**how, **{"max_entries": 1 << 30, **record})
        try:
            program["run"]()
            return "lived"
        except (torch.OutOfMemoryError, RuntimeError) as error:
            if not isinstance(error, torch.OutOfMemoryError) and "find an engine" not in str(error):
                raise                                  # cuDNN's words if it gets none of its workspaces
            write_snapshot(snapshot_file)
            return "died"
    return run_child(work)


def record(replay, name):
    program = PROGRAMS[name]
    card = program["card"]
    mib = card if isinstance(card, int) else int(need_of(program) * card) // 2 * 2
    snapshot_file, trace = f"{name}.pickle", f"{name}.zst"
    end = die(program, mib, snapshot_file)
    if end != "died":
        print(f"{name}: {end or 'failed'} on {mib} MiB", flush=True)
        return
    first = ["--gpu", "0"] if "devices" in program["record"] else []
    subprocess.run([replay, "import", snapshot_file, "-o", trace, *first], check=True, stdout=subprocess.DEVNULL,
                   env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
    os.remove(snapshot_file)
    print(f"{name}: {mib} MiB, {os.path.getsize(trace)} bytes", flush=True)


def main(replay, folder, *names):
    replay = os.path.abspath(replay)
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for name in names or PROGRAMS:
        if not os.path.exists(f"{name}.zst"):
            record(replay, name)


if __name__ == "__main__":
    main(*sys.argv[1:])
