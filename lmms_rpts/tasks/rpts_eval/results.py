"""Metrics of RPTS for lmms-eval, from the records of ``rpts_aggregate``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.aggregation import (
    document_metrics,
    group_metric_list,
    metric_list,
    read_records,
)

METRIC_LIST = metric_list(METRICS)
"""``metric_list`` of the task files."""

GROUP_METRIC_LIST = group_metric_list(METRICS)
"""``aggregate_metric_list`` of the group of both languages."""


def process_results(doc: Any, results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; the means over its responses.

    None if a metric has no value for the document.
    """
    return document_metrics(read_records(RptsRecord, results), METRICS)
