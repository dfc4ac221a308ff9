"""Correctness of an answer by a task's own metric."""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lmms_rpts.base.settings import SettingError

# The setting under which no answer counts as right or wrong.
NONE = "none"

# "acc", "acc.hit>=0.8"
_WRITTEN = re.compile(r"(?P<path>[^<>=]{1,200}?)\s{0,4}(?:>=\s{0,4}(?P<least>[0-9.]{1,12}))?")
# Fields of a metric's value that say whether an answer is right, the clearest first.
_FIELDS = ("correct", "is_correct", "true_false", "score", "acc", "accuracy", "exact_match", "hit")

_RIGHT_FROM = 0.5
# Greatest value of a metric that may be a mark on a short scale rather than a percentage.
_LONGEST_SCALE = 20.0
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


Survey = dict[str, dict[str, tuple[float | None, bool]]]
"""For each metric with a value, and each field of it ("": the value itself), the greatest number,
and whether all values are numbers. JSON: processes exchange it."""


def survey(
    metrics: Sequence[Mapping[str, Any]],
    aggregations: Mapping[str, Callable[..., Any]],
    wanted: str | None = None,
) -> Survey:
    """What the values of metrics are like."""
    found: Survey = {}
    for metric in dict.fromkeys(name for values in metrics for name in values):
        there = [values for values in metrics if values.get(metric) is not None]
        value = there[0][metric] if there else None
        fields = [name for name in _FIELDS if _number(_at(value, name)) is not None]
        with contextlib.suppress(SettingError):  # of another metric
            criterion = parse_criterion(wanted or NONE, [metric])
            fields += [criterion.field] if criterion and criterion.field else []
        for field in [*fields, ""] if there else ():
            shares = [_share_of(each, metric, field, aggregations) for each in there]
            numbers = [each for each in shares if each is not None]
            seen = (max(numbers, default=None), len(numbers) == len(shares))
            found.setdefault(metric, {})[field] = seen
    return found


def choose(
    parts: Sequence[Survey], own: Sequence[str], better: Mapping[str, bool], wanted: str | None
) -> tuple[Criterion | None, str]:
    """When answers count as right, and a warning; the same in all processes.

    Without a setting (``wanted``), it is the first of the task's ``own`` metrics, or of others, for
    which more is ``better`` and whose values in all parts are from 0 to 1. A length, or a score on
    another scale, is used only if the setting names it.
    """
    names = list(dict.fromkeys([*own, *itertools.chain(*parts)]))
    if wanted is None:
        order = [name for name in names if better.get(name, True)]
        shares = (
            Criterion(name, field or None) for name in order for field in _shares(parts, name)
        )
        found = next(shares, None)
        return found, "" if found else (
            f"no metric of the task says whether a response is right ({', '.join(order) or 'none'})"
            '; set one (in rpts.toml, correct = "METRIC.FIELD>=0.5", or --correct)'
        )
    try:
        named = parse_criterion(wanted, own)
    except SettingError:  # a metric that the task does not list, or none at all
        named = parse_criterion(wanted, names)
    if named is None:
        return None, ""
    seen = [part.get(named.metric, {}).get(named.field or "") for part in parts]
    greatest = max((each[0] for each in seen if each and each[0] is not None), default=None)
    if greatest is None:
        return named, f"no response has a number as {named}"
    if greatest <= 1.0 or named.least > 1.0:
        return named, ""
    if greatest > _LONGEST_SCALE:
        return replace(named, scale=100.0), ""
    return None, (
        f"{named.metric} has values up to {greatest:g}, so it is not a share or percentage. "
        f"Set the minimum value of a right answer on this scale, such as {named.metric}>=3 "
        "(setting correct, or --correct)"
    )


def _shares(parts: Sequence[Survey], metric: str) -> Iterator[str]:
    """The fields of a metric whose values are numbers from 0 to 1 in all parts."""
    there = [part[metric] for part in parts if metric in part]
    for field in there[0] if there else ():
        seen = [each.get(field, (None, False)) for each in there]
        if all(whole and greatest is not None and greatest <= 1.0 for greatest, whole in seen):
            yield field


def is_right(
    metrics: Mapping[str, Any], criterion: Criterion, aggregations: Mapping[str, Callable[..., Any]]
) -> bool | None:
    """Whether a response is right by its metrics; None if they are undecided."""
    share = _share_of(metrics, criterion.metric, criterion.field or "", aggregations)
    return None if share is None else share / criterion.scale >= criterion.least


def _share_of(
    metrics: Mapping[str, Any],
    metric: str,
    field: str,
    aggregations: Mapping[str, Callable[..., Any]],
) -> float | None:
    value = metrics.get(metric)
    if field:
        return _number(_at(value, field))
    if isinstance(value, Mapping):
        return _alone(value, aggregations.get(metric))
    return _number(value)


def _at(value: Any, field: str) -> Any:
    return value.get(field) if isinstance(value, Mapping) else None


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
