"""Checks of settings, problems and images before a task of CMMaTH runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

from loguru import logger

from lmms_rpts.filters import AggregateFilter, ScoreFilter
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.cmmath.dataset import load_problems, prepare, source
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.reasoning_filter import CmmathTransformFilter
from lmms_rpts.tasks.cmmath.settings import load_cmmath_settings
from lmms_rpts.tasks.cmmath.source_format import Problems
from lmms_rpts.tasks.data_checks import Check, examined
from lmms_rpts.tasks.data_errors import raise_faults
from lmms_rpts.tasks.images import named_faults


def check_cmmath(images: bool = True) -> None:
    """Check settings, problems and images; downloads a data set that CMMATH_PATH names on the Hub.

    Args:
        images: whether the task shows images.

    Raises:
        DataError: listing the first faults, each with its problem, and the remedy.
        JudgeConfigurationError: if answers need a judge and no suitable judge is set.
        SettingError: if a setting has an invalid value.
    """
    CmmathGradeFilter()  # filters check their settings when created
    check_problems(images)


def check_rpts() -> None:
    """Check what ``cmmath_rpts`` needs: settings, a judge, problems and images.

    Raises:
        DataError, JudgeConfigurationError, SettingError: as `check_cmmath`.
    """
    CmmathTransformFilter()
    ScoreFilter()
    AggregateFilter()
    check_problems()


def check_problems(images: bool = True) -> None:
    """Check the problems and, if a task shows them, their images.

    Raises:
        DataError: listing the first faults, each with its problem, and the remedy.
        SettingError: if a setting has an invalid value.
    """
    found = source(images)
    read = load_problems(found)
    faults = [fault.text for fault in read.faults if images or not fault.of_image]
    if images and not faults:
        named = [(f"problem {each.id!r}", each.img_path) for each in read.problems]
        faults += named_faults(named, found.images, found.images.parent)
    if not faults and not read.problems:
        faults.append(_nothing(read))
    raise_faults(found.file, faults, found.remedy)
    prepare(read.problems)
    _tell_left_out(found.file, read.left_out, len(read.problems))


def _nothing(read: Problems) -> str:
    if read.left_out:
        return f"it contains no usable problem: none of its {read.left_out} problems has an answer"
    return "it contains no problem; expected a list of objects with problem_id, question, answer"


@lru_cache  # tasks are checked several times
def _tell_left_out(file: Path, left_out: int, kept: int) -> None:
    if left_out and load_settings().rank == 0:
        logger.info(
            "CMMaTH: {} of {} problems in {} have no answer and are left out",
            left_out,
            left_out + kept,
            file,
        )


def examine() -> list[Check]:
    """Check CMMATH_PATH; no checks if it is not set. Downloads a data set that it names."""
    return [] if load_cmmath_settings().path is None else [examined("CMMaTH", _describe)]


def _describe() -> str:
    check_cmmath()
    found = source()
    read = load_problems(found)
    left_out = f" ({read.left_out:,} without an answer left out)" if read.left_out else ""
    return f"{len(read.problems):,} problems{left_out}, all images, in {found.file.parent}"


CHECKS: dict[str, Callable[[], None]] = {
    "cmmath": check_cmmath,
    "cmmath_en_cot": check_cmmath,
    "cmmath_clp": check_cmmath,
    "cmmath_ocr": partial(check_cmmath, images=False),
    "cmmath_steps": check_cmmath,
    "cmmath_all": check_cmmath,
    "cmmath_rpts": check_rpts,
}
