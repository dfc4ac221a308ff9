"""ROME: visual questions in eight subtasks, graded by rules or by a judge.

Annotations are JSON (a list of questions, or an object of them by their ids) or JSONL, in the
layout of github.com/flageval-baai/ROME-evaluation.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import BeforeValidator, Field, model_validator

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import FieldError, Line, Text, wrong
from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.reasoning.clues import Language, language_of
from lmms_rpts.reasoning.thinking import THINKING_SHOWN, Excerpt, excerpt
from lmms_rpts.scoring.question import Asked, ShownQuestion
from lmms_rpts.tasks.data import HubData, shows_images
from lmms_rpts.tasks.questions import Identity, ImageNames, QuestionFiles, Source
from lmms_rpts.tasks.rome.matchers import Rule, rule_of

Subtask = Literal[
    "academic", "diagrams", "puzzles_games", "memes", "geo", "recognition", "multi", "spatial"
]
SUBTASKS: tuple[Subtask, ...] = get_args(Subtask)
MARKER = re.compile(r"<\s*image[\s_]*(\d{1,9})\s*>", re.IGNORECASE)
"""A reference to an image in a question, numbered from 1."""

# Parts of the names of the subtasks, for annotations that call them otherwise.
_STEMS = ("academic", "diagram", "puzzle", "game", "meme", "geo", "recogn", "multi", "spatial")
_FIRST_CHOICE = re.compile(r"(?<![A-Za-z.])[(（]?A[)）.．、:：]")

CONCLUSION_SHOWN = 4000
"""Number of characters at the end of the thinking that are compared with the answer."""

# "Let me zoom in on the sign", "I ran a reverse image search", 我用谷歌搜索了一下
_TOOL = re.compile(
    r"search|googl|\bbing\b|brows|look(?:ed|ing|s)?\s(?:\w+\s){0,3}up\b|\bweb|internet|online"
    r"|wikipedia|database|zoom|crop|magnif|enhanc|\btools?\b|python|\bcode|script|execut"
    r"|\b(?:ran|run|running)\b|calculator|\bocr\b|\bapi\b"
    r"|搜索|搜寻|检索|查询|查阅|查了|谷歌|百度|网络|网页|网上|在线|数据库|放大|裁剪|截取|工具|代码|程序|脚本"
    r"|运行|执行|计算器",
    re.IGNORECASE,
)


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
        # The publishers recommend to grade diagrams by a language model.
        recommended = self.grader == "recommended" and subtask == "diagrams"
        return "llm" if recommended or self.grader == "llm" else "rule"

    def asks_judge(self, subtask: str) -> bool:
        """Whether a judge is asked about a subtask's responses."""
        return bool(self.questions) or self.grader_of(subtask) == "llm"


# --- questions -----------------------------------------------------------------------------------


def _canonical(value: object) -> str:
    """An object as JSON text with sorted keys: documents and records have fields of one type."""
    with suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    if not isinstance(value, dict):
        raise wrong("an object", value)
    return storable(json.dumps(value, ensure_ascii=False, sort_keys=True))


def _as_text(value: object) -> object:
    return value if isinstance(value, str | None) else json.dumps(value)


_Label = Annotated[Text | None, BeforeValidator(_as_text)]


class RomeQuestion(Asked):
    """One question: read from a file, shown to a model, and part of the record."""

    id: Annotated[Identity, Field(validation_alias="question_id", description="id of the question")]
    subtask: Subtask = Field(description="by the field `task`, else by the id")
    language: Language = Field(description="by the script of the question")
    question: Line = Field(description="the question, with marks for its images")
    img_path: ImageNames = Field(default=(), description="its images, by number")
    evaluator: Line = Field(description="the published rule that grades it")
    evaluator_kwargs: Annotated[Text, BeforeValidator(_canonical)] = Field(
        description="the arguments of that rule, as JSON"
    )
    reference: Annotated[Text, BeforeValidator(_as_text)] = Field(
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
        _ = self.rule  # raises if its arguments are wrong
        return self

    @cached_property
    def rule(self) -> Rule:
        """The published rule that grades it."""
        return rule_of(self.evaluator, json.loads(self.evaluator_kwargs))

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
        passages = tool_passages(thinking).text if kind == "pretended_tools" else ""
        return self.language, {
            "question": self.question,
            "reference": self.reference,
            "answer": answer,
            "thinking": passages or thinking[-CONCLUSION_SHOWN:],
        }


def tool_passages(thinking: str) -> Excerpt:
    """The part of a thinking that may pretend to use tools."""
    return excerpt(thinking, THINKING_SHOWN, _TOOL.search)


# --- the data ------------------------------------------------------------------------------------

_WANTED = "to a folder with JSON or JSONL files of questions (also in data/) and their images"
HUB = HubData(RomeSettings, "BAAI/ROME", _WANTED)


def _source(part: str) -> Source:
    """The files at ROME_PATH, else of a copy from the Hub, downloaded if necessary."""
    shown = shows_images()
    place, remedy = HUB.place("data/test.json", images="data/**")
    folder = place if place.is_dir() else place.parent
    found = [*sorted(place.glob("*")), *sorted(place.glob("data/*"))] or [place]
    files = [each for each in found if each.is_file() and each.suffix in (".json", ".jsonl")]
    if not files:
        raise HUB.missing(place, "annotations")
    return Source(place, tuple(files), remedy, folder, folder if shown else None)


def _prepare(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """Images are looked up next to the file that names them, then in the folder of the data."""
    names = (str(entry.get(each)).lower() for each in ("task", "question_id"))
    stem = next((each for name in names for each in _STEMS if each in name), "?")
    entry["subtask"] = next((each for each in SUBTASKS if stem in each), "")
    question = MARKER.sub(" ", str(entry.get("question")))
    asked = _FIRST_CHOICE.split(question, maxsplit=1)[0]
    entry["language"] = language_of(asked if asked.strip() else question)
    paths = entry.get("img_path")
    if isinstance(paths, str | list):
        listed = [paths] if isinstance(paths, str) else paths
        entry["img_path"] = [_beside(source.root, row.file.parent, each) for each in listed]
    return entry["subtask"], ""


def _beside(root: Path, folder: Path, name: Any) -> Any:
    """The path of an image relative to the root; unchanged if it is not next to its file."""
    try:
        near = folder / name
        return near.relative_to(root).as_posix() if near.is_file() else name
    except (OSError, ValueError, TypeError):  # too long a name, no text: a check reports it
        return name


FILES: QuestionFiles[RomeQuestion] = QuestionFiles(
    what="question",
    kind=RomeQuestion,
    source=_source,
    identity="question_id",
    prepare=_prepare,
    part_of=lambda question: question.subtask,
    needed=frozenset({"question_id", "question", "evaluator"}),
)
load = FILES.load
