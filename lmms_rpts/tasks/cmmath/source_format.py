"""Source format of CMMaTH: problems as published, and errors in them.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainValidator, ValidationError

from lmms_rpts.rows import ReadError, read_rows
from lmms_rpts.schema import Model, Text, all_faults, wrong
from lmms_rpts.tasks.cmmath.notation import blanks, without_image_tags
from lmms_rpts.tasks.source_fields import id_text, image_names, outside_faults

AnswerType = Literal["choice", "free_form"]
Form = Literal["choice", "parts", "blank", "open"]

_REQUIRED = ("problem_id", "question", "answer")
_NO_ANSWER = frozenset({"", "暂无", "暂无答案"})
_MANY = 10**9
_PART = r"[(（] ?\$*(\d)\$* ?[)）]"
_PART_ON_ITS_LINE = re.compile(rf"^[ \t\u3000]{{0,8}}{_PART}", re.MULTILINE)
_PART_BEHIND_ANOTHER = re.compile(rf"(?:^|[\s;；。．.，,、]){_PART}")
_OPTION = re.compile(
    r"^[ \t]{0,8}([A-H]) ?[.．、:：)）]|(?<=[\s?？。．)）])([A-H])[.．:：)）]", re.MULTILINE
)
_BETWEEN_LETTERS = re.compile(r"[\s$,、;.&和及{}]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, in the fields that a task's documents have.

    Attributes:
        id: ``problem_id``, as text.
        language: always ``zh``.
        question: in the publishers' notation.
        reference: the publishers' answer, in their notation.
        answer_type: as published, though problems of several parts are called choices there.
        form: what the question really asks for: options, several parts, blanks, or none of these.
        analysis: the publishers' solution, without images; empty if there is none.
        ocr: the text that the publishers recognized in the images, in their format; may be empty.
        category: of the image, in English, as published.
        grade_id: the school year, from 1.
        grade_group: 1 primary, 2 middle, 3 high school.
        knowledge_point: nested, as published.
        skill: as published.
        img_path: images relative to the folder of images, in their order.
    """

    id: str
    language: str
    question: str
    reference: str
    answer_type: AnswerType
    form: Form
    analysis: str
    ocr: str
    category: str | None
    grade_id: int | None
    grade_group: int | None
    knowledge_point: str | None
    skill: str | None
    img_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault with the problem's name; ``of_image``: it only matters for tasks with images."""

    text: str
    of_image: bool = False


@dataclass(frozen=True, slots=True)
class Problems:
    """The valid problems of a file that have an answer, and the faults of others.

    Attributes:
        left_out: how many have no answer.
    """

    problems: tuple[Problem, ...]
    faults: tuple[Fault, ...]
    left_out: int


def read_file(path: Path) -> Problems:
    """The problems of a file; one that can't be read has a fault and no problem."""
    try:
        rows = list(read_rows(path))
    except ReadError as error:
        return Problems((), (Fault(f"{error} (fix it)"),), 0)
    problems: list[Problem] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    left_out = 0
    for row in rows:
        if row.fault:
            faults.append(Fault(f"{path.name}, {row.place} {row.fault}"))
            continue
        identity = id_text(row.fields.get("problem_id"))
        if identity is not None and identity in seen:
            faults.append(Fault(f"problem {identity!r} occurs more than once"))
            continue
        seen.add(identity or "")
        name = f"problem {identity!r}" if identity else f"{path.name}, {row.place}"
        try:
            entry = _Entry.model_validate(row.fields)
        except ValidationError as error:
            faults += (Fault(f"{name}: {said}") for said in all_faults(error))
            continue
        if entry.answer.strip(" \t\r\n$.。．") in _NO_ANSWER:
            left_out += 1  # its images are not used
            continue
        images = image_names(row.fields.get("image"))
        faults += (Fault(f"{name}: {said}", True) for said in _image_faults(row.fields, images))
        problems.append(entry.problem(tuple(images or ())))
    return Problems(tuple(problems), tuple(faults), left_out)


def holds_problems(path: Path) -> bool:
    """Whether a file is a list with a problem in it."""
    try:
        return any(all(field in row.fields for field in _REQUIRED) for row in read_rows(path))
    except ReadError:
        return False


def form_of(question: str, reference: str) -> Form:
    """What a question really asks for, by its text and its answer.

    Args:
        question, reference: in the publishers' notation.
    """
    if _letters(reference) and {"A", "B"} <= _options(question):
        return "choice"
    if _has_parts(_PART_ON_ITS_LINE, question) or _has_parts(_PART_BEHIND_ANOTHER, reference):
        return "parts"
    return "blank" if blanks(question) else "open"


def _letters(reference: str) -> str:
    """The letters of an answer that consists of option letters, such as ``A\\nC``."""
    bare = _BETWEEN_LETTERS.sub("", unicodedata.normalize("NFKC", reference))
    return bare if re.fullmatch(r"[A-H]{1,8}", bare) and len(set(bare)) == len(bare) else ""


def _options(question: str) -> set[str]:
    return {one or other for one, other in _OPTION.findall(question)}


def _has_parts(pattern: re.Pattern[str], text: str) -> bool:
    return {"1", "2"} <= set(pattern.findall(text))


def _identity(value: object) -> str:
    found = id_text(value)
    if found is None:
        raise wrong("a string or a whole number", value)
    return found


def _answer(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "" if value is None else str(value) if number else value


def _filled(text: str) -> str:
    if not text.strip():
        raise wrong("a non-empty string", text)
    return text.strip()


_Number = Annotated[int, Field(gt=-_MANY, lt=_MANY)] | None


class _Metadata(Model):
    category: Text | None = Field(default=None, alias="multimodal-category")


class _Entry(Model):
    """One problem as published, without its images."""

    problem_id: Annotated[str, PlainValidator(_identity)]
    question: Annotated[Text, AfterValidator(_filled)]
    answer: Annotated[Text, BeforeValidator(_answer)]
    answer_type: AnswerType
    analysis: Text | None = None
    ocr: Text | None = None
    grade_id: _Number = None
    grade_group: _Number = None
    knowledge_point: Text | None = None
    skill: Text | None = None
    metadata: _Metadata | None = None

    def problem(self, images: tuple[str, ...]) -> Problem:
        """The problem in the fields of documents."""
        reference = self.answer.strip()
        return Problem(
            id=self.problem_id,
            language="zh",
            question=self.question,
            reference=reference,
            answer_type=self.answer_type,
            form=form_of(self.question, reference),
            analysis=without_image_tags(self.analysis or "").strip(),
            ocr=(self.ocr or "").strip(),
            category=self.metadata.category if self.metadata else None,
            grade_id=self.grade_id,
            grade_group=self.grade_group,
            knowledge_point=self.knowledge_point,
            skill=self.skill,
            img_path=images,
        )


def _image_faults(entry: Mapping[str, Any], names: list[str] | None) -> Iterator[str]:
    if "image" not in entry:
        yield "image is missing"
    elif names is None:
        yield f"image {wrong('a name or a list of names', entry['image'])}"
    yield from outside_faults(names, "a name inside the folder of images")
