"""Whether an answer to a task of another package is right, by a metric that its run logged."""

from __future__ import annotations

import math
import re
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
# METRIC.FIELD>=0.8; any other end is a part of the name.
_NAMED = re.compile(r"(.*?)(?:>=(\d{1,9}(?:\.\d{1,9})?))?", re.DOTALL)

Logged = Mapping[str, Any]
Means = Mapping[str, Callable[[list[Any]], Any]]


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
        number = self.number(logged)
        return None if number is None else number >= self.least

    def number(self, logged: Logged) -> float | None:
        """The number that decides, at least 0; None if there is none."""
        value: Any = logged.get(self.metric)
        with suppress(Exception):  # what is no number, or the mean of another package raises
            if self.field:
                value = value[self.field]
            elif isinstance(value, Mapping) and self.mean:
                value = self.mean([dict(value)])
            number = math.nan if isinstance(value, str) else float(value)
            return number if 0.0 <= number < math.inf else None
        return None


def choose_criterion(
    task: str,
    logged: Sequence[Logged],
    means: Means,
    better: Mapping[str, bool],
    correct: str | None,
) -> Criterion:
    """The criterion of a task; without a metric, and with a warning, if none is one.

    Args:
        task: name of the task, for messages.
        logged: the metrics of responses.
        means: by metric, the task's own mean of values.
        better: by metric, whether more is better; those that are missing are.
        correct: ``METRIC``, ``METRIC.FIELD``, ``METRIC.FIELD>=0.8``, ``none``; None: the first
            metric for which more is better and whose values are all from 0 to 1.
    """
    if correct == NONE:
        return Criterion()
    names = list(dict.fromkeys([*means, *(name for each in logged for name in each)]))
    usual = [(name, field) for name in names if better.get(name, True) for field in _FIELDS]
    candidates = [Criterion(name, field, mean=means.get(name)) for name, field in usual]
    for criterion in [_named(correct, names, means)] if correct else candidates:
        values = [each for each in logged if each.get(criterion.metric) is not None]
        numbers = [number for number in map(criterion.number, values) if number is not None]
        largest = max(numbers, default=0.0)
        if correct and criterion.least <= 1.0 < largest:
            raise SettingError(
                f"--correct: {correct} has values up to {largest:g}. Write the minimum of a right "
                f"answer on this scale, such as {correct.partition('>=')[0]}>={largest / 2:g}"
            )
        if numbers and (correct or (len(numbers) == len(values) and largest <= 1.0)):
            place = f"{criterion.metric} {criterion.field}"
            logger.info("{}: answers are graded by {}", task, visible(place))
            return criterion
    reason = f"of its metrics ({visible(', '.join(names)) or NONE}), none says what is right"
    logger.warning("{}: {}; set --correct METRIC.FIELD", task, reason)
    return Criterion()


def _named(correct: str, names: Sequence[str], means: Means) -> Criterion:
    """The criterion that ``--correct`` names."""
    path, least = _NAMED.fullmatch(correct.replace(" ", "")).groups()  # type: ignore[union-attr]
    name, _, field = (path, "", "") if path in names else path.rpartition(".")
    if name not in names:
        raise SettingError(
            f"--correct: {correct!r} is not a metric of the task. Use one of "
            f"{', '.join(names)}, or none. To set a minimum, write METRIC>=0.5"
        )
    return Criterion(name, field, float(least or 0.5), means.get(name))
