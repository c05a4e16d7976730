# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""`%load_ext vramreplay` in IPython and notebooks: `%replay` asks as the command line does, `%why` shows the answer.

    %load_ext vramreplay
    %why snapshot.pickle
    %replay fit snapshot.pickle --device 24GiB
"""
from __future__ import annotations

import functools
import shlex
from typing import Any, Callable, TypeVar

from vramreplay import commands, errors, results, running

Answer = TypeVar("Answer")


def in_a_sentence(function: Callable[[str], Answer]) -> Callable[[str], Answer]:
    """What the program refuses, or shlex or a function here, as IPython's UsageError: a prompt shows no traceback."""
    @functools.wraps(function)
    def ask(line: str) -> Answer:
        try:
            return function(line)
        except (errors.ReplayError, ValueError) as error:
            from IPython.core.error import UsageError
            raise UsageError(str(error)) from None
    return ask


@in_a_sentence
def why(line: str) -> results.Why:
    """Why a program ran out of memory: `%why FILE`. The answer shows itself, and is a value to go on with."""
    words = shlex.split(line)
    if len(words) != 1:
        raise ValueError("%why takes a file: a recording, or a log with the error. With options: %replay why FILE ...")
    return commands.why(words[0])


@in_a_sentence
def replay(line: str) -> None:
    """Any command of the program, with its words: `%replay fit snapshot.pickle`. Prints what the program prints;
    without a word, what there is to ask."""
    print(running.run(shlex.split(line) or ["--help"]).decode(), end="")


def register(shell: Any) -> None:
    for name, function in (("why", why), ("replay", replay)):
        shell.register_magic_function(function, "line", name)
