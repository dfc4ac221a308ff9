"""The validity file of a run's judge: checked before the run, and noted in its results."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from loguru import logger

from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.runs.validity_files import Judging, read_validity_file
from lmms_rpts.settings import Settings


def check_validity(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures in the file of LMMS_RPTS_VALIDITY, for a run's results; None: no file.

    Logs a warning if the file is about another judge.

    Raises:
        ValidityError: with the file and the error.
    """
    if settings.validity is None:
        return None
    found = read_validity_file(settings.validity)
    if judge != NO_JUDGE and settings.rank == 0:
        chosen = Judging(judge, prompt_version, settings.judge_samples, settings.jury)
        said = found.mismatch(chosen)
        if said:
            _warn(f"LMMS_RPTS_VALIDITY: {said}: its figures do not apply to this run's judge")
    return found.extract()


@lru_cache  # tasks are checked several times
def _warn(said: str) -> None:
    logger.warning("{}", said)
