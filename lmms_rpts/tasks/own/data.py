"""Reader of a custom file of instances: JSON lines or a JSON list; reports every fault."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.images import named_faults
from lmms_rpts.tasks.own.fields import (
    NO_ANSWERS,
    OwnDocument,
    as_document,
    image_names,
    record_faults,
)

REMEDY = "Fix the data; docs/your-own-data.md lists the fields."
_FIELD = re.compile(r"(?:the field )?'(?P<field>\w+)'(?: \(or '\w+'\))?")
_NO_INSTANCE = "it has no instance: write one JSON object per line"


@dataclass(frozen=True, slots=True)
class Record:
    """One instance of a file; ``place``: its name in messages: ``line 3``."""

    place: str
    fields: dict[str, Any]

    @property
    def label(self) -> str:
        """Its place, and its id if it has one."""
        own = self.fields.get("id")
        return self.place if own is None else f"{self.place} (id {shown(own)})"


@dataclass(frozen=True, slots=True)
class Source:
    """The files of the instances of a task, and their format.

    Attributes:
        data: the file of instances.
        images: the folder that the names of images are relative to; no image may be outside of it.
        form: type of the answers.
        language: language of the prompts of instances without one.
    """

    data: Path
    images: Path
    form: str
    language: str


def load(source: Source) -> tuple[OwnDocument, ...]:
    """The documents of a task, with their images checked.

    Raises:
        DataError: listing the first faults, each with file, line and field.
    """
    try:
        # Unchanged files are checked once: lmms-eval reads a task's configuration several times.
        found = source.data.stat()
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would block
            raise ValueError("it is not a file")
        images = source.images.stat().st_mtime_ns if source.images.is_dir() else 0
        documents, faults = _loaded(source, (found.st_mtime_ns, found.st_size, images))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(
            f"Cannot read the file of instances {source.data}: {reason}. Set data: under rpts: to "
            "it, relative to the YAML file"
        ) from None
    raise_faults(source.data, faults, REMEDY)
    return documents


def examine(
    records: Sequence[Record], source: Source
) -> tuple[tuple[OwnDocument, ...], tuple[str, ...]]:
    """The documents of these instances, or the faults in them and in their images."""
    faults = list(_faults(records, source))
    if faults:
        return (), tuple(faults)
    documents = tuple(
        as_document(record.fields, source.form, number, source.language)
        for number, record in enumerate(records)
    )
    return documents, ()


def field_faults_of(
    records: Sequence[Record], form: str, sources: Mapping[str, str] | None = None
) -> list[str]:
    """The faults of the fields of these instances, each with the place of its instance.

    Args:
        form: type of the answers.
        sources: for instances of a file with other names: the name of each field there.
    """
    faults = [] if records else [_NO_INSTANCE]
    for record in records:
        found = record_faults(record.fields, form)
        if sources is not None:
            found = (_with_source(said, sources) for said in found)
        faults += (f"{record.label}: {said}" for said in found)
    return [*faults, *_twice(records)]


def _with_source(fault: str, sources: Mapping[str, str]) -> str:
    """A fault that names the field of the user's file, and advises an option instead of a key."""
    fault = fault.replace(NO_ANSWERS, "; without answers: --answer none")
    named = _FIELD.match(fault)
    if named is None:
        return fault
    field = "question" if named["field"] == "statement" else named["field"]
    source = sources.get(field, field)
    title = shown(source) + (f" ({field})" if source != field else "")
    return title + fault[named.end() :]


def read_records(path: Path) -> tuple[list[Record], list[str]]:
    """The instances of a file, and the faults of invalid lines.

    Raises:
        OSError: if the file cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return [], [f"line {line} is not UTF-8: save the file as UTF-8"]
    if text.lstrip().startswith("["):
        return _listed(text)
    records, faults = [], []
    # Not splitlines(): JSON may contain line separators such as U+2028.
    for number, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            value, fault = parsed(row)
            place = f"line {number}"
            if fault is None and not isinstance(value, dict):
                fault = f"should be a JSON object in braces, not {shown(value)}"
            if fault is None:
                records.append(Record(place, value))
            else:
                faults.append(f"{place} {fault}")
    return records, faults


def parsed(text: str) -> tuple[Any, str | None]:
    """The value of a JSON text; or None, and why it is not valid."""
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_refused), None
    except json.JSONDecodeError as error:
        return None, f"is not valid JSON: {error.msg} (column {error.colno})"
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        return None, f"is not valid JSON: {reason}"


def _listed(text: str) -> tuple[list[Record], list[str]]:
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refused)
    except json.JSONDecodeError as error:
        return [], [f"line {error.lineno} is not valid JSON: {error.msg} (column {error.colno})"]
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        return [], [f"the list is not valid JSON: {reason}"]
    records, faults = [], []
    for number, each in enumerate(value):
        if isinstance(each, dict):
            records.append(Record(f"record {number}", each))
        else:
            faults.append(f"record {number} should be a JSON object in braces, not {shown(each)}")
    return records, faults


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refuses two fields of one name, as the second would silently replace the first."""
    made = dict(pairs)
    if len(made) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the field {shown(twice)} occurs twice")
    return made


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON; use null")


@lru_cache(maxsize=8)
def _loaded(
    source: Source, stamp: tuple[int, ...]
) -> tuple[tuple[OwnDocument, ...], tuple[str, ...]]:
    records, faults = read_records(source.data)
    if faults:
        return (), tuple(faults)
    return examine(records, source)


def _faults(records: Sequence[Record], source: Source) -> Iterator[str]:
    yield from field_faults_of(records, source.form)
    named = [(f"{record.label}: 'images'", image_names(record.fields) or []) for record in records]
    if any(names for _, names in named) and not source.images.is_dir():
        yield (
            f"the folder of images {source.images} is missing: create it, or set another one as "
            "images: under rpts:"
        )
        return
    yield from named_faults(named, source.images, source.images)


def _twice(records: Sequence[Record]) -> Iterator[str]:
    seen: dict[str, str] = {}
    for number, record in enumerate(records):
        own = record.fields.get("id")
        if isinstance(own, dict | list | float):
            continue  # reported already
        key = str(number if own is None else own)
        if key in seen:
            counted = " (its number, since it has no id)" if own is None else ""
            yield f"{record.place}: the id {shown(key)}{counted} is also the id of {seen[key]}"
        seen.setdefault(key, record.place)
