"""Fields of published data as pydantic types: ids, texts, and names of images."""

from __future__ import annotations

from typing import Annotated

from pydantic import PlainValidator

from lmms_rpts.escaping import storable
from lmms_rpts.schema import FieldError, wrong


def _identity(value: object) -> str:
    if type(value) is not int and not (isinstance(value, str) and value.strip()):
        raise wrong("a string or a whole number", value)
    return storable(str(value))


def named(what: str, value: object) -> str:
    """The name of a row by its id, such as ``question '7'``; empty if it has no valid id."""
    try:
        return f"{what} {_identity(value)!r}"
    except FieldError:
        return ""


def _line(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong("a non-empty string", value)
    return storable(value)


def image_names(value: object) -> tuple[str, ...]:
    """The names of a question's images, from a list or one text.

    Raises:
        FieldError: for anything else.
    """
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
        raise wrong("a path or a list of paths", value)
    return tuple(map(storable, names))


Identity = Annotated[str, PlainValidator(_identity)]
"""An id, a text or a whole number, as text."""

Line = Annotated[str, PlainValidator(_line)]
"""A text that is not blank."""

ImageNames = Annotated[tuple[str, ...], PlainValidator(image_names)]
"""The names of a question's images."""
