"""Questions in publishers' files: one reader, which a benchmark declares, and its checks.

A valid question becomes a document of a task; the faults of all others are listed before a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import ReadError, Row, read_rows
from lmms_rpts.base.schema import FieldError, all_faults, wrong
from lmms_rpts.tasks.data import Check, dataset_kwargs, digest, examined, raise_faults, store
from lmms_rpts.tasks.images import add_image_column, named_faults

if TYPE_CHECKING:
    from datasets import Dataset

Q = TypeVar("Q")
IMAGES = "images"
"""The part of the data that faults of images concern, where only some tasks show them."""


def _identity(value: object) -> str:
    if type(value) is not int and not (isinstance(value, str) and value.strip()):
        raise wrong("a string or a whole number", value)
    return storable(str(value))


def _line(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise wrong("a non-empty string", value)
    return storable(value)


def image_names(value: object) -> tuple[str, ...]:
    """The names of a question's images, from a list or one text."""
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


class Source(NamedTuple):
    """Where questions are; no image may be outside of ``root``.

    ``place`` is for messages, names of images are relative to ``images``, and ``remedy`` says what
    to do if the data are wrong, in complete sentences.
    """

    place: Path
    root: Path
    images: Path
    files: Sequence[Path]
    remedy: str


@dataclass(frozen=True, slots=True)
class Questions(Generic[Q]):
    """The questions of a data set.

    Attributes:
        source: where they are.
        questions: the valid questions, in their order.
        faults: those of all others, each after the part of the data that it concerns, such as a
            subtask; empty: all of them.
        left_out: number of valid questions that cannot be evaluated.
    """

    source: Source
    questions: tuple[Q, ...]
    faults: tuple[tuple[str, str], ...]
    left_out: int = 0

    def faults_of(self, *parts: str) -> list[str]:
        """The faults that concern these parts."""
        return [fault for part, fault in self.faults if part in ("", *parts)]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionFiles(Generic[Q]):
    """The questions of a benchmark: how its files are read, and what its tasks get from them.

    Attributes:
        title: title of the benchmark.
        what: a word for a question.
        kind: a dataclass of the questions, which have ``id`` and ``img_path``.
        settings: its settings, with ``path``.
        source: where the questions are; raises DataError if there are none.
        identity: the field with the id.
        fields: sets the fields of ``kind`` that a row does not have. Returns the part of the data
            that its faults concern, and the fault of its images, which concerns ``IMAGES``.
        needed: fields by which a file of questions is recognized; other files are skipped.
        usable: whether a valid question can be evaluated.
    """

    title: str
    what: str
    kind: type[Any]
    settings: type[Any]
    source: Callable[[], Source]
    identity: str
    fields: Callable[[dict[str, Any], Row, Source], tuple[str, str]]
    needed: frozenset[str] = frozenset()
    usable: Callable[[Q], bool] = lambda question: True

    def load(self) -> Questions[Q]:
        """All questions and faults of the data; errors as ``source``.

        A question that is in several files, word for word, counts once.
        """
        source = self.source()
        questions: dict[str, Any] = {}
        faults: list[tuple[str, str]] = []
        left_out, kind = 0, TypeAdapter(self.kind)
        for path in source.files:
            try:
                rows = list(read_rows(path))
            except ReadError as error:
                faults.append(("", f"{error} (fix or move it)"))
                continue
            # In an object of questions, the keys are their ids.
            found = [
                {**({self.identity: row.key} if row.key else {}), **row.fields} for row in rows
            ]
            asks = any(self.needed <= entry.keys() for entry in found)
            seen: set[str] = set()
            for entry, row in zip(found, rows, strict=True):
                # A damaged line may be a question; a JSON value other than an object is not.
                if not asks and not (row.fault and row.place.startswith("line")):
                    continue
                name = _name_of(self.what, row, entry.get(self.identity))
                part, image_fault = ("", "") if row.fault else self.fields(entry, row, source)
                question = _validated(kind, name, row, entry)
                if name in seen:
                    question = [f"{name} occurs more than once"]
                seen.add(name)
                if isinstance(question, list):
                    faults += ((part, fault) for fault in question)
                elif not self.usable(question):
                    left_out += 1
                    continue  # its images are not used
                elif questions.setdefault(question.id, question) != question:
                    faults.append((part, f"{name} occurs more than once"))
                if image_fault:
                    faults.append((IMAGES, f"{name}: {image_fault}"))
        return Questions(source, tuple(questions.values()), tuple(faults), left_out)

    def check(
        self, read: Questions[Q], faults: Sequence[str], shown: Iterable[Any], empty: str
    ) -> None:
        """Raise an error if there are faults or no questions, then if there are faults of images.

        Args:
            faults: those found so far.
            shown: the questions whose images the model is shown.
            empty: the fault if there are no questions to ask; else empty.

        Raises:
            DataError: listing the first faults, each with its question, and the remedy.
        """
        source = read.source
        if not faults:
            images = [(f"{self.what} {each.id!r}", each.img_path) for each in shown]
            faults = [*named_faults(images, source.images, source.root)]
        raise_faults(source.place, faults or [empty] * bool(empty), source.remedy)

    def store(self, questions: Sequence[Any]) -> None:
        """Write the file of a task's documents, before the task is built."""
        store(questions, self.title, f"{self.what}s")

    def kwargs(self, questions: Sequence[Any]) -> dict[str, Any]:
        """The ``dataset_kwargs`` of a task that asks these questions."""
        return dataset_kwargs(questions, self.kind, self.title, f"{self.what}s")

    def metadata(self, questions: Sequence[Any]) -> dict[str, Any]:
        """The questions in the metadata of a task."""
        count = {f"{self.what}s": len(questions)}
        return {"version": 1.0, **count, "data_sha256": digest(questions)}

    def attach_images(self, dataset: Dataset) -> Dataset:
        """Add a column of images, each decoded only when its document is accessed."""
        source = self.source()
        return add_image_column(dataset, source.images, source.root)

    def examine(self, check: Callable[[Questions[Q]], str]) -> list[Check]:
        """Check the data, if their setting is set; ``check`` returns what else to say of them."""

        def describe() -> str:
            read = self.load()
            more = check(read)
            left_out = f" ({read.left_out:,} without an answer left out)" if read.left_out else ""
            said = f"{len(read.questions):,} {self.what}s{left_out}, all images, in "
            return said + str(read.source.root) + more

        return [examined(self.title, describe)] if self.settings.load().path else []


def _name_of(what: str, row: Row, identity: object) -> str:
    """The name of a question by its id, such as ``question '7'``; without one, by its place."""
    try:
        return f"{what} {_identity(identity)!r}"
    except FieldError:
        return f"{row.file.name}, {row.place}"


def _validated(kind: TypeAdapter[Q], name: str, row: Row, fields: Mapping[str, Any]) -> Any:
    """The question with these fields, or a list of its faults, each with its name."""
    if row.fault:
        return [f"{name} {row.fault}"]
    try:
        return kind.validate_python(fields)
    except ValidationError as error:
        return [f"{name}: {fault}" for fault in all_faults(error)]
