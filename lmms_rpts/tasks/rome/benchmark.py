"""ROME: visual questions in eight subtasks, graded by rules or by a judge; and its settings."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.judging.request_kinds import QUOTING, RequestKind
from lmms_rpts.tasks.benchmark import Benchmark

RomeGrader = Literal["rule", "llm", "recommended"]
Grader = Literal["rule", "llm"]

_HERE = "lmms_rpts.tasks.rome"
# Two folders: a digest of the templates in a folder is recorded with each score.
_GRADING, _THINKING = (Path(__file__).parent / f"{name}_prompts" for name in ("answer", "thinking"))
REQUEST_KINDS = (
    RequestKind(
        "grade",
        512,
        {"question": "⟦1⟧", "reference": "⟦2⟧", "answer": "⟦3⟧"},
        "correct or incorrect",
        _GRADING,
        ("correct", "incorrect", "正确", "错误"),
    ),
    RequestKind(
        "consistency",
        512,
        {"question": "⟦1⟧", "thinking": "⟦2⟧", "answer": "⟦3⟧"},
        "consistent or inconsistent",
        _GRADING,
        ("consistent", "inconsistent", "一致", "不一致"),
    ),
    RequestKind(
        "pretended_tools",
        512,
        {"thinking": "⟦1⟧"},
        "pretended or none",
        _THINKING,
        ("pretended", "none", "假装", "没有"),
        QUOTING,
    ),
)
SUBTASKS = (
    "academic",
    "diagrams",
    "puzzles_games",
    "memes",
    "geo",
    "recognition",
    "multi",
    "spatial",
)
_TASKS = tuple(f"rome_{each}" for each in SUBTASKS)
_LLM_RECOMMENDED = frozenset({"diagrams"})
"""The subtasks that the publishers recommend to grade by a language model."""


class RomeSettings(Table, env_prefix="ROME_"):
    """The settings of ROME."""

    TABLE: ClassVar[str] = "rome"
    path: Place | None = setting(None, "folder of ROME; without it, downloaded")
    grader: RomeGrader = setting("rule", "`recommended`: `llm` for diagrams, else `rule`")
    consistency: bool = setting(False, "whether a judge compares thinking and answers")
    pretended_tools: bool = setting(
        False, "whether a judge looks for tools and searches that the thinking pretends to use"
    )

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions to a judge about the thinking that are switched on."""
        names = ("consistency", "pretended_tools")
        return tuple(name for name in names if getattr(self, name))

    def grader_of(self, subtask: str) -> Grader:
        """The grader whose grade counts for a subtask."""
        recommended = self.grader == "recommended" and subtask in _LLM_RECOMMENDED
        return "llm" if recommended or self.grader == "llm" else "rule"

    def asks_judge(self, subtask: str) -> bool:
        """Whether a judge is asked about a subtask's responses."""
        return bool(self.questions) or self.grader_of(subtask) == "llm"


BENCHMARK = Benchmark(
    name="rome",
    title="ROME",
    folder=Path(__file__).parent,
    settings=RomeSettings,
    checks=f"{_HERE}.data:CHECKS",
    examine=f"{_HERE}.data:examine",
    filters={"rome_answer": f"{_HERE}.filter:RomeAnswerFilter"},
    scorer=f"{_HERE}.scorer:rome_scorer",
    record=f"{_HERE}.record:RomeRecord",
    grades=f"{_HERE}.record:GRADING",
    request_kinds=REQUEST_KINDS,
    answered={"rome": _TASKS, **dict.fromkeys(_TASKS, ())},
    documents=f"{_HERE}.data:read_documents",
    images=f"{_HERE}.data:images_folder",
)
