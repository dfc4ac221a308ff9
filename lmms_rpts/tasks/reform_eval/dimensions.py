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
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, METHODS, TASKS, Method, groups
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
    (a single set keeps its interval); None if a set has none.

    Attributes:
        sets: number of sets; ``of``: of the dimension.
        online: number of sets whose score is that of the dialogue with the model's own answers.
    """

    value: float
    low: float | None
    high: float | None
    sets: int
    of: int
    online: int = 0

    @property
    def note(self) -> str:
        """What the score does not cover, and dialogues with the model's own answers."""
        partial = f"{self.sets} of {self.of}" if self.sets < self.of else ""
        online = "online" if self.online == self.sets else f"{self.online} online"
        return ", ".join(filter(None, (partial, online * bool(self.online))))


def dimension_scores(
    models: Sequence[Figures], method: Method
) -> dict[str, dict[str, DimensionScore]]:
    """Scores by model, then by name of the dimension in ``DIMENSIONS``.

    Where a dialogue was also run online, its online score counts: the publishers run dialogues
    online.
    """
    found: dict[tuple[str, str], dict[str, tuple[bool, Figure]]] = {}
    names = {dimension: name for name, dimension in DIMENSIONS.items()}
    for each in models:
        task = TASKS.get(each.task)
        if task is None or task.method != method:
            continue
        chosen, online = task.set, task.history == "online"
        figure = each.metrics["cider" if chosen.kind == "caption" else "accuracy"]
        sets = found.setdefault((each.model, names[chosen.dimension]), {})
        if figure.value is not None and (online or chosen.name not in sets):
            sets[chosen.name] = online, figure
    scores: dict[str, dict[str, DimensionScore]] = {}
    for (model, name), sets in found.items():
        if sets:
            scores.setdefault(model, {})[name] = _mean(list(sets.values()), _sets_of(name, method))
    return scores


def _sets_of(name: str, method: Method) -> int:
    """The number of sets of a dimension; 0 if it has none with this method."""
    end = "_likelihood" if method == "likelihood" else ""
    return len(groups().get(f"reform_{name}{end}", ()))


def _mean(sets: Sequence[tuple[bool, Figure]], of: int) -> DimensionScore:
    online, figures = sum(online for online, _ in sets), [figure for _, figure in sets]
    value = 100 * fmean(each.value or 0.0 for each in figures)
    whole = [
        (each.value - each.low, each.high - each.value)
        for each in figures
        if each.value is not None and each.low is not None and each.high is not None
    ]
    if len(whole) < len(figures):
        return DimensionScore(value, None, None, len(figures), of, online)
    below, above = (100 * math.hypot(*errors) / len(whole) for errors in zip(*whole, strict=True))
    low, high = max(0.0, value - below), min(100.0, value + above)
    return DimensionScore(value, low, high, len(figures), of, online)


def average_ranks(scores: Mapping[str, Mapping[str, DimensionScore]]) -> dict[str, float]:
    """The mean over dimensions of each model's rank, 1 for the best; ties share the mean rank.

    Only dimensions that all models have count; empty without any, or with a single model.
    """
    common = _common(scores)
    if len(scores) < 2 or not common:
        return {}
    ranks = [rankdata([-each[name].value for each in scores.values()]) for name in common]
    return {model: fmean(float(of[at]) for of in ranks) for at, model in enumerate(scores)}


def _common(scores: Mapping[str, Mapping[str, DimensionScore]]) -> list[str]:
    """The dimensions that all models have."""
    return [name for name in DIMENSIONS if scores and all(name in each for each in scores.values())]


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
        ranked, every = len(_common(scores)), sum(_sets_of(name, method) > 0 for name in DIMENSIONS)
        rank = "rank" if ranked == every else f"rank ({ranked} of {every})"
        heads = ["model", *(_HEADS[name] for name in shown), "average", *[rank] * bool(ranks)]
        rows = [
            [
                shorten(model, 40),
                *(_text(of.get(name)) for name in shown),
                _average(of, shown, method),
                *([f"{ranks[model]:.2f}"] if ranks else []),
            ]
            for model, of in scores.items()
        ]
        yield Sheet(_TITLES[method], heads, 1, [rows])


def _average(scores: Mapping[str, DimensionScore], shown: Sequence[str], method: Method) -> str:
    """The mean over dimensions; none if the model lacks a dimension that others have."""
    if len(scores) < len(shown):
        return NONE
    value = f"{fmean(each.value for each in scores.values()):.1f}"
    of = [count for name in DIMENSIONS if (count := _sets_of(name, method))]
    sets = sum(each.sets for each in scores.values())
    if sets == sum(of):
        return value
    return f"{value} ({len(scores)} of {len(of)} dimensions, {sets} of {sum(of)} sets)"


def _text(score: DimensionScore | None) -> str:
    if score is None:
        return NONE
    note = f" ({score.note})" if score.note else ""
    if score.low is None or score.high is None:
        return f"{score.value:.1f}{note}"
    return f"{score.value:.1f} [{score.low:.0f}, {score.high:.0f}]{note}"
