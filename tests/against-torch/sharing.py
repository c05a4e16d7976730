#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""torch.multiprocessing under `replay run-sim`, with real PyTorch: a process puts tensors of the card into a queue,
another one uses them, and the card counts their memory once; with plain segments, and with expandable ones.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/sharing.py [--build FOLDER]

Exit status 0: all true.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MIB = 1 << 20
SHARED, OWN = 64 * MIB, 2 * MIB             # PyTorch takes a segment of 2 MiB for small requests


def consume(queue, answers):
    import torch
    tensors = [queue.get() for _ in range(3)]
    assert all(t.is_cuda for t in tensors) and torch.cuda.memory_reserved() == 0
    assert tensors[0].data_ptr() == tensors[2].data_ptr(), "one mapping for what is sent twice"
    total = sum(t.sum() for t in tensors)
    assert total.device.type == "cuda" and torch.cuda.memory_reserved() == OWN
    del tensors, total
    answers.put("used")


def produce():
    import torch
    import torch.multiprocessing as multiprocessing
    multiprocessing.set_start_method("spawn")
    queue, answers = multiprocessing.Queue(), multiprocessing.Queue()
    other = multiprocessing.Process(target=consume, args=(queue, answers))
    other.start()
    a = torch.empty(SHARED // 8, device="cuda")
    b = torch.empty(SHARED // 8, device="cuda")
    for t in (a, b, a):
        queue.put(t)
    assert answers.get() == "used"
    other.join()
    assert other.exitcode == 0
    print("reserved", torch.cuda.memory_reserved())


def check(o, settings):
    """Whether two processes take what the first one reserves, and OWN of the second."""
    with tempfile.TemporaryDirectory() as folder:
        said = pathlib.Path(folder, "said.json")
        done = subprocess.run([str(o.build.resolve() / "replay"), "run-sim", "--device", "8GiB", "--json", str(said),
                               "--", sys.executable, __file__, "--produce"], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=600,
                              env=dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=settings))
        card = json.loads(said.read_text()) if said.exists() else {}
    reserved = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("reserved ")]
    peak = card["devices"][0]["peak_bytes"] if card.get("devices") else 0
    is_true = (done.returncode == 0 and card["processes"] == 2 and len(reserved) == 1 and reserved[0] >= SHARED and
               peak == reserved[0] + OWN)
    print("%s  %s: two processes, a peak of %d MiB" % ("ok    " if is_true else "FAILED", settings, peak // MIB))
    if not is_true:
        print(done.stdout[-3000:])
    return is_true


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--produce", action="store_true", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.produce:
        return produce()
    results = [check(o, "expandable_segments:" + value) for value in ("False", "True")]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
