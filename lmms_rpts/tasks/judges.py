"""Choice of the judge that a benchmark's settings need."""

from __future__ import annotations

from lmms_rpts.judging import (
    NO_JUDGE,
    JudgeConfigurationError,
    choices,
    find_judges,
    writes,
)
from lmms_rpts.settings import Settings


def needed_judge(settings: Settings, need: str, without: str, default: str | None = None) -> str:
    """The configured judge, after a check that it can write text.

    ``none`` is allowed: responses are then ungraded and can be graded later.

    Args:
        settings: settings of the run.
        need: the setting that requires a judge, such as ROME_GRADER=llm.
        without: the settings that need none.
        default: the judge if LMMS_RPTS_JUDGE is not set.

    Raises:
        JudgeConfigurationError: the message says what to set.
    """
    judge = settings.judge or default
    if judge is None:
        raise JudgeConfigurationError(f"{need} needs a judge, and none is set. {choices()}")
    find_judges(judge, settings)
    if judge != NO_JUDGE and not writes(judge):
        raise JudgeConfigurationError(
            f"{need} needs a judge that writes text; {judge!r} does not: choose another judge with "
            f"LMMS_RPTS_JUDGE, or grade answers by rules ({without})"
        )
    return judge
