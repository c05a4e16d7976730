#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Programs whose memory is hard to tell apart by call stacks: tests/against-torch/peak_categories.py asks them.

    label_programs.py NAME | --list

Each trains a few steps. FIRST are those that the rules of `who --by category` were mended with; LATER were asked once,
after that.
"""
import copy
import sys

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

CARD, STEPS, WIDTH, BATCH = "cuda", 4, 512, 2048


def perceptron(depth=4, width=WIDTH):
    """Linear layers and their activation functions."""
    layers = [layer for _ in range(depth) for layer in (nn.Linear(width, width), nn.GELU())]
    return nn.Sequential(*layers).to(CARD)


def batch(width=WIDTH):
    """A batch of the host's."""
    return torch.randn(BATCH, width).to(CARD)


def maml():
    """Inner steps by autograd.grad, with weights that are part of the graph."""
    model = perceptron(width=1024)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        weights = dict(model.named_parameters())
        for _ in range(2):
            loss = torch.func.functional_call(model, weights, (batch(1024)[:256],)).square().mean()
            gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {name: w - 0.01 * g for (name, w), g in zip(weights.items(), gradients)}
        torch.func.functional_call(model, weights, (batch(1024)[:256],)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def gan():
    """Two models, two optimizers, and a detached sample between them."""
    maker, judge = perceptron(), nn.Sequential(perceptron(), nn.Linear(WIDTH, 1).to(CARD))
    first, second = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())
    for _ in range(STEPS):
        real, made = batch(), maker(torch.randn(BATCH, WIDTH, device=CARD))
        (F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()).backward()
        second.step()
        second.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        first.step()
        first.zero_grad()
        second.zero_grad()


def moving_average():
    """A copy of the weights that follows them, and one of the best so far."""
    model = perceptron()
    follower = copy.deepcopy(model)
    optimizer, best = torch.optim.AdamW(model.parameters()), None
    for _ in range(STEPS):
        model(batch()).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        with torch.no_grad():
            for slow, fast in zip(follower.parameters(), model.parameters()):
                slow.lerp_(fast, 0.1)
            best = [p.detach().clone() for p in model.parameters()]
    return best


def checkpointing():
    """Blocks that are computed again, with gradients that are accumulated."""
    blocks = [perceptron(2) for _ in range(4)]
    optimizer = torch.optim.AdamW([p for block in blocks for p in block.parameters()])
    for step in range(2 * STEPS):
        x = batch()
        for block in blocks:
            x = checkpoint(block, x, use_reentrant=False)
        (x.square().mean() / 2).backward()
        if step % 2 == 1:
            optimizer.step()
            optimizer.zero_grad()


def sharpness():
    """Sharpness-aware minimisation: weights are moved along the gradient, and back."""
    model = perceptron(width=1024)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    for _ in range(STEPS):
        x = batch(1024)[:512]
        model(x).square().mean().backward()
        with torch.no_grad():
            norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
            moved = []
            for p in model.parameters():
                move = p.grad * (0.05 / (norm + 1e-12))
                p.add_(move)
                moved.append((p, move))
        optimizer.zero_grad()
        model(x).square().mean().backward()
        with torch.no_grad():
            for p, move in moved:
                p.sub_(move)
        optimizer.step()
        optimizer.zero_grad()


def gradient_penalty():
    """The gradient of the input is part of the loss."""
    model = nn.Sequential(perceptron(), nn.Linear(WIDTH, 1).to(CARD))
    optimizer = torch.optim.RMSprop(model.parameters())
    for _ in range(STEPS):
        x = batch().requires_grad_()
        score = model(x)
        slope, = torch.autograd.grad(score.sum(), x, create_graph=True)
        (score.mean() + 10 * (slope.norm(dim=1) - 1).square().mean()).backward()
        optimizer.step()
        optimizer.zero_grad()


def sparse_embedding():
    """An embedding with sparse gradients beside dense layers."""
    table, model = nn.Embedding(50_000, 256, sparse=True).to(CARD), perceptron(width=256)
    sparse, dense = torch.optim.SparseAdam(table.parameters()), torch.optim.Adam(model.parameters())
    for _ in range(STEPS):
        ids = torch.randint(0, 50_000, (64, 128)).to(CARD)
        model(table(ids)).square().mean().backward()
        for optimizer in (sparse, dense):
            optimizer.step()
            optimizer.zero_grad()


def adapters():
    """Frozen weights with small matrices beside them."""
    class Adapted(nn.Module):
        """A frozen layer and its adapter."""

        def __init__(self, layer):
            super().__init__()
            self.layer = layer.requires_grad_(False)
            self.down = nn.Parameter(torch.randn(8, layer.in_features, device=CARD))
            self.up = nn.Parameter(torch.zeros(layer.out_features, 8, device=CARD))

        def forward(self, x):
            """Both, added."""
            return self.layer(x) + x @ self.down.T @ self.up.T
    layers = [layer for _ in range(6) for layer in (Adapted(nn.Linear(2048, 2048).to(CARD)), nn.GELU())]
    model = nn.Sequential(*layers)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad])
    for _ in range(STEPS):
        model(batch(2048)[:512]).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


FIRST = [maml, gan, moving_average, checkpointing]
LATER = [sharpness, gradient_penalty, sparse_embedding, adapters]

if __name__ == "__main__":
    PROGRAMS = {program.__name__: program for program in FIRST + LATER}
    torch.manual_seed(0)
    print(*PROGRAMS) if sys.argv[1] == "--list" else PROGRAMS[sys.argv[1]]()
