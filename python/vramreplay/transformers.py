# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The hook as a callback of Hugging Face's Trainer: Trainer(..., callbacks=[OomCallback()])."""
from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from vramreplay import oom_hook


class OomCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Explains an OutOfMemoryError of the training. The arguments are those of oom_hook.enable."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        oom_hook.enable(**self.arguments)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        oom_hook.disable()
