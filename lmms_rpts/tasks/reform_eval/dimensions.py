"""Averages of ReForm-Eval by dimension, and ranks, as in the publishers' table.

Source: README of github.com/FudanDISC/ReForm-Eval (df1cfa7), arXiv 2310.02569: a dimension's score
is the mean over its sets, in percent, with CIDEr x 100 for captions; the average is the mean over
dimensions; the average rank is the mean over dimensions of a model's rank in each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from scipy.stats import rankdata

from lmms_rpts.escaping import shorten
from lmms_rpts.runs.rounds import NONE, Figure
from lmms_rpts.tasks.grade_types import Figures
from lmms_rpts.tasks.reform_eval.dataset import TASKS
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, METHODS, Method, groups
from lmms_rpts.tasks.sheets import Sheet

_HEADS = {name: name.replace("crossmodal", "cross-modal") for name in DIMENSIONS}
_TITLES = {
    "generation": "ReForm-Eval by dimension, generation (percent)",
    "likelihood": "ReForm-Eval by dimension, likelihood (percent)",
}


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """A model's mean over the sets of a dimension, in percent, with its 95% interval.

    The interval combines the intervals of the sets, assumed independent, separately below and above
    (a single set keeps its interval); None if a set has none. ``sets``: number of sets.
    """

    value: float
    low: float | None
    high: float | None
    sets: int


def dimension_scores(
    models: Sequence[Figures], method: Method
) -> dict[str, dict[str, DimensionScore]]:
    """Scores by model, then by name of the dimension in ``DIMENSIONS``."""
    found: dict[str, dict[str, list[Figure]]] = {}
    names = {dimension: name for name, dimension in DIMENSIONS.items()}
    for each in models:
        chosen, its_method = TASKS.get(each.task, (None, None))
        if chosen is None or its_method != method:
            continue
        metric = "cider" if chosen.kind == "caption" else "accuracy"
        figure = each.metrics[metric]
        if figure.value is not None:
            of_model = found.setdefault(each.model, {})
            of_model.setdefault(names[chosen.dimension], []).append(figure)
    return {
        model: {name: _mean(figures) for name, figures in dimensions.items()}
        for model, dimensions in found.items()
    }


def _mean(figures: Sequence[Figure]) -> DimensionScore:
    value = 100 * fmean(each.value or 0.0 for each in figures)
    whole = [
        (each.value - each.low, each.high - each.value)
        for each in figures
        if each.value is not None and each.low is not None and each.high is not None
    ]
    if len(whole) < len(figures):
        return DimensionScore(value, None, None, len(figures))
    below, above = (100 * math.hypot(*errors) / len(whole) for errors in zip(*whole, strict=True))
    return DimensionScore(value, max(0.0, value - below), min(100.0, value + above), len(figures))


def average_ranks(scores: Mapping[str, Mapping[str, DimensionScore]]) -> dict[str, float]:
    """The mean over dimensions of each model's rank, 1 for the best; ties share the mean rank.

    Only dimensions that all models have count; empty without any, or with a single model.
    """
    common = [
        name for name in DIMENSIONS if scores and all(name in each for each in scores.values())
    ]
    if len(scores) < 2 or not common:
        return {}
    ranks = [rankdata([-each[name].value for each in scores.values()]) for name in common]
    return {model: fmean(float(of[at]) for of in ranks) for at, model in enumerate(scores)}


def dimension_numbers(models: Sequence[Figures]) -> dict[str, Any]:
    """Dimension scores and average ranks by method, for JSON."""
    found: dict[str, Any] = {}
    for method in METHODS:
        scores = dimension_scores(models, method)
        if scores:
            found[method] = {
                "dimensions": {
                    model: {name: asdict(score) for name, score in of.items()}
                    for model, of in scores.items()
                },
                "average_ranks": average_ranks(scores),
            }
    return {"dimensions": found} if found else {}


def dimension_sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    """A table for each method that has results."""
    for method in METHODS:
        scores = dimension_scores(models, method)
        if not scores:
            continue
        ranks = average_ranks(scores)
        shown = [name for name in DIMENSIONS if any(name in each for each in scores.values())]
        heads = ["model", *(_HEADS[name] for name in shown), "average", *["rank"] * bool(ranks)]
        rows = [
            [
                shorten(model, 40),
                *(_text(of.get(name), name, method) for name in shown),
                _average(of, shown),
                *([f"{ranks[model]:.2f}"] if ranks else []),
            ]
            for model, of in scores.items()
        ]
        yield Sheet(_TITLES[method], heads, 1, [rows])


def _average(scores: Mapping[str, DimensionScore], shown: Sequence[str]) -> str:
    """The mean over dimensions; none if the model lacks a dimension that others have."""
    if len(scores) < len(shown):
        return NONE
    return f"{fmean(each.value for each in scores.values()):.1f}"


def _text(score: DimensionScore | None, name: str, method: Method) -> str:
    if score is None:
        return NONE
    end = "_likelihood" if method == "likelihood" else ""
    every = len(groups()[f"reform_{name}{end}"])
    partial = "" if score.sets == every else f" ({score.sets} of {every})"
    if score.low is None or score.high is None:
        return f"{score.value:.1f}{partial}"
    return f"{score.value:.1f} [{score.low:.0f}, {score.high:.0f}]{partial}"
