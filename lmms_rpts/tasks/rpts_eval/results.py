"""Metrics of RPTS for lmms-eval, from the records of ``rpts_aggregate``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.filters.metrics import METRICS as RPTS_METRICS
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.tasks.aggregation import Value, mean, mean_of_scored, mean_over_tasks, read_records

METRICS = tuple(each.name for each in RPTS_METRICS)
"""All metrics, in the order of tables and columns."""

COUNTS = frozenset(each.name for each in RPTS_METRICS if each.kind == "count")
"""The metrics that may exceed 1."""

OF_ANSWERS = frozenset(each.name for each in RPTS_METRICS if each.needs_answer)
"""The metrics that need a gold answer."""

LOWER_IS_BETTER = tuple(each.name for each in RPTS_METRICS if each.better == "less")

HIGHER_IS_BETTER = {
    each.name: None if each.better == "neither" else each.better == "more" for each in RPTS_METRICS
}
"""As for lmms-eval; None if neither more nor less is better: its table then has no arrow."""

METRIC_LIST = [
    {"metric": name, "aggregation": mean_of_scored, "higher_is_better": better}
    for name, better in HIGHER_IS_BETTER.items()
]
"""``metric_list`` of the task files."""

GROUP_METRIC_LIST = [
    {"metric": name, "aggregation": mean_over_tasks, "weight_by_size": True} for name in METRICS
]
"""``aggregate_metric_list`` of the group of both languages."""


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; the means over its responses.

    None if a metric has no value for the document: see ``RptsRecord.metrics``.
    """
    metrics = [record.metrics for record in read_records(RptsRecord, results)]
    means = {name: mean(each[name] for each in metrics) for name in METRICS}
    document = _identity(doc)
    if document is None:
        return means
    return {
        name: None if each is None else Value(each, document=document)
        for name, each in means.items()
    }


def _identity(doc: Mapping[str, Any]) -> str | None:
    """The key that a document shares only with its translations: its id, images and answer.

    None without an id or images: then translations can't be recognized.
    """
    try:
        if doc.get("id") is None or not doc.get("visual_clue"):
            return None
        return json.dumps([doc["id"], list(doc["visual_clue"]), doc.get("answer")], default=str)
    except Exception:  # a foreign document may contain anything
        return None
