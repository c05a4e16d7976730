# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A recording with its questions as methods."""
from __future__ import annotations

from typing import Any, Optional, Union

from vramreplay import commands, pages, results
from vramreplay.commands import Path
from vramreplay.running import Progress
from vramreplay.sampled import Samples


class Recording:
    """A file that was read once without an error. Every method asks the program anew; nothing is kept in memory.

    `options` (gpu, from_, given_back, memory_limit) go with every question; an argument of the question wins.
    """

    def __init__(self, path: Path, **options: Any) -> None:
        self.path, self.options = path, options

    def _with(self, options: Any) -> Any:
        return {**self.options, **options}

    def info(self, **options: Any) -> results.Info:
        """commands.info of this file; so do the others."""
        return commands.info(self.path, **self._with(options))

    def replay(self, **options: Any) -> results.Replay:
        return commands.replay(self.path, **self._with(options))

    def why(self, **options: Any) -> results.Why:
        return commands.why(self.path, **self._with(options))

    def who(self, **options: Any) -> results.Who:
        return commands.who(self.path, **self._with(options))

    def fit(self, **options: Any) -> results.Fit:
        return commands.fit(self.path, **self._with(options))

    def tune(self, **options: Any) -> results.Tune:
        return commands.tune(self.path, **self._with(options))

    def verify(self, **options: Any) -> results.Verify:
        return commands.verify(self.path, **self._with(options))

    def diff(self, other: Union["Recording", Path, None] = None, **options: Any) -> results.Diff:
        return commands.diff(self.path, other.path if isinstance(other, Recording) else other, **self._with(options))

    def samples(self, **options: Any) -> Samples:
        return commands.samples(self.path, **self._with(options))

    def report(self, **options: Any) -> pages.Report:
        return pages.report(self.path, **self._with(options))

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """For notebooks: the page of `replay report`. The file is read when this is shown."""
        return self.report()._repr_html_()


def load(path: Path, *, gpu: Optional[int] = None, from_: Optional[str] = None, given_back: Optional[str] = None,
         memory_limit: Optional[str] = None, progress: Optional[Progress] = None) -> Recording:
    """A recording to ask questions. InputError now, not at the first question, if the file cannot be read."""
    recording = Recording(path, gpu=gpu, from_=from_, given_back=given_back, memory_limit=memory_limit)
    recording.info(progress=progress)
    return recording
