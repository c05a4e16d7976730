# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The hook as a callback of Lightning: Trainer(callbacks=[OomCallback()])."""
from __future__ import annotations

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from vramreplay import oom_hook


class OomCallback(Callback):  # type: ignore[misc,unused-ignore]
    """Explains an OutOfMemoryError of the run. The arguments are those of oom_hook.enable."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        oom_hook.enable(**self.arguments)

    def teardown(self, trainer: Any, pl_module: Any, stage: str) -> None:
        oom_hook.disable()
