"""Metrics of RPTS for lmms-eval, from the records of ``rpts_aggregate``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.tasks.aggregation import (
    Value,
    document_metrics,
    group_metric_list,
    metric_list,
    read_records,
)

METRIC_LIST = metric_list(METRICS)
"""``metric_list`` of the task files."""

GROUP_METRIC_LIST = group_metric_list(METRICS)
"""``aggregate_metric_list`` of the group of both languages."""


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; the means over its responses.

    None if a metric has no value for the document.
    """
    means = document_metrics(read_records(RptsRecord, results), METRICS)
    document = _identity(doc)
    if document is None:
        return means
    return {
        name: None if each is None else Value(each, document=document)
        for name, each in means.items()
    }


def _identity(doc: Mapping[str, Any]) -> str | None:
    """The key that a document shares with its translations: id, images and answer.

    None without an id or images: then translations can't be recognized.
    """
    try:
        if doc.get("id") is None or not doc.get("visual_clue"):
            return None
        return json.dumps([doc["id"], sorted(doc["visual_clue"]), doc.get("answer")], default=str)
    except Exception:  # a foreign document may contain anything
        return None
