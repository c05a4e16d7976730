# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A recording with its questions as methods."""
from __future__ import annotations

import functools
import inspect
import os
from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from vramreplay import commands, pages
from vramreplay.commands import Path
from vramreplay.running import Progress
from vramreplay.words import GivenBack

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")


def question(ask: Callable[Concatenate[Path, P], R]) -> Callable[Concatenate[Recording, P], R]:
    """A function of commands.py as a method: its file is the recording's, and its options are those of both."""
    def method(self: Any, /, *arguments: Any, **options: Any) -> Any:
        return ask(self.path, *arguments, **{**self.options, **options})

    functools.update_wrapper(method, ask)
    asked = inspect.signature(ask)
    first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    others = list(asked.parameters.values())[1:]
    setattr(method, "__signature__", asked.replace(parameters=[first, *others]))
    return method


class Recording:
    """A file that was read once without an error. Every method asks the program anew; nothing is kept in memory.

    `options` (gpu, from_, given_back, memory_limit) go with every question; an argument of the question wins.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        self.path, self.options = path, options

    info = question(commands.info)
    replay = question(commands.replay)
    why = question(commands.why)
    who = question(commands.who)
    fit = question(commands.fit)
    tune = question(commands.tune)
    blame = question(commands.blame)
    shrink = question(commands.shrink)
    verify = question(commands.verify)
    diff = question(commands.diff)                  # the other may be a Recording, too: it is a path
    samples = question(commands.samples)
    report = question(pages.report)

    def __fspath__(self) -> str:
        return os.fsdecode(self.path)

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """For notebooks: the page of `replay report`. The file is read when this is shown."""
        return self.report()._repr_html_()


def load(path: Path, *, gpu: Optional[int] = None, from_: Optional[str] = None, given_back: Optional[GivenBack] = None,
         memory_limit: Optional[str] = None, progress: Optional[Progress] = None) -> Recording:
    """A recording to ask questions. InputError now, not at the first question, if the file cannot be read."""
    recording = Recording(path, gpu=gpu, from_=from_, given_back=given_back, memory_limit=memory_limit)
    recording.info(progress=progress)
    return recording
