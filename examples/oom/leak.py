#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Equal training steps, each of which keeps its output: live memory grows until a request is refused.

    python leak.py snapshot.pickle [--steps 60]
"""
import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("snapshot")
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.cuda.memory._record_memory_history(stacks="python")
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(8)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
kept, done = [], 0
try:
    for _ in range(args.steps):
        y = model(torch.randn(4096, 1024).cuda())
        kept.append(y.detach())              # the leak: meant as a number, kept as a tensor
        y.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        done += 1
finally:
    print("steps done:", done, flush=True)
    torch.cuda.memory._dump_snapshot(args.snapshot)
