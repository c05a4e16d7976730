# SPDX-License-Identifier: BSD-3-Clause. Copyright 2026 the replay authors.
"""What all answers share: made from JSON, shown as the program says it, turned into plain values or a frame."""
from __future__ import annotations

import dataclasses
import html
import typing
from functools import lru_cache
from typing import Any, Dict, Type, TypeVar

from vramreplay.running import Answer

T = TypeVar("T", bound="Result")

#: The rows of an answer's table, most useful first: the first of these members that has any.
ROWS = ("runs", "rows", "fits", "best", "fields", "holds")

SHOWN_WHOLE, SHOWN_FIRST = 8, 3


class Result:
    """Base of the classes in vramreplay.results."""

    @classmethod
    def from_json(cls: Type[T], data: Dict[str, Any]) -> T:
        """The object that the program wrote. Keys that this release does not know are skipped."""
        types = member_types(typing.cast(Any, cls))
        return cls(**{name: decoded(value, types[name]) for name, value in data.items() if name in types})

    @classmethod
    def from_answer(cls: Type[T], answer: Answer) -> T:
        """The same of a whole answer, which shows itself in the program's words."""
        made = cls.from_json(answer.data)
        object.__setattr__(made, "_text", answer.text)       # the classes are frozen
        return made

    def __str__(self) -> str:
        """What the program says to a person; of a part of an answer, its members."""
        return getattr(self, "_text", "").rstrip("\n") or repr_of(self)

    __repr__ = __str__

    def to_dict(self) -> Dict[str, Any]:
        """Plain values, as the program wrote them."""
        return dataclasses.asdict(typing.cast(Any, self))

    def frame(self, member: str = "") -> Any:
        """A pandas frame of a list of this answer, one row an item. Inner members are columns: `peak.reserved_bytes`.

        `member` names the list; without it the answer's main one is taken. ValueError if there is none; ImportError
        without pandas.
        """
        import pandas  # type: ignore[import-untyped,unused-ignore]

        chosen = member or next((name for name in ROWS if getattr(self, name, None)), "")
        rows = getattr(self, chosen, None) if chosen else None
        if not isinstance(rows, list):
            raise ValueError(f"{type(self).__name__} has no list {member!r}" if member else
                             f"{type(self).__name__} holds no list to make a frame of")
        return pandas.json_normalize([row.to_dict() for row in rows])

    def _repr_html_(self) -> str:
        """For notebooks: the program's words; of a part of an answer, its members as a table."""
        if getattr(self, "_text", ""):
            return f"<pre>{html.escape(str(self))}</pre>"
        cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(brief(value))}</td></tr>"
                        for name, value in vars(self).items())
        return f"<table><caption>{html.escape(type(self).__name__)}</caption>{cells}</table>"


def repr_of(part: Result) -> str:
    """As a dataclass shows itself, with long lists cut short."""
    members = ", ".join(f"{one.name}={shown(getattr(part, one.name))}"
                        for one in dataclasses.fields(typing.cast(Any, part)))
    return f"{type(part).__name__}({members})"


def shown(value: Any) -> str:
    """The value as Python has it; of a list of more than SHOWN_WHOLE items the first, and how many there are."""
    if isinstance(value, list) and len(value) > SHOWN_WHOLE:
        return f"[{', '.join(map(repr, value[:SHOWN_FIRST]))}, ... {len(value):,} in all]"
    return repr(value)


def brief(value: Any) -> str:
    """A value in one cell: a list by its length, an object by its class."""
    if isinstance(value, list) and value and isinstance(value[0], Result):
        return f"{len(value)} x {type(value[0]).__name__}"
    if isinstance(value, Result):
        return type(value).__name__
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@lru_cache(maxsize=None)
def member_types(cls: type) -> Dict[str, Any]:
    return typing.get_type_hints(cls)


def decoded(value: Any, kind: Any) -> Any:
    """The value with objects turned into the classes that `kind`, a type of a member, names."""
    if typing.get_origin(kind) is typing.Union:
        kind = next((one for one in typing.get_args(kind) if is_made_of_results(one)), None)
    if isinstance(value, list) and typing.get_origin(kind) is list:
        return [decoded(item, typing.get_args(kind)[0]) for item in value]
    if isinstance(value, dict) and typing.get_origin(kind) is dict:
        return {key: decoded(item, typing.get_args(kind)[1]) for key, item in value.items()}
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Result):
        return kind.from_json(value)
    return value


def is_made_of_results(kind: Any) -> bool:
    inner = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
    return isinstance(inner, type) and issubclass(inner, Result)
