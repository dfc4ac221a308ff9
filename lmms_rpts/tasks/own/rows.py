"""Rows of Python with questions of their own: each with its scorer and its question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from typing import Any

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.scoring.options import Options, blindness, choose_judge
from lmms_rpts.scoring.question import AnswerForm, Question
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.own.data import REMEDY, as_question, check_fields


def own_questions(
    rows: Sequence[Mapping[str, Any]], settings: Settings
) -> list[tuple[RptsScorer, Question]]:
    """The scorer and the question of each row; see ``lr.score`` for the fields.

    Raises:
        DataError: naming the rows that are wrong.
    """
    scorers: dict[str, RptsScorer] = {}
    pairs: list[tuple[RptsScorer, Question]] = []
    faults: list[str] = []
    for at, row in enumerate(rows):
        # NaN is what pandas has for a missing value.
        there = {n: None if isinstance(v, float) and isnan(v) else v for n, v in row.items()}
        fields = {name: value for name, value in there.items() if name != "response"}
        images = fields.pop("images", None)
        shown = [] if images is None else list(images) if isinstance(images, Sequence) else [images]
        shown = [images] if isinstance(images, str) else shown
        names = [each if isinstance(each, str) else f"image {n}" for n, each in enumerate(shown)]
        form = _form(fields)
        instance, wrong = check_fields(fields | ({"images": names} if names else {}), form)
        faults += [f"row {at}: {fault}" for fault in wrong]
        if instance is None:
            continue
        question = as_question(instance, form, "en", at)
        question.with_images(partial(_opened, shown), settings.image_size)
        if form not in scorers:
            options = Options.of(settings, answer=form)
            judge = choose_judge(settings, None, options)
            scorers[form] = RptsScorer(judge.name, options=options)
        judged = judge.sees or judge.name == NO_JUDGE or instance.reasoning or options.evidence
        if shown and not judged:
            faults.append(f"row {at}: {blindness(judge.name)}")
        pairs.append((scorers[form], question))
    raise_faults("The rows", faults, REMEDY)
    return pairs


def _form(fields: Mapping[str, Any]) -> AnswerForm:
    """The type of the answer of a row."""
    answer = fields.get("answer")
    return "none" if answer is None or answer == "" else "mixed"


def _opened(images: Sequence[Any]) -> list[Any]:
    """Pillow images, from images or paths."""
    from PIL import Image

    return [Image.open(each) if isinstance(each, str) else each for each in images]
