#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A residual network on small pictures: convolutions, batch norms with their buffers, SGD with momentum."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, narrow, wide, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(narrow, wide, 3, stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(wide, wide, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(wide), nn.BatchNorm2d(wide)
        self.short = nn.Conv2d(narrow, wide, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.short(x))


model = nn.Sequential(Residual(3, 32, 1), Residual(32, 64, 2), Residual(64, 128, 2), nn.AdaptiveAvgPool2d(1),
                      nn.Flatten(), nn.Linear(128, 10)).cuda()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for step in range(3):
    pictures, labels = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
    pictures, labels = pictures.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
    optimizer.zero_grad()
    loss = criterion(model(pictures), labels)
    loss.backward()
    optimizer.step()
    scheduler.step()
