"""Source format of CMMaTH: problems as published, and errors in them.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from lmms_rpts.filters.documents import FieldCheck, field_faults
from lmms_rpts.rows import ReadError, read_rows
from lmms_rpts.schema import shown
from lmms_rpts.tasks.cmmath.notation import blanks, without_image_tags
from lmms_rpts.tasks.source_fields import (
    id_text,
    image_names,
    is_encodable,
    is_text,
    outside_faults,
)

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
        entry = row.fields
        identity = id_text(entry.get("problem_id"))
        if identity is not None and identity in seen:
            faults.append(Fault(f"problem {identity!r} occurs more than once"))
            continue
        seen.add(identity or "")
        name = f"problem {identity!r}" if identity else f"{path.name}, {row.place}"
        found = list(_faults(entry, name))
        faults.extend(found)
        if any(not fault.of_image for fault in found) or identity is None:
            continue
        if _has_answer(entry):
            problems.append(_problem(identity, entry))
        else:
            left_out += 1
            # Its images are not used.
            del faults[len(faults) - len(found) :]
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


def _has_answer(entry: Mapping[str, Any]) -> bool:
    return (_text(entry["answer"]) or "").strip(" \t\r\n$.。．") not in _NO_ANSWER


def _problem(identity: str, entry: Mapping[str, Any]) -> Problem:
    question = entry["question"].strip()
    reference = (_text(entry["answer"]) or "").strip()
    images = image_names(entry.get("image"))
    return Problem(
        id=identity,
        language="zh",
        question=question,
        reference=reference,
        answer_type=entry["answer_type"],
        form=form_of(question, reference),
        analysis=without_image_tags(entry.get("analysis") or "").strip(),
        ocr=(entry.get("ocr") or "").strip(),
        category=(entry.get("metadata") or {}).get("multimodal-category"),
        grade_id=_number(entry.get("grade_id")),
        grade_group=_number(entry.get("grade_group")),
        knowledge_point=entry.get("knowledge_point"),
        skill=entry.get("skill"),
        img_path=tuple(images or ()),
    )


def _faults(entry: Mapping[str, Any], name: str) -> Iterator[Fault]:
    for said in field_faults(entry, _NEEDED, _OPTIONAL):
        yield Fault(f"{name}: {said}")
    metadata = entry.get("metadata")
    category = metadata.get("multimodal-category") if isinstance(metadata, dict) else None
    if not _is_label(category):
        said = f"'multimodal-category' should be a string, not {shown(category)}"
        yield Fault(f"{name}: {said}")
    for said in _image_faults(entry):
        yield Fault(f"{name}: {said}", of_image=True)


def _image_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    if "image" not in entry:
        yield "the field 'image' is missing"
        return
    names = image_names(entry.get("image"))
    if names is None:
        yield f"'image' should be a name or a list of names, not {shown(entry['image'])}"
    yield from outside_faults(names, "a name inside the folder of images")


def _text(value: object) -> str | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | str) else None


def _is_number(value: object) -> bool:
    if isinstance(value, str):
        return re.fullmatch(r"[0-9]{1,9}", value) is not None
    return value is None or (type(value) is int and -_MANY < value < _MANY)


def _is_answer(value: object) -> bool:
    text = _text(value)
    return value is None or (text is not None and is_encodable(text))


def _is_label(value: object) -> bool:
    """A text that may be empty, or null."""
    return value is None or (isinstance(value, str) and is_encodable(value))


_NEEDED: dict[str, FieldCheck] = {
    "problem_id": (lambda value: id_text(value) is not None, "a string or a whole number"),
    "question": (is_text, "a non-empty string"),
    "answer": (_is_answer, "a string"),
    "answer_type": (lambda value: value in get_args(AnswerType), "choice or free_form"),
}
_OPTIONAL: dict[str, FieldCheck] = {
    "analysis": (_is_label, "a string"),
    "ocr": (_is_label, "a string"),
    "grade_id": (_is_number, "a whole number"),
    "grade_group": (_is_number, "a whole number"),
    "knowledge_point": (_is_label, "a string"),
    "skill": (_is_label, "a string"),
    "metadata": (lambda value: value is None or isinstance(value, dict), "an object"),
}
