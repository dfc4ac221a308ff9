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
"""The subtasks that the publishers advise to have graded by a language model."""


@dataclass(frozen=True, slots=True)
class RomeSettings:
    """One reading of the environment.

    Attributes:
        path: ROME_PATH, a local folder with ROME in the publishers' layout; None: downloaded.
        grader: ROME_GRADER, who grades; recommended: an LLM diagrams, rules the others.
        consistency: ROME_CONSISTENCY, whether a judge compares thinking and answers.
    """

    path: Path | None = None
    grader: RomeGrader = "rule"
    consistency: bool = False


def load_rome_settings(environ: Mapping[str, str] | None = None) -> RomeSettings:
    """Read the settings; raises SettingError, naming the variable and what is allowed."""
    env = read_variables(VARIABLES, environ)
    return RomeSettings(
        path=env.folder("ROME_PATH"),
        grader=env.choice("ROME_GRADER", get_args(RomeGrader)) or "rule",
        consistency=env.choice("ROME_CONSISTENCY", ("0", "1")) == "1",
    )


def grader_of(rome: RomeSettings, subtask: str) -> Grader:
    """Whose grade of a subtask's questions counts."""
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
    """The judge of these subtasks, checked to be usable; None where rules do it all.

    ``none`` is taken: responses are then left ungraded, to be graded later.

    Args:
        rome: what is to be graded how.
        settings: which judge there is.
        subtasks: those that are evaluated.
        default: the judge where LMMS_RPTS_JUDGE names none.

    Raises:
        JudgeConfigurationError: saying what to set.
    """
    from lmms_rpts.tasks.judges import needed_judge

    if not any(asks_judge(rome, subtask) for subtask in subtasks):
        return None
    need = "ROME_CONSISTENCY=1" if rome.consistency else f"ROME_GRADER={rome.grader}"
    return needed_judge(settings, need, "ROME_GRADER=rule, ROME_CONSISTENCY=0", default)
