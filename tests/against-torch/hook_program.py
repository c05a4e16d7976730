# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What tests/against-torch/hook runs on the simulated card.

    hook_program.py caught|uncaught|variable|disabled|cost
"""
import os
import resource
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def train(steps, rows, last_rows):
    model = nn.ModuleList(nn.Linear(768, 768) for _ in range(24)).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for n in [rows] * steps + [last_rows]:
        x = torch.randn(n, 768).cuda()
        for layer in model:
            x = x + F.relu(layer(x))
        x.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def caught(hook):
    before = time.perf_counter()
    try:
        train(4, 4000, 9000)
    except torch.OutOfMemoryError as error:
        print(f"all in {time.perf_counter() - before:.1f} s")
        for line in "".join(hook.notes(error)).split("\n"):
            print("note:", line)


def disabled(hook):
    hook.disable()
    before = dict(vars(torch.OutOfMemoryError))
    hook.enable()
    torch.empty(1, device="cuda")
    hook.disable()
    try:
        train(4, 4000, 9000)
    except torch.OutOfMemoryError as error:
        print(f"notes: {len(hook.notes(error))}, history: {torch._C._cuda_isHistoryEnabled()}, "
              f"class as before: {dict(vars(torch.OutOfMemoryError)) == before}")


def microseconds_a_request(n=20_000):
    empty, began = torch.empty, time.perf_counter()
    for _ in range(n):
        empty(1000, device="cuda")
    return (time.perf_counter() - began) / (2 * n) * 1e6      # each is an allocation and a free


def at_depth(n, function):
    return function() if n == 0 else at_depth(n - 1, function)


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def cost(hook):
    """The least of five rounds, with 30 frames on the stack; then the error with a full history."""
    hook.disable()
    torch.empty(1, device="cuda")
    plain = min(at_depth(30, microseconds_a_request) for _ in range(5))
    base = peak_mb()
    hook.enable(max_entries=100_000)
    kept = min(at_depth(30, microseconds_a_request) for _ in range(5))
    history = peak_mb()
    before = time.perf_counter()
    try:
        torch.empty(1 << 40, device="cuda")
    except torch.OutOfMemoryError as error:
        assert len(hook.notes(error)) == 1, "the error of a full history is not explained"
    print(f"cost: {plain:.2f} us a request without a history, {kept:.2f} us with one; 100,000 events take "
          f"{history - base:.0f} MB of the host; the error took {time.perf_counter() - before:.1f} s and "
          f"{peak_mb() - history:.0f} MB more")


if __name__ == "__main__":
    name = sys.argv[1]
    if name == "variable":
        train(4, 4000, 9000)
    os.environ.setdefault("VRAMREPLAY_FOLDER", ".")
    import vramreplay.torch as the_hook
    if name == "uncaught":
        train(4, 4000, 9000)
    globals()[name](the_hook)
