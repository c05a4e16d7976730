#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A language model answers: a long prompt first, then token by token, with keys and values kept. Nothing is trained."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, kept):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(x).chunk(3, dim=-1))
        if kept is not None:
            k, v = torch.cat([kept[0], k], dim=2), torch.cat([kept[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=kept is None)
        return self.out(y.transpose(1, 2).reshape(b, t, c)), (k, v)


class Model(nn.Module):
    def __init__(self, width=512, layers=6):
        super().__init__()
        self.embed = nn.Embedding(4000, width)
        self.layers = nn.ModuleList(Attention(width, 8) for _ in range(layers))
        self.head = nn.Linear(width, 4000)

    def forward(self, tokens, kept):
        x, new = self.embed(tokens), []
        for layer, old in zip(self.layers, kept):
            y, pair = layer(x, old)
            x = x + y
            new.append(pair)
        return self.head(x[:, -1:]), new


model, kept = Model().cuda().eval(), [None] * 6
with torch.inference_mode():
    tokens = torch.randint(4000, (8, 1024)).cuda()
    for _ in range(8):
        logits, kept = model(tokens, kept)
        tokens = logits.argmax(dim=-1)
