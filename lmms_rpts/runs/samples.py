"""Samples files of lmms-eval (``--log_samples``): records, prompts, gold answers, task metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import ReadError, parse_json, read_rows
from lmms_rpts.base.schema import FieldError, Model, Text, Whole, first_fault, shown
from lmms_rpts.runs.record import ForeignError, R

SAMPLES = "_samples_"
_SCHEMAS = "lmms_rpts."
_RPTS = "lmms_rpts.rpts"
_ALTERED = "the file was changed, or something else wrote it. Copy it again, or"
_WANTED = (
    "samples are one JSON object per line. Copy the file again, or pass the one that lmms-eval "
    f"wrote (*{SAMPLES}*.jsonl)"
)


def task_of(file: Path) -> str | None:
    """The task in the name of a samples file, ``DATE_samples_TASK.jsonl``; None without one."""
    return file.stem.partition(SAMPLES)[2] or None


def unwrapped(found: Any) -> list[Any]:
    """The values of ``resps``: lmms-eval saves the list of a single request within a list."""
    values = found if isinstance(found, list) else [found]
    return values[0] if len(values) == 1 and isinstance(values[0], list) else values


def holds_record(entry: Mapping[str, Any], schema: str = _SCHEMAS) -> bool:
    """Whether a row has a record of this package, whose schema begins so."""
    found = entry.get("filtered_resps")
    for value in found if isinstance(found, list) else [found]:
        with suppress(ValueError, RecursionError):
            record = json.loads(value) if isinstance(value, str) else value
            if isinstance(record, dict) and str(record.get("schema")).startswith(schema):
                return True
    return False


def holds_schema(file: Path, schema: str) -> bool:
    """Whether any line may contain a record of this schema, even a broken one."""
    with file.open("rb") as lines:
        return any(schema.encode() in line and names_schema(line, schema) for line in lines)


def names_schema(line: bytes, schema: str) -> bool:
    """Whether a line may be a record of this schema, not just mention the schema.

    In samples, a record is JSON within JSON, with a backslash before each quotation mark.
    """
    # In samples: "filtered_resps": ["{\"schema\": \"lmms_rpts.record\", ...}"].
    mark = rb'schema\\{0,3}"\s{0,9}:\s{0,9}\\{0,3}"' + re.escape(schema.encode())
    return re.search(mark, line) is not None


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
    """
    task = task_of(file) or ""
    responses: dict[int, list[R]] = {}
    others: dict[int, RunError] = {}
    for place, entry in _entries(file):
        try:
            read = _read(record, entry, storable(task))
        except FieldError as error:
            # A folder has files of all tasks; one that names our schema must be readable.
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
    found = unwrapped(entry.get("resps"))
    return [storable(each) if isinstance(each, str) else None for each in found]


def _tokens(entry: Mapping[str, Any]) -> int | None:
    """The number of output tokens, thinking included."""
    counts = entry.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else None
    written = first.get("output_tokens") if isinstance(first, dict) else None
    return written if type(written) is int and 0 <= written < 2**63 else None


# --- questions and gold answers -------------------------------------------------------------------

_QUESTIONS = ("question", "query", "problem", "prompt", "text")
# Number of characters of a prompt that are read.
LONGEST = 20_000


# The line that stands for an image in a turn.
IMAGE = "[image]"


class Logged(NamedTuple):
    """What is logged of a document: question, gold answer, and prompt; empty if they are not.

    ``turns``: role and text of each turn of the prompt. Of a prompt without messages, the role is
    empty, and the images were passed beside the text.
    """

    question: str = ""
    target: str = ""
    turns: tuple[tuple[str, str], ...] = ()

    @property
    def prompt(self) -> str:
        """The text of all turns."""
        return "\n".join(text for _, text in self.turns)


def read_logged(
    files: Iterable[Path], wanted: Set[tuple[str, int]]
) -> dict[tuple[str, int], Logged]:
    """Read the questions and gold answers of documents, by task and document.

    The question is from ``doc`` if an older lmms-eval logged it, else the prompt (``input``).
    Lines that are not JSON objects are ignored.
    """
    found: dict[tuple[str, int], Logged] = {}
    for named, doc_id, entry in _documents(files):
        key = named or str(entry.get("task", "task")), doc_id
        if key in wanted and key not in found:
            turns = turns_of(entry.get("input"))
            asked = _question(entry) or _clipped(Logged(turns=turns).prompt)
            found[key] = Logged(asked, _clipped(entry.get("target")), turns)
    return found


def _documents(files: Iterable[Path]) -> Iterator[tuple[str | None, int, Mapping[str, Any]]]:
    """The rows of documents with the task in the name of the file; the others are passed over."""
    for file in files:
        for row in read_rows(file):
            doc_id = row.fields.get("doc_id")
            if type(doc_id) is int:  # not 1.0 and True, which equal 1
                yield task_of(file), doc_id, row.fields


def _question(entry: Mapping[str, Any]) -> str:
    doc = entry.get("doc")
    fields = [doc.get(name) for name in _QUESTIONS] if isinstance(doc, dict) else []
    return next(filter(None, map(_clipped, fields)), "")


def turns_of(prompt: object) -> tuple[tuple[str, str], ...]:
    """Role and text of each turn of a prompt, which is a string or messages."""
    if isinstance(prompt, str):
        return (("", storable(prompt)),)
    turns = []
    for each in prompt if isinstance(prompt, list) else []:
        content = each.get("content") if isinstance(each, dict) else None
        parts = content if isinstance(content, list) else [content]
        texts = [part.get("text", IMAGE) if isinstance(part, dict) else part for part in parts]
        text = "\n".join(storable(each) for each in texts if isinstance(each, str))
        turns += [(storable(str(each.get("role", ""))), text)] if text else []
    return tuple(turns)


def _clipped(value: object) -> str:
    return storable(value[:LONGEST]) if isinstance(value, str) else ""


# --- metrics of other tasks -----------------------------------------------------------------------

# What lmms-eval writes into a line beside the values of metrics
NOT_METRICS = frozenset(
    {
        *("doc_id", "id", "task", "doc", "target", "arguments", "resps", "filtered_resps"),
        *("response", "token_counts", "doc_hash", "input_media", "input", "messages", "metadata"),
        *("prompt_hash", "target_hash", "filter", "metrics", "model", "round", "rounds"),
    }
)

# The gold answer, as lmms-eval logs it
TARGET = "target"
