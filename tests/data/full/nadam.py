# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Dies in the first step of an optimizer that has no fused=True:

    replay run-sim --device sim:900MiB -o nadam.zst -- python nadam.py"""
import torch
from torch import nn

model = nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(12)]).cuda()
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
x = torch.randn(8, 2048, device="cuda")
for _ in range(10):
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
