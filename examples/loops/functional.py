#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""No nn.Module at all: weights are plain tensors, and the model is a function."""
import torch
import torch.nn.functional as F

weights = [(torch.randn(1024, 1024, device="cuda") * 0.03).requires_grad_() for _ in range(6)]
optimizer = torch.optim.Adam(weights, lr=1e-3)


def model(x):
    for weight in weights:
        x = F.relu(x @ weight)
    return x


for step in range(3):
    x, y = torch.randn(4096, 1024).cuda(), torch.randn(4096, 1024).cuda()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
