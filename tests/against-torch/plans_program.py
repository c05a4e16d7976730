# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The programs of plans.py and of tests/gpu/live: `plans_program.py NAME STEPS` makes so many steps, on
libreplay-alloc.so if LIBRARY names it. Prints the losses, so that two runs can be compared."""
import os
import sys

import torch
from torch import nn


def mlp(device):
    model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(8)]).to(device)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(_):
        loss = model(torch.randn(4096, 1024).to(device)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss
    return step


def transformer(device):
    """Its lengths take turns: five steps repeat."""
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Linear(64, 512), nn.TransformerEncoder(layer, 4), nn.Linear(512, 64)).to(device)
    optimizer = torch.optim.AdamW(model.parameters())

    def step(i):
        x = torch.randn(8, 128 + 64 * (i % 5), 64).to(device)
        loss = nn.functional.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss
    return step


def inference(device):
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True, dropout=0.0)
    model = nn.Sequential(nn.Embedding(30000, 768), nn.TransformerEncoder(layer, 6), nn.Linear(768, 30000)).to(device)
    model.eval()

    def step(i):
        with torch.no_grad():
            return model(torch.randint(30000, (4, 256)).to(device)).float().mean()
    return step


def accumulation(device):
    """Four backward passes for a step of the optimizer; batches of two sizes."""
    model = nn.Sequential(nn.Conv2d(3, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 128, 3, padding=1), nn.ReLU(),
                          nn.AvgPool2d(8), nn.Flatten(), nn.Linear(128 * 64, 1000)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(_):
        total = 0
        for size in (16, 16, 16, 8):
            loss = model(torch.randn(size, 3, 64, 64).to(device)).square().mean() / 4
            loss.backward()
            total = total + loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total
    return step


def side_stream(device):
    """The next batch is copied and prepared on a stream of its own, and waited for."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 2048), nn.GELU()) for _ in range(6)]).to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    side = torch.cuda.Stream()
    ready = {}

    def prepare():
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            ready["x"] = torch.randn(2048, 2048).to(device).mul(2).sub(1)

    def step(_):
        if "x" not in ready:
            prepare()
        torch.cuda.current_stream().wait_stream(side)
        x = ready["x"]
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        prepare()
        return loss
    return step


PROGRAMS = {f.__name__: f for f in (mlp, transformer, inference, accumulation, side_stream)}


def main(name, n_steps):
    if os.environ.get("LIBRARY"):
        allocator = torch.cuda.memory.CUDAPluggableAllocator(os.environ["LIBRARY"], "replay_alloc", "replay_free")
        torch.cuda.memory.change_current_allocator(allocator)
    torch.manual_seed(1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    step = PROGRAMS[name]("cuda")
    losses = [step(i).detach().cpu() for i in range(n_steps)]
    torch.cuda.synchronize()
    print(" ".join(float(loss).hex() for loss in losses))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
