#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A graph network of two rounds of messages. The whole graph stays on the card from the first step to the last."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Messages(nn.Module):
    def __init__(self, narrow, wide):
        super().__init__()
        self.own, self.others = nn.Linear(narrow, wide), nn.Linear(narrow, wide)

    def forward(self, x, source, target):
        sums = torch.zeros(x.shape[0], x.shape[1], device=x.device).index_add(0, target, x[source])
        return self.own(x) + self.others(sums)


class GNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = Messages(64, 128), Messages(128, 16)

    def forward(self, x, source, target):
        return self.second(F.relu(self.first(x, source, target)), source, target)


nodes, edges = 20000, 100000
x = torch.randn(nodes, 64).cuda()
source, target = torch.randint(nodes, (2, edges)).cuda()
labels = torch.randint(16, (nodes,)).cuda()
model = GNN().cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(4):
    optimizer.zero_grad()
    F.cross_entropy(model(x, source, target), labels).backward()
    optimizer.step()
