#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Training steps of one size, then a larger one: enough memory is free for it, but in pieces.

    python fragmented.py snapshot.pickle
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("snapshot")
parser.add_argument("--steps", type=int, default=4)
args = parser.parse_args()
torch.cuda.memory._record_memory_history(stacks="python")
model = nn.ModuleList(nn.Linear(768, 768) for _ in range(24)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)


def forward(x):
    for layer in model:
        x = x + F.relu(layer(x))
    return x


def train_step(rows):
    x = torch.randn(rows, 768).cuda()
    forward(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


try:
    for _ in range(args.steps):
        train_step(4000)
    train_step(9000)             # the last batch is larger
finally:
    print("peak reserved:", torch.cuda.max_memory_reserved() >> 20, "MiB, peak allocated:",
          torch.cuda.max_memory_allocated() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot(args.snapshot)
