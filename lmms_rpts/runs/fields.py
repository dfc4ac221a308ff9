"""Validation of foreign JSON: each value is checked, each error names its field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.types import storable

_SHOWN = 60
_NOTHING: Any = object()


class FieldError(ValueError):
    """A value that is missing or of the wrong kind; the message names it."""


class ForeignError(FieldError):
    """An object of another kind altogether; the message says what to do about it."""


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and where it stands: ``steps[2]`` of the record, say.

    Each method gives the field ``name``, or ``default`` where it is missing, if there is one; it
    raises ``FieldError`` where the field is missing or not of its kind. Texts come without lone
    surrogates, which no file can hold.
    """

    values: Mapping[str, Any]
    place: str = ""

    @classmethod
    def of(cls, value: object, place: str) -> Fields:
        """Of any value that should be an object."""
        if not isinstance(value, dict):
            raise FieldError(f"{place} should be an object, not {shown(value)}")
        return cls(value, place)

    def get(self, name: str, default: Any = _NOTHING) -> Any:
        """The field as it is."""
        if name not in self.values and default is _NOTHING:
            raise FieldError(f"{self._path(name)} is missing")
        return self.values.get(name, default)

    def text(self, name: str, default: Any = _NOTHING) -> str:
        """A text."""
        return storable(self._checked(name, str, "a text", default))

    def text_or_none(self, name: str, default: Any = _NOTHING) -> str | None:
        """A text or null."""
        return None if self.get(name, default) is None else self.text(name, default)

    def flag(self, name: str, default: Any = _NOTHING) -> bool:
        """True or false."""
        return self._checked(name, bool, "true or false", default)  # type: ignore[no-any-return]

    def flag_or_none(self, name: str) -> bool | None:
        """True, false or null."""
        return None if self.get(name) is None else self.flag(name)

    def whole(self, name: str, default: Any = _NOTHING) -> int:
        """A whole number from 0 on, of 64 bits at most: so many a table can hold."""
        value = self.get(name, default)
        if type(value) is not int or not 0 <= value < 2**63:
            raise FieldError(f"{self._path(name)} should be a whole number, not {shown(value)}")
        return value

    def whole_or_none(self, name: str) -> int | None:
        """A whole number from 0 on, or null."""
        return None if self.get(name) is None else self.whole(name)

    def share(self, name: str, default: Any = _NOTHING) -> float:
        """A number from 0 to 1."""
        value = self.number(name, default)
        if not 0.0 <= value <= 1.0:
            raise FieldError(
                f"{self._path(name)} should be a number from 0 to 1, not {shown(value)}"
            )
        return value

    def share_or_none(self, name: str, default: Any = _NOTHING) -> float | None:
        """A number from 0 to 1, or null."""
        return None if self.get(name, default) is None else self.share(name, default)

    def number(self, name: str, default: Any = _NOTHING) -> float:
        """A finite number."""
        value = self.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise FieldError(f"{self._path(name)} should be a number, not {shown(value)}")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise FieldError(f"{self._path(name)} should be a finite number, not {shown(value)}")
        return number + 0.0  # no negative zero

    def choice(self, name: str, choices: Sequence[str], default: Any = _NOTHING) -> Any:
        """One of ``choices``."""
        value = self.get(name, default)
        if value not in choices or not isinstance(value, str):
            raise FieldError(
                f"{self._path(name)} should be one of {', '.join(choices)}, not {shown(value)}"
            )
        return value

    def choice_or_none(self, name: str, choices: Sequence[str]) -> Any:
        """One of ``choices``, or null."""
        return None if self.get(name) is None else self.choice(name, choices)

    def texts(self, name: str, default: Any = _NOTHING) -> tuple[str, ...]:
        """A list of texts."""
        found = self.items(name, default)
        if not all(isinstance(item, str) for item in found):
            raise FieldError(f"{self._path(name)} should be a list of texts, not {shown(found)}")
        return tuple(map(storable, found))

    def items(self, name: str, default: Any = _NOTHING) -> Sequence[Any]:
        """A list of anything."""
        # A record that was never written down has tuples as well.
        return self._checked(name, (list, tuple), "a list", default)  # type: ignore[no-any-return]

    def part(self, name: str) -> Fields:
        """An object."""
        return Fields.of(self.get(name), self._path(name))

    def part_or_none(self, name: str) -> Fields | None:
        """An object or null."""
        return None if self.get(name) is None else self.part(name)

    def parts(self, name: str, default: Any = _NOTHING) -> list[Fields]:
        """A list of objects."""
        items = self.items(name, default)
        return [Fields.of(item, f"{self._path(name)}[{at}]") for at, item in enumerate(items)]

    def _checked(self, name: str, kind: Any, wanted: str, default: Any) -> Any:
        value = self.get(name, default)
        if not isinstance(value, kind):
            raise FieldError(f"{self._path(name)} should be {wanted}, not {shown(value)}")
        return value

    def _path(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def check_version(record: Fields, version: int, again: str) -> None:
    """Refuse a record of another version than ``version``.

    Args:
        again: how to get such records anew.

    Raises:
        ForeignError: naming both versions.
    """
    found = record.get("schema_version")
    if type(found) is not int or found != version:
        raise ForeignError(
            f"it was written with schema version {shown(found)}, and this lmms-rpts reads "
            f"version {version}: use the lmms-rpts that wrote it, or {again}"
        )


def shown(value: object) -> str:
    """A value as a message shows it: short, whatever it is."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of 5000 digits; lists a thousand deep
        return f"this {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
