#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A small model learns from a large one, which only runs forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def perceptron(width, layers):
    inner = [layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.ReLU())]
    return nn.Sequential(nn.Linear(256, width), *inner, nn.Linear(width, 1000))


teacher = perceptron(2048, 6).cuda().eval()
student = perceptron(512, 3).cuda()
optimizer = torch.optim.SGD(student.parameters(), lr=0.1)            # without momentum: it keeps no state
for step in range(3):
    x = torch.randn(4096, 256).cuda()
    with torch.no_grad():
        goal = F.softmax(teacher(x), dim=-1)
    loss = F.kl_div(F.log_softmax(student(x), dim=-1), goal, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
