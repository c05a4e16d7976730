#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Snapshots of an XPU and of an NPU are read, told to be such, and get no setting that is CUDA's.

The files are made here, in the layout of PyTorch's source. torch/csrc/xpu/Module.cpp (_xpu_memorySnapshot): no pool in
a record, no frames where none were kept, two settings under the general name; torch/csrc/xpu/memory_snapshot.cpp: all
settings. torch_npu/csrc/npu/Module.cpp: no times, no settings, and records of its workspaces before the others. None
was written by a card.
"""
import pathlib
import pickle
import subprocess
import sys
import tempfile

MIB = 1 << 20
BASE, QUEUE, BEGIN_US = 0x7f0000000000, 94820012, 1700000000000000
FRAMES = [{"filename": "/home/ada/xpu.py", "line": 12, "name": "step"}]
FAILED = []


def record(action, addr, size, turn):
    place = "device_free" if action == "oom" else "addr"
    return {"frames": FRAMES, "action": action, place: addr, "size": size, "stream": QUEUE, "time_us": BEGIN_US + turn}


def block(addr, size, requested, state):
    return {"address": addr, "size": size, "requested_size": requested, "state": state,
            "frames": [] if state == "inactive" else FRAMES}


def segment(addr, size, blocks):
    live = sum(b["size"] for b in blocks if b["state"] != "inactive")
    return {"device": 0, "address": addr, "total_size": size, "allocated_size": live, "active_size": live,
            "requested_size": live, "stream": QUEUE, "segment_type": "large", "segment_pool_id": (0, 0),
            "is_expandable": False, "frames": FRAMES, "blocks": blocks}


def snapshot(settings):
    """30 MiB are refused with 24 MiB free on the card and 16 MiB cached in pieces."""
    actions = [("segment_alloc", BASE, 20 * MIB), ("alloc", BASE, 8 * MIB), ("alloc", BASE + 8 * MIB, 4 * MIB - 100),
               ("free_requested", BASE, 8 * MIB), ("free_completed", BASE, 8 * MIB),
               ("segment_alloc", BASE + 64 * MIB, 64 * MIB), ("alloc", BASE + 64 * MIB, 64 * MIB),
               ("oom", 24 * MIB, 30 * MIB)]
    first = [block(BASE, 8 * MIB, 8 * MIB, "inactive"),
             block(BASE + 8 * MIB, 4 * MIB, 4 * MIB - 100, "active_allocated"),
             block(BASE + 12 * MIB, 8 * MIB, 0, "inactive")]
    second = [block(BASE + 64 * MIB, 64 * MIB, 64 * MIB, "active_allocated")]
    return {"segments": [segment(BASE, 20 * MIB, first), segment(BASE + 64 * MIB, 64 * MIB, second)],
            "device_traces": [[record(*a, turn) for turn, a in enumerate(actions)]], "allocator_settings": settings}


def npu_snapshot():
    """40 MiB are refused with 24 MiB free; a request takes 32 bytes more, rounded up to 512."""
    large, small = 8 * MIB + 512, 1024
    actions = [("workspace_snapshot", 0, 0), ("segment_alloc", BASE, 20 * MIB), ("alloc", BASE, 8 * MIB),
               ("segment_alloc", BASE + 64 * MIB, 2 * MIB), ("alloc", BASE + 64 * MIB, 512),
               ("oom", 24 * MIB, 40 * MIB)]
    trace = [{key: value for key, value in record(*a, 0).items() if key != "time_us"} for a in actions]
    first = [block(BASE, large, 8 * MIB, "active_allocated"), block(BASE + large, 20 * MIB - large, 0, "inactive")]
    second = [block(BASE + 64 * MIB, small, 512, "active_allocated"),
              block(BASE + 64 * MIB + small, 2 * MIB - small, 0, "inactive")]
    tail = segment(BASE + 64 * MIB, 2 * MIB, second) | {"segment_type": "small"}
    return {"segments": [segment(BASE, 20 * MIB, first), tail], "device_traces": [trace]}


def expect(what, holds):
    if not holds:
        FAILED.append(what)


def main():
    replay = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "snapshot.pickle"

        def ask(*words):
            run = subprocess.run([replay, *words, path], capture_output=True, text=True, check=False)
            expect(f"{words}: {run.stderr}", run.returncode == 0)
            return " ".join(run.stdout.split())

        path.write_bytes(pickle.dumps(snapshot({"PYTORCH_ALLOC_CONF": "", "expandable_segments": False})))
        info = ask("info")
        expect("info names the platform", "platform Intel XPU" in info)
        expect("info says what is not known", "its allocator is taken for CUDA's" in info)
        expect("every record is read", "(of 8 records in the source)" in info)
        expect("the settings are read", "settings in force the defaults" in info)
        expect("placements are those of the rules", ask("verify").startswith("all equal"))
        for command in ("why", "tune"):
            expect(f"{command} pastes no setting", "export " not in ask(command))
        wide = {"PYTORCH_ALLOC_CONF": "", "expandable_segments": False, "max_split_size": -1,
                "garbage_collection_threshold": 0.0, "roundup_power2_divisions": {str(1 << k): 0 for k in range(16)}}
        path.write_bytes(pickle.dumps(snapshot(wide)))
        expect("all settings under the general name are an XPU's", "platform Intel XPU" in ask("info"))
        path.write_bytes(pickle.dumps(snapshot(wide | {"graph_capture_record_stream_reuse": False})))
        expect("a key of CUDA's alone makes no XPU", "Intel XPU" not in ask("info"))
        path.write_bytes(pickle.dumps(npu_snapshot()))
        info = ask("info")
        expect("info names the NPU", "platform Ascend NPU" in info)
        expect("info tells its rule of sizes", "request + 32 bytes" in info)
        expect("placements are those of the NPU's rules", ask("verify").startswith("all equal"))
        pasted = ask("why") + ask("tune")
        expect("no variable of CUDA's is pasted", "PYTORCH_CUDA_ALLOC_CONF" not in pasted)
        script = path.with_name("script.py")
        run = subprocess.run([replay, "shrink", path, "--keep", "peak>=20MiB", "--script", script],
                             capture_output=True, text=True, check=False)
        expect("an NPU's requests become no script for CUDA",
               run.returncode == 2 and not script.exists() and "of Ascend NPU" in " ".join(run.stderr.split()))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for value in ({}, [], {"a": 1}, {1: {}}, [{}], [[]], None, 7, "", ()):
                path.write_bytes(pickle.dumps(value, protocol))
                run = subprocess.run([replay, "info", path], capture_output=True, text=True, check=False)
                is_empty = value in ({}, [])
                expect(f"{value!r} in protocol {protocol} is told to be empty only if it is",
                       run.returncode == 2 and is_empty == ("it is empty" in run.stderr))
    print("\n".join(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
