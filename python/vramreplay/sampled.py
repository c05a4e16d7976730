# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""A replay over time, in columns."""
from __future__ import annotations

import csv
import io
from array import array
from dataclasses import dataclass
from typing import Any, Dict, List

WORDS = ("policy", "kind", "label")


@dataclass(frozen=True, repr=False)
class Samples:
    """Columns of equal length, by the names that report/SCHEMA.md gives them. Numbers are 64 bits wide."""

    words: Dict[str, List[str]]
    numbers: "Dict[str, array[int]]"

    @classmethod
    def from_csv(cls, text: str) -> "Samples":
        names, *rows = csv.reader(io.StringIO(text))
        columns = dict(zip(names, zip(*rows))) if rows else {name: () for name in names}
        return cls(words={name: list(columns[name]) for name in names if name in WORDS},
                   numbers={name: array("q", map(int, columns[name])) for name in names if name not in WORDS})

    def __repr__(self) -> str:
        """How much there is, and its names; never the columns."""
        return f"Samples({len(self):,} rows of {', '.join([*self.words, *self.numbers])})"

    def __len__(self) -> int:
        return len(self.words["kind"])

    def arrays(self) -> Dict[str, Any]:
        """The numbers as numpy arrays that share their memory with `numbers`. ImportError without numpy."""
        import numpy

        return {name: numpy.frombuffer(column, dtype=numpy.int64) for name, column in self.numbers.items()}

    def frame(self) -> Any:
        """All columns as a pandas frame. ImportError without pandas."""
        import pandas  # type: ignore[import-untyped,unused-ignore]

        return pandas.DataFrame({**self.words, **self.arrays()})
