"""How many documents a difference of two models needs, from saved runs or from assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lmms_rpts.analysis.comparison import document_values
from lmms_rpts.analysis.measured import Measured
from lmms_rpts.runs.metrics import Metrics
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.intervals import numbered
from lmms_rpts.stats.power import clustered_deviation, detectable, documents_needed
from lmms_rpts.tasks.all_runs import shared_grading

CORRELATIONS = (0.0, 0.5)
"""Assumed for two models: the worst case, and a typical one (Miller 2024 found 0.3 to 0.7)."""

_WORST = 0.5  # standard deviation of a score in [0, 1] that is 0 on half of the documents, 1 else
_NOTE = (
    "Two models on the same documents; two-sided test at 5%, power 80% (Miller 2024, arXiv "
    "2411.00640). deviation: standard deviation of their difference on one document. needed: "
    "documents for a true difference of {:g}. detectable: the difference that the documents of "
    "the task can show."
)


def detection(
    difference: float, documents: Mapping[str, int], runs: Sequence[AnyRun] = ()
) -> Measured:
    """A table of the documents that a difference in accuracy and in RPTS needs.

    Args:
        difference: of the means of two models.
        documents: their number by task.
        runs: two: their paired difference counts; one: both models vary like it; none: scores in
            [0, 1] vary as much as they can. Documents of one cluster are not independent.

    Raises:
        RunError: if a run does not have a task, or too few documents.
    """
    rows = []
    for task, there in documents.items():
        parts = [part for run in runs if (part := of_task(run, task))]
        if len(parts) < len(runs):
            raise RunError(f"Not all of the runs have the task {task}")
        for score, basis, deviation in _deviations(parts):
            cells: dict[str, Any] = {"task": task, "score": score, "based on": basis}
            cells |= {"deviation": deviation, "needed": documents_needed(difference, deviation)}
            rows.append(cells | {"documents": there, "detectable": detectable(there, deviation)})
    if not rows:
        raise RunError("The runs do not show how scores vary: no two documents differ")
    title = f"Documents for a difference of {difference:g}"
    return Measured((), {title: rows}, (_NOTE.format(difference),))


def _deviations(runs: Sequence[AnyRun]) -> Iterator[tuple[str, str, float]]:
    """Scores, what is known about them, and the standard deviation of their difference."""
    known = shared_grading(runs).response_metrics if runs else {}
    metrics = {name: known[name] for name in ("accuracy", "rpts") if name in known}
    metrics = metrics or dict([*known.items()][:1])
    if len(runs) == 2:
        for score, deviation in _spread(runs, metrics):
            yield score, "the difference of the runs", deviation
        return
    single = _spread(runs, metrics) if runs else [("any from 0 to 1", _WORST)]
    for score, deviation in single:
        for correlation in CORRELATIONS:
            basis = f"{'the run' if runs else 'worst case'}, correlation {correlation:g}"
            yield score, basis, deviation * math.sqrt(2 * (1 - correlation))


def _spread(runs: Sequence[AnyRun], metrics: Metrics) -> Iterator[tuple[str, float]]:
    """The standard deviation of each metric of a run, or of the difference of two; not 0."""
    clusters = {each.instance.key: each.instance.cluster for each in runs[0].responses}
    values = [document_values(run, metrics) for run in runs]
    shared = [key for key in values[0] if all(key in each for each in values)]
    rows = np.array([[each[key] for each in values] for key in shared]).reshape(len(shared), -1)
    differences = rows[:, -len(metrics) :] - (rows[:, : len(metrics)] if len(runs) > 1 else 0.0)
    own = numbered([clusters[key] for key in shared])
    for name, column in zip(metrics, differences.T, strict=True):
        known = ~np.isnan(column)
        if deviation := clustered_deviation(column[known], own[known]):
            yield name, deviation
