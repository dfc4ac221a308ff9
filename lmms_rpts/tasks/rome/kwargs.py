"""Validation of the arguments of ROME's evaluators."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping

from lmms_rpts.filters.documents import FieldCheck, is_text

_TIME = re.compile(r"-?\d{1,4}(?::-?\d{1,4}){0,2}")


def check_kwargs(evaluator: str, kwargs: object) -> str | None:
    """The fault of an evaluator's arguments, in one sentence without its full stop; or None.

    Unknown evaluators are reported as well.
    """
    arguments = _ARGUMENTS.get(evaluator) if isinstance(evaluator, str) else None
    if arguments is None:
        return f"unknown evaluator {evaluator!r}{_nearest(evaluator)}; known evaluators: {_NAMES}"
    if not isinstance(kwargs, Mapping):
        return f"{evaluator}: its arguments must be an object, not {_shown(kwargs)}"
    for name, (is_required, (is_valid, wanted)) in arguments.items():
        if name in kwargs and not is_valid(kwargs[name]):
            return f"{evaluator}: {name!r} must be {wanted}, not {_shown(kwargs[name])}"
        if is_required and name not in kwargs:
            return f"{evaluator}: the argument {name!r} is missing"
    unknown = [name for name in kwargs if name not in arguments]
    if unknown:
        allowed = ", ".join(arguments)
        return f"{evaluator}: unknown argument {unknown[0]!r}; known arguments: {allowed}"
    return None


def required(evaluator: str, kwargs: object) -> None:
    """Raise ValueError if `check_kwargs` finds something wrong."""
    problem = check_kwargs(evaluator, kwargs)
    if problem:
        raise ValueError(problem)


def _nearest(name: object) -> str:
    near = difflib.get_close_matches(name, _ARGUMENTS, 1) if isinstance(name, str) else []
    return f" (did you mean {near[0]}?)" if near else ""


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def is_number(value: object) -> bool:
    """Whether a value is a finite number and not a boolean."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(map(is_text, value))


def _is_string(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _all(valid: Callable[[object], bool], value: object) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(map(valid, value))


def _is_interval(value: object) -> bool:
    def is_time(end: object) -> bool:
        return isinstance(end, str) and _TIME.fullmatch(end) is not None

    pair = isinstance(value, list | tuple) and len(value) == 2
    return pair and (_all(is_number, value) or _all(is_time, value))


_TEXTS: FieldCheck = (_texts, "a list of strings")
_SOME_TEXTS: FieldCheck = (lambda value: _all(is_text, value), "a list of strings, not empty")
_KEY_ITEMS: FieldCheck = (
    lambda value: _all(_texts, value) or _all(is_text, value),
    "a list of lists of strings, or a list of strings, not empty",
)
_LABEL: FieldCheck = (_is_string, "a string of letters, not empty")
_ORDER: FieldCheck = (
    lambda value: _is_string(value) or _all(is_text, value),
    "a string or a list of strings, not empty",
)
_NUMBER: FieldCheck = (is_number, "a finite number")
_SHARE: FieldCheck = (
    lambda value: isinstance(value, int | float) and is_number(value) and 0 <= value <= 1,
    "a number from 0 to 1",
)
_TRUTH: FieldCheck = (lambda value: isinstance(value, bool), "true or false")
_INTERVAL: FieldCheck = (_is_interval, 'two numbers, or two times such as "10:05"')
_INTERVALS: FieldCheck = (
    lambda value: _all(_is_interval, value),
    'a list of pairs of numbers or of times such as "10:05", not empty',
)
_MANY_UNITS: FieldCheck = (
    lambda value: _texts(value) or _all(lambda units: is_text(units) or _texts(units), value),
    "a list of lists of strings, one for each interval",
)
_ARGUMENTS: dict[str, dict[str, tuple[bool, FieldCheck]]] = {
    "key_items_matching": {"key_items": (True, _KEY_ITEMS), "remove_space": (False, _TRUTH)},
    "choices_matching": {"label": (True, _LABEL)},
    "ordered_list_matching": {"order": (True, _ORDER)},
    "number_matching": {"value_to_match": (True, _NUMBER)},
    "location_matching": {
        "location_fine_grained": (True, _SOME_TEXTS),
        "location_coarse_grained": (False, _TEXTS),
        "fine_grained_score": (False, _SHARE),
        "coarse_grained_score": (False, _SHARE),
    },
    "interval_matching": {"interval": (True, _INTERVAL), "units": (True, _TEXTS)},
    "multi_interval_matching": {
        "intervals": (True, _INTERVALS),
        "units": (True, _MANY_UNITS),
    },
}
EVALUATORS = tuple(_ARGUMENTS)
_NAMES = ", ".join(EVALUATORS)
