"""Who grades which question of ROME, and the judge that it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from lmms_rpts.settings import Settings
from lmms_rpts.tasks.judges import needed_judge

Grader = Literal["rule", "llm"]

LLM_RECOMMENDED = frozenset({"diagrams"})
"""The subtasks that the publishers advise to have graded by a language model."""


def grader_of(settings: Settings, subtask: str) -> Grader:
    """Whose grade of a subtask's questions counts."""
    recommended = settings.rome_grader == "recommended" and subtask in LLM_RECOMMENDED
    return "llm" if recommended or settings.rome_grader == "llm" else "rule"


def asks_judge(settings: Settings, subtask: str) -> bool:
    """Whether a judge is asked about a subtask's responses."""
    return settings.rome_consistency or grader_of(settings, subtask) == "llm"


def judge_of(settings: Settings, subtasks: Iterable[str], default: str | None = None) -> str | None:
    """The judge of these subtasks, checked to be usable; None where rules do it all.

    ``none`` is taken: responses are then left ungraded, to be graded later.

    Args:
        settings: the run's.
        subtasks: those that are evaluated.
        default: the judge where LMMS_RPTS_JUDGE names none.

    Raises:
        JudgeConfigurationError: saying what to set.
    """
    if not any(asks_judge(settings, subtask) for subtask in subtasks):
        return None
    need = f"ROME_GRADER={settings.rome_grader}"
    if settings.rome_consistency:
        need = "ROME_CONSISTENCY=1"
    return needed_judge(settings, need, "ROME_GRADER=rule, ROME_CONSISTENCY=0", default)
