# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Where the installed programs and libraries lie."""
import os
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "program"


def program() -> Path:
    """The program `replay`. The variable VRAMREPLAY_PROGRAM names another one: a developer's build.

    FileNotFoundError if there is none.
    """
    path = Path(os.environ.get("VRAMREPLAY_PROGRAM") or FOLDER / "bin/replay")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: the program replay is not here. Install the wheel of vramreplay, or let "
                                "VRAMREPLAY_PROGRAM name a program that you built")
    return path


def live_allocator() -> Path:
    """libreplay-alloc.so, for torch.cuda.memory.CUDAPluggableAllocator: doc/policies.md says how."""
    return FOLDER / "lib/libreplay-alloc.so"


def manual_page() -> Path:
    """replay.1; `man -l` shows it."""
    return FOLDER / "share/man/man1/replay.1"
