#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""GPT-2 small (124 M parameters) in plain PyTorch: five steps of AdamW in single precision, 4 sequences of 512 tokens.

    python gpt2.py [--checkpoint] [--steps 5] [--late snapshot.pickle]

The model has the sizes and operations of the published one: tied embeddings, dropout, the "new" GELU written as one
tanh formula, a mask in each attention, and logits of all places. With --late the memory history begins when the model
is on the card already, as in the published recording, and is written at the end.
"""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 50257, 1024, 768, 12, 12


def new_gelu(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out, self.drop = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH), nn.Dropout(0.1)
        self.register_buffer("past", torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril())

    def forward(self, x, copies):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.qkv(x).split(WIDTH, dim=2))
        if copies:                                   # the published model puts keys and values into a cache, as copies
            k, v = k.contiguous(), v.contiguous()
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)
        return self.drop(self.out(y.transpose(1, 2).reshape(b, t, c)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention()
        self.up, self.down, self.drop = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1)

    def forward(self, x, copies):
        x = x + self.attention(self.norm1(x), copies)
        return x + self.drop(self.down(new_gelu(self.up(self.norm2(x)))))


class GPT2(nn.Module):
    def __init__(self, checkpointed):
        super().__init__()
        self.tokens, self.places, self.drop = (nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH),
                                               nn.Dropout(0.1))
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.head.weight = self.tokens.weight
        self.checkpointed = checkpointed

    def forward(self, tokens):
        x = self.drop(self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device)))
        for block in self.blocks:
            x = checkpoint(block, x, False, use_reentrant=False) if self.checkpointed else block(x, True)
        logits = self.head(self.norm(x))
        targets = F.pad(tokens, (0, 1), value=-100)[:, 1:]
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten()), logits


parser = argparse.ArgumentParser()
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--steps", type=int, default=5)
parser.add_argument("--late")
args = parser.parse_args()
model = GPT2(args.checkpoint).cuda().train()
if args.late:
    torch.cuda.memory._record_memory_history(stacks="python")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
for step in range(args.steps):
    tokens = torch.randint(VOCABULARY, (4, 512), device="cuda")
    optimizer.zero_grad()
    loss, logits = model(tokens)
    loss.backward()
    optimizer.step()
if args.late:
    torch.cuda.memory._dump_snapshot(args.late)
print("peak: %.2f GiB" % (torch.cuda.max_memory_allocated() / 2 ** 30))
