"""Metrics of CMMaTH for lmms-eval, from the records of ``cmmath_grade``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.cmmath.filter import SCHEMA, SCHEMA_VERSION
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, knowledge_points, ssr
from lmms_rpts.tasks.results import mean_metrics, read_records

SSR = {f"ssr_{threshold}": threshold for threshold in THRESHOLDS}
"""By name of the metric, the accuracy that a knowledge point has to exceed."""

METRICS = ("accuracy", "undecided_rate", "grader_coverage", *SSR)

Mastery = dict[str, Any]
"""What a document tells of its knowledge points: ``points`` (lists of names, from the top) and
``accuracy``. lmms-eval takes a number named ``score`` for one that has a standard error."""


def process_results(
    doc: Mapping[str, Any], results: Sequence[str]
) -> dict[str, float | Mastery | None]:
    """The metrics of one document; over several responses their mean.

    None where a metric has no value for the document: see ``metrics_of``. Those of knowledge
    points are values for ``ssr_0_1`` and its like.
    """
    records = read_records(results, SCHEMA, SCHEMA_VERSION)
    means = mean_metrics(records, METRICS[:3], metrics_of)
    mastery = _mastery(records, means["accuracy"])
    return {**means, **dict.fromkeys(SSR, mastery)}


def metrics_of(record: Mapping[str, Any]) -> dict[str, float | None]:
    """The metrics of one record of ``cmmath_grade``.

    Returns:
        ``accuracy``: 1 or 0, None without a score; ``undecided_rate``: whether the rules left it
        undecided, None without a response; ``grader_coverage``: whether there is a score.
    """
    score = _part(record, "score")
    outcome = _part(_part(_part(record, "grades"), "rule"), "outcome")
    there = isinstance(score, int | float)
    return {
        "accuracy": float(score) if there else None,
        "undecided_rate": None if outcome is None else float(outcome == "undecided"),
        "grader_coverage": float(there),
    }


def ssr_0_1(items: Sequence[Mastery | None]) -> float:
    """The share of knowledge points whose accuracy exceeds 0.1; NaN without any point."""
    return _ssr(items, 0.1)


def ssr_0_2(items: Sequence[Mastery | None]) -> float:
    """The share of knowledge points whose accuracy exceeds 0.2; NaN without any point."""
    return _ssr(items, 0.2)


def ssr_0_3(items: Sequence[Mastery | None]) -> float:
    """The share of knowledge points whose accuracy exceeds 0.3; NaN without any point."""
    return _ssr(items, 0.3)


def ssr_0_6(items: Sequence[Mastery | None]) -> float:
    """The share of knowledge points whose accuracy exceeds 0.6; NaN without any point."""
    return _ssr(items, 0.6)


def _ssr(items: Sequence[Mastery | None], threshold: float) -> float:
    there = [item for item in items if item is not None]
    pairs = [(map(tuple, item["points"]), item["accuracy"]) for item in there]
    share = ssr(pairs, threshold)
    return math.nan if share is None else share


def _mastery(records: Sequence[Mapping[str, Any]], accuracy: float | None) -> Mastery | None:
    """None without a score or a point: such a document says nothing of any point."""
    if accuracy is None:
        return None
    named = (_part(_part(record, "instance"), "knowledge_point") for record in records)
    text = next((each for each in named if isinstance(each, str)), None)
    points = knowledge_points(text)
    return {"points": [list(point) for point in points], "accuracy": accuracy} if points else None


def _part(whole: object, field: str) -> Any:
    return whole.get(field) if isinstance(whole, dict) else None
