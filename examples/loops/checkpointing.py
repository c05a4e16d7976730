#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Both kinds of activation checkpointing: half of the layers recompute with `use_reentrant`, half without."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

layers = nn.ModuleList(nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(8)).cuda()
head = nn.Linear(1024, 100).cuda()
optimizer = torch.optim.AdamW([*layers.parameters(), *head.parameters()], lr=1e-4)
for step in range(3):
    x, y = torch.randn(4096, 1024).cuda(), torch.randint(100, (4096,)).cuda()
    x = layers[0](x)
    for i, layer in enumerate(layers[1:]):
        x = x + checkpoint(layer, x, use_reentrant=i % 2 == 0)
    loss = F.cross_entropy(head(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
