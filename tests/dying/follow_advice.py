#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Does what `why` recommends: runs each program for which it names a setting again, on the same card, with it.

    replay run-sim --device 64GiB -- python tests/dying/follow_advice.py REPLAY FOLDER [PROGRAM...]

Prints a row of the table in doc/advice.md for each: how many requests were served before it died, without and with
the setting."""
import json
import os
import subprocess
import sys

import torch

import record


def advice(replay, path):
    clean = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    done = subprocess.run([replay, "why", path, "--json", "-"], stdout=subprocess.PIPE, check=True, env=clean)
    answer = json.loads(done.stdout)
    setting = answer["recommended"] or answer["serves_refused"]
    return answer["usable_bytes"] >> 20, setting and setting["conf"]


def run(program, mib, conf):
    """How it ended, and after how many requests."""
    def work():
        record.choose_card(mib, program)
        if conf:
            os.environ["PYTORCH_CUDA_ALLOC_CONF"] = conf
        try:
            program["run"]()
            end = "lives"
        except torch.OutOfMemoryError:
            end = "dies"
        return f"{end} {torch.cuda.memory_stats()['allocation.all.allocated']}"
    end, requests = record.run_child(work).split()
    return end, int(requests)


def result(before, end, after):
    if end == "lives":
        return "goes on to its end"
    return f"{after - before} requests more" if after > before else "dies just the same"


def main(replay, folder, *names):
    replay = os.path.abspath(replay)
    for name in names or record.PROGRAMS:
        path = os.path.join(folder, f"{name}.zst")
        if not os.path.exists(path):
            continue
        mib, conf = advice(replay, path)
        if conf:
            _, before = run(record.PROGRAMS[name], mib, None)
            end, after = run(record.PROGRAMS[name], mib, conf)
            print(f"| {name} | {mib} MiB | `{conf}` | {before} | {after} | {result(before, end, after)} |", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
