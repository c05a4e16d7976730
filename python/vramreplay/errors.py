# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What the program refuses, as exceptions."""
from __future__ import annotations

import re
from typing import Optional, Sequence

PLACE = re.compile(r"((?:byte|record|line|event) [\d,]+): ")


class ReplayError(Exception):
    """The program could not answer. `reason` is its sentence, `file` the input, `place` where in that file.

    `file` and `place` are None where the sentence names none; `status` is the program's exit status.
    """

    def __init__(self, sentence: str, inputs: Sequence[str], status: int) -> None:
        super().__init__(sentence)
        self.status = status
        self.file: Optional[str] = next((name for name in inputs if sentence.startswith(name + ": ")), None)
        rest = sentence[len(self.file) + 2:] if self.file else sentence
        place = PLACE.match(rest)
        self.place: Optional[str] = place[1] if place else None
        self.reason = rest[place.end():] if place else rest


class InputError(ReplayError):
    """Wrong usage, or bad or missing input: exit status 2."""


class HostError(ReplayError):
    """The program or its host failed: a full disk, no memory, or a signal."""
