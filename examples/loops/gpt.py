#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A small language model, trained as many people train theirs.

    python gpt.py [--batch 16] [--bf16] [--checkpoint] [--accumulate 2] [--clip] [--evaluate] [--grow] [--loop-adamw]
                  [--keep-gradients]
"""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, t, c)))
        return x + self.drop(self.down(F.gelu(self.up(self.norm2(x)))))


class GPT(nn.Module):
    def __init__(self, vocabulary=1000, length=512, width=256, heads=4, layers=4, checkpointed=False):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.checkpointed = checkpointed

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(self.norm(x))


def train(args):
    model = GPT(checkpointed=args.checkpoint).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False if args.loop_adamw else None)
    for step in range(args.steps):
        length = 128 + (step % 3) * 64 if args.grow else 128
        for _ in range(args.accumulate):
            tokens = torch.randint(1000, (args.batch, length + 1))
            x, y = tokens[:, :-1].cuda(), tokens[:, 1:].cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=args.bf16):
                logits = model(x)
                loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / args.accumulate
            loss.backward()
        if args.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=not args.keep_gradients)
        if args.evaluate:
            model.eval()
            with torch.no_grad():
                model(x)
            model.train()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--accumulate", type=int, default=1)
    for switch in ("bf16", "checkpoint", "clip", "evaluate", "grow", "loop-adamw", "keep-gradients"):
        parser.add_argument("--" + switch, action="store_true")
    train(parser.parse_args())
