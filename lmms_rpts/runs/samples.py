"""Reader of one samples file of lmms-eval (``--log_samples``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import ReadError, parse_json, read_rows
from lmms_rpts.base.schema import FieldError, ForeignError, Model, Text, Whole, first_fault, shown
from lmms_rpts.runs.record import R
from lmms_rpts.runs.responses import SAMPLES
from lmms_rpts.runs.run import holds_schema, names_schema

_ALTERED = "the file was changed, or something else wrote it. Copy it again, or"
_WANTED = (
    "samples are one JSON object per line. Copy the file again, or pass the one that lmms-eval "
    f"wrote (*{SAMPLES}*.jsonl)"
)


class RunError(UserError):
    """A run that cannot be read; the message names the file, the line and the remedy."""


class _Sample(Model):
    """The fields of a line next to its record."""

    doc_id: Whole
    task: Text = "task"
    filtered_resps: Any


def read_samples_of(record: type[R], file: Path, pass_over: bool = False) -> list[R] | None:
    """Read the scored responses of a file, without duplicates.

    Args:
        record: the type of the records.
        file: one JSON object per line, as lmms-eval writes them.
        pass_over: return None for a file of another task, instead of an error.

    Raises:
        RunError: with the line that cannot be read.
    """
    _, found, task = file.stem.partition(SAMPLES)
    responses: dict[int, list[R]] = {}
    others: dict[int, RunError] = {}
    for place, entry in _entries(file):
        try:
            read = _read(record, entry, storable(task) if found else "")
        except FieldError as error:
            if pass_over and not responses and not holds_schema(file, record.SCHEMA):
                return None
            foreign = isinstance(error, ForeignError)
            remedy = "" if foreign else f": {_ALTERED} {record.AGAIN}"
            fault = RunError(f"{place}: {error}{remedy}")
            if not foreign or type(entry.get("doc_id")) is not int:
                raise fault from None
            # A task with several pipelines has a line for each; only one has the record.
            others.setdefault(entry["doc_id"], fault)
            continue
        doc_id = entry["doc_id"]
        if not _same(responses.setdefault(doc_id, read), read):
            raise RunError(
                f"{place}: document {shown(doc_id)} occurs twice, with different responses: the "
                "file contains several runs; use one file per run"
            )
    for doc_id, fault in others.items():
        if doc_id not in responses:
            raise fault
    if not responses:
        raise RunError(
            f"{file} is empty: the run ended before anything was scored. Run it again, or "
            "remove the file"
        )
    return [each for read in responses.values() for each in read]


def records_of_sample(record: type[R], entry: Mapping[str, Any], task: str) -> list[R]:
    """The scored responses of one sample, from lmms-eval's memory or from a line of a file."""
    found = entry.get("filtered_resps")
    # lmms-eval unwraps the list of a single request when it writes the sample.
    inner = found[0] if isinstance(found, list) and len(found) == 1 else found
    return _read(record, {**entry, "filtered_resps": inner}, storable(task))


def _entries(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of a file with their places."""
    try:
        for row in read_rows(file):
            if row.fault:
                raise RunError(f"{row.where} {row.fault}: {_WANTED}")
            yield row.where, row.fields
    except ReadError as error:
        raise RunError(f"{error}: {_WANTED}") from None


def _read(record: type[R], entry: Mapping[str, Any], task: str) -> list[R]:
    if "filtered_resps" not in entry or "doc_id" not in entry:
        raise ForeignError(
            'not a sample of lmms-eval: "doc_id" or "filtered_resps" is missing. Pass a file '
            f"that lmms-eval wrote (*{SAMPLES}*.jsonl)"
        )
    try:
        sample = _Sample.model_validate({**entry, "task": task} if task else entry)
    except ValidationError as error:
        raise FieldError(first_fault(error)) from None
    found = sample.filtered_resps
    values = list(found) if isinstance(found, list) else [found]
    # The record of a likelihood is in its first option; the others are empty.
    while len(values) > 1 and values[-1] == "":
        values.pop()
    texts, tokens = _texts(entry), _tokens(entry)
    return [
        record.parse(
            _loaded(record, value, task),
            task=sample.task,
            doc_id=sample.doc_id,
            repeat=at,
            text=texts[at] if at < len(texts) else None,
            # lmms-eval keeps the count of the first response only.
            tokens=tokens if at == 0 else None,
        )
        for at, value in enumerate(values or [None])
    ]


def _loaded(record: type[R], written: object, task: str) -> object:
    """The JSON value of a filtered response that may be a record of this type."""
    value = written
    if isinstance(written, str):
        try:
            value = parse_json(written)
        except ValueError as error:
            if names_schema(storable(written).encode(), record.SCHEMA):
                raise FieldError(f"filtered_resps {error}") from None
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != record.SCHEMA:
        named = f" of the task {task!r}" if task else ""
        holds = f"holds {shown(schema)}" if schema else "is of another benchmark"
        raise ForeignError(
            f"this sample{named} was not scored by {record.FILTER}: it {holds}, or the task's "
            f"filters are not those of {record.BENCHMARK}. Pass samples that {record.FILTER} "
            "wrote; lmms-rpts summarize, report and compare read those of all benchmarks"
        )
    return value


def _same(one: Sequence[R], other: Sequence[R]) -> bool:
    """Whether responses are equal, except for token counts."""

    def uncounted(responses: Sequence[Any]) -> list[Any]:
        return [each.model_copy(update={"tokens": None}) for each in responses]

    return one is other or uncounted(one) == uncounted(other)


def _texts(entry: Mapping[str, Any]) -> list[str | None]:
    found = entry.get("resps")
    found = found if isinstance(found, list) else [found]
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
    return [storable(each) if isinstance(each, str) else None for each in found]


def _tokens(entry: Mapping[str, Any]) -> int | None:
    """The number of output tokens, thinking included."""
    counts = entry.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else None
    written = first.get("output_tokens") if isinstance(first, dict) else None
    return written if type(written) is int and 0 <= written < 2**63 else None
