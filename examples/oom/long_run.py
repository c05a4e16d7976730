#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A long run whose history is limited: only its last part is in the recording, and the largest step is not.

    python long_run.py snapshot.pickle [--max-entries 2000]
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("snapshot")
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--max-entries", type=int, default=2000)
args = parser.parse_args()
torch.cuda.memory._record_memory_history(stacks="python", max_entries=args.max_entries)
model = nn.Sequential(*[nn.Sequential(nn.Linear(512, 2048), nn.GELU()) if i % 2 == 0 else nn.Linear(2048, 512)
                        for i in range(16)]).cuda()
optimizer = torch.optim.Adam(model.parameters())
for i in range(args.steps):
    x = torch.randn(16384 if i == 2 else 4096, 512).cuda()       # one step has a batch four times as large
    F.mse_loss(model(x), x).backward()
    optimizer.step()
    optimizer.zero_grad()
print("peak reserved:", torch.cuda.max_memory_reserved() >> 20, "MiB")
torch.cuda.memory._dump_snapshot(args.snapshot)
