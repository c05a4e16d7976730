#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Two models against each other: a generator and a discriminator, each with an optimizer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

generator = nn.Sequential(nn.ConvTranspose2d(64, 128, 4), nn.BatchNorm2d(128), nn.ReLU(),
                          nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.BatchNorm2d(64), nn.ReLU(),
                          nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 3, 4, 2, 1), nn.Tanh()).cuda()
judge = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(64, 128, 4, 2, 1), nn.LeakyReLU(0.2),
                      nn.Flatten(), nn.Linear(128 * 64, 1)).cuda()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_j = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
yes, no = torch.ones(128, 1, device="cuda"), torch.zeros(128, 1, device="cuda")
for step in range(3):
    real = torch.randn(128, 3, 32, 32).cuda()
    made = generator(torch.randn(128, 64, 1, 1, device="cuda"))
    loss_j = F.binary_cross_entropy_with_logits(judge(real), yes)
    loss_j = loss_j + F.binary_cross_entropy_with_logits(judge(made.detach()), no)
    optimizer_j.zero_grad()
    loss_j.backward()
    optimizer_j.step()
    loss_g = F.binary_cross_entropy_with_logits(judge(made), yes)
    optimizer_g.zero_grad()
    loss_g.backward()
    optimizer_g.step()
