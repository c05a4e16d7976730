# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""The page of `replay report`, for notebooks and trackers."""
from __future__ import annotations

import html
import os
from typing import Any, List, Optional

from vramreplay import running
from vramreplay.commands import Names, Path
from vramreplay.words import GivenBack, OnOom, Start

HEIGHT_PX = 800


class Report:
    """A page about recordings, results or sweeps. The program runs when the page is first asked for, and once."""

    def __init__(self, sources: List[str], options: Any, timeout: Optional[float]) -> None:
        self._words = ["report", *sources, *running.option_words(options), "--html", "-"]
        self._sources, self._timeout, self._page = sources, timeout, ""

    def __repr__(self) -> str:
        return f"Report({', '.join(self._sources)})"

    @property
    def html(self) -> str:
        """The page, which loads nothing. InputError and HostError come here, at the first time."""
        if not self._page:
            self._page = running.run(self._words, self._sources, timeout=self._timeout).decode()
        return self._page

    def save(self, path: Path) -> None:
        """Write the page into a file."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(self.html)

    def _repr_html_(self) -> str:
        """For notebooks: the page in a frame, which may do nothing but run its own script."""
        return (f'<iframe sandbox="allow-scripts" style="width: 100%; height: {HEIGHT_PX}px; border: 0" '
                f'srcdoc="{html.escape(self.html)}"></iframe>')


def report(*sources: Path, policy: Names = None, device: Names = None, on_oom: Optional[OnOom] = None,
           start: Optional[Start] = None, threads: Optional[int] = None, price: Optional[str] = None,
           gpu: Optional[int] = None, from_: Optional[str] = None, given_back: Optional[GivenBack] = None,
           memory_limit: Optional[str] = None, timeout: Optional[float] = None) -> Report:
    """The page of `replay report` about these files. Nothing runs before it is shown."""
    options = dict(policy=policy, device=device, on_oom=on_oom, start=start, threads=threads, price=price, gpu=gpu,
                   from_=from_, given_back=given_back, memory_limit=memory_limit)
    return Report(running.input_words(sources), options, timeout)
