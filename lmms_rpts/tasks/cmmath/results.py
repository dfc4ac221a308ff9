"""Metrics of CMMaTH for lmms-eval, from the records of ``cmmath_grade``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, ssr
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.results import Metrics, document_metrics, read_records

SSR = {f"ssr_{threshold}": threshold for threshold in THRESHOLDS}
"""By name of the metric, the accuracy that a knowledge point has to exceed."""

METRICS: Metrics = {
    "accuracy": lambda record: record.score,
    "undecided_rate": lambda record: record.undecided,
    "grader_coverage": lambda record: record.score is not None,
}
"""The value of a record in each metric; None where it has none.

``accuracy``: by the grader that counts; ``undecided_rate``: whether the rules left it undecided,
whatever a judge said; ``grader_coverage``: whether there is an accuracy.
"""

Mastery = dict[str, Any]
"""What a document tells of its knowledge points: ``points`` (lists of names, from the top) and
``accuracy``. lmms-eval takes a number named ``score`` for one that has a standard error."""


def process_results(
    doc: Mapping[str, Any], results: Sequence[str]
) -> dict[str, float | Mastery | None]:
    """The metrics of one document; over several responses their mean.

    Those of knowledge points are values for ``ssr_0_1`` and its like.
    """
    records = read_records(CmmathRecord, results)
    means = document_metrics(records, METRICS)
    return {**means, **dict.fromkeys(SSR, _mastery(records, means["accuracy"]))}


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


def _mastery(records: Sequence[CmmathRecord], accuracy: float | None) -> Mastery | None:
    """None without a score or a point: such a document says nothing of any point."""
    if accuracy is None:
        return None
    points = records[0].instance.points
    return {"points": [list(point) for point in points], "accuracy": accuracy} if points else None
