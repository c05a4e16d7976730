# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""Where the installed programs and libraries lie."""
import os
import sys
from pathlib import Path
from typing import List

FOLDER = Path(__file__).resolve().parent / "program"


def program() -> Path:
    """The program `replay`, or replay.wasm where there is none for the machine. The variable VRAMREPLAY_PROGRAM names
    another one: a developer's build.

    FileNotFoundError if there is none.
    """
    built_in = next((path for path in (FOLDER / "bin/replay", FOLDER / "replay.wasm") if path.is_file()), FOLDER)
    path = Path(os.environ.get("VRAMREPLAY_PROGRAM") or built_in)
    if not path.is_file():
        raise FileNotFoundError(f"{path}: the program replay is not here. Install the wheel of vramreplay, or let "
                                "VRAMREPLAY_PROGRAM name a program that you built")
    return path


def is_portable() -> bool:
    """Whether the program is the one for any system, which reads and runs no programs."""
    return program().suffix == ".wasm"


def command() -> List[str]:
    """The words that start the program; its own come after them. Python is not to look for modules where it works:
    that folder may be anybody's."""
    if not is_portable():
        return [str(program())]
    here = str(FOLDER.parent.parent)
    return [sys.executable, "-c", f"import sys; sys.path[:] = [{here!r}, *filter(None, sys.path)]; "
                                  "from vramreplay import wasm; wasm.main()"]


def live_allocator() -> Path:
    """libreplay-alloc.so, for torch.cuda.memory.CUDAPluggableAllocator: doc/policies.md says how. FileNotFoundError
    where the package has none."""
    path = FOLDER / "lib/libreplay-alloc.so"
    if not path.is_file():
        raise FileNotFoundError(f"{path}: this package of vramreplay has no allocator; the one for Linux has")
    return path


def manual_page() -> Path:
    """replay.1; `man -l` shows it."""
    return FOLDER / "share/man/man1/replay.1"
