"""Reader of one samples file of lmms-eval (``--log_samples``)."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lmms_rpts.judging.types import storable
from lmms_rpts.models.responses import CUT_SHORT
from lmms_rpts.runs.fields import FieldError, Fields, ForeignError, shown
from lmms_rpts.runs.record_types import (
    R,
    RecordType,
    S,
    holds_schema,
    other_reader,
    schema_of,
)

_SAMPLES = "_samples_"
_ALTERED = "the file was changed, or something else wrote it. Copy it again, or"
_WANTED = (
    "samples are one JSON object a line. Copy the file again, or name the one that lmms-eval wrote "
    f"(*{_SAMPLES}*.jsonl)"
)


class RunError(ValueError):
    """A run that can't be read; the message names the file, the line and the remedy."""


def read_samples_of(kind: RecordType[R, S], file: Path, pass_over: bool = False) -> list[R] | None:
    """The scored responses of a file, a document that stands there twice only once.

    Args:
        kind: what its records are.
        file: one JSON object a line, as lmms-eval writes them.
        pass_over: give None for a file of another task, in place of an error.

    Raises:
        RunError: naming the line that can't be read.
    """
    _, found, task = file.stem.partition(_SAMPLES)
    responses: dict[int, list[R]] = {}
    for number, entry in _entries(file, kind.schema):
        place = f"{file}, line {number}"
        try:
            read = _read(kind, entry, storable(task) if found else "")
        except FieldError as error:
            if pass_over and not responses and not holds_schema(file, kind.schema):
                return None
            remedy = "" if isinstance(error, ForeignError) else f": {_ALTERED} {kind.again}"
            raise RunError(f"{place}: {error}{remedy}") from None
        doc_id = entry["doc_id"]
        if not _same(responses.setdefault(doc_id, read), read):
            raise RunError(
                f"{place}: document {shown(doc_id)} was read already, with another response: the "
                "file holds several runs; give each in a file of its own"
            )
    if not responses:
        raise RunError(
            f"{file} is empty: the run ended before anything was scored. Run it again, or take "
            "the file away"
        )
    return [each for read in responses.values() for each in read]


def _entries(file: Path, schema: str) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        # As bytes: lmms-eval leaves U+2028 and the like inside its JSON, where text would be split.
        with file.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if line.strip():
                    yield number, _entry(line, f"{file}, line {number}", schema)
    except OSError as error:
        raise RunError(
            f"{file} can't be read ({error.strerror}): check what it is, and its permissions"
        ) from None


def _entry(line: bytes, place: str, schema: str) -> dict[str, Any]:
    try:
        text = line.decode("utf-8")
        # Other benchmarks may write what they like.
        entry = json.loads(text, object_pairs_hook=_unique if schema in text else None)
    except (ValueError, RecursionError) as error:
        raise RunError(f"{place} {_fault(line, error)}") from None
    if not isinstance(entry, dict):
        raise RunError(f"{place} holds no JSON object: {_WANTED}")
    return entry


def _fault(line: bytes, error: ValueError | RecursionError) -> str:
    """What is wrong with a line, and what to do."""
    if b"\0" in line:
        return f"is no UTF-8 text: {_WANTED}"
    broken = isinstance(error, json.JSONDecodeError) and error.msg != "Extra data"
    broken |= isinstance(error, UnicodeDecodeError) and error.end == len(line)
    if broken and line.lstrip().startswith(b"{") and not line.endswith(b"\n"):
        return CUT_SHORT
    if isinstance(error, UnicodeDecodeError):
        return f"is no UTF-8 text (byte {error.start + 1} of the line): {_WANTED}"
    return f"is no JSON ({_reason(error)}): {_WANTED}"


def _reason(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos + 1}"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object; of a name that stands twice nobody knows which value counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} stands twice in one object")
    return found


def _read(kind: RecordType[R, S], entry: Mapping[str, Any], task: str) -> list[R]:
    fields = Fields(entry)
    if "filtered_resps" not in entry or "doc_id" not in entry:
        raise ForeignError(
            'this is no sample of lmms-eval: "doc_id" or "filtered_resps" is missing. Name a file '
            f"that lmms-eval wrote (*{_SAMPLES}*.jsonl)"
        )
    doc_id = fields.whole("doc_id")
    records = entry["filtered_resps"]
    records = records if isinstance(records, list) else [records]
    texts, tokens = _texts(entry), _tokens(entry)
    return [
        kind.parse(
            _record(kind, record, task),
            task=task or fields.text("task", "task"),
            doc_id=doc_id,
            repeat=at,
            text=texts[at] if at < len(texts) else None,
            # lmms-eval keeps the count of the first response only.
            tokens=tokens if at == 0 else None,
        )
        for at, record in enumerate(records or [None])
    ]


def _record(kind: RecordType[R, S], record: object, task: str) -> object:
    value = record
    if isinstance(record, str):
        try:
            value = json.loads(record, object_pairs_hook=_unique)
        except (ValueError, RecursionError) as error:
            if kind.schema in record:
                raise FieldError(f"filtered_resps is no JSON ({_reason(error)})") from None
    schema = schema_of(value)
    if schema != kind.schema:
        named = f" of the task {task!r}" if task else ""
        other = other_reader(schema, kind)
        if other:
            raise ForeignError(f"this sample{named} is {other}")
        raise ForeignError(
            f"this sample{named} was not scored by {kind.filter}: it is of another benchmark, or "
            f"the task's filters are not those of {kind.benchmark}. Name samples of {kind.task}"
        )
    return value


def _same(one: Sequence[R], other: Sequence[R]) -> bool:
    """Whether responses are the same, counted or not."""

    def uncounted(responses: Sequence[Any]) -> list[Any]:
        return [replace(each, tokens=None) for each in responses]

    return one is other or uncounted(one) == uncounted(other)


def _texts(entry: Mapping[str, Any]) -> list[str | None]:
    found = entry.get("resps")
    found = found if isinstance(found, list) else [found]
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    return [storable(each) if isinstance(each, str) else None for each in found]


def _tokens(entry: Mapping[str, Any]) -> int | None:
    """What the model wrote, its thinking with it."""
    counts = entry.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else None
    written = first.get("output_tokens") if isinstance(first, dict) else None
    return written if type(written) is int and 0 <= written < 2**63 else None
