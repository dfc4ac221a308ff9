"""ROME: visual questions in eight subtasks, graded by rules or by a judge.

Annotations are JSON (a list of questions, or an object of them by their ids) or JSONL, in the
layout of github.com/flageval-baai/ROME-evaluation.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, model_validator

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import FieldError, Line, Text, wrong
from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.record import Asked, ShownQuestion
from lmms_rpts.tasks.data import DataError, HubData, shows_images
from lmms_rpts.tasks.questions import Identity, ImageNames, QuestionFiles, Questions, Source
from lmms_rpts.tasks.rome.arguments import check_arguments

SUBTASKS = (
    *("academic", "diagrams", "puzzles_games", "memes"),
    *("geo", "recognition", "multi", "spatial"),
)
_LLM_RECOMMENDED = frozenset({"diagrams"})
"""The subtasks that the publishers recommend to grade by a language model."""

HUB_DATASET, HUB_FILE = "BAAI/ROME", "data/test.json"
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


class RomeSettings(Table, env_prefix="ROME_"):
    """The settings of ROME."""

    TABLE: ClassVar[str] = "rome"
    path: Place | None = setting(
        None, "folder of ROME, or its file of annotations; without it, downloaded"
    )
    grader: Literal["rule", "llm", "recommended"] = setting(
        "rule", "`recommended`: `llm` for diagrams, else `rule`"
    )
    consistency: bool = setting(False, "whether a judge compares thinking and answers")
    pretended_tools: bool = setting(
        False, "whether a judge looks for tools and searches that the thinking pretends to use"
    )

    @property
    def questions(self) -> list[str]:
        """The questions to a judge about the thinking that are switched on."""
        return [name for name in ("consistency", "pretended_tools") if getattr(self, name)]

    def grader_of(self, subtask: str) -> str:
        """The grader whose grade counts for a subtask: ``rule`` or ``llm``."""
        recommended = self.grader == "recommended" and subtask in _LLM_RECOMMENDED
        return "llm" if recommended or self.grader == "llm" else "rule"

    def asks_judge(self, subtask: str) -> bool:
        """Whether a judge is asked about a subtask's responses."""
        return bool(self.questions) or self.grader_of(subtask) == "llm"


# --- questions -----------------------------------------------------------------------------------


def _subtask(value: object) -> str:
    if value not in SUBTASKS:
        raise FieldError(
            "cannot be found from the field 'task', the images' folder or the id; known subtasks: "
            + ", ".join(SUBTASKS)
        )
    return str(value)


def _canonical(value: object) -> str:
    """An object as JSON text with sorted keys: documents and records have fields of one type."""
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, dict):
        raise wrong("an object", value)
    return storable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _label(value: object) -> str | None:
    return (
        value if value is None else storable(value if isinstance(value, str) else json.dumps(value))
    )


_Label = Annotated[str | None, BeforeValidator(_label)]


class RomeQuestion(Asked):
    """One question: read from a file, shown to a model, and part of the record."""

    model_config = ConfigDict(populate_by_name=True)

    id: Annotated[Identity, Field(validation_alias="question_id", description="id of the question")]
    subtask: Annotated[str, PlainValidator(_subtask), Field(description="one of eight")]
    language: Language = Field(description="by the script of the question")
    question: Line = Field(description="the question, with marks for its images")
    img_path: ImageNames | tuple[()] = Field(default=(), description="its images, by number")
    evaluator: Line = Field(description="the published rule that grades it")
    evaluator_kwargs: Annotated[Text, BeforeValidator(_canonical)] = Field(
        description="the arguments of that rule, as JSON"
    )
    reference: Annotated[str, BeforeValidator(lambda value: _label(value) or "")] = Field(
        default="", description="the answer as its author wrote it; rules don't read it"
    )
    image_type: _Label = Field(default=None, description="as published; null if not given")
    image_subtype: _Label = Field(default=None, description="as above")
    question_type: _Label = Field(default=None, description="as above")
    reasoning_type: _Label = Field(default=None, description="as above")

    @model_validator(mode="after")
    def _can_be_asked_and_graded(self) -> RomeQuestion:
        count = len(self.img_path)
        for marker in MARKER.finditer(self.question) if count else ():
            if not 1 <= int(marker[1]) <= count:
                raise FieldError(
                    f"it names {marker[0]!r}, but has {count} image(s), numbered from 1"
                )
        check_arguments(self.evaluator, self.arguments)
        return self

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of its rule."""
        found: dict[str, Any] = json.loads(self.evaluator_kwargs)
        return found

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        return ShownQuestion(
            text=self.question,
            gold=(self.reference,),
            language=self.language,
            images=self.img_path,
            details={"evaluator": self.evaluator, "arguments": self.evaluator_kwargs},
        )

    def asked(self, kind: str, answer: str, thinking: str) -> tuple[str, dict[str, Any]]:
        """The language and the fields of a request about a response."""
        from lmms_rpts.tasks.rome.scorer import CONCLUSION_SHOWN, tool_passages

        passages = tool_passages(thinking).text if kind == "pretended_tools" else ""
        return self.language, {
            "question": self.question,
            "reference": self.reference,
            "answer": answer,
            "thinking": passages or thinking[-CONCLUSION_SHOWN:],
        }


def language_of(question: str) -> str:
    """``zh`` if Chinese script prevails in a question before its choices, else ``en``."""
    text = MARKER.sub(" ", question)
    asked = _FIRST_CHOICE.split(text, maxsplit=1)[0]
    asked = asked if asked.strip() else text
    # One English word corresponds to one or two Chinese characters.
    return "zh" if len(_HAN.findall(asked)) > 1.5 * len(_WORD.findall(asked)) else "en"


# --- the data ------------------------------------------------------------------------------------

_HUB = HubData(RomeSettings, HUB_DATASET, "to a local folder with its annotations and images")


def _source(part: str) -> Source:
    """The files at ROME_PATH, else of a copy from the Hub, downloaded if necessary."""
    local, shown = RomeSettings.load().path, shows_images()
    if local is None:
        folder = _HUB.folder("data/**" if shown else HUB_FILE)
        remedy = (
            f"The download from {HUB_DATASET} may be damaged: delete {folder} and retry, or "
            "set ROME_PATH to a local folder."
        )
        return Source(folder, (folder / HUB_FILE,), remedy, folder, folder if shown else None)
    folder, files = local, [local]
    if local.is_dir():
        places = [path for place in (local, local / "data") for path in sorted(place.glob("*.*"))]
        files = [path for path in places if path.suffix in (".json", ".jsonl")]
    else:
        folder = local.parent
    if not files or not files[0].is_file():
        raise DataError(
            f"ROME_PATH={str(local)!r} is not a folder with annotations. Set it to a folder with "
            "JSON or JSONL files of questions (also in data/) and their images, or unset it "
            f"to download {HUB_DATASET}."
        )
    remedy = f"Fix or complete {local} (ROME_PATH), or unset ROME_PATH to download {HUB_DATASET}."
    return Source(local, tuple(files), remedy, folder, folder if shown else None)


def _prepare(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """Images are looked up next to the file that names them, then in the folder of the data."""
    paths = entry.get("img_path")
    first = paths[0] if isinstance(paths, list) and paths else paths
    folders = PurePosixPath(first).parts[:-1] if isinstance(first, str) else ()
    identity = re.sub(r"^question_|_?\d+$", "", _name(entry.get("question_id")))
    names = map(_name, (entry.get("task"), *folders, identity))
    subtask = next((_ALIASES[name] for name in names if name in _ALIASES), "")
    entry |= {"subtask": subtask, "language": language_of(str(entry.get("question")))}
    if isinstance(paths, str | list):
        listed = [paths] if isinstance(paths, str) else paths
        entry["img_path"] = [_beside(source.root, row.file.parent, each) for each in listed]
    return subtask, ""


def _beside(root: Path, folder: Path, name: Any) -> Any:
    """The path of an image relative to the root; unchanged if it is not next to its file."""
    try:
        near = folder / name
        return near.relative_to(root).as_posix() if near.is_file() else name
    except (OSError, ValueError, TypeError):  # too long a name, no text: a check reports it
        return name


def _name(text: object) -> str:
    return re.sub(r"[\W_]+", "_", str(text).lower()).strip("_")


FILES: QuestionFiles[RomeQuestion] = QuestionFiles(
    what="question",
    kind=RomeQuestion,
    source=_source,
    identity="question_id",
    prepare=_prepare,
    part_of=lambda question: question.subtask,
    needed=frozenset({"question_id", "question", "evaluator"}),
)


def load(part: str) -> Questions[RomeQuestion]:
    """The questions of a subtask."""
    return FILES.load(part)


def images_folder(part: str) -> Path | None:
    """The folder of the images on this machine; None if there is none. Downloads nothing."""
    return _HUB.present()
