"""Checks of settings, questions and images before a task of ROME runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from loguru import logger

from lmms_rpts.models.wanted_tasks import shows_images
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.data_checks import Check, examined
from lmms_rpts.tasks.data_errors import raise_faults
from lmms_rpts.tasks.images import named_faults
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.dataset import load_annotations, prepare, source
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.kwargs import check_kwargs
from lmms_rpts.tasks.rome.settings import RomeSettings, grader_of, judge_of, load_rome_settings
from lmms_rpts.tasks.rome.source_format import Annotations, Question


def check_rome(*subtasks: str) -> None:
    """Check the questions and images of these subtasks; downloads them if ROME_PATH is not set.

    Saved responses (``--model replay``) need no images.

    Raises:
        DataError: listing the first faults, each with its question, and the remedy.
        JudgeConfigurationError: if answers need a judge and no suitable judge is set.
        SettingError: if a setting has an invalid value.
    """
    rome = load_rome_settings()
    judge_of(rome, load_settings(), subtasks)
    RomeAnswerFilter()  # filters check their settings when created
    found = source()
    annotations = load_annotations(found)
    faults = [fault.text for fault in annotations.faults if fault.task in (None, *subtasks)]
    asked = [each for each in annotations.questions if each.task in subtasks]
    shown = asked if shows_images() else ()
    images = [(f"question {each.id!r}", each.img_path) for each in shown]
    faults += [*_kwargs_faults(asked), *named_faults(images, found.folder, found.folder)]
    faults += _reference_faults(asked, rome)
    if not faults:
        faults += _empty_faults(annotations, subtasks)
    raise_faults(found.folder, faults, found.remedy)
    for subtask in subtasks:
        prepare(annotations.of(subtask))


def _kwargs_faults(questions: Sequence[Question]) -> Iterator[str]:
    for question in questions:
        fault = check_kwargs(question.evaluator, json.loads(question.evaluator_kwargs))
        if fault:
            yield f"question {question.id!r}: {fault}"


def _reference_faults(questions: Sequence[Question], rome: RomeSettings) -> Iterator[str]:
    for question in questions:
        if grader_of(rome, question.task) == "llm" and not question.reference.strip():
            yield (
                f"question {question.id!r}: it has no 'reference' that a judge could compare an "
                f"answer with (ROME_GRADER={rome.grader}; rules need none)"
            )


def _empty_faults(annotations: Annotations, subtasks: Sequence[str]) -> Iterator[str]:
    there = [each for each in SUBTASKS if annotations.of(each)]
    if not there:
        yield (
            "no JSON or JSONL file in it or in its folder data has questions with question_id, "
            "question, evaluator"
        )
        return
    empty = [each for each in subtasks if each not in there]
    if empty:
        runnable = ",".join(f"rome_{each}" for each in there)
        yield f"no questions of: {', '.join(empty)}; run --tasks {runnable} for the others"


def examine() -> list[Check]:
    """Check ROME_PATH; no checks if it is not set."""
    path = load_rome_settings().path
    return [] if path is None else [examined("ROME", lambda: _describe(path))]


def _describe(path: Path) -> str:
    there = present_subtasks()
    check_rome(*(there or SUBTASKS))
    count = len(load_annotations(source()).questions)
    missing = "" if len(there) == len(SUBTASKS) else f"; {_incomplete(there)}"
    return f"{count:,} questions, all images, in {path}{missing}"


def present_subtasks() -> tuple[str, ...]:
    """The subtasks with questions in the data, in their order.

    Raises:
        DataError: if there are no data.
    """
    annotations = load_annotations(source())
    return tuple(each for each in SUBTASKS if annotations.of(each))


def check_group() -> None:
    """Check the subtasks with questions in the data; one warning lists the others.

    Raises:
        As ``check_rome``; if the data have none of the subtasks, for all of them.
    """
    there = present_subtasks()
    if there and len(there) < len(SUBTASKS):
        _warn(source().folder, there)
    check_rome(*(there or SUBTASKS))


@cache  # the command line and the evaluator both check the group
def _warn(folder: Path, there: Sequence[str]) -> None:
    logger.warning("ROME in {} is not complete: {}", folder, _incomplete(there))


def _incomplete(there: Sequence[str]) -> str:
    missing = ", ".join(f"rome_{each}" for each in SUBTASKS if each not in there)
    return f"no questions of {missing}. The group rome runs the other {len(there)} subtasks"


def parts(group: str) -> Sequence[str] | None:
    """The tasks of the group ``rome`` that can run; None for any other name."""
    return [f"rome_{each}" for each in present_subtasks()] if group == "rome" else None


CHECKS: dict[str, Callable[[], None]] = {
    "rome": check_group,
    **{f"rome_{subtask}": partial(check_rome, subtask) for subtask in SUBTASKS},
}
