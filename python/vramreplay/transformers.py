# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The hook as a callback of Hugging Face's Trainer: Trainer(..., callbacks=[OomCallback()]).

It is on from when it is made: the Trainer puts the model on the card before any callback hears of it, and the history
says where only what came later was made. A later training switches it on again.
"""
from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from vramreplay import oom_hook


class OomCallback(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Explains an OutOfMemoryError of the training. The arguments are those of oom_hook.enable."""

    def __init__(self, **arguments: Any) -> None:
        self.arguments = arguments
        oom_hook.enable(**arguments)

    def on_train_begin(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        if not oom_hook.is_enabled():                   # to do it again would begin another history
            oom_hook.enable(**self.arguments)

    def on_train_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        oom_hook.disable()
