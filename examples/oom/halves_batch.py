#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Training that halves its batch when it runs out of memory, and goes on: refusals that the program survives.

    python halves_batch.py snapshot.pickle [--batch 64]
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def step(model, optimizer, batch):
    x = torch.randn(batch, 1024, 512).cuda()
    F.mse_loss(model(x), x).backward()
    optimizer.step()
    optimizer.zero_grad()


def train(batch, steps):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512))
                            for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    done = 0
    while done < steps:
        try:
            step(model, optimizer, batch)
            done += 1
        except torch.cuda.OutOfMemoryError:
            optimizer.zero_grad()
            batch //= 2
            if batch == 0:
                raise
    return batch


parser = argparse.ArgumentParser()
parser.add_argument("snapshot")
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--steps", type=int, default=4)
args = parser.parse_args()
torch.cuda.memory._record_memory_history(stacks="python")
print("trained with batch", train(args.batch, args.steps))
print("peak reserved:", torch.cuda.max_memory_reserved() >> 20, "MiB")
torch.cuda.memory._dump_snapshot(args.snapshot)
