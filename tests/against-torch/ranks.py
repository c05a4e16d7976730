#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Hold `replay FOLDER` against real PyTorch: a job of ranks on the simulated card, of which some need more than others.

    PYTHONPATH=FOLDER_WITH_TORCH tests/against-torch/ranks.py [--build FOLDER] [--ranks N] [--write FOLDER]

Each rank is a process of a gloo group on a card of its own. Rank 0 has the output layer too, and the last rank the
longest batch. `replay FOLDER` must say of each rank what PyTorch counted there, and name the lines. --write keeps the
recordings: tests/data/ranks was made so. Exit status 0: all true.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import plain_recording

ROOT = pathlib.Path(__file__).resolve().parents[2]


def train(rank, ranks, group):
    """One rank: counts.RANK in the folder `group` gets what PyTorch counted."""
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo", init_method="file://%s/group" % group, rank=rank, world_size=ranks)
    torch.cuda.set_device(rank)
    layers = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(4)]).cuda()
    head = torch.nn.Linear(512, 8192).cuda() if rank == 0 else None
    parameters = list(layers.parameters()) + (list(head.parameters()) if head else [])
    optimizer = torch.optim.Adam(parameters)
    rows = 512 * (2 if rank == ranks - 1 else 1)
    for _ in range(3):
        x = torch.zeros(rows, 512, device="cuda")
        y = layers(x).relu()
        loss = head(y).sum() if head else y.sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    stats = torch.cuda.memory_stats()
    pathlib.Path(group, "counts.%d" % rank).write_text(json.dumps(stats["reserved_bytes.all.peak"]))


def launch(ranks, group):
    """All ranks, as torchrun starts them."""
    children = [subprocess.Popen([sys.executable, __file__, "--rank", str(r), "--ranks", str(ranks), "--group", group],
                                 env=dict(os.environ, RANK=str(r), WORLD_SIZE=str(ranks))) for r in range(ranks)]
    sys.exit(max(c.wait() for c in children))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--write", type=pathlib.Path, metavar="FOLDER", help="keep the recordings there")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--group", help=argparse.SUPPRESS)
    o = parser.parse_args()
    if o.group:
        return train(o.rank, o.ranks, o.group) if o.rank is not None else launch(o.ranks, o.group)
    replay = str((o.build / "replay").resolve())
    with tempfile.TemporaryDirectory() as folder:
        group, job = pathlib.Path(folder, "group"), pathlib.Path(folder, "job")
        group.mkdir()
        job.mkdir()
        subprocess.run([replay, "run-sim", "--device", "sim:24GiB,count=%d" % o.ranks, "-o", str(job / "run"), "--",
                        sys.executable, __file__, "--ranks", str(o.ranks), "--group", str(group)], check=True,
                       capture_output=True)
        answer = json.loads(subprocess.run([replay, str(job), "--json", "-"], check=True, capture_output=True).stdout)
        counted = {r: json.loads((group / ("counts.%d" % r)).read_text()) for r in range(o.ranks)}
        said = {r["rank"]: r["peak_reserved_bytes"] for r in answer["ranks"]}
        lines = [line["line"].partition(":")[0].rpartition("/")[2] for line in answer["lines"]]
        print("PyTorch counted", counted, "\nreplay says    ", said, "\nthe lines are of", set(lines))
        is_true = (said == counted and "rank%d." % max(counted, key=counted.get) in answer["worst"] and
                   lines[0] == pathlib.Path(__file__).name)
        for path in job.glob("*.pickle") if o.write else ():
            plain_recording.keep(replay, path, o.write.resolve() / (path.stem + ".zst"))
    sys.exit(not is_true)


if __name__ == "__main__":
    main()
