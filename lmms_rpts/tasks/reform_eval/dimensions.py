"""ReForm-Eval by dimension: scores, averages and ranks, as in the publishers' README.

A dimension's score is the mean over its sets, in percent, with CIDEr x 100 for captions; average
and average rank are means over dimensions (github.com/FudanDISC/ReForm-Eval, df1cfa7).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lmms_rpts.stats.figures import Interval
from lmms_rpts.tasks.reform_eval.sets import DIMENSIONS, GROUPS, TASKS

if TYPE_CHECKING:
    import pandas as pd

METHODS = ("generation", "likelihood")

Scores = Mapping[str, Mapping[str, Interval]]
"""By model and name in ``DIMENSIONS``; ``n`` is the number of sets."""


def dimension_scores(models: pd.DataFrame, method: str) -> Scores:
    """The scores by dimension, in percent, of the table of a `Summary` of single tasks.

    The interval combines the intervals of the sets, assumed independent, separately below and above
    (a single set keeps its interval); there is none if a set has none. Where a dialogue was also
    run online, with the model's own answers, that score counts: the publishers run dialogues so.
    """
    names = {dimension: name for name, dimension in DIMENSIONS.items()}
    sets: dict[str, dict[str, dict[str, Interval]]] = {}
    for row in models.to_dict("records"):
        task = TASKS.get(row["task"])
        if task is None or task.method != method:
            continue
        score = row["cider" if task.set.kind == "caption" else "accuracy"]
        own = sets.setdefault(row["model"], {}).setdefault(names[task.set.dimension], {})
        if score.value is not None and (task.online or task.set.name not in own):
            own[task.set.name] = score
    return {
        model: {name: _mean(list(own.values())) for name, own in by_name.items() if own}
        for model, by_name in sets.items()
        if any(by_name.values())
    }


def _mean(sets: Sequence[Interval]) -> Interval:
    value = 100 * fmean(score.value or 0.0 for score in sets)
    errors = [
        (score.value - score.low, score.high - score.value)
        for score in sets
        if score.value is not None and score.low is not None and score.high is not None
    ]
    if len(errors) < len(sets):
        return Interval(value, n=len(sets))
    below, above = (100 * math.hypot(*ends) / len(sets) for ends in zip(*errors, strict=True))
    return Interval(value, max(0.0, value - below), min(100.0, value + above), len(sets))


def sizes(method: str) -> dict[str, int]:
    """The number of sets of each dimension that has any with this method."""
    end = "_likelihood" if method == "likelihood" else ""
    counts = {name: len(GROUPS.get(f"reform_{name}{end}", ())) for name in DIMENSIONS}
    return {name: size for name, size in counts.items() if size}


def average_ranks(scores: Scores) -> dict[str, float]:
    """The mean of each model's ranks, 1 for the best, in the dimensions that all models have.

    Ties share the mean rank. Empty without such dimensions, or with a single model.
    """
    import pandas as pd

    values = pd.DataFrame(
        {model: {name: score.value for name, score in own.items()} for model, own in scores.items()}
    ).dropna()
    if len(scores) < 2 or values.empty:
        return {}
    ranks = values.astype(float).rank(axis=1, ascending=False).mean()
    return {str(model): float(rank) for model, rank in ranks.items()}


def dimension_tables(models: pd.DataFrame) -> dict[str, tuple[pd.DataFrame, list[str]]]:
    """For each method that has results: a row per model, and notes on what it does not cover.

    The columns are the dimensions (in percent), their ``average``, and the ``rank``; a model that
    lacks a dimension of others has no average.
    """
    import pandas as pd

    tables = {}
    for method in METHODS:
        if not (scores := dimension_scores(models, method)):
            continue
        known = sizes(method)
        shown = [name for name in known if any(name in own for own in scores.values())]
        ranks = average_ranks(scores)
        rows: list[dict[str, Any]] = []
        notes = []
        for model, own in scores.items():
            whole = len(own) == len(shown)
            average = fmean(score.value or 0.0 for score in own.values()) if whole else None
            cells = {name: own.get(name, Interval(None)) for name in shown}
            rows.append({"model": model, **cells, "average": average, "rank": ranks.get(model)})
            partial = [
                f"{own[name].n} of {known[name]} sets of {name}"
                for name in shown
                if name in own and own[name].n < known[name]
            ]
            if missing := len(known) - len(own):
                partial.append(f"none of {missing} dimensions")
            if partial:
                notes.append(f"{model}: {', '.join(partial)}")
        table = pd.DataFrame(rows)
        tables[method] = (table if ranks else table.drop(columns="rank"), notes)
    return tables


def averages(models: pd.DataFrame) -> dict[tuple[str, str], Interval]:
    """The averages over dimensions by method and model; None if not all sets of all count."""
    found = {}
    for method in METHODS:
        known = sizes(method)
        for model, own in dimension_scores(models, method).items():
            whole = all(name in own and own[name].n == size for name, size in known.items())
            value = fmean(score.value or 0.0 for score in own.values()) if whole else None
            found[method, model] = Interval(value)
    return found
