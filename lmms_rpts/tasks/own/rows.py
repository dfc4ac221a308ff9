"""Rows of Python with questions of their own: each with its scorer and its question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

from lmms_rpts.base.rows import Row
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.scoring.options import Options, blindness, choose_judge
from lmms_rpts.scoring.question import AnswerForm, Question
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.tasks.data import raise_faults
from lmms_rpts.tasks.own.data import REMEDY, OwnData, files_of
from lmms_rpts.tasks.questions import parse_questions


def own_questions(
    rows: Sequence[Mapping[str, Any]], settings: Settings
) -> list[tuple[RptsScorer, Question]]:
    """The scorer and the question of each row; see ``lr.score`` for the fields.

    Raises:
        DataError: naming the rows that are wrong.
    """
    scorers: dict[AnswerForm, RptsScorer] = {}
    pairs: list[tuple[RptsScorer, Question]] = []
    faults: list[str] = []
    for at, row in enumerate(rows):
        # NaN is what pandas has for a missing value.
        there = {n: None if isinstance(v, float) and isnan(v) else v for n, v in row.items()}
        fields = {name: value for name, value in there.items() if name != "response"}
        images = fields.pop("images", None)
        shown = [] if images is None else list(images) if isinstance(images, Sequence) else [images]
        shown = [images] if isinstance(images, str) else shown
        if shown:
            fields["images"] = [
                each if isinstance(each, str) else f"image {n}" for n, each in enumerate(shown)
            ]
        form: AnswerForm = "none" if fields.get("answer") in (None, "") else "mixed"
        data = OwnData(Path("rows"), Path(), form)
        found, wrongs, _ = parse_questions(
            files_of(data), [Row(data.data, f"row {at}", at, fields)], data.source()
        )
        faults += [f"row {at}: {fault}" for _, fault in wrongs]
        if not found:
            continue
        question = found[0][1].with_images(partial(_opened, shown), settings.image_size)
        if form not in scorers:
            options = Options.of(settings, form=form)
            judge = choose_judge(settings, None, options)
            scorers[form] = RptsScorer(judge.name, options=options)
        judged = judge.sees or judge.name == NO_JUDGE or question.reasoning or options.evidence
        if shown and not judged:
            faults.append(f"row {at}: {blindness(judge.name)}")
        pairs.append((scorers[form], question))
    raise_faults("The rows", faults, REMEDY)
    return pairs


def _opened(images: Sequence[Any]) -> list[Any]:
    """Pillow images, from images or paths."""
    from PIL import Image

    return [Image.open(each) if isinstance(each, str) else each for each in images]
