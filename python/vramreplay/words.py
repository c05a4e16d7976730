# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What options take, of those that take some words alone. Made by generate_results.py; do not edit."""
from typing import Literal

GivenBack = Literal["auto", "program", "allocator"]
OnOom = Literal["stop", "skip"]
Start = Literal["fresh", "faithful"]
System = Literal["unknown", "linux", "windows", "rocm-windows", "wsl", "rocm", "xpu", "mps", "npu", "jetson", "jax",
                 "tensorflow"]
