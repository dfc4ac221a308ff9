"""Whether an answer to a task of another package is right, by a metric that its run logged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import SettingError

NONE = "none"
"""For ``--correct``: no answer counts as right or wrong."""
# Fields of a metric's value that say whether an answer is right, the clearest first; "": itself.
_FIELDS = ("correct", "is_correct", "true_false", "score", "acc", "accuracy", "exact_match", "")

Aggregations = Mapping[str, Callable[[list[Any]], Any]]
Logged = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Criterion:
    """An answer is right if a metric, or a field of it, is at least ``least``; "": it is not known.

    ``mean``: the task's own mean of values of the metric, for values that are objects.
    """

    metric: str = ""
    field: str = ""
    least: float = 0.5
    mean: Callable[[list[Any]], Any] | None = None

    def is_right(self, logged: Logged) -> bool | None:
        """Whether an answer with these metrics is right; None if they do not say."""
        value = self.number(logged)
        return None if value is None else value >= self.least

    def number(self, logged: Logged) -> float | None:
        """The number that decides; None if there is none."""
        value = logged.get(self.metric)
        if isinstance(value, Mapping):
            value = value.get(self.field) if self.field else self._mean(value)
        elif self.field:
            value = None
        return None if isinstance(value, str) else _number(value)

    def _mean(self, value: Mapping[str, Any]) -> Any:
        """The task's own mean of this response, if it needs nothing else."""
        with suppress(Exception):  # another package's function
            return self.mean([dict(value)]) if self.mean else None
        return None


def choose_criterion(
    task: str,
    logged: Sequence[Logged],
    aggregations: Aggregations,
    better: Mapping[str, bool],
    correct: str | None,
) -> Criterion:
    """The criterion of a task; without a metric, and with a warning, if none is one.

    Args:
        task: name of the task, for messages.
        logged: the metrics of responses.
        aggregations: by metric, the task's own mean of values.
        better: by metric, whether more is better; those that are missing are.
        correct: ``METRIC``, ``METRIC.FIELD``, ``METRIC.FIELD>=0.8``, ``none``; None: the first
            metric for which more is better and whose values are all from 0 to 1.
    """
    names = list(dict.fromkeys([*aggregations, *(name for each in logged for name in each)]))
    if correct == NONE:
        return Criterion()
    if correct is not None:
        return _parsed(task, correct, names, logged, aggregations)
    for name in (name for name in names if better.get(name, True)):
        for field in _FIELDS:
            criterion = Criterion(name, field, mean=aggregations.get(name))
            values = [criterion.number(each) for each in logged if each.get(name) is not None]
            if values and all(value is not None and value <= 1.0 for value in values):
                logger.info("{}: answers are graded by {} {}", task, visible(name), field)
                return criterion
    reason = f"of its metrics ({visible(', '.join(names)) or NONE}), none says what is right"
    logger.warning("{}: {}; set --correct METRIC.FIELD", task, reason)
    return Criterion()


def _parsed(
    task: str,
    correct: str,
    names: Sequence[str],
    logged: Sequence[Logged],
    aggregations: Aggregations,
) -> Criterion:
    """The criterion that ``--correct`` names."""
    path, _, least = correct.replace(" ", "").partition(">=")
    name, _, field = (path, "", "") if path in names else path.rpartition(".")
    minimum = _number(least) if least else 0.5
    if name not in names or minimum is None:
        raise SettingError(
            f"--correct: {correct!r} is not a metric of the task. Use one of "
            f"{', '.join(names)}, or none. To set a minimum, write METRIC>=0.5"
        )
    criterion = Criterion(name, field, minimum, aggregations.get(name))
    values = [value for value in map(criterion.number, logged) if value is not None]
    if not values:
        logger.warning("{}: no response has a number as {}", task, visible(correct))
    if minimum <= 1.0 < max(values, default=0.0):
        raise SettingError(
            f"--correct: {path} has values up to {max(values):g}. Write the minimum of a right "
            f"answer on this scale, such as {path}>={max(values) / 2:g}"
        )
    return criterion


def _number(value: Any) -> float | None:
    """A value as a number of at least 0."""
    with suppress(TypeError, ValueError, OverflowError):
        return number if 0.0 <= (number := float(value)) < math.inf else None
    return None
