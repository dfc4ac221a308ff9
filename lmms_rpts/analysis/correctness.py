"""Whether answers to a task of another package are right, by a metric that its run logged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.settings import SettingError

NONE = "none"
"""For ``--correct``: no answer counts as right or wrong."""
# Fields of a metric's value that say whether an answer is right, the clearest first; "": itself.
_FIELDS = ("correct", "is_correct", "true_false", "score", "acc", "accuracy", "exact_match", "")

Means = Mapping[str, Callable[[list[Any]], Any]]


def right_answers(
    task: str,
    logged: Sequence[Mapping[str, Any]],
    means: Means,
    better: Mapping[str, bool],
    correct: str | None,
) -> list[bool | None]:
    """Whether each answer is right: whether a number of its metrics is at least 0.5.

    None: the metrics do not say. If no metric says it of any answer, that is warned of.

    Args:
        task: name of the task, for messages.
        logged: the metrics of each answer.
        means: by metric, the task's own mean of values, for values that are objects.
        better: by metric, whether more is better; those that are missing are.
        correct: ``METRIC``, ``METRIC.FIELD``, either with ``>=0.8`` at its end, or ``none``. None:
            the first metric for which more is better and whose values are all from 0 to 1.
    """
    unknown: list[bool | None] = [None] * len(logged)
    if correct == NONE:
        return unknown
    names = list(dict.fromkeys([*means, *(name for each in logged for name in each)]))
    least, candidates = 0.5, [(n, field) for n in names if better.get(n, True) for field in _FIELDS]
    if correct:
        path, mark, number = correct.replace(" ", "").partition(">=")
        name, _, field = (path, "", "") if path in names else path.rpartition(".")
        if name not in names or bool(mark) != number.replace(".", "", 1).isdecimal():
            raise SettingError(
                f"--correct: {correct!r} is not a metric of the task. Use one of "
                f"{', '.join(names)}, or none. To set a minimum, write METRIC>=0.5"
            )
        least, candidates = float(number or least), [(name, field)]
    for name, field in candidates:
        numbers = [_number(metrics.get(name), field, means.get(name)) for metrics in logged]
        largest = max((number for number in numbers if number is not None), default=-1.0)
        if correct and least <= 1.0 < largest:
            raise SettingError(
                f"--correct: {correct} has values up to {largest:g}. Write the minimum of a right "
                f"answer on this scale, such as {correct.partition('>=')[0]}>={largest / 2:g}"
            )
        complete = all(
            number is not None or metrics.get(name) is None
            for metrics, number in zip(logged, numbers, strict=True)
        )
        if largest >= 0 and (correct or (complete and largest <= 1.0)):
            logger.info("{}: answers are graded by {}", task, visible(f"{name} {field}"))
            return [None if number is None else number >= least for number in numbers]
    reason = f"of its metrics ({visible(', '.join(names)) or NONE}), none says what is right"
    logger.warning("{}: {}; set --correct METRIC.FIELD", task, reason)
    return unknown


def _number(value: Any, field: str, mean: Callable[[list[Any]], Any] | None) -> float | None:
    """The number that decides, at least 0; None if there is none."""
    with suppress(Exception):  # what is no number, or the mean of another package raises
        if field:
            value = value[field]
        elif isinstance(value, Mapping) and mean:
            value = mean([dict(value)])
        number = math.nan if isinstance(value, str) else float(value)
        return number if 0.0 <= number < math.inf else None
    return None
