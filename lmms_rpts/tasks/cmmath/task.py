"""CMMaTH: Chinese school mathematics with images, graded by rules that abstain or by a judge."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path

from loguru import logger

from lmms_rpts.base.settings import load_settings
from lmms_rpts.tasks import aggregation
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS
from lmms_rpts.tasks.cmmath.questions import (
    CAPTIONS_WANTED,
    DATASET,
    REPOSITORY,
    CmmathSettings,
    images_folder,
    load,
)
from lmms_rpts.tasks.cmmath.scorer import (
    ANSWERS,
    METRICS,
    REMEDY,
    REQUEST_KINDS,
    CmmathRecord,
    CmmathScorer,
)
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.questions import Questions

_TASKS = {
    "cmmath": "images",
    "cmmath_en_cot": "images",
    "cmmath_clp": "images",
    "cmmath_steps": "images",
    "cmmath_text": "text",
    "cmmath_ocr": "ocr",
    "cmmath_image_ocr": "image_ocr",
    "cmmath_caption": "caption",
}
_OCR = ("ocr", "recognized text", f"Use data with a field 'ocr', as those of {REPOSITORY}.")
_TEXTS = {"ocr": _OCR, "image_ocr": _OCR, "caption": ("caption", "caption", CAPTIONS_WANTED)}
"""The texts that parts of the data show: their field, what they are, and where to get them."""

# For the task files
process_results = partial(aggregation.process_results, CmmathRecord, METRICS)
ssr_01, ssr_02, ssr_03, ssr_06 = (
    aggregation.over_all(METRICS[f"ssr_{each}"]) for each in THRESHOLDS
)


def check(task: str) -> None:
    """Check settings, prompts, problems, and what a task shows: images, texts for them."""
    CmmathScorer(load_settings())  # checks settings, prompts and judge
    part = _TASKS[task]
    found = load(part)
    _check_images(found)
    place, total, left_out = found.source.place, len(found.questions), found.left_out
    if left_out:
        _say_once(f"{place}: {left_out} of {left_out + total} problems without an answer left out")
    if part not in _TEXTS:
        return
    name, what, remedy = _TEXTS[part]
    without = sum(not getattr(each, name) for each in found.questions)
    if without == total:
        raise DataError(f"{task}: none of the {total} problems in {place} has {what}. {remedy}")
    if without:
        _say_once(
            f"{task}: {without} of {total} problems in {place} have no {what}; prompts say so"
        )


_check_images = lru_cache(maxsize=8)(Questions.check)  # several tasks show the same


@lru_cache  # tasks are checked several times
def _say_once(message: str) -> None:
    """Log a message about the data, in the first process only."""
    if load_settings().rank == 0:
        logger.info("{}", message)


BENCHMARK = Benchmark(
    name="cmmath",
    title="CMMaTH",
    folder=Path(__file__).parent,
    dataset=DATASET,
    settings=CmmathSettings,
    tasks=_TASKS,
    groups={
        "cmmath_all": tuple(task for task in _TASKS if task != "cmmath_caption"),
        "cmmath_inputs": ("cmmath", "cmmath_text", "cmmath_ocr", "cmmath_caption"),
    },
    load=load,
    check=check,
    scorer=lambda task, settings, judge: CmmathScorer(settings, judge),
    filters={"cmmath_grade": CmmathScorer},
    record=CmmathRecord,
    metrics=METRICS,
    judge=REQUEST_KINDS,
    by=("task", "category", "grade_group", "grade_id", "form", "area"),
    by_task=True,
    columns=(
        *("accuracy", "accuracy_if_wrong", "accuracy_if_right"),
        *("undecided_rate", "grader_coverage"),
    ),
    remedy=REMEDY,
    answers=ANSWERS,
    images=images_folder,
)
