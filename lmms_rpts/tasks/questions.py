"""Questions in publishers' files: types of their fields, the valid ones, faults of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from pydantic import PlainValidator, TypeAdapter, ValidationError

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import FieldError, all_faults, wrong
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.images import named_faults

Q = TypeVar("Q")


def _identity(value: object) -> str:
    if type(value) is not int and not (isinstance(value, str) and value.strip()):
        raise wrong("a string or a whole number", value)
    return storable(str(value))


def image_names(value: object) -> tuple[str, ...]:
    """The names of a question's images, from a list or one text."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(each, str) for each in names):
        raise wrong("a path or a list of paths", value)
    return tuple(map(storable, names))


Identity = Annotated[str, PlainValidator(_identity)]
"""An id, a text or a whole number, as text."""

ImageNames = Annotated[tuple[str, ...], PlainValidator(image_names)]
"""The names of a question's images."""


def name_of(what: str, row: Row, identity: object) -> str:
    """The name of a question by its id, such as ``question '7'``; without one, by its place."""
    try:
        return f"{what} {_identity(identity)!r}"
    except FieldError:
        return f"{row.file.name}, {row.place}"


def validated(
    kind: TypeAdapter[Q], name: str, row: Row, fields: Mapping[str, Any]
) -> Q | list[str]:
    """The question with these fields, or its faults, each with its name."""
    if row.fault:
        return [f"{name} {row.fault}"]
    try:
        return kind.validate_python(fields)
    except ValidationError as error:
        return [f"{name}: {fault}" for fault in all_faults(error)]


@dataclass(frozen=True, slots=True)
class Questions(Generic[Q]):
    """The questions of a data set.

    Attributes:
        place: the file or the folder of the data, for messages.
        root: the folder of the data; no image may be outside of it.
        images: the folder that the names of images are relative to.
        remedy: what to do if the data are wrong, in complete sentences.
        questions: the valid questions, in their order.
        faults: those of all others, each after the part of the data that it concerns, such as a
            subtask; empty: all of them.
        left_out: number of valid questions that cannot be evaluated.
    """

    place: Path
    root: Path
    images: Path
    remedy: str
    questions: tuple[Q, ...]
    faults: tuple[tuple[str, str], ...]
    left_out: int = 0

    def faults_of(self, *parts: str) -> list[str]:
        """The faults that concern these parts."""
        return [fault for part, fault in self.faults if part in ("", *parts)]

    def refuse(self, faults: Sequence[str], what: str, shown: Iterable[Any], empty: str) -> None:
        """Raise an error if there are faults, also of images, or no questions.

        Args:
            faults: those found so far.
            what: a word for a question.
            shown: the questions whose images the model is shown.
            empty: the fault if there are no questions to ask; else empty.

        Raises:
            DataError: listing the first faults, each with its question, and the remedy.
        """
        images = [(f"{what} {each.id!r}", each.img_path) for each in shown]
        found = [*faults, *named_faults(images, self.images, self.root)]
        raise_faults(self.place, found or [empty] * bool(empty), self.remedy)
