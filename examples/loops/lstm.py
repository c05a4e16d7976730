#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A recurrent language model whose state goes on from batch to batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.lstm = nn.Embedding(2000, 256), nn.LSTM(256, 512, num_layers=2, batch_first=True)
        self.head = nn.Linear(512, 2000)

    def forward(self, tokens, state):
        y, state = self.lstm(self.embed(tokens), state)
        return self.head(y), state


model = Recurrent().cuda()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
state = None
for step in range(3):
    tokens = torch.randint(2000, (32, 33)).cuda()
    logits, state = model(tokens[:, :-1], state)
    state = tuple(part.detach() for part in state)
    loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
