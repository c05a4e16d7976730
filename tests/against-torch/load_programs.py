#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The programs that `replay generate` imitates, for loads.py: the same shapes under the same names.

    load_programs.py transformer layers=2,width=256,...
    load_programs.py cnn stages=3,width=32,...
    load_programs.py serve layers=2,...,requests=16:8;24:4
"""
import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

TRANSFORMER = dict(layers=2, width=256, heads=4, hidden=0, vocabulary=1000, batch=4, length=128, steps=3,
                   precision="fp32", optimizer="adamw", checkpointing="no", accumulate=1, lora=0,
                   experts=0, chosen=2, skew=4)
CNN = dict(stages=3, width=32, image=64, classes=10, batch=16, steps=3, optimizer="sgd")
SERVE = dict(layers=2, width=256, heads=4, hidden=0, vocabulary=1000, requests="16:8;24:4")


def options(text, fallback):
    """The options of a load, as typed, over their defaults."""
    given = dict(pair.split("=", 1) for pair in text.split(",") if pair)
    unknown = set(given) - set(fallback)
    if unknown:
        raise SystemExit(f"load_programs.py: no option {', '.join(sorted(unknown))}")
    return type("Options", (), {k: type(v)(given.get(k, v)) for k, v in fallback.items()})


class LowRank(nn.Module):
    """A frozen linear layer with a trained correction of low rank."""

    def __init__(self, n_in, n_out, rank):
        super().__init__()
        self.frozen = nn.Linear(n_in, n_out)
        self.frozen.requires_grad_(False)
        self.a, self.b = nn.Linear(n_in, rank, bias=False), nn.Linear(rank, n_out, bias=False)

    def forward(self, x):
        return self.frozen(x) + self.b(self.a(x))


def linear(n_in, n_out, o):
    return LowRank(n_in, n_out, o.lora) if o.lora else nn.Linear(n_in, n_out)


class Experts(nn.Module):
    """A mixture of experts, in a loop. Which token goes where is given, and how many by loads/experts.h: so the memory
    does not hang on values."""

    def __init__(self, width, hidden, o):
        super().__init__()
        self.router = nn.Linear(width, o.experts, bias=False)
        self.up = nn.ModuleList(nn.Linear(width, hidden) for _ in range(o.experts))
        self.down = nn.ModuleList(nn.Linear(hidden, width) for _ in range(o.experts))
        last = max(o.experts - 1, 1)
        self.weights = [o.skew * (last - i) + i for i in range(o.experts)]
        self.chosen = o.chosen

    def forward(self, x):
        b, t, c = x.shape
        flat = x.reshape(b * t, c)
        scores = F.softmax(self.router(flat), dim=-1)
        out = torch.zeros_like(flat)
        n_all, before = b * t * self.chosen, 0
        for i, weight in enumerate(self.weights):
            first, end = n_all * before // sum(self.weights), n_all * (before + weight) // sum(self.weights)
            before += weight
            rows = (torch.arange(first, end) % (b * t)).cuda()
            y = self.down[i](F.gelu(self.up[i](flat[rows])))
            out = out.index_add(0, rows, y * scores[rows, i].unsqueeze(1))
        return out.view(b, t, c)


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        hidden = o.hidden or 4 * o.width
        self.heads = o.heads
        self.norm1, self.norm2 = nn.LayerNorm(o.width), nn.LayerNorm(o.width)
        self.qkv, self.out = linear(o.width, 3 * o.width, o), linear(o.width, o.width, o)
        if o.experts:
            self.experts = Experts(o.width, hidden, o)
        else:
            self.up, self.down = linear(o.width, hidden, o), linear(hidden, o.width, o)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        if hasattr(self, "experts"):
            return x + self.experts(self.norm2(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.tokens, self.places = nn.Embedding(o.vocabulary, o.width), nn.Embedding(o.length, o.width)
        self.blocks = nn.ModuleList(Block(o) for _ in range(o.layers))
        self.norm, self.head = nn.LayerNorm(o.width), nn.Linear(o.width, o.vocabulary, bias=False)
        self.checkpointed = o.checkpointing == "yes"

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(self.norm(x))


def optimizer_of(o, parameters):
    if o.optimizer == "adamw":
        return torch.optim.AdamW(parameters, lr=1e-3)
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9 if o.optimizer == "momentum" else 0)


def train_transformer(o):
    model = Transformer(o)
    if o.lora:
        for name, p in model.named_parameters():
            p.requires_grad_(".a." in name or ".b." in name)
    model = model.cuda() if o.precision != "bf16" else model.bfloat16().cuda()
    optimizer = optimizer_of(o, [p for p in model.parameters() if p.requires_grad])
    for _ in range(o.steps):
        for _ in range(o.accumulate):
            tokens = torch.randint(o.vocabulary, (o.batch, o.length + 1))
            x, y = tokens[:, :-1].cuda(), tokens[:, 1:].cuda()
            with torch.autocast("cuda", dtype=torch.bfloat16, enabled=o.precision == "autocast"):
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Stage(nn.Module):
    """Two convolutions, the first of which halves the image."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(n_in, n_out, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(n_out)
        self.conv2, self.norm2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False), nn.BatchNorm2d(n_out)
        self.short, self.norm3 = nn.Conv2d(n_in, n_out, 1, stride=2, bias=False), nn.BatchNorm2d(n_out)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.norm3(self.short(x)))


class Convolutions(nn.Module):
    def __init__(self, o):
        super().__init__()
        self.stem, self.norm = nn.Conv2d(3, o.width, 3, padding=1, bias=False), nn.BatchNorm2d(o.width)
        self.stages = nn.ModuleList(Stage(o.width << i, o.width << (i + 1)) for i in range(o.stages))
        self.head = nn.Linear(o.width << o.stages, o.classes)

    def forward(self, x):
        x = F.relu(self.norm(self.stem(x)))
        for stage in self.stages:
            x = stage(x)
        return self.head(x.mean((2, 3)))


def train_cnn(o):
    model = Convolutions(o).cuda()
    optimizer = optimizer_of(o, list(model.parameters()))
    for _ in range(o.steps):
        images, classes = torch.randn(o.batch, 3, o.image, o.image), torch.randint(o.classes, (o.batch,))
        x, y = images.cuda(), classes.cuda()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


class Cached(nn.Module):
    """A decoder that keeps keys and values by concatenation, as Hugging Face's DynamicCache does."""

    def __init__(self, o):
        super().__init__()
        hidden = o.hidden or 4 * o.width
        self.heads, self.width = o.heads, o.width
        self.qkv = nn.ModuleList(nn.Linear(o.width, 3 * o.width) for _ in range(o.layers))
        self.out = nn.ModuleList(nn.Linear(o.width, o.width) for _ in range(o.layers))
        self.up = nn.ModuleList(nn.Linear(o.width, hidden) for _ in range(o.layers))
        self.down = nn.ModuleList(nn.Linear(hidden, o.width) for _ in range(o.layers))
        self.tokens, self.head = nn.Embedding(o.vocabulary, o.width), nn.Linear(o.width, o.vocabulary, bias=False)

    def forward(self, tokens, cache):
        x = self.tokens(tokens)
        b, t, c = x.shape
        for i in range(len(self.qkv)):
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv[i](x).chunk(3, dim=-1))
            if cache[i] is not None:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            cache[i] = (k, v)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
            x = x + self.out[i](y.transpose(1, 2).reshape(b, t, c))
            x = x + self.down[i](F.gelu(self.up[i](x)))
        return self.head(x[:, -1])


@torch.no_grad()
def serve(o):
    model = Cached(o).bfloat16().cuda()
    for request in o.requests.split(";"):
        prompt, answer = map(int, request.split(":"))
        cache = [None] * o.layers
        tokens = torch.randint(o.vocabulary, (1, prompt)).cuda()
        for _ in range(answer):
            tokens = model(tokens, cache).argmax(-1, keepdim=True)


if __name__ == "__main__":
    kind, text = (sys.argv[1:] + [""])[:2]
    if kind == "transformer":
        train_transformer(options(text, TRANSFORMER))
    elif kind == "cnn":
        train_cnn(options(text, CNN))
    elif kind == "serve":
        serve(options(text, SERVE))
    else:
        raise SystemExit(__doc__)
