"""Fields of rows in the layouts of publishers: each is checked when it is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import literal
from lmms_rpts.base.schema import shown

T = TypeVar("T")
D = TypeVar("D")
Reader = Callable[[Any, str], T]
"""Returns the value of a field, checked; its arguments are the value and the field's name."""

# Maximum length of a question or step, in characters; longer ones exceed any judge's context.
LONGEST_TEXT = 200_000

# "12", " 3 ", "-1": numbers in the cells of tables
_WHOLE = re.compile(r"\s*[+-]?\d{1,9}\s*", re.ASCII)


class RowError(ValueError):
    """Raised for an invalid row; the message gives the field and what is wrong with it."""

    def __init__(self, field: str, wrong: str) -> None:
        super().__init__(f"{field!r} {wrong}")
        self.field = field


class LeftOut(Exception):  # noqa: N818 - not an error: the row is valid
    """Raised for a valid row without anything to judge; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Fields:
    """One object of a file.

    Attributes:
        value: the object.
        stem: the file's name without its suffix.
        number: the number of the object in the file, from 0.
        key: for a file with an object of lists, the key of the object's list; else empty.
    """

    value: Mapping[str, Any]
    stem: str = ""
    number: int = 0
    key: str = ""

    def __contains__(self, name: str) -> bool:
        # Without a name: pandas writes an index as the field "".
        return bool(name) and self.value.get(name) is not None

    @property
    def place(self) -> str:
        """File and number of the object. Serves as an id if the data have none."""
        return f"{self.stem}:{self.number}"

    def read(self, name: str, reader: Reader[T]) -> T:
        """The value of a field, or of a field of objects: ``response.steps``.

        Raises:
            RowError: it is missing or wrong.
        """
        *outer, last = name.split(".")
        value = self.value
        for part in outer:
            value = encoded(mapping)(_there(value, part), part)
        return reader(_there(value, last), last)

    def optional(self, name: str, reader: Reader[T], default: D) -> T | D:
        """The value of a field of the object itself; ``default`` if it is missing or null."""
        return reader(self.value[name], name) if name in self else default


def _there(value: Mapping[str, Any], name: str) -> Any:
    if value.get(name) is None:
        raise RowError(name, "is missing")
    return value[name]


def text(value: Any, field: str) -> str:
    """A text of bounded length, without lone surrogates; it may be blank."""
    if not isinstance(value, str):
        raise RowError(field, f"should be a string, not {shown(value)}")
    if len(value) > LONGEST_TEXT:
        raise RowError(field, f"has {len(value):,} characters; the maximum is {LONGEST_TEXT:,}")
    return storable(value)


def filled(value: Any, field: str) -> str:
    """A text that is not blank."""
    found = text(value, field)
    if not found.strip():
        raise RowError(field, "is blank")
    return found


def identity(value: Any, field: str) -> str:
    """A text or a whole number, as text."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return filled(value, field)


def whole(value: Any, field: str) -> int:
    """A whole number, also one written as text, or as 2.0, as pandas does in columns with gaps."""
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise RowError(field, f"should be a whole number, not {shown(value)}")
    return value


def choice(meanings: Mapping[Any, T]) -> Reader[T]:
    """The meaning of a word, a number, or true or false."""

    def read(value: Any, field: str) -> T:
        for each, meaning in meanings.items():
            if value == each and isinstance(value, bool) is isinstance(each, bool):
                return meaning
        wanted = " or ".join(map(repr, meanings))
        raise RowError(field, f"should be {wanted}, not {shown(value)}")

    return read


flag = choice({True: True, False: False})


def mapping(value: Any, field: str) -> Mapping[str, Any]:
    """An object."""
    if not isinstance(value, Mapping):
        raise RowError(field, f"should be an object, not {shown(value)}")
    return value


def any_list(value: Any, field: str) -> Sequence[Any]:
    """A list, which may be empty."""
    if not isinstance(value, list | tuple):
        raise RowError(field, f"should be a list, not {shown(value)}")
    return value


def list_of(reader: Reader[T]) -> Reader[tuple[T, ...]]:
    """A list with entries of one kind, not empty."""

    def read(value: Any, field: str) -> tuple[T, ...]:
        items = any_list(value, field)
        if not items:
            raise RowError(field, "is an empty list")
        return tuple(reader(each, f"{field}[{at}]") for at, each in enumerate(items))

    return read


texts = list_of(text)
objects = list_of(lambda value, field: Fields(mapping(value, field)))


def encoded(reader: Reader[T]) -> Reader[T]:
    """A value that may be written as text, in JSON or Python, as in the cells of tables."""

    def read(value: Any, field: str) -> T:
        if isinstance(value, str):
            try:
                value = literal(text(value, field))
            except ValueError:
                raise RowError(field, "is a text without a valid value") from None
        return reader(value, field)

    return read


def step_number(value: int, steps: int, field: str, *, base: int, things: str = "steps") -> int:
    """The number of a step counted from ``base``, converted to count from 0."""
    if not base <= value < steps + base:
        last = steps + base - 1
        raise RowError(
            field, f"is {shown(value)}, but the {things} are numbered from {base} to {last}"
        )
    return value - base
