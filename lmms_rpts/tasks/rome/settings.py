"""Settings of ROME: the grader of each question, and the judge that it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Literal

from lmms_rpts.settings import Place, Settings, Table, setting

RomeGrader = Literal["rule", "llm", "recommended"]
Grader = Literal["rule", "llm"]

LLM_RECOMMENDED = frozenset({"diagrams"})
"""The subtasks that the publishers recommend to grade by a language model."""


class RomeSettings(Table):
    """The settings of ROME."""

    TABLE: ClassVar[str] = "rome"
    path: Place | None = setting(None, "folder of ROME; without it, downloaded", True)
    grader: RomeGrader = setting("rule", "`recommended`: `llm` for diagrams, else `rule`", True)
    consistency: bool = setting(False, "whether a judge compares thinking and answers")


load_rome_settings = RomeSettings.load


def grader_of(rome: RomeSettings, subtask: str) -> Grader:
    """The grader whose grade counts for a subtask."""
    recommended = rome.grader == "recommended" and subtask in LLM_RECOMMENDED
    return "llm" if recommended or rome.grader == "llm" else "rule"


def asks_judge(rome: RomeSettings, subtask: str) -> bool:
    """Whether a judge is asked about a subtask's responses."""
    return rome.consistency or grader_of(rome, subtask) == "llm"


def judge_of(
    rome: RomeSettings,
    settings: Settings,
    subtasks: Iterable[str],
    default: str | None = None,
) -> str | None:
    """The judge of these subtasks, after a check that it is usable; None if only rules grade.

    ``none`` is allowed: responses are then ungraded and can be graded later.

    Args:
        rome: settings of ROME.
        settings: settings of the run.
        subtasks: the evaluated subtasks.
        default: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: the message says what to set.
    """
    from lmms_rpts.tasks.judges import needed_judge

    if not any(asks_judge(rome, subtask) for subtask in subtasks):
        return None
    need = "[rome] consistency = true" if rome.consistency else f"ROME_GRADER={rome.grader}"
    return needed_judge(settings, need, "ROME_GRADER=rule, [rome] consistency = false", default)
