"""ReForm-Eval by dimension: scores, averages and ranks, as in the publishers' README.

A dimension's score is the mean over its sets, in percent, with CIDEr x 100 for captions; average
and average rank are means over dimensions (github.com/FudanDISC/ReForm-Eval, df1cfa7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.tables import Sheet
from lmms_rpts.base.escaping import shorten
from lmms_rpts.runs.rounds import NONE, Figure
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, GROUPS, TASKS

if TYPE_CHECKING:
    from lmms_rpts.analysis.summary import Figures

_METHODS = ("generation", "likelihood")


@dataclass(frozen=True, slots=True)
class DimensionScore:
    """A model's mean over ``sets`` sets ``of`` a dimension, in percent, with its 95% interval.

    The interval combines the intervals of the sets, assumed independent, separately below and above
    (a single set keeps its interval); None if a set has none. ``online``: number of sets whose
    score is that of the dialogue with the model's own answers.
    """

    value: float
    low: float | None
    high: float | None
    sets: int
    of: int
    online: int = 0

    @property
    def text(self) -> str:
        """The score with its interval and, in brackets, what it does not cover."""
        partial = f"{self.sets} of {self.of}" if self.sets < self.of else ""
        online = "online" if self.online == self.sets else f"{self.online} online"
        note = ", ".join(filter(None, (partial, online * bool(self.online))))
        interval = "" if self.low is None else f" [{self.low:.0f}, {self.high:.0f}]"
        return f"{self.value:.1f}{interval}{f' ({note})' if note else ''}"


Scores = Mapping[str, Mapping[str, DimensionScore]]  # by model and name in DIMENSIONS


def dimension_scores(models: Sequence[Figures], method: str) -> Scores:
    """The scores by dimension, of models' figures on each task.

    Where a dialogue was also run online, that score counts: the publishers run dialogues online.
    """
    names = {dimension: name for name, dimension in DIMENSIONS.items()}
    found: dict[str, dict[str, dict[str, tuple[bool, Figure]]]] = {}
    for each in models:
        task = TASKS.get(each.task)
        if task is None or task.method != method:
            continue
        figure = each.metrics["cider" if task.set.kind == "caption" else "accuracy"]
        if figure.value is not None:
            sets = found.setdefault(each.model, {}).setdefault(names[task.set.dimension], {})
            if task.online or task.set.name not in sets:
                sets[task.set.name] = task.online, figure
    sizes = _sizes(method)
    return {
        model: {name: _mean([*sets.values()], sizes[name]) for name, sets in by_name.items()}
        for model, by_name in found.items()
    }


def _sizes(method: str) -> dict[str, int]:
    """The number of sets of each dimension that has any with this method."""
    end = "_likelihood" if method == "likelihood" else ""
    found = {name: len(GROUPS.get(f"reform_{name}{end}", ())) for name in DIMENSIONS}
    return {name: size for name, size in found.items() if size}


def _mean(sets: Sequence[tuple[bool, Figure]], of: int) -> DimensionScore:
    online = sum(online for online, _ in sets)
    value = 100 * fmean(each.value or 0.0 for _, each in sets)
    errors = [
        (each.value - each.low, each.high - each.value)
        for _, each in sets
        if each.value is not None and each.low is not None and each.high is not None
    ]
    low = high = None
    if len(errors) == len(sets):
        below, above = (100 * math.hypot(*each) / len(sets) for each in zip(*errors, strict=True))
        low, high = max(0.0, value - below), min(100.0, value + above)
    return DimensionScore(value, low, high, len(sets), of, online)


def average_ranks(scores: Scores) -> dict[str, float]:
    """The mean of each model's ranks, 1 for the best, in the dimensions that all models have.

    Ties share the mean rank. Empty without such dimensions, or with a single model.
    """
    common = [name for name in DIMENSIONS if all(name in each for each in scores.values())]
    if len(scores) < 2 or not common:
        return {}

    def rank(name: str, own: float) -> float:
        values = [each[name].value for each in scores.values()]
        return sum(value > own for value in values) + (values.count(own) + 1) / 2

    return {
        model: fmean(rank(name, of[name].value) for name in common) for model, of in scores.items()
    }


def dimension_numbers(models: Sequence[Figures]) -> dict[str, Any]:
    """Dimension scores and average ranks by method, for JSON; empty without any."""
    numbers: dict[str, Any] = {}
    for method in _METHODS:
        if scores := dimension_scores(models, method):
            of_models = {
                model: {name: asdict(score) for name, score in of.items()}
                for model, of in scores.items()
            }
            numbers[method] = {"dimensions": of_models, "average_ranks": average_ranks(scores)}
    return {"dimensions": numbers} if numbers else {}


def dimension_sheets(models: Sequence[Figures]) -> Iterator[Sheet]:
    """A table for each method that has results."""
    for method in _METHODS:
        scores, sizes = dimension_scores(models, method), _sizes(method)
        if not scores:
            continue
        ranks = average_ranks(scores)
        common = sum(all(name in each for each in scores.values()) for name in DIMENSIONS)
        shown = [name for name in DIMENSIONS if any(name in each for each in scores.values())]
        heads = [name.replace("crossmodal", "cross-modal") for name in shown]
        rank = "rank" if common == len(sizes) else f"rank ({common} of {len(sizes)})"
        rows = [
            [
                shorten(model, 40),
                *(of[name].text if name in of else NONE for name in shown),
                _average(of, shown, sizes),
                *([f"{ranks[model]:.2f}"] if ranks else []),
            ]
            for model, of in scores.items()
        ]
        title = (
            f"ReForm-Eval by dimension, {method} (percent; captions: CIDEr x 100; k of n sets; "
            "online: dialogues with the model's own answers)"
        )
        yield Sheet(title, ["model", *heads, "average", *[rank] * bool(ranks)], 1, [rows])


def _average(
    scores: Mapping[str, DimensionScore], shown: Sequence[str], sizes: Mapping[str, int]
) -> str:
    """The mean over dimensions; none if the model lacks a dimension that others have."""
    if len(scores) < len(shown):
        return NONE
    value = f"{fmean(each.value for each in scores.values()):.1f}"
    sets, of = sum(each.sets for each in scores.values()), sum(sizes.values())
    if sets == of:
        return value
    return f"{value} ({len(scores)} of {len(sizes)} dimensions, {sets} of {of} sets)"


def averages(models: Sequence[Figures]) -> dict[tuple[str, str], dict[str, Figure]]:
    """The averages over dimensions by method and model; None if not all sets of all count."""
    found: dict[tuple[str, str], dict[str, Figure]] = {}
    for method in _METHODS:
        sizes = _sizes(method)
        for model, of in dimension_scores(models, method).items():
            whole = all(name in of and of[name].sets == size for name, size in sizes.items())
            value = fmean(each.value for each in of.values()) if whole else None
            found[method, model] = {"average": Figure(value)}
    return found
