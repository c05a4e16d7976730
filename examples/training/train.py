#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A character-level language model, as one writes it for a machine with a GPU: nothing here knows of `replay`.

    python train.py --epochs 1 --out checkpoints/
"""
import argparse
import math
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Corpus(Dataset):
    """Windows of a made-up text; one sequence and the same moved by one."""

    def __init__(self, n, length, vocabulary, seed):
        generator = torch.Generator().manual_seed(seed)
        self.tokens = torch.randint(vocabulary, (n * length + 1,), generator=generator)
        self.n, self.length = n, length

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        window = self.tokens[i * self.length:(i + 1) * self.length + 1]
        return window[:-1], window[1:]


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, t, c)))
        return x + self.drop(self.mlp(self.norm2(x)))


class Transformer(nn.Module):
    def __init__(self, vocabulary, length, width, heads, layers, dropout=0.1):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, targets=None):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    total, n = 0.0, 0
    for tokens, targets in loader:
        tokens, targets = tokens.to(device, non_blocking=True), targets.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            total += model(tokens, targets)[1].item() * len(tokens)
        n += len(tokens)
    model.train()
    return total / n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", default="checkpoints")
    args = parser.parse_args()

    torch.manual_seed(1337)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vocabulary = 512
    train = DataLoader(Corpus(args.samples, args.length, vocabulary, 1), args.batch, shuffle=True, drop_last=True,
                       num_workers=args.workers, pin_memory=True)
    held_out = DataLoader(Corpus(args.samples // 4, args.length, vocabulary, 2), args.batch, num_workers=args.workers,
                          pin_memory=True)
    model = Transformer(vocabulary, args.length, args.width, 4, args.layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)
    steps = args.epochs * len(train)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / 10) * 0.5 * (1 + math.cos(math.pi * step / max(1, steps))))
    os.makedirs(args.out, exist_ok=True)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters on {device}")

    best = float("inf")
    for epoch in range(args.epochs):
        started = time.time()
        for step, (tokens, targets) in enumerate(train):
            tokens, targets = tokens.to(device, non_blocking=True), targets.to(device, non_blocking=True)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                _, loss = model(tokens, targets)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            if step % 10 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        score = validate(model, held_out, device)
        print(f"epoch {epoch}: validation {score:.4f}, {time.time() - started:.1f} s, "
              f"peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch},
                   os.path.join(args.out, "last.pt"))
        if score < best:
            best = score
            torch.save(model.state_dict(), os.path.join(args.out, "best.pt"))
    print("done")


if __name__ == "__main__":
    main()
