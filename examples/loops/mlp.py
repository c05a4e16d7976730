#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A multilayer perceptron on made-up data: the smallest whole training loop.

    python mlp.py [--optimizer adam|sgd] [--closure] [--layers 6] [--width 1024] [--batch 4096] [--steps 3]

--closure: the optimizer's step makes the passes, as in Lightning.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", default="adam")
parser.add_argument("--closure", action="store_true")
parser.add_argument("--layers", type=int, default=6)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--batch", type=int, default=4096)
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()

layers = [layer for _ in range(args.layers) for layer in (nn.Linear(args.width, args.width), nn.ReLU())]
model = nn.Sequential(*layers, nn.Linear(args.width, 10)).cuda()
if args.optimizer == "adam":
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
else:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(args.steps):
    x, y = torch.randn(args.batch, args.width).cuda(), torch.randint(10, (args.batch,)).cuda()

    def closure():
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        return loss

    if args.closure:
        loss = optimizer.step(closure)
    else:
        loss = closure()
        optimizer.step()
    optimizer.zero_grad()
