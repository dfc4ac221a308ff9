"""Questions in files: the one reader and validator of all benchmarks, and their data set.

A valid question becomes a document of a task; the faults of all others are listed before a run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Generic, NamedTuple, TypeVar

from pydantic import PlainValidator, ValidationError

from lmms_rpts.base.escaping import listed, storable
from lmms_rpts.base.rows import ReadError, Row, read_rows
from lmms_rpts.base.schema import FieldError, all_faults, wrong
from lmms_rpts.scoring.question import Asked
from lmms_rpts.tasks.data import raise_faults

if TYPE_CHECKING:
    from datasets import Dataset

Q = TypeVar("Q", bound=Asked)
IMAGES = "images"
"""The part of the data that faults of images concern, where only some tasks show them."""


def _identity(value: object) -> str:
    if type(value) is not int and not (isinstance(value, str) and value.strip()):
        raise wrong("a string or a whole number", value)
    return storable(str(value))


def image_names(value: object) -> tuple[str, ...]:
    """The names of a question's images, from a list or one text."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(each, str) for each in names):
        raise wrong("a path or a list of paths", value)
    return tuple(map(storable, names))


Identity = Annotated[str, PlainValidator(_identity)]
"""An id, a text or a whole number, as text."""

ImageNames = Annotated[tuple[str, ...], PlainValidator(image_names)]
"""The names of a question's images."""


class Source(NamedTuple):
    """Where questions are.

    Attributes:
        place: for messages.
        files: their files.
        remedy: what to do if the data are wrong, in complete sentences.
        root: their folder, outside of which no image is opened.
        images: the folder of the names of images; None: the model is shown none.
    """

    place: Path
    files: tuple[Path, ...]
    remedy: str
    root: Path
    images: Path | None = None


@dataclass(frozen=True, eq=False)
class Questions(Generic[Q]):
    """The questions of a part of a data set.

    Attributes:
        source: where they are.
        questions: the valid questions, in their order.
        part: the part.
        what: a word for one of them.
        left_out: number of valid questions that cannot be evaluated.
        visual: whether each question must have an image.
    """

    source: Source
    questions: tuple[Q, ...]
    part: str = ""
    what: str = "question"
    left_out: int = 0
    visual: bool = True

    @cached_property
    def documents(self) -> tuple[dict[str, Any], ...]:
        """The documents of a task, without their images."""
        return tuple(each.model_dump(by_alias=True) for each in self.questions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the questions, in hexadecimal, without the contents of images."""
        found = hashlib.sha256()
        for each in self.questions:
            found.update(each.model_dump_json().encode())
        return found.hexdigest()

    @cached_property
    def dataset(self) -> Dataset:
        """The documents with a column ``images``; an image is decoded when it is accessed."""
        from datasets import Dataset

        from lmms_rpts.tasks.images import add_image_column

        if not self.questions:
            self.check()
        columns = {name: [each[name] for each in self.documents] for name in self.documents[0]}
        for name, values in columns.items():  # a column has one type: several answers make lists
            if any(isinstance(value, tuple) for value in values):
                columns[name] = [[it] if isinstance(it, str) else it for it in values]
        dataset = Dataset.from_dict(columns)
        if self.source.images is None:
            return dataset
        names = [each.image_files for each in self.questions]
        return add_image_column(dataset, names, self.source.images, self.source.root)

    def check(self) -> None:
        """Check before a run that there are questions, and that their images can be shown.

        Raises:
            DataError: for images that are missing, damaged, or outside of their folder.
        """
        from lmms_rpts.tasks.images import named_faults

        place, _, remedy, root, images = self.source
        if not self.questions:
            raise_faults(
                place, [f"it has no {self.what}s{f' of {self.part}' * bool(self.part)}"], remedy
            )
        if images is None:
            return
        named = [(f"{self.what} {each.id!r}", each.image_files) for each in self.questions]  # type: ignore[attr-defined]
        without = [f"{name}: it has no image" for name, given in named if self.visual and not given]
        raise_faults(place, [*without, *named_faults(named, images, root)], remedy)


@dataclass(frozen=True, kw_only=True)
class QuestionFiles(Generic[Q]):
    """How the files of a benchmark are read.

    Attributes:
        what: a word for a question.
        kind: the type of the questions, which have ``id``.
        source: where the questions of a part are; raises DataError if there are none.
        identity: the field with the id.
        prepare: sets the fields of ``kind`` that a row does not have. Returns the part of the data
            that faults of the row concern (empty: all), and the fault of its images, which
            concerns only parts that show them.
        part_of: the part of a question; empty: it is in all parts.
        needed: fields by which a file of questions is recognized; other files are skipped.
        usable: whether a valid question can be evaluated.
        visual: whether each question must have an image.
    """

    what: str
    kind: type[Q]
    source: Callable[[str], Source]
    identity: str
    prepare: Callable[[dict[str, Any], Row, Source], tuple[str, str]] = lambda *row: ("", "")
    part_of: Callable[[Q], str] = lambda question: ""
    needed: frozenset[str] = frozenset()
    usable: Callable[[Q], bool] = lambda question: True
    visual: bool = True

    def load(self, part: str = "") -> Questions[Q]:
        """The questions of a part, or all; unchanged files are read once a process.

        Raises:
            DataError: naming the questions of the part that are wrong, and the remedy.
        """
        source = self.source(part)
        found = [each.stat() for each in source.files]
        stamps = tuple((it.st_mtime_ns, it.st_size) for it in found)
        key = (self, source, part, stamps)
        if key not in _LOADED:
            questions, faults, left_out = _read(self, source._replace(images=None), stamps)
            concerned = {"", part, *[IMAGES] * (source.images is not None)}
            if wrongs := [fault for of, fault in faults if not part or of in concerned]:
                raise_faults(source.place, wrongs, source.remedy)
            asked = (it for it in questions if not part or self.part_of(it) in ("", part))
            _LOADED[key] = Questions(source, tuple(asked), part, self.what, left_out, self.visual)
        return _LOADED[key]


# The questions of each part: they keep their data set, and every task of a part has the same.
_LOADED: dict[Any, Questions[Any]] = {}


@lru_cache(maxsize=16)
def _read(
    files: QuestionFiles[Q], source: Source, stamps: tuple[tuple[int, int], ...]
) -> tuple[tuple[Q, ...], tuple[tuple[str, str], ...], int]:
    """All questions, the faults of the others, each with the part that it concerns, and how many
    cannot be evaluated. A question that is in several files, word for word, counts once.
    """
    questions: dict[str, Q] = {}
    faults: list[tuple[str, str]] = []
    left_out = 0
    for path in source.files:
        try:
            rows = list(read_rows(path))
        except ReadError as error:
            faults.append(("", f"{error} (fix or move it)"))
            continue
        found, wrongs, unusable = parse_questions(files, rows, source)
        left_out += unusable
        faults += wrongs
        for part, question in found:
            own: str = question.id  # type: ignore[attr-defined]
            if questions.setdefault(own, question) != question:
                faults.append((part, f"{files.what} {own!r} occurs more than once"))
    if files.needed and not questions and not faults:
        faults.append(("", f"no row has all of {listed(sorted(files.needed))}"))
    return tuple(questions.values()), tuple(faults), left_out


def parse_questions(
    files: QuestionFiles[Q], rows: Sequence[Row], source: Source
) -> tuple[list[tuple[str, Q]], list[tuple[str, str]], int]:
    """The questions of the rows of one file, and the faults of the others, each with the part of
    the data that it concerns, and how many cannot be evaluated.
    """
    # In an object of questions, the keys are their ids.
    entries = [{**({files.identity: it.key} if it.key else {}), **it.fields} for it in rows]
    asks = any(files.needed <= entry.keys() for entry in entries)
    found: list[tuple[str, Q]] = []
    faults: list[tuple[str, str]] = []
    left_out, seen = 0, set[str]()
    for entry, row in zip(entries, rows, strict=True):
        # A damaged line may be a question; a JSON value other than an object is not.
        if not asks and not (row.fault and row.place.startswith("line")):
            continue
        identity = entry.get(files.identity)
        part, image_fault = ("", "") if row.fault else files.prepare(entry, row, source)
        question, wrongs = None, [f" {row.fault}"] if row.fault else []
        try:
            # Its place among the documents is not in the file.
            place = {"task": "", "doc_id": 0}
            question = None if row.fault else files.kind.model_validate({**entry, **place})
        except ValidationError as error:
            wrongs = [f": {fault}" for fault in all_faults(error)]
        own: str = getattr(question, "id", "")
        if question is not None and own in seen:
            double = f": its number {own} is the id of another: give each an id"
            wrongs = [" occurs more than once" if identity is not None else double]
        elif question is not None:
            seen.add(own)
            if not files.usable(question):
                left_out += 1
                continue  # its images are not used
            found.append((part, question))
        if wrongs or image_fault:
            name = _name_of(files.what, row, identity)
            faults += ((part, f"{name}{fault}") for fault in wrongs)
            faults += [(IMAGES, f"{name}: {image_fault}")] * bool(image_fault)
    return found, faults, left_out


def _name_of(what: str, row: Row, identity: object) -> str:
    """The name of a question by its id, such as ``question '7'``; without one, by its place."""
    try:
        return f"{what} {_identity(identity)!r}"
    except FieldError:
        return f"{row.file.name}, {row.place}"
