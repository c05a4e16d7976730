#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Low-rank adapters beside the frozen layers of a language model: only the adapters have gradients and states."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from gpt import GPT


class Adapted(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.01)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.down), self.up)


model = GPT(width=512, layers=6)
for p in model.parameters():
    p.requires_grad = False
for block in model.blocks:
    block.qkv, block.out = Adapted(block.qkv, 8), Adapted(block.out, 8)
model = model.to(torch.bfloat16).cuda()
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)
for step in range(3):
    tokens = torch.randint(1000, (8, 257)).cuda()
    loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
