#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""No one is told to set expandable segments for a vLLM or SGLang that has its model on several cards: it ends then.

The snapshots are made here: three blocks of 530 MiB are freed, 270 MiB of each taken again, and the next 530 MiB are
refused on a card of 2 GiB. Expandable segments serve them. Only frames tell whose recording it is.
"""
import pathlib
import pickle
import subprocess
import sys
import tempfile

MIB = 1 << 20
BASE, BEGIN_US = 0x7f0000000000, 1700000000000000
FAILED = []
COMMUNICATOR = "distributed/device_communicators/cuda_communicator.py"
PLAIN = "/home/ada/serve.py"
SPREAD = {"vLLM": f"/usr/lib/python3/dist-packages/vllm/{COMMUNICATOR}",
          "SGLang": f"/opt/sglang/python/sglang/srt/{COMMUNICATOR}"}


def expect(what, is_so, said):
    if not is_so:
        FAILED.append(f"{what}: {said}")


def snapshot(path, filename):
    frames = [{"filename": filename, "line": 12, "name": "all_reduce"}]
    at = [BASE + n * 1024 * MIB for n in range(3)]
    actions = [step for a in at for step in (("segment_alloc", a, 530), ("alloc", a, 530))]
    actions += [(action, a, 530) for a in at for action in ("free_requested", "free_completed")]
    actions += [("alloc", a, 270) for a in at] + [("oom", 458, 530)]
    trace = [{"frames": frames, "action": action, "device_free" if action == "oom" else "addr":
              addr * MIB if action == "oom" else addr, "size": size * MIB, "stream": 0, "time_us": BEGIN_US + turn}
             for turn, (action, addr, size) in enumerate(actions)]
    live = {"size": 270 * MIB, "requested_size": 270 * MIB, "state": "active_allocated", "frames": frames}
    free = {"size": 260 * MIB, "requested_size": 0, "state": "inactive", "frames": []}
    segments = [{"device": 0, "address": a, "total_size": 530 * MIB, "allocated_size": 270 * MIB, "stream": 0,
                 "active_size": 270 * MIB, "requested_size": 270 * MIB, "segment_type": "large", "frames": frames,
                 "segment_pool_id": (0, 0), "is_expandable": False,
                 "blocks": [dict(live, address=a), dict(free, address=a + 270 * MIB)]} for a in at]
    path.write_bytes(pickle.dumps({"segments": segments, "device_traces": [trace], "allocator_settings": {}}))


def ask(replay, *words):
    run = subprocess.run([replay, *map(str, words)], capture_output=True, text=True, check=False)
    return " ".join((run.stdout + run.stderr).split())


def look(replay, path, engine):
    told = f"expandable_segments:True is left out for {engine}: with several cards"
    tuned = ask(replay, "tune", path, "--device", "sim:2GiB")
    why = ask(replay, "why", path)
    fit = ask(replay, "fit", path, "--policy", "best-fit", "--policy", "expandable_segments:True")
    is_told = "CONF=expandable_segments:True" in tuned
    expect(f"tune {engine}", is_told == (engine is None) and (told in tuned) == (engine is not None), tuned)
    expect(f"why {engine}", ("CONF=expandable_segments:True" in why) == (engine is None), why)
    warned = f"expandable_segments:True is no choice for {engine}: " in fit
    expect(f"fit {engine}", warned == (engine is not None), fit)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "engine.pickle"
        for engine, filename in [(None, PLAIN), *SPREAD.items()]:
            snapshot(path, filename)
            look(sys.argv[1], path, engine)
    print("\n".join(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
