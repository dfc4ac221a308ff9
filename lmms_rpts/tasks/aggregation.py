"""Metrics of documents from their records, and their means, for lmms-eval's metric lists.

A document without a value (it could not be judged, or the metric does not apply to it) carries
None: it is left out of the mean, never counted as a zero. A document that asks several questions,
one per round, carries a list of values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

from lmms_rpts.runs.record import R
from lmms_rpts.stats.metrics import Metric, Metrics


def read_records(record: type[R], results: Iterable[str]) -> list[R]:
    """The records among a document's results; other values and other versions are left out."""
    found: list[R] = []
    for result in results if isinstance(results, list | tuple) else ():
        try:
            found.append(record.parse(json.loads(result)))
        except (TypeError, ValueError, RecursionError):
            continue
    return found


def process_results(
    record: type[R], metrics: Metrics, doc: Any, results: Iterable[str]
) -> dict[str, Any]:
    """``process_results`` of a task, once its first two arguments are given.

    The means over the document's responses, None without a value; for a metric of a set of
    records, the records.
    """
    found = read_records(record, results)
    return {
        name: mean(map(each.value, found)) if each.value else found
        for name, each in metrics.items()
        if each.listed
    }


def over_all(metric: Metric) -> Callable[[Sequence[Sequence[Any]]], float]:
    """The aggregation of a metric of a set of records, for task files; NaN without a value."""

    def aggregation(items: Sequence[Sequence[Any]]) -> float:
        found = metric.over(list(chain.from_iterable(items))) if metric.over else None
        return math.nan if found is None else found

    return aggregation


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
