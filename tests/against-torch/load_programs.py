#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The programs that `replay generate` imitates, for loads.py: the same shapes under the same names.

    load_programs.py transformer layers=2,width=256,...
    load_programs.py cnn stages=3,width=32,...
    load_programs.py serve layers=2,...,cache=paged,requests=16:8;24:4         (prompt:answer, in tokens)
"""
import os
import sys
import time

import torch
import torch.distributed
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.utils.checkpoint import checkpoint

TRANSFORMER = dict(layers=2, width=256, heads=4, hidden=0, vocabulary=1000, batch=4, length=128, steps=3,
                   precision="fp32", optimizer="adamw", checkpointing="no", accumulate=1, dropout="no",
                   data=1, zero="no", tensor=1, stages=1,
                   stage=0, lora=0, experts=0, chosen=2, skew=4)
CNN = dict(stages=3, width=32, image=64, classes=10, batch=16, steps=3, optimizer="sgd")
SERVE = dict(layers=2, width=256, heads=4, hidden=0, vocabulary=1000, cache="contiguous", running=8, block=16,
             requests="16:8;24:4")


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


class Shared(torch.autograd.Function):
    """The input of layers that are split over ranks: gradients of all ranks are added (Megatron-LM's f)."""

    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, gradient):
        torch.distributed.all_reduce(gradient)
        return gradient


class Summed(torch.autograd.Function):
    """The parts of all ranks added (Megatron-LM's g)."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        torch.distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(_, gradient):
        return gradient


class SplitRows(nn.Module):
    """A linear layer of which each rank has some of the inputs."""

    def __init__(self, n_in, n_out, o):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(n_out, n_in // o.tensor)), nn.Parameter(torch.empty(n_out))

    def forward(self, x):
        return Summed.apply(F.linear(x, self.weight)) + self.bias


def split_columns(n_in, n_out, o):
    return nn.Linear(n_in, n_out // o.tensor) if o.tensor > 1 else linear(n_in, n_out, o)


def split_rows(n_in, n_out, o):
    return SplitRows(n_in, n_out, o) if o.tensor > 1 else linear(n_in, n_out, o)


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


def dropout_of(o):
    """The share that is dropped."""
    return 0.1 if o.dropout == "yes" else 0.0


class Block(nn.Module):
    def __init__(self, o):
        super().__init__()
        hidden = o.hidden or 4 * o.width
        self.heads, self.dropout, self.split = o.heads // o.tensor, dropout_of(o), o.tensor > 1
        self.norm1, self.norm2 = nn.LayerNorm(o.width), nn.LayerNorm(o.width)
        self.qkv, self.out = split_columns(o.width, 3 * o.width, o), split_rows(o.width, o.width, o)
        if o.experts:
            self.experts = Experts(o.width, hidden, o)
        else:
            self.up, self.down = split_columns(o.width, hidden, o), split_rows(hidden, o.width, o)

    def shared(self, x):
        return Shared.apply(x) if self.split else x

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2)
                   for y in self.qkv(self.shared(self.norm1(x))).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout)
        x = x + F.dropout(self.out(y.transpose(1, 2).reshape(b, t, -1)), self.dropout)
        if hasattr(self, "experts"):
            return x + F.dropout(self.experts(self.norm2(x)), self.dropout)
        return x + F.dropout(self.down(F.gelu(self.up(self.shared(self.norm2(x))))), self.dropout)


class Transformer(nn.Module):
    """All of it, or a stage of a pipeline."""

    def __init__(self, o):
        super().__init__()
        self.is_first, self.is_last = o.stage == 0, o.stage == o.stages - 1
        if self.is_first:
            self.tokens, self.places = nn.Embedding(o.vocabulary, o.width), nn.Embedding(o.length, o.width)
        self.blocks = nn.ModuleList(Block(o) for _ in range(o.layers // o.stages))
        if self.is_last:
            self.norm, self.head = nn.LayerNorm(o.width), nn.Linear(o.width, o.vocabulary, bias=False)
        self.checkpointed, self.dropout = o.checkpointing == "yes", dropout_of(o)

    def embedded(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        return F.dropout(x, self.dropout)

    def forward(self, x):
        if self.is_first:
            x = self.embedded(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(self.norm(x)) if self.is_last else x


def optimizer_of(o, parameters):
    kind = torch.optim.AdamW if o.optimizer == "adamw" else torch.optim.SGD
    settings = {"lr": 1e-3, **({"momentum": 0.9} if o.optimizer == "momentum" else {})}
    if getattr(o, "zero", "no") == "states":
        return ZeroRedundancyOptimizer(parameters, kind, **settings)
    return kind(parameters, **settings)


def train_transformer(o):
    if o.stages > 1:
        o.stage = torch.distributed.get_rank()
    model = Transformer(o)
    if o.lora:
        for name, p in model.named_parameters():
            p.requires_grad_(".a." in name or ".b." in name)
    model = model.cuda() if o.precision != "bf16" else model.bfloat16().cuda()
    if o.zero == "all":
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
    elif o.data > 1:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = optimizer_of(o, [p for p in model.parameters() if p.requires_grad])
    if o.stages > 1:
        return run_pipeline(o, model, optimizer)
    for _ in range(o.steps):
        for _ in range(o.accumulate):
            tokens = torch.randint(o.vocabulary, (o.batch, o.length + 1))
            x, y = tokens[:, :-1].cuda(), tokens[:, 1:].cuda()
            with autocast_of(o):
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            loss.backward()
            if o.data > 1:
                time.sleep(0.5)      # as long as a real step: NCCL's watchdog lets go of the buckets ten times a second
        optimizer.step()
        optimizer.zero_grad()


def autocast_of(o):
    return torch.autocast("cuda", dtype=torch.bfloat16, enabled=o.precision == "autocast")


def micro_forward(o, model):
    """A batch of the step through this stage; what its backward pass needs."""
    targets = None
    if model.is_first:
        x = torch.randint(o.vocabulary, (o.batch, o.length)).cuda()
    else:
        x = torch.empty(o.batch, o.length, o.width, device="cuda", requires_grad=True,
                        dtype=torch.bfloat16 if o.precision == "bf16" else torch.float32)
        torch.distributed.recv(x.detach(), o.stage - 1)
    if model.is_last:
        targets = torch.randint(o.vocabulary, (o.batch, o.length)).cuda()
    with autocast_of(o):
        y = F.cross_entropy(model(x).flatten(0, 1), targets.flatten()) if model.is_last else model(x)
    if not model.is_last:
        torch.distributed.send(y.detach(), o.stage + 1)
    return x, y, targets


def micro_backward(o, model, waiting):
    (x, y, targets), gradient = waiting.pop(0), None
    if not model.is_last:
        gradient = torch.empty_like(y)
        torch.distributed.recv(gradient, o.stage + 1)
    y.backward(gradient)
    if not model.is_first:
        torch.distributed.send(x.grad, o.stage - 1)
    del x, y, targets, gradient


def run_pipeline(o, model, optimizer):
    """One forward, one backward (Megatron-LM's schedule): a stage begins with one batch for each stage after it."""
    warm = min(o.stages - o.stage - 1, o.accumulate)
    for _ in range(o.steps):
        waiting = [micro_forward(o, model) for _ in range(warm)]
        for _ in range(o.accumulate - warm):
            waiting.append(micro_forward(o, model))
            micro_backward(o, model, waiting)
        while waiting:
            micro_backward(o, model, waiting)
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


class Paged(Cached):
    """The same model for the tokens of all requests at once, whose keys and values go to blocks of some tokens."""

    def forward(self, tokens, places, last, ends):
        x = self.tokens(tokens)
        b, t, c = x.shape
        for i in range(len(self.qkv)):
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in self.qkv[i](x).chunk(3, dim=-1))
            for row, (block, offset) in enumerate(places):
                block[i, 0, :, offset].copy_(k[0, :, row])
                block[i, 1, :, offset].copy_(v[0, :, row])
            rows = (y[0].transpose(0, 1) for y in (q, k, v))         # for sequences of many lengths
            y = torch.ops.aten._flash_attention_forward(*rows, ends, ends, t, t, 0.0, True, False)[0]
            x = x + self.out[i](y.reshape(b, t, c))
            x = x + self.down[i](F.gelu(self.up[i](x)))
        return self.head(x[0, last])


class Request:
    """A request that runs: its keys and values, in tensors by layer or in blocks."""

    def __init__(self, text, o):
        self.prompt, self.answer = map(int, text.split(":"))
        self.n_done = self.n_answered = 0
        self.cache, self.blocks = [None] * o.layers, []
        self.tokens = torch.randint(o.vocabulary, (1, self.prompt)).cuda() if o.cache == "contiguous" else None

    def advance(self):
        """Does the prompt, or a token; returns how many tokens that is."""
        n = 1 if self.n_done else self.prompt
        self.n_done += n
        self.n_answered += 1
        return n

    def places(self, n, o):
        """Where the n new tokens go: block and offset. Takes the blocks that they need."""
        while len(self.blocks) * o.block < self.n_done:
            self.blocks.append(torch.empty(o.layers, 2, o.heads, o.block, o.width // o.heads, dtype=torch.bfloat16,
                                           device="cuda"))
        return [(self.blocks[at // o.block], at % o.block) for at in range(self.n_done - n, self.n_done)]


def step_contiguous(model, running, _):
    for r in running:
        r.tokens = model(r.tokens, r.cache).argmax(-1, keepdim=True)
        r.advance()


def step_paged(model, running, o):
    places, last = [], []
    for r in running:
        places += r.places(r.advance(), o)
        last.append(len(places) - 1)
    tokens = torch.randint(o.vocabulary, (1, len(places))).cuda()
    ends = torch.tensor([0] + [row + 1 for row in last], dtype=torch.int32).cuda()
    model(tokens, places, last, ends).argmax(-1)


@torch.no_grad()
def serve(o):
    model, step = (Paged(o), step_paged) if o.cache == "paged" else (Cached(o), step_contiguous)
    model.bfloat16().cuda()
    waiting, running = o.requests.split(";"), []
    while waiting or running:
        while waiting and len(running) < o.running:
            running.append(Request(waiting.pop(0), o))
        step(model, running, o)
        running = [r for r in running if r.n_answered < r.answer]


if __name__ == "__main__":
    kind, text = (sys.argv[1:] + [""])[:2]
    if "RANK" in os.environ:
        torch.cuda.set_device(int(os.environ["RANK"]))
        torch.distributed.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["RANK"])))
    if kind == "transformer":
        train_transformer(options(text, TRANSFORMER))
    elif kind == "cnn":
        train_cnn(options(text, CNN))
    elif kind == "serve":
        serve(options(text, SERVE))
    else:
        raise SystemExit(__doc__)
