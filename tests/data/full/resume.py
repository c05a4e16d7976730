# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A run goes on from a checkpoint that is loaded onto the card beside the model (resume), or loads a second model,
which is no checkpoint (draft):

    replay run-sim --device sim:200MiB -o resume.zst -- python resume.py resume"""
import io
import sys

import torch
from torch import nn


def layers(n):
    return nn.Sequential(*(nn.Linear(1024, 1024) for _ in range(n)))


def as_loaded(what):
    file = io.BytesIO()
    torch.save(what, file)
    file.seek(0)
    return torch.load(file, map_location="cuda", weights_only=False)


model = layers(6).cuda()
optimizer = torch.optim.AdamW(model.parameters())
if sys.argv[1] == "resume":
    weights = {name: value.cpu() for name, value in model.state_dict().items()}
    states = {i: {"step": torch.tensor(1.0), "exp_avg": value.clone(), "exp_avg_sq": value.clone()}
              for i, value in enumerate(weights.values())}
    groups = optimizer.state_dict()["param_groups"]
    saved = as_loaded({"model": weights, "optimizer": {"state": states, "param_groups": groups}})
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
else:
    target = as_loaded(layers(18))
for step in range(4):
    model(torch.randn(8192, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
