"""Who is asked about the responses to CMMaTH."""

from __future__ import annotations

from lmms_rpts.settings import Settings
from lmms_rpts.tasks.judges import needed_judge


def asks_judge(settings: Settings) -> bool:
    """Whether a judge is asked about responses, be it only some of them."""
    return settings.cmmath_errors or settings.cmmath_grader != "rule"


def judge_of(settings: Settings, default: str | None = None) -> str | None:
    """The judge of CMMaTH, checked to be usable; None where rules do it all.

    ``none`` is taken: responses are then left ungraded, to be graded later.

    Args:
        settings: the run's.
        default: the judge where LMMS_RPTS_JUDGE names none.

    Raises:
        JudgeConfigurationError: saying what to set.
    """
    if not asks_judge(settings):
        return None
    need = f"CMMATH_GRADER={settings.cmmath_grader}"
    if settings.cmmath_errors:
        need = "CMMATH_ERRORS=1"
    return needed_judge(settings, need, "CMMATH_GRADER=rule, CMMATH_ERRORS=0", default)
