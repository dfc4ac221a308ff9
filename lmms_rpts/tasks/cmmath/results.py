"""Metrics of CMMaTH for lmms-eval, from the records of ``cmmath_grade``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS, ssr
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.results import Metrics, document_metrics, read_records

SSR = {f"ssr_{threshold}": threshold for threshold in THRESHOLDS}
"""The accuracy that a knowledge point must exceed, by metric name."""

METRICS: Metrics = {
    "accuracy": lambda record: record.score,
    "undecided_rate": lambda record: record.undecided,
    "grader_coverage": lambda record: record.score is not None,
}
"""The value of a record in each metric; None if it has none.

``accuracy``: by the grader that counts; ``undecided_rate``: whether the rules left it undecided,
regardless of the judge; ``grader_coverage``: whether there is an accuracy.
"""

Mastery = dict[str, Any]
"""A document's knowledge points: ``points`` (lists of names, from the top) and ``accuracy``. It is
not named ``score``, because lmms-eval would compute a standard error of it."""


def process_results(
    doc: Mapping[str, Any], results: Sequence[str]
) -> dict[str, float | Mastery | None]:
    """The metrics of one document; the means over its responses.

    The metrics of knowledge points are values for ``ssr_0_1`` and similar aggregations.
    """
    records = read_records(CmmathRecord, results)
    means = document_metrics(records, METRICS)
    return {**means, **dict.fromkeys(SSR, _mastery(records, means["accuracy"]))}


def _share_above(threshold: float) -> Callable[[Sequence[Mastery | None]], float]:
    def share(items: Sequence[Mastery | None]) -> float:
        """The share of knowledge points whose accuracy exceeds the threshold; NaN without any."""
        there = [item for item in items if item is not None]
        pairs = [(map(tuple, item["points"]), item["accuracy"]) for item in there]
        found = ssr(pairs, threshold)
        return math.nan if found is None else found

    return share


ssr_0_1, ssr_0_2, ssr_0_3, ssr_0_6 = map(_share_above, THRESHOLDS)


def _mastery(records: Sequence[CmmathRecord], accuracy: float | None) -> Mastery | None:
    """None without a score or a point: such a document has no information on any point."""
    if accuracy is None:
        return None
    points = records[0].instance.points
    return {"points": [list(point) for point in points], "accuracy": accuracy} if points else None
