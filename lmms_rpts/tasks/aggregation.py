"""Metrics of documents from their records, and their means, for lmms-eval's metric lists.

A document without a value (it could not be judged, or the metric does not apply to it) carries
None: it is left out of the mean, never counted as a zero. A document that asks several questions,
one per round, carries a list of values.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

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


K = TypeVar("K", bound="_Annotated")


class _Annotated(float):
    """A number with metadata that survives copying and pickling.

    lmms-eval's loggers copy all results, and each process sends its values to the first process.
    """

    def __new__(cls: type[K], value: float, **attributes: Any) -> K:
        made = super().__new__(cls, value)
        vars(made).update(attributes)
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        return (float(self),), vars(self)


class Mean(_Annotated):
    """A mean with its number of values; lmms-eval passes only the sizes of tasks to groups."""

    n: int


class Value(_Annotated):
    """A document's value of a metric, with its document.

    A group may contain one instance in several languages, and a task several wordings of one
    sample: such values are not independent.

    Attributes:
        document: the instance.
        equal_weights: whether the tasks of a group have equal weight, regardless of their sizes.
    """

    document: str
    equal_weights: bool = False


class StandardError(_Annotated):
    """The standard error of a task's mean; ``values``: the averaged values."""

    values: tuple[Value, ...]


Item = float | None | Sequence[float | None]
"""A document's value of a metric: a number, None, or a list with one value per question."""


def mean_of_scored(items: Sequence[Item]) -> float:
    """Mean of the values that are not None, NaN if there are none."""
    values = _scored(items)
    return Mean(math.fsum(values) / len(values), n=len(values)) if values else math.nan


def stderr_of_scored(items: Sequence[Item]) -> float:
    """Standard error of ``mean_of_scored``, NaN for fewer than two values.

    Several values of one document are a cluster, as for ``stderr_over_tasks``.
    """
    values = _scored(items)
    known = [item for item in _each(items) if isinstance(item, Value)]
    error = math.nan
    if len({value.document for value in known}) < len(known) == len(values):
        error = _clustered_error(known)
    elif len(values) > 1:
        mean = math.fsum(values) / len(values)
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        error = math.sqrt(variance / len(values))
    return StandardError(error, values=tuple(known)) if len(known) == len(values) else error


def stderr_over_tasks(errors: Sequence[object]) -> float | None:
    """Standard error of a group's mean over all values of its tasks.

    Values of one document, such as its translations, are one cluster: the standard error is that of
    a mean over clusters (Cochran 1977, ratio to size), as in ``lmms_rpts.analysis``.

    Args:
        errors: standard errors of the tasks' means.

    Returns:
        NaN for fewer than two documents; None if the tasks' values have no documents.
    """
    each = [error for error in errors if isinstance(error, StandardError)]
    if not each or len(each) < len(errors):
        return None
    values = [value for error in each for value in error.values]
    if not values:
        return math.nan
    if all(value.equal_weights for value in values):  # a mean of means
        return math.sqrt(math.fsum(error**2 for error in each)) / len(each)
    return _clustered_error(values)


def _clustered_error(values: Sequence[Value]) -> float:
    """Standard error of the mean of values that are clustered by document."""
    mean = math.fsum(values) / len(values)
    residuals: defaultdict[str, float] = defaultdict(float)
    for value in values:
        residuals[value.document] += value - mean
    count = len(residuals)
    if count < 2:
        return math.nan
    squares = math.fsum(residual**2 for residual in residuals.values())
    return math.sqrt(squares * count / (count - 1)) / len(values)


def mean_over_tasks(
    means: Sequence[float], sizes: Sequence[int], weight_by_size: bool = True
) -> float:
    """Mean over a group's tasks, each weighted by its number of documents with a value."""
    pairs = [
        (mean, getattr(mean, "n", size) if weight_by_size else 1)
        for mean, size in zip(means, sizes, strict=True)
        if isinstance(mean, int | float) and not math.isnan(mean)
    ]
    weight = sum(size for _, size in pairs)
    return math.fsum(mean * size for mean, size in pairs) / weight if weight else math.nan


def _scored(items: Sequence[Item]) -> list[float]:
    return [float(item) for item in _each(items) if item is not None]


def _each(items: Sequence[Item]) -> Iterator[float | None]:
    for item in items:
        if isinstance(item, Sequence):
            yield from item
        else:
            yield item
