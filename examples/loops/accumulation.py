#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Four small batches for each step of the optimizer, gradients clipped, and a running mean of the weights."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

model = nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 2048), nn.GELU(), nn.Linear(2048, 512)).cuda()
mean = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    total = 0.0
    for _ in range(4):
        x = torch.randn(2048, 512, device="cuda")
        y = torch.randn(2048, 512, device="cuda")
        loss = F.mse_loss(model(x), y) / 4
        loss.backward()
        total += loss.detach()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        for kept, new in zip(mean.parameters(), model.parameters()):
            kept.lerp_(new, 0.01)
