# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs whose tensors grow with one number, each in its own way; extrapolate.py runs them.

    sizes_program.py NAME N [--steps 3]
"""
import argparse

import torch
from torch import nn


class Attention(nn.Module):
    """Scores of every token against every other: they grow with the square of the length."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        scores = torch.softmax(q @ k.transpose(2, 3) / (c // self.heads) ** 0.5, dim=-1)
        return self.out((scores @ v).transpose(1, 2).reshape(b, t, c))


def transformer(batch, length):
    width = 256
    layers = [nn.Embedding(1000, width)]
    for _ in range(3):
        layers += [Attention(width, 4), nn.LayerNorm(width), nn.Linear(width, 1024), nn.GELU(), nn.Linear(1024, width)]
    model = nn.Sequential(*layers, nn.Linear(width, 1000)).cuda()
    return model, lambda: torch.randint(1000, (batch, length), device="cuda")


def convolutions(side):
    """The sides of a picture: tensors grow with their product, less what borders take."""
    model = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1),
                          nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                          nn.Linear(64, 10)).cuda()
    return model, lambda: torch.randn(8, 3, side, side, device="cuda")


def width(n):
    """The width of layers: weights grow with its square, activations with it."""
    model = nn.Sequential(nn.Linear(256, n), nn.ReLU(), nn.Linear(n, n), nn.ReLU(), nn.Linear(n, 10)).cuda()
    return model, lambda: torch.randn(512, 256, device="cuda")


PROGRAMS = {"batch": lambda n: transformer(n, 128), "length": lambda n: transformer(4, n), "side": convolutions,
            "width": width}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=PROGRAMS)
    parser.add_argument("n", type=int)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    model, batch = PROGRAMS[options.name](options.n)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(options.steps):
        optimizer.zero_grad()
        model(batch()).square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
