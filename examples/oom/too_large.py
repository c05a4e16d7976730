#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A language model trained with Adam that is too large for a small card: it needs about 7 GiB.

    python too_large.py snapshot.pickle [--steps 3] [--batch 8]

The memory history is written at the end, or where the program runs out of memory.
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, vocabulary, length, width, layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(args):
    model = Model(8192, 512, 1024, 16).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(args.steps):
        tokens = torch.randint(8192, (args.batch, 512)).cuda()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


parser = argparse.ArgumentParser()
parser.add_argument("snapshot")
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--batch", type=int, default=8)
args = parser.parse_args()
torch.cuda.memory._record_memory_history(stacks="python")
try:
    train(args)
finally:
    print("peak reserved:", torch.cuda.max_memory_reserved() >> 20, "MiB")
    torch.cuda.memory._dump_snapshot(args.snapshot)
