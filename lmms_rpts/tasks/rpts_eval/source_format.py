"""Source format of RPTS-Eval: instances as published, and errors in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_rpts.errors import UserError
from lmms_rpts.filters.documents import (
    REASONING_FIELDS,
    RELATION,
    STANCE,
    TEXTS,
    FieldCheck,
    field_faults,
    gold_faults,
    is_texts,
)
from lmms_rpts.rows import read_objects
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.images import named_faults

_FIELDS: dict[str, FieldCheck] = {
    "id": (lambda value: isinstance(value, int | str), "a number or a text"),
    "ability": TEXTS,
    **{name: check for name, check in REASONING_FIELDS.items() if name != "language"},
    "answer": STANCE,
}


def check_folder(texts: Path, images: Path, remedy: str) -> None:
    """Check one file of instances and the images it names.

    Args:
        texts: the JSON file.
        images: the folder of its images.
        remedy: what to do if they are wrong, for the message.

    Raises:
        DataError: listing the first faults, each with its instance and file.
    """
    try:
        # Unchanged files are checked once: tasks are matched, loaded and built one after another.
        stamp = (texts.stat().st_mtime_ns, images.stat().st_mtime_ns)
    except OSError as error:
        raise DataError(f"{error.filename}: {error.strerror}. {remedy}") from None
    raise_faults(texts, _faults(texts, images, stamp), remedy)


def read_records(path: Path) -> list[dict[str, Any]]:
    """The instances of a file.

    Raises:
        DataError, ReadError: if it has none, or one that cannot be read.
    """
    found = [dict(row.fields) for row in read_objects(path)]
    if not found:
        raise DataError(f"{path} contains no instance")
    return found


@lru_cache(maxsize=8)
def _faults(texts: Path, images: Path, stamp: tuple[int, int]) -> Sequence[str]:
    try:
        records = read_records(texts)
    except UserError as error:
        return [f"cannot be read: {error}"]
    named = [
        (_name(record, at), record["visual_clue"])
        for at, record in enumerate(records)
        if is_texts(record.get("visual_clue"))
    ]
    return [*_field_faults(records), *named_faults(named, images, images.parent)]


def _field_faults(records: list[dict[str, Any]]) -> Iterator[str]:
    seen: set[object] = set()
    for at, record in enumerate(records):
        name = _name(record, at)
        faults = list(field_faults(record, _FIELDS, {"relation": RELATION}))
        for fault in faults or gold_faults(record):
            yield f"{name}: {fault}"
        key = str(record.get("id"))
        if "id" in record and key in seen:
            yield f"{name}: the id occurs more than once"
        seen.add(key)


def _name(record: Mapping[str, Any], at: int) -> str:
    return f"instance {record['id']!r}" if "id" in record else f"entry {at}"
