"""Data of ROME: questions as published, their checks, and the documents for lmms-eval.

Annotations are JSON (a list of questions, or an object of them by their ids) or JSONL, in the
layout of github.com/flageval-baai/ROME-evaluation. The YAML files refer to ``kwargs_SUBTASK`` and
``metadata_SUBTASK`` of this module. These are computed whenever a task is built, not once at
import, so that ROME_PATH is read again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, asdict
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic.dataclasses import dataclass

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import FieldError, Line, wrong
from lmms_rpts.base.settings import load_settings
from lmms_rpts.tasks.data import Check, DataError, HubData, needed_judge, shows_images
from lmms_rpts.tasks.questions import Identity, ImageNames, QuestionFiles, Questions, Source
from lmms_rpts.tasks.rome.arguments import check_arguments
from lmms_rpts.tasks.rome.benchmark import SUBTASKS, RomeSettings

if TYPE_CHECKING:
    from datasets import Dataset

HUB_DATASET = "BAAI/ROME"
HUB_FILE = "data/test.json"
_HUB = HubData(RomeSettings, HUB_DATASET, "to a local folder with its annotations and images")
MARKER = re.compile(r"<\s*image[\s_]*(\d{1,9})\s*>", re.IGNORECASE)
"""A reference to an image in a question, numbered from 1."""

_ALIASES = {
    "academics": "academic",
    "diagram": "diagrams",
    **dict.fromkeys(("puzzle", "puzzles", "game", "games"), "puzzles_games"),
    **dict.fromkeys(("puzzle_game", "puzzles_and_games"), "puzzles_games"),
    "meme": "memes",
    **dict.fromkeys(("geolocation", "geo_location", "geo_vqa"), "geo"),
    **dict.fromkeys(("multi_image", "multi_images", "multiple_images"), "multi"),
    "spatial_reasoning": "spatial",
    **{name: name for name in SUBTASKS},
}
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIRST_CHOICE = re.compile(r"(?<![A-Za-z.])[(（]?A[)）.．、:：]")


# --- questions -----------------------------------------------------------------------------------


def _task(value: object) -> str:
    if not value:
        raise FieldError(
            "cannot be found from the field 'task', the images' folder or the id; known subtasks: "
            + ", ".join(SUBTASKS)
        )
    return str(value)


def _json(value: object) -> str:
    if not isinstance(value, dict):
        raise wrong("an object", value)
    return json.dumps(value)


def _label(value: object) -> str | None:
    return (
        value if value is None else storable(value if isinstance(value, str) else json.dumps(value))
    )


_Label = Annotated[str | None, BeforeValidator(_label)]


@dataclass(frozen=True)
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

    _: KW_ONLY
    id: Annotated[Identity, Field(alias="question_id")]
    task: Annotated[str, PlainValidator(_task)]
    language: str
    question: Line
    img_path: ImageNames
    evaluator: Line
    evaluator_kwargs: Annotated[str, PlainValidator(_json)]
    reference: Annotated[str, BeforeValidator(lambda value: _label(value) or "")] = ""
    image_type: _Label = None
    image_subtype: _Label = None
    question_type: _Label = None
    reasoning_type: _Label = None

    @model_validator(mode="after")
    def _can_be_asked_and_graded(self) -> Question:
        count = len(self.img_path)
        for marker in MARKER.finditer(self.question):
            if not 1 <= int(marker[1]) <= count:
                raise FieldError(
                    f"it names {marker[0]!r}, but has {count} image(s), numbered from 1"
                )
        check_arguments(self.evaluator, json.loads(self.evaluator_kwargs))
        return self


def source() -> Source:
    """The files at ROME_PATH, else of a copy from the Hub, downloaded if necessary."""
    local = RomeSettings.load().path
    if local is None:
        folder = _HUB.folder("data/**" if shows_images() else HUB_FILE)
        remedy = (
            f"The download from {HUB_DATASET} may be damaged: delete {folder} and retry, or "
            "set ROME_PATH to a local folder."
        )
        return Source(folder, folder, folder, [folder / HUB_FILE], remedy)
    files = [
        path
        for place in (local, local / "data")
        for path in sorted(place.glob("*.json*"))
        if path.suffix in (".json", ".jsonl")
    ]
    if not files:
        raise DataError(
            f"ROME_PATH={str(local)!r} is not a folder with annotations. Set it to a folder with "
            "JSON or JSONL files of questions (also in data/) and their images, or unset it "
            f"to download {HUB_DATASET}."
        )
    remedy = f"Fix or complete {local} (ROME_PATH), or unset ROME_PATH to download {HUB_DATASET}."
    return Source(local, local, local, files, remedy)


def _fields(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """Images are looked up next to the file that names them, then in the folder of the data."""
    entry["task"] = task = _subtask(entry)
    entry["language"] = language_of(str(entry.get("question")))
    if "img_path" in entry:
        entry["img_path"] = _from(source.root, row.file.parent, entry["img_path"])
    return task, ""


DATA: QuestionFiles[Question] = QuestionFiles(
    title="ROME",
    what="question",
    kind=Question,
    settings=RomeSettings,
    source=source,
    identity="question_id",
    fields=_fields,
    needed=frozenset({"question_id", "question", "evaluator"}),
)


def _from(folder: Path, beside: Path, names: Any) -> Any:
    """Paths of images relative to the folder; unchanged if they are not next to their file."""
    if isinstance(names, list):
        return [_from(folder, beside, each) if isinstance(each, str) else each for each in names]
    try:
        near = beside / names
        return near.relative_to(folder).as_posix() if near.is_file() else names
    except (OSError, ValueError, TypeError):  # too long a name, no text: a check reports it
        return names


def _subtask(entry: Mapping[str, Any]) -> str:
    """The subtask by its name, the folder of the images, or the id; empty if unknown."""
    paths = entry.get("img_path")
    first = paths[0] if isinstance(paths, list) and paths else paths
    folders = PurePosixPath(first).parts[:-1] if isinstance(first, str) else ()
    identity = re.sub(r"^question_|_?\d+$", "", _name(str(entry.get("question_id"))))
    names = (_name(str(each)) for each in (entry.get("task"), *folders, identity))
    return next((_ALIASES[name] for name in names if name in _ALIASES), "")


def _name(text: str) -> str:
    return re.sub(r"[\W_]+", "_", text.lower()).strip("_")


def language_of(question: str) -> str:
    """``zh`` if Chinese script prevails in a question before its choices, else ``en``."""
    text = MARKER.sub(" ", question)
    asked = _FIRST_CHOICE.split(text, maxsplit=1)[0]
    asked = asked if asked.strip() else text
    # One English word corresponds to one or two Chinese characters.
    return "zh" if len(_HAN.findall(asked)) > 1.5 * len(_WORD.findall(asked)) else "en"


# --- documents for lmms-eval ---------------------------------------------------------------------


def attach_images(dataset: Dataset) -> Dataset:
    """Add a column of images, each decoded only when its document is accessed.

    Saved responses need none; lmms-eval would decode those of the first document.
    """
    return DATA.attach_images(dataset) if shows_images() else dataset


def images_folder(task: str) -> Path | None:
    """The folder of the images on this machine; None if there is none. Downloads nothing."""
    return _HUB.present()


def read_documents(task: str) -> dict[str, list[dict[str, Any]]]:
    """The questions of a task or of the group ``rome``, without images, by task."""
    return {
        f"rome_{subtask}": list(map(asdict, questions))
        for subtask, questions in _by_subtask(DATA.load()).items()
        if task in ("rome", f"rome_{subtask}")
    }


def _by_subtask(found: Questions[Question]) -> dict[str, list[Question]]:
    """The questions of each subtask that has any, in the order of ``SUBTASKS``."""
    parts = {task: [each for each in found.questions if each.task == task] for task in SUBTASKS}
    return {task: part for task, part in parts.items() if part}


def __getattr__(name: str) -> Any:
    kind, _, subtask = name.partition("_")
    if subtask not in SUBTASKS or kind not in ("kwargs", "metadata"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    questions = _by_subtask(DATA.load()).get(subtask, [])
    if kind == "kwargs":
        return DATA.kwargs(questions)
    settings, rome = load_settings(), RomeSettings.load()
    return DATA.metadata(questions) | {
        "grader": rome.grader,
        "consistency": rome.consistency,
        **({"pretended_tools": True} if rome.pretended_tools else {}),
        "judge": settings.judge if rome.asks_judge(subtask) else None,
    }


# --- checks before a run -------------------------------------------------------------------------


def check_rome(*subtasks: str) -> None:
    """Check the questions and images of these subtasks; downloads them if ROME_PATH is not set.

    Saved responses (``--model replay``) need no images.
    """
    from lmms_rpts.tasks.rome.scorer import RomeScorer

    rome = RomeSettings.load()
    if any(map(rome.asks_judge, subtasks)):
        needed_judge(load_settings(), rome, rome.questions)
    RomeScorer(load_settings())  # scorers check their settings when created
    found = DATA.load()
    there = _by_subtask(found)
    asked = [each for each in found.questions if each.task in subtasks]
    faults = found.faults_of(*subtasks)
    faults += (
        f"question {each.id!r}: it has no 'reference' that a judge could compare an answer with "
        f"(ROME_GRADER={rome.grader}; rules need none)"
        for each in asked
        if rome.grader_of(each.task) == "llm" and not each.reference.strip()
    )
    empty = ", ".join(each for each in subtasks if each not in there)
    if empty:
        runnable = ",".join(f"rome_{each}" for each in there)
        empty = f"no questions of: {empty}; run --tasks {runnable} for the others"
    if not there:
        empty = (
            "no JSON or JSONL file in it or in its folder data has questions with question_id, "
            "question, evaluator"
        )
    DATA.check(found, faults, asked if shows_images() else (), empty)
    for subtask in subtasks:
        DATA.store(there[subtask])


def examine() -> list[Check]:
    """Check ROME_PATH; no checks if it is not set."""

    def check(found: Questions[Question]) -> str:
        there = tuple(_by_subtask(found))
        check_rome(*there or SUBTASKS)
        missing = ", ".join(each for each in SUBTASKS if each not in there)
        return f"; no questions of: {missing}" if missing else ""

    return DATA.examine(check)


CHECKS: dict[str, Callable[[], None]] = {
    "rome": partial(check_rome, *SUBTASKS),
    **{f"rome_{subtask}": partial(check_rome, subtask) for subtask in SUBTASKS},
}
