"""Values of fields in published data: texts, ids and names of images, and their faults."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath


def id_text(value: object) -> str | None:
    """An id as text; None for other types than text and whole number."""
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return text if isinstance(text, str) and is_text(text) else None


def is_text(value: object) -> bool:
    """Whether a value is a text that is not blank and can be written to a file."""
    return isinstance(value, str) and bool(value.strip()) and is_encodable(value)


def is_encodable(text: str) -> bool:
    """Whether a text has no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def image_names(value: object) -> list[str] | None:
    """The names of a question's images, a list or one text; None for other types."""
    names = [value] if isinstance(value, str) else value
    return names if isinstance(names, list) and names and all(map(is_text, names)) else None


def outside_faults(names: Iterable[str] | None, wanted: str) -> Iterator[str]:
    """The faults of names that are outside of their folder.

    Args:
        wanted: what such a name should be.
    """
    for name in names or ():
        if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
            yield f"the image {name!r} should be {wanted}"
