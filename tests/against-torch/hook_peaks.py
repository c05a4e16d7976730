# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A test as a user of the marker writes it; tests/against-torch/hook runs it."""
import os

import pytest


@pytest.mark.peak_memory(device="sim:24GiB")
def test_step():
    import torch

    model = torch.nn.Linear(1024, 1024).cuda()
    x = torch.zeros(int(os.environ.get("ROWS", 4096)), 1024, device="cuda")
    model(x).square().mean().backward()
