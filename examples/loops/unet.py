#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A small diffusion model: a U-net learns the noise that was added to a picture."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def double(narrow, wide):
    return nn.Sequential(nn.Conv2d(narrow, wide, 3, padding=1), nn.GroupNorm(8, wide), nn.SiLU(),
                         nn.Conv2d(wide, wide, 3, padding=1), nn.GroupNorm(8, wide), nn.SiLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = double(3, 32), double(32, 64), double(64, 128)
        self.up2, self.up1 = double(128 + 64, 64), double(64 + 32, 32)
        self.time, self.out = nn.Linear(1, 128), nn.Conv2d(32, 3, 1)

    def forward(self, x, t):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.middle(F.max_pool2d(b, 2)) + self.time(t)[:, :, None, None]
        b = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], dim=1))
        return self.out(self.up1(torch.cat([F.interpolate(b, scale_factor=2), a], dim=1)))


model = UNet().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
kept = torch.linspace(1.0, 0.01, 1000).cuda()
for step in range(3):
    pictures = torch.randn(16, 3, 64, 64).cuda()
    t = torch.randint(1000, (16,), device="cuda")
    noise = torch.randn_like(pictures)
    noisy = kept[t].sqrt()[:, None, None, None] * pictures + (1 - kept[t]).sqrt()[:, None, None, None] * noise
    loss = F.mse_loss(model(noisy, t[:, None] / 1000), noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
