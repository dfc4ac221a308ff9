"""Source format of ROME: questions as published, and errors in them.

Annotations are JSON (a list of questions, or an object of them by their ids) or JSONL, in the
layout of github.com/flageval-baai/ROME-evaluation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from lmms_rpts.filters.documents import FieldCheck, field_faults
from lmms_rpts.rows import ReadError, Row, read_rows
from lmms_rpts.schema import shown
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.source_fields import (
    id_text,
    image_names,
    is_encodable,
    is_text,
    outside_faults,
)

DATA = "data"
MARKER = re.compile(r"<\s*image[\s_]*(\d{1,9})\s*>", re.IGNORECASE)
"""A reference to an image in a question, numbered from 1."""

_REQUIRED = ("question_id", "question", "evaluator")
_FIELDS: dict[str, FieldCheck] = {
    "question_id": (lambda value: id_text(value) is not None, "a string or a whole number"),
    "question": (is_text, "a non-empty string"),
    "img_path": (lambda value: image_names(value) is not None, "a path or a list of paths"),
    "evaluator": (is_text, "the name of an evaluator"),
    "evaluator_kwargs": (lambda value: isinstance(value, dict), "an object"),
}
_LABELS = ("image_type", "image_subtype", "question_type", "reasoning_type")
_ALIASES = {
    "academics": "academic",
    "diagram": "diagrams",
    "puzzle": "puzzles_games",
    "puzzles": "puzzles_games",
    "game": "puzzles_games",
    "games": "puzzles_games",
    "puzzle_game": "puzzles_games",
    "puzzles_and_games": "puzzles_games",
    "meme": "memes",
    "geolocation": "geo",
    "geo_location": "geo",
    "geo_vqa": "geo",
    "multi_image": "multi",
    "multi_images": "multi",
    "multiple_images": "multi",
    "spatial_reasoning": "spatial",
} | {name: name for name in SUBTASKS}
_NO_NAME = re.compile(r"[\W_]+")
_NUMBER_OF_ID = re.compile(r"^question_|_?\d+$")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIRST_CHOICE = re.compile(r"(?<![A-Za-z.])[(（]?A[)）.．、:：]")


@dataclass(frozen=True, slots=True)
class Question:
    """One question, in the fields that a task's documents have.

    Attributes:
        id: ``question_id`` of the annotation, as text.
        task: one of ``SUBTASKS``.
        language: ``zh`` or ``en``, by the script of the question.
        img_path: images relative to the data folder, in the order of their numbers.
        evaluator_kwargs: the arguments of ``evaluator``, as JSON text: their types differ.
        reference: the answer as its author wrote it; graders don't read it.
    """

    id: str
    task: str
    language: str
    question: str
    img_path: tuple[str, ...]
    evaluator: str
    evaluator_kwargs: str
    reference: str
    image_type: str | None
    image_subtype: str | None
    question_type: str | None
    reasoning_type: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault with the question's name; ``task``: the question's subtask, None if unknown."""

    text: str
    task: str | None = None


@dataclass(frozen=True, slots=True)
class Annotations:
    """The valid questions of a folder, and the faults of all others."""

    folder: Path
    questions: tuple[Question, ...]
    faults: tuple[Fault, ...]

    def of(self, task: str) -> list[Question]:
        """The questions of one subtask, in their order."""
        return [question for question in self.questions if question.task == task]


def find_files(folder: Path) -> list[Path]:
    """Every JSON and JSONL file in a folder and in its folder ``data``."""
    places = (folder, folder / DATA)
    return [
        path
        for place in places
        for path in sorted(place.glob("*.json*"))
        if path.suffix in (".json", ".jsonl") and path.is_file()
    ]


def read_annotations(folder: Path, files: Sequence[Path]) -> Annotations:
    """The questions of these files; files without any question are skipped.

    A question that is in several files, word for word, counts once. Images are looked up next to
    the file that names them, then in ``folder``.
    """
    questions: dict[str, Question] = {}
    faults: list[Fault] = []
    for path in files:
        try:
            rows = list(read_rows(path))
        except ReadError as error:
            faults.append(Fault(f"{error} (fix or move it)"))
            continue
        if not any(_is_question(_entry(row)) for row in rows):
            # A line that is no JSON may be a question; a JSON value that is no object is none.
            rows = [row for row in rows if row.fault and row.place.startswith("line")]
        here: set[str] = set()
        for row in rows:
            found = _read(row, folder, path.parent)
            if not isinstance(found, Question):
                faults.extend(found)
            elif found.id in here or questions.setdefault(found.id, found) != found:
                faults.append(Fault(f"question {found.id!r} occurs more than once", found.task))
            else:
                here.add(found.id)
    return Annotations(folder, tuple(questions.values()), tuple(faults))


def _is_question(entry: Mapping[str, Any]) -> bool:
    return all(field in entry for field in _REQUIRED)


def _entry(row: Row) -> Mapping[str, Any]:
    """The fields of a row; in an object of questions, the keys are their ids."""
    return {"question_id": row.key, **row.fields} if row.key else row.fields


def _read(row: Row, folder: Path, beside: Path) -> Question | list[Fault]:
    entry, place = _entry(row), f"{row.file.name}, {row.place}"
    if row.fault:
        return [Fault(f"{place} {row.fault}")]
    identity = id_text(entry.get("question_id"))
    name = f"question {identity!r}" if identity else place
    task = _subtask(entry)
    faults = [Fault(f"{name}: {said}", task) for said in _field_faults(entry)]
    if task is None:
        known = ", ".join(SUBTASKS)
        said = "its subtask cannot be found from 'task', its images' folder or its id"
        faults.append(Fault(f"{name}: {said}; known subtasks: {known}"))
    if faults or task is None or identity is None:
        return faults
    text = entry["question"]
    images = image_names(entry["img_path"]) or ()
    return Question(
        id=identity,
        task=task,
        language=language_of(text),
        question=text,
        img_path=tuple(_place(path, folder, beside) for path in images),
        evaluator=entry["evaluator"],
        evaluator_kwargs=json.dumps(entry["evaluator_kwargs"]),
        reference=_label(entry.get("reference")) or "",
        **{field: _label(entry.get(field)) for field in _LABELS},
    )


def _field_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    yield from field_faults(entry, _FIELDS)
    paths = image_names(entry.get("img_path"))
    yield from outside_faults(paths, "a path inside the data folder")
    for field in ("reference", *_LABELS):
        if not is_encodable(_label(entry.get(field)) or ""):
            yield f"{field!r} contains half a character (a lone surrogate): {shown(entry[field])}"
    yield from _marker_faults(entry)


def _marker_faults(entry: Mapping[str, Any]) -> Iterator[str]:
    """Faults of a question that refers to an image that it does not have."""
    paths, text = image_names(entry.get("img_path")), entry.get("question")
    if paths is None or not isinstance(text, str):
        return
    for marker in MARKER.finditer(text):
        if not 1 <= int(marker[1]) <= len(paths):
            yield f"it names {marker[0]!r}, but has {len(paths)} image(s), numbered from 1"


def _place(path: str, folder: Path, beside: Path) -> str:
    """The image's path relative to the folder; unchanged if the image is missing."""
    near = beside / path
    try:
        return near.relative_to(folder).as_posix() if near.is_file() else path
    except OSError:  # such as too long a name: the image check reports it
        return path


def _subtask(entry: Mapping[str, Any]) -> str | None:
    paths = image_names(entry.get("img_path"))
    identity = id_text(entry.get("question_id")) or ""
    candidates = [
        entry.get("task"),
        *(PurePosixPath(paths[0]).parts[:-1] if paths else ()),
        _NUMBER_OF_ID.sub("", _name(identity)),
    ]
    names = (_name(each) for each in candidates if isinstance(each, str))
    return next((_ALIASES[name] for name in names if name in _ALIASES), None)


def _name(text: str) -> str:
    return _NO_NAME.sub("_", text.lower()).strip("_")


def language_of(question: str) -> str:
    """``zh`` if Chinese script prevails in a question before its choices, else ``en``."""
    text = MARKER.sub(" ", question)
    asked = _FIRST_CHOICE.split(text, maxsplit=1)[0]
    asked = asked if asked.strip() else text
    # One English word corresponds to one or two Chinese characters.
    return "zh" if len(_HAN.findall(asked)) > 1.5 * len(_WORD.findall(asked)) else "en"


def _label(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)
