"""Rows of published data: typed fields, each checked when it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lmms_rpts.escaping import storable
from lmms_rpts.schema import shown

T = TypeVar("T")

LONGEST_TEXT = 200_000
"""Maximum length of a question or step, in characters; longer ones exceed any judge's context."""

MOST_STEPS = 2_000
"""Maximum number of steps of a chain."""

_WHOLE = re.compile(r"[+-]?\d{1,9}", re.ASCII)


class RowError(ValueError):
    """Raised for an invalid row; the message gives the field and what is wrong with it."""

    def __init__(self, field: str, wrong: str) -> None:
        super().__init__(f"{field!r} {wrong}")
        self.field = field


class LeftOut(Exception):  # noqa: N818 - not an error: the row is valid
    """Raised for a valid row without anything to judge; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file.

    Every method takes the name of a field and raises RowError if it is missing or wrong.

    Attributes:
        value: the object.
        stem: the file's name without its suffix.
        number: the number of the object in the file, from 0.
        key: for a file with an object of lists, the key of the object's list; else empty.
    """

    value: Mapping[str, Any]
    stem: str
    number: int
    key: str = ""

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def get(self, name: str) -> Any:
        """The value of a field, unchecked; None if it is missing."""
        return self.value.get(name)

    def text(self, name: str) -> str:
        """A non-blank text."""
        text = as_text(self._there(name), name)
        if not text.strip():
            raise RowError(name, "is blank")
        return text

    def identity(self, name: str) -> str:
        """A text or a whole number, returned as text."""
        value = self._there(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        return self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A non-empty list of texts; single texts may be blank."""
        return as_texts(self._there(name), name)

    def whole(self, name: str) -> int:
        """A whole number."""
        return as_whole(self._there(name), name)

    def flag(self, name: str) -> bool:
        """True or false."""
        return as_flag(self._there(name), name)

    def choice(self, name: str, choices: Mapping[str, T]) -> T:
        """The value that ``choices`` assigns to the text of a field."""
        value = self._there(name)
        if not isinstance(value, str) or value not in choices:
            wanted = " or ".join(map(repr, choices))
            raise RowError(name, f"should be {wanted}, not {shown(value)}")
        return choices[value]

    def items(self, name: str) -> Sequence[Any]:
        """A list with entries of any type."""
        return as_list(self._there(name), name)

    def object(self, name: str) -> Row:
        """An object; messages prefix its fields with its name."""
        value = self._there(name)
        if not isinstance(value, Mapping):
            raise RowError(name, f"should be an object, not {shown(value)}")
        return Row(value, self.stem, self.number, self.key)

    def objects(self, name: str) -> tuple[Row, ...]:
        """A list of objects, neither empty nor too long."""
        items = bounded(self.items(name), name)
        for at, item in enumerate(items):
            if not isinstance(item, Mapping):
                raise RowError(f"{name}[{at}]", f"should be an object, not {shown(item)}")
        return tuple(Row(item, self.stem, self.number, self.key) for item in items)

    @property
    def place(self) -> str:
        """File and number of the object. Serves as an id if the data have none."""
        return f"{self.stem}:{self.number}"

    def _there(self, name: str) -> Any:
        if self.value.get(name) is None:
            raise RowError(name, "is missing")
        return self.value[name]


def as_text(value: Any, field: str) -> str:
    """A text of bounded length, without lone surrogates."""
    if not isinstance(value, str):
        raise RowError(field, f"should be a string, not {shown(value)}")
    if len(value) > LONGEST_TEXT:
        raise RowError(field, f"has {len(value):,} characters; the maximum is {LONGEST_TEXT:,}")
    return storable(value)


def as_texts(value: Any, field: str) -> tuple[str, ...]:
    """A list of texts, neither empty nor too long."""
    items = bounded(as_list(value, field), field)
    return tuple(as_text(each, f"{field}[{at}]") for at, each in enumerate(items))


def bounded(items: Sequence[T], field: str) -> Sequence[T]:
    """A list, neither empty nor too long."""
    if not items:
        raise RowError(field, "is an empty list")
    if len(items) > MOST_STEPS:
        raise RowError(field, f"has {len(items):,} entries; the maximum is {MOST_STEPS:,}")
    return items


def as_list(value: Any, field: str) -> Sequence[Any]:
    """A list."""
    if not isinstance(value, list | tuple):
        raise RowError(field, f"should be a list, not {shown(value)}")
    return value


def as_whole(value: Any, field: str) -> int:
    """A whole number; also a float such as 2.0, which pandas writes for columns with gaps."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError(field, f"should be a whole number, not {shown(value)}")
    return value


def as_written_whole(value: Any, field: str) -> int:
    """A whole number, which may be written as text."""
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return as_whole(value, field)


def as_flag(value: Any, field: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise RowError(field, f"should be true or false, not {shown(value)}")
    return value


def step_number(value: int, steps: int, field: str, *, base: int) -> int:
    """A step number counted from ``base``, converted to count from 0."""
    if not base <= value < steps + base:
        last = steps + base - 1
        raise RowError(
            field, f"is {shown(value)}, but the steps are numbered from {base} to {last}"
        )
    return value - base


def labels_to(first_error: int | None, steps: int) -> tuple[bool | None, ...]:
    """Labels if only the first error is known: later steps were not checked."""
    if first_error is None:
        return (True,) * steps
    return (*(True,) * first_error, False, *(None,) * (steps - first_error - 1))


def parsed(value: Any, field: str, parse: Callable[[str], Any] = json.loads) -> Any:
    """The value that is encoded in a text; a value that is not a string is returned unchanged."""
    if not isinstance(value, str):
        return value
    text = as_text(value, field)
    try:
        return parse(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        # A TypeError: ``ast.literal_eval("{[]: 1}")``, a list as a key.
        raise RowError(field, "is a text without a valid value") from None
