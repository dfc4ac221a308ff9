"""The validity of the judge that a run names: checked before it, and noted in its results."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from loguru import logger

from lmms_rpts.judging import NO_JUDGE
from lmms_rpts.runs.validity_files import Judging, read_validity_file
from lmms_rpts.settings import Settings


def check_validity(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures of the file that LMMS_RPTS_VALIDITY names, for a run's results; None: no file.

    Logs a warning where the file is about another judge.

    Raises:
        ValidityError: with the file and the error.
    """
    if settings.validity is None:
        return None
    found = read_validity_file(settings.validity)
    if judge != NO_JUDGE and settings.rank == 0:
        said = found.mismatch(Judging(judge, prompt_version, settings.judge_samples))
        if said:
            _warn(f"LMMS_RPTS_VALIDITY: {said}: its figures are not about this run's judge")
    return found.extract()


@lru_cache  # tasks are checked several times
def _warn(said: str) -> None:
    logger.warning("{}", said)
