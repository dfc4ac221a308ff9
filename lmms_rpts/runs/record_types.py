"""Types of records in samples, and of the runs that they make up."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar


class Asked(Hashable, Protocol):
    """What was asked: a document of a task."""

    @property
    def task(self) -> str:
        """The task it belongs to."""

    @property
    def key(self) -> tuple[str, int]:
        """Its task and its number there: what tells it from all others of a run."""


class Judged(Hashable, Protocol):
    """The settings that a score depends on."""

    @property
    def judge(self) -> str:
        """Who scored, in a word or two: it tells runs of one model apart."""


class Recorded(Protocol):
    """One scored response of a model, of whatever benchmark."""

    @property
    def instance(self) -> Asked:
        """What was asked."""

    @property
    def repeat(self) -> int:
        """Its number among the responses to the instance, from 0."""

    @property
    def text(self) -> str | None:
        """What the model wrote; None where the file doesn't hold it."""

    @property
    def scoring(self) -> Judged:
        """How it was scored."""


R = TypeVar("R", bound=Recorded)
R_co = TypeVar("R_co", bound=Recorded, covariant=True)
S = TypeVar("S", bound=Judged)


class Parse(Protocol[R_co]):
    """Reads one record; raises ``FieldError`` naming what is wrong."""

    def __call__(
        self,
        value: object,
        *,
        task: str,
        doc_id: int,
        repeat: int = 0,
        text: str | None = None,
        tokens: int | None = None,
    ) -> R_co: ...


@dataclass(frozen=True, slots=True)
class RecordType(Generic[R, S]):
    """One type of records, and how they are read.

    Attributes:
        schema: what their field ``schema`` says.
        benchmark: its name in messages.
        task: a task of it, with the article, in messages.
        filter: the filter of lmms-eval that writes them.
        again: how to get such records anew, in messages.
        readers: the commands that read them, in a sentence, for messages.
        parse: reads one.
        alike: whether parts that were scored so can be of one run.
        others: gives all types, for messages on files of another one.
    """

    schema: str
    benchmark: str
    task: str
    filter: str
    again: str
    readers: str
    parse: Parse[R]
    alike: Callable[[frozenset[S], frozenset[S]], bool] = operator.eq
    others: Callable[[], Iterable[RecordType[Any, Any]]] = tuple


@dataclass(frozen=True)
class RunOf(Generic[R, S]):
    """The scored responses of one model in one evaluation.

    Attributes:
        label: what it is called in tables and reports; no other run that was read with it has
            the same.
        model: the model, where the results say; the same for all rounds of one model.
        responses: by task, document and repeat, in this order.
        results: lmms-eval's own results file; empty where there was none. That of the first part,
            where a run was put together.
        files: the samples files that were read.
        source: what tells models of the same name apart: where it was loaded from, else the
            folder; empty where the user named the run.
    """

    label: str
    model: str
    responses: tuple[R, ...]
    results: Mapping[str, Any]
    files: tuple[Path, ...]
    source: str = ""

    @property
    def tasks(self) -> tuple[str, ...]:
        """Its tasks, by name."""
        return tuple(sorted({each.instance.task for each in self.responses}))

    @property
    def scorings(self) -> tuple[S, ...]:
        """The settings that its scores depend on: one, or several where files were mixed."""
        scorings: dict[Any, None] = dict.fromkeys(each.scoring for each in self.responses)
        return tuple(scorings)

    def documents(self) -> dict[tuple[str, int], list[R]]:
        """Its responses by task and document."""
        found: dict[tuple[str, int], list[R]] = {}
        for response in self.responses:
            found.setdefault(response.instance.key, []).append(response)
        return found


AnyRun = RunOf[Any, Any]


def schema_of(value: object) -> object:
    """The schema that a record names; None for what is no record."""
    return value.get("schema") if isinstance(value, dict) else None


def other_reader(schema: object, kind: RecordType[Any, Any]) -> str | None:
    """Who reads records of another schema of ours; None for any other, and for ``kind``'s own."""
    for other in kind.others():
        if other.schema == schema != kind.schema:
            return f"of {other.benchmark}, not of {kind.benchmark}: {other.readers}"
    return None


def other_reader_of(files: list[Path], kind: RecordType[Any, Any]) -> str | None:
    """Who reads files of which one holds records of another schema of ours; None if none does."""
    for other in kind.others():
        told = other_reader(other.schema, kind)
        if told and any(holds_schema(file, other.schema) for file in files):
            return told
    return None


def holds_schema(file: Path, schema: str) -> bool:
    """Whether any line may hold a record of this schema, if only a broken one."""
    with file.open("rb") as lines:
        return any(schema.encode() in line for line in lines)
