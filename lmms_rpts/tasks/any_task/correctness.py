"""Correctness of an answer by a task's own metric."""

from __future__ import annotations

import contextlib
import functools
import inspect
import io
import linecache
import math
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmms_rpts.settings import SettingError

NONE = "none"
"""The setting under which no answer counts as right or wrong."""

_WRITTEN = re.compile(r"(?P<path>[^<>=]{1,200}?)\s{0,4}(?:>=\s{0,4}(?P<least>[0-9.]{1,12}))?")
_FIELDS = ("correct", "is_correct", "true_false", "score", "acc", "accuracy", "exact_match", "hit")
"""Fields of a metric's value that say whether an answer is right, the clearest first."""

_RIGHT_FROM = 0.5
_LONGEST_SCALE = 20.0
"""Greatest value of a metric that may be a mark on a short scale rather than a percentage."""
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class Criterion:
    """When an answer counts as right.

    Attributes:
        metric: metric of the task.
        field: field of the metric's value, if that is an object.
        least: the minimum value of a right answer; above 1: on the metric's own scale.
        scale: divisor of the metric's values: 100 for percentages.
    """

    metric: str
    field: str | None = None
    least: float = _RIGHT_FROM
    scale: float = 1.0

    def __str__(self) -> str:
        field = f".{self.field}" if self.field else ""
        return f"{self.metric}{field}>={self.least * self.scale:g}"


def parse_criterion(text: str, metrics: Iterable[str]) -> Criterion | None:
    """Read ``METRIC``, ``METRIC.FIELD``, ``METRIC>=0.8`` or ``METRIC>=3``; None for ``none``.

    Args:
        metrics: names of the task's metrics.

    Raises:
        SettingError: if the metric is unknown; the message lists the task's metrics.
    """
    known = list(metrics)
    if text.strip() == NONE:
        return None
    found = _WRITTEN.fullmatch(text.strip())
    path = found["path"] if found else text
    metric = max((name for name in known if _begins(path, name)), key=len, default=None)
    least = float(found["least"]) if found and _is_number(found["least"]) else None
    if metric is None or found is None or (found["least"] and least is None):
        raise SettingError(
            f"{text!r} is not a metric of the task (setting correct, or --correct). "
            f"Use one of {', '.join(known)}, or none. To set a minimum, write it as in "
            f"{(known or ['METRIC'])[0]}>=0.5"
        )
    field = path.removeprefix(metric).removeprefix(".") or None
    return Criterion(metric, field, _RIGHT_FROM if least is None else least)


def may_return(process: Callable[..., Any], text: str) -> bool:
    """Whether a task's ``process_results`` may return a metric that the task does not list.

    Only a run shows what the function returns, but its file should contain the name as a string.

    Args:
        process: the function, or a partial of it.
        text: a criterion, as in ``METRIC.FIELD>=0.5``.
    """
    while isinstance(process, functools.partial):
        process = process.func
    name = re.split(r"[.<>=]", text.strip())[0].strip()
    try:
        lines = linecache.getlines(inspect.getsourcefile(process) or "")
    except TypeError:  # not a Python function
        lines = []
    quoted = (f'"{name}"', f"'{name}'")
    return not lines or any(each in line for line in lines for each in quoted)


def on_scale(criterion: Criterion, greatest: float | None) -> Criterion | None:
    """A criterion on the scale of its metric; None if the scale is unknown.

    Args:
        greatest: value of the metric in all responses; None: no value.
    """
    if greatest is None or greatest <= 1.0 or criterion.least > 1.0:
        return criterion
    return replace(criterion, scale=100.0) if greatest > _LONGEST_SCALE else None


def no_scale(criterion: Criterion, greatest: float) -> str:
    """Why a criterion with a metric on another scale cannot be used."""
    return (
        f"{criterion.metric} has values up to {greatest:g}, so it is not a share or percentage. "
        f"Set the minimum value of a right answer on this scale, such as {criterion.metric}>=3 "
        "(setting correct, or --correct)"
    )


def greatest_value(
    metrics: Iterable[Mapping[str, Any]],
    criterion: Criterion,
    aggregations: Mapping[str, Callable[..., Any]],
) -> float | None:
    """The greatest value that a criterion compares; None if there are no values."""
    values = (_share_of(each, criterion, aggregations) for each in metrics)
    return max((value for value in values if value is not None), default=None)


Usable = Mapping[str, Sequence[str | None]]
"""The fields with the correctness of answers, by metric; None: the value itself."""


def usable_criteria(
    metrics: Sequence[Mapping[str, Any]],
    order: Iterable[str],
    aggregations: Mapping[str, Callable[..., Any]],
) -> dict[str, list[str | None]]:
    """The usable criteria of all these responses, by metric.

    All values of a usable one are from 0 to 1: a length, or a score on another scale, is used only
    if the setting names it.

    Args:
        metrics: the metrics of each response.
        order: the task's metrics for which more is better.
        aggregations: aggregations of the metrics, by name.
    """
    found: dict[str, list[str | None]] = {}
    for metric in order:
        there = [values for values in metrics if values.get(metric) is not None]
        criteria = [*_by_field(metric, there[0][metric]), Criterion(metric)] if there else []
        for criterion in criteria:
            shares = [_share_of(values, criterion, aggregations) for values in there]
            usable = found.setdefault(metric, [])
            if all(share is not None and share <= 1.0 for share in shares):
                usable.append(criterion.field)
    return found


def first_criterion(parts: Sequence[Usable], order: Iterable[str]) -> Criterion | None:
    """The first metric that is usable for the responses of all parts.

    Args:
        parts: the ``usable_criteria`` of each part.
        order: the metrics.
    """
    for metric in order:
        usable = [part[metric] for part in parts if metric in part]
        for field in usable[0] if usable else ():
            if all(field in each for each in usable):
                return Criterion(metric, field)
    return None


def is_right(
    metrics: Mapping[str, Any],
    criterion: Criterion,
    aggregations: Mapping[str, Callable[..., Any]],
) -> bool | None:
    """Whether a response is right by its metrics; None if they are undecided."""
    share = _share_of(metrics, criterion, aggregations)
    return None if share is None else share / criterion.scale >= criterion.least


def _share_of(
    metrics: Mapping[str, Any],
    criterion: Criterion,
    aggregations: Mapping[str, Callable[..., Any]],
) -> float | None:
    value = metrics.get(criterion.metric)
    if criterion.field is not None:
        return _number(value.get(criterion.field)) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping):
        return _alone(value, aggregations.get(criterion.metric))
    return _number(value)


def _by_field(metric: str, value: Any) -> list[Criterion]:
    if not isinstance(value, Mapping):
        return []
    return [Criterion(metric, name) for name in _FIELDS if _number(value.get(name)) is not None]


def _number(value: Any) -> float | None:
    """A value as a number of at least 0."""
    if isinstance(value, str | bytes | bytearray) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0.0 <= number < math.inf else None


def _alone(value: Mapping[str, Any], aggregation: Callable[..., Any] | None) -> float | None:
    """The task's aggregation of this one response, if it needs nothing else."""
    if aggregation is None or not _takes_one(aggregation):
        return None
    try:
        # One at a time: lmms-eval scores documents in several threads, which share the stream.
        with _one_at_a_time, contextlib.redirect_stdout(io.StringIO()):
            return _number(aggregation([dict(value)]))
    except Exception:  # another package's function, for one response only
        return None


def _takes_one(aggregation: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(aggregation).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [each for each in parameters if each.default is each.empty]
    # An aggregation with "args" writes files for a submission.
    return len(needed) == 1 and all(each.name != "args" for each in parameters)


def _begins(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}.")


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and 0.0 <= float(text) < math.inf
    except ValueError:
        return False
