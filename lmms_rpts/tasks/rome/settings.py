"""Settings of ROME: the grader of each question, and the judge that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lmms_rpts.settings import Settings, read_variables

VARIABLES = ("ROME_CONSISTENCY", "ROME_GRADER", "ROME_PATH")

RomeGrader = Literal["rule", "llm", "recommended"]
Grader = Literal["rule", "llm"]

LLM_RECOMMENDED = frozenset({"diagrams"})
"""The subtasks that the publishers recommend to grade by a language model."""


@dataclass(frozen=True, slots=True)
class RomeSettings:
    """The settings, read from the environment.

    Attributes:
        path: ROME_PATH, a local folder with ROME in the publishers' layout; None: downloaded.
        grader: ROME_GRADER, the grader; recommended: an LLM for diagrams, rules for the others.
        consistency: ROME_CONSISTENCY, whether a judge compares thinking and answers.
    """

    path: Path | None = None
    grader: RomeGrader = "rule"
    consistency: bool = False


def load_rome_settings(environ: Mapping[str, str] | None = None) -> RomeSettings:
    """Read the settings; raises SettingError with the variable and the allowed values."""
    env = read_variables(VARIABLES, environ)
    return RomeSettings(
        path=env.folder("ROME_PATH"),
        grader=env.choice("ROME_GRADER", get_args(RomeGrader)) or "rule",
        consistency=env.choice("ROME_CONSISTENCY", ("0", "1")) == "1",
    )


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
    need = "ROME_CONSISTENCY=1" if rome.consistency else f"ROME_GRADER={rome.grader}"
    return needed_judge(settings, need, "ROME_GRADER=rule, ROME_CONSISTENCY=0", default)
