# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""How many weights are in memory at once if one stream makes them and another one computes with them?

cross_stream.py bare|record_stream|wait|keep

Four layers of 64 MiB. `bare` is wrong: memory is used again while a product reads it. `record_stream` leaves it to the
allocator, which asks the card whether the product is done. `wait` lets the stream that makes weights wait for each
product; `keep` lets it wait for the product before the last one, and keeps those weights until then.
"""
import sys

import torch

WIDTH, LAYERS = 4096, 4


def make(stream, layer):
    with torch.cuda.stream(stream):
        return torch.full((WIDTH, WIDTH), float(layer), device="cuda")


def main(way):
    maker, user = torch.cuda.Stream(), torch.cuda.current_stream()
    x = torch.ones(WIDTH, WIDTH, device="cuda")
    out = torch.empty(WIDTH, WIDTH, device="cuda")
    torch.mm(x, x, out=out)
    before = torch.cuda.memory_reserved()
    weights, kept = make(maker, 1), None
    for layer in range(2, LAYERS + 1):
        if kept is not None:
            maker.wait_event(kept[1])
            kept = None
        user.wait_stream(maker)
        torch.mm(x, weights, out=out)
        if way == "record_stream":
            weights.record_stream(user)
        elif way == "wait":
            maker.wait_event(user.record_event())
        elif way == "keep":
            kept = weights, user.record_event()
        del weights
        weights = make(maker, layer)
    print((torch.cuda.max_memory_reserved() - before) >> 20, "MiB for weights")


main(sys.argv[1])
