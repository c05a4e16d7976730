# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Inference of inputs of varying lengths beside a fixed reservation: what is free lies in pieces.

    replay run-sim --device sim:330MiB -o lengths.zst -- python lengths.py"""
import random

import torch
from torch import nn

random.seed(1)
model = nn.Sequential(*(nn.Sequential(nn.Linear(512, 2048), nn.GELU(), nn.Linear(2048, 512)) for _ in range(3)))
model = model.cuda().eval()
reserved = torch.empty(200 << 20, dtype=torch.uint8, device="cuda")
with torch.no_grad():
    for _ in range(60):
        model(torch.randn(8 * random.randint(64, 1000), 512, device="cuda")).sum()
