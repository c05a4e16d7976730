#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A classifier on PyTorch's own transformer encoder, in half precision with a gradient scaler."""
import torch
import torch.nn as nn


class Classifier(nn.Module):
    def __init__(self, width=256, layers=4):
        super().__init__()
        self.embed = nn.Embedding(5000, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.answer = nn.Linear(width, 4)
        self.register_buffer("scale", torch.full((width,), 0.1))

    def forward(self, tokens):
        return self.answer(self.encoder(self.embed(tokens) * self.scale).mean(dim=1))


model = Classifier().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scaler = torch.cuda.amp.GradScaler()
for step in range(3):
    tokens, labels = torch.randint(5000, (32, 128), device="cuda"), torch.randint(4, (32,), device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
