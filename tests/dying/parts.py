# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the programs of this folder share: how they are labelled, and small models to run out of memory with."""
import torch
from torch import nn

PROGRAMS = {}


def dies(cause, card, kind, lever=None, **record):
    """Labels a program: its cause of death, as `why` words it; the card, in MiB, or as a share of what the program
    needs; what kind of program it is; what helps, in a word; how it is recorded (record.py)."""
    def put(program):
        PROGRAMS[program.__name__] = {"run": program, "cause": cause, "card": card, "kind": kind, "lever": lever,
                                      "record": record}
        return program
    return put


def begin_recording():
    """For programs that switch the history on in mid-run."""
    torch.cuda.memory._record_memory_history(stacks="python")


def rand(*shape, **kw):
    return torch.randn(*shape, device="cuda", **kw)


def mlp(width=512, layers=4):
    return nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())]).cuda()


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.heads = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), heads
        self.cuda()

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(2, 3) / 8, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(b, t, w))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width=128, layers=3, words=500, heads=4):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.head = nn.Linear(width, words)
        self.cuda()

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class ConvNet(nn.Module):
    def __init__(self, channels=16, classes=10):
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm = nn.BatchNorm2d(channels)
        self.last = nn.Linear(channels, classes)
        self.cuda()

    def forward(self, images):
        x = torch.relu(self.first(images))
        x = torch.relu(self.norm(self.second(x)))
        return self.last(x.mean((2, 3)))


def tokens(batch, length, words=500):
    return torch.zeros(batch, length, dtype=torch.long, device="cuda")


def train(model, optimizer, x):
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss
