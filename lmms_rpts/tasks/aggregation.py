"""Metrics of documents from their records, and their means, for lmms-eval's metric lists.

A document without a value (it could not be judged, or the metric does not apply to it) carries
None: it is left out of the mean, never counted as a zero. A document that asks several questions,
one per round, carries a list of values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from lmms_rpts.runs.metrics import Metrics
from lmms_rpts.runs.record import R


def read_records(record: type[R], results: Iterable[str]) -> list[R]:
    """The records among a document's results; other values and other versions are left out."""
    found: list[R] = []
    for result in results if isinstance(results, list | tuple) else ():
        try:
            found.append(record.parse(json.loads(result)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def metric_list(metrics: Metrics) -> list[dict[str, Any]]:
    """``metric_list`` of a task file: the listed metrics in their order."""
    return [
        {
            "metric": name,
            "aggregation": each.aggregation or mean_of_scored,
            "higher_is_better": each.higher_is_better,
        }
        for name, each in metrics.items()
        if each.listed
    ]


def group_metric_list(names: Iterable[str], weight_by_size: bool = True) -> list[dict[str, Any]]:
    """``aggregate_metric_list`` of a group: the means of metrics over its tasks."""
    return [
        {"metric": name, "aggregation": mean_over_tasks, "weight_by_size": weight_by_size}
        for name in names
    ]


def document_metrics(records: Iterable[Any], metrics: Metrics) -> dict[str, float | None]:
    """The listed metrics of one document: the means over its responses; None without a value.

    Metrics that are defined only for a set of records are left out.
    """
    there = list(records)
    return {
        name: mean(map(each.value, there))
        for name, each in metrics.items()
        if each.listed and each.value
    }


def record_metrics(
    record: type[R], metrics: Metrics, doc: Any, results: Iterable[str]
) -> dict[str, float | None]:
    """``process_results`` of a task, once its first two arguments are given."""
    return document_metrics(read_records(record, results), metrics)


def mean(values: Iterable[float | None]) -> float | None:
    """The mean of the values that are not None; None without any."""
    there = [float(value) for value in values if value is not None]
    return sum(there) / len(there) if there else None


Item = float | None | Sequence[float | None]
"""A document's value of a metric: a number, None, or a list with one value per question."""


def mean_of_scored(items: Sequence[Item]) -> float:
    """Mean of the values that are not None, NaN if there are none."""
    every = chain.from_iterable(each if isinstance(each, Sequence) else (each,) for each in items)
    values = [float(value) for value in every if value is not None]
    return math.fsum(values) / len(values) if values else math.nan


def mean_over_tasks(
    means: Sequence[float], sizes: Sequence[int], weight_by_size: bool = True
) -> float:
    """Mean over a group's tasks, weighted by their numbers of documents; NaN is left out."""
    pairs = [
        (mean, size if weight_by_size else 1)
        for mean, size in zip(means, sizes, strict=True)
        if isinstance(mean, int | float) and not math.isnan(mean)
    ]
    weight = sum(size for _, size in pairs)
    return math.fsum(mean * size for mean, size in pairs) / weight if weight else math.nan
