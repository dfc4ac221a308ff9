"""Validation of the arguments of ROME's evaluators."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], str | None]
_TIME = re.compile(r"-?\d{1,4}(?::-?\d{1,4}){0,2}")


def check_kwargs(evaluator: str, kwargs: object) -> str | None:
    """What is wrong with an evaluator's arguments, in one sentence without its full stop; or None.

    Also tells of an evaluator that there isn't.
    """
    arguments = _ARGUMENTS.get(evaluator) if isinstance(evaluator, str) else None
    if arguments is None:
        return f"there is no evaluator {evaluator!r}{_nearest(evaluator)}; there are: {_NAMES}"
    if not isinstance(kwargs, Mapping):
        return f"{evaluator}: its arguments must be an object, not {_shown(kwargs)}"
    for name, (is_required, check) in arguments.items():
        if name not in kwargs:
            if is_required:
                return f"{evaluator}: the argument {name!r} is missing"
            continue
        wanted = check(kwargs[name])
        if wanted:
            return f"{evaluator}: {name!r} must be {wanted}, not {_shown(kwargs[name])}"
    unknown = [name for name in kwargs if name not in arguments]
    if unknown:
        allowed = ", ".join(arguments)
        return f"{evaluator}: there is no argument {unknown[0]!r}; there are: {allowed}"
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
    """A finite number that is no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(text, str) for text in value)


def _some_texts(value: object) -> str | None:
    return None if _texts(value) and value else "a list of strings, not empty"


def _texts_or_none(value: object) -> str | None:
    return None if _texts(value) else "a list of strings"


def _key_items(value: object) -> str | None:
    if isinstance(value, list | tuple) and value:
        nested = all(isinstance(item, list | tuple) and _texts(item) for item in value)
        if nested or _texts(value):
            return None
    return "a list of lists of strings, or a list of strings, not empty"


def _label(value: object) -> str | None:
    return None if isinstance(value, str) and value.strip() else "a string of letters, not empty"


def _order(value: object) -> str | None:
    fits = (isinstance(value, str) and value.strip()) or (_texts(value) and value)
    return None if fits else "a string or a list of strings, not empty"


def _number(value: object) -> str | None:
    return None if is_number(value) else "a finite number"


def _share(value: object) -> str | None:
    fits = isinstance(value, int | float) and is_number(value) and 0 <= value <= 1
    return None if fits else "a number from 0 to 1"


def _truth(value: object) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _interval(value: object) -> str | None:
    if isinstance(value, list | tuple) and len(value) == 2:
        if all(is_number(end) for end in value):
            return None
        if all(isinstance(end, str) and _TIME.fullmatch(end) for end in value):
            return None
    return 'two numbers, or two times such as "10:05"'


def _intervals(value: object) -> str | None:
    fits = isinstance(value, list | tuple) and value and not any(map(_interval, value))
    return None if fits else 'a list of pairs of numbers or of times such as "10:05", not empty'


def _many_units(value: object) -> str | None:
    fits = isinstance(value, list | tuple) and all(
        isinstance(units, str) or _texts(units) for units in value
    )
    return None if fits else "a list of lists of strings, one for each interval"


_ARGUMENTS: dict[str, dict[str, tuple[bool, Check]]] = {
    "key_items_matching": {"key_items": (True, _key_items), "remove_space": (False, _truth)},
    "choices_matching": {"label": (True, _label)},
    "ordered_list_matching": {"order": (True, _order)},
    "number_matching": {"value_to_match": (True, _number)},
    "location_matching": {
        "location_fine_grained": (True, _some_texts),
        "location_coarse_grained": (False, _texts_or_none),
        "fine_grained_score": (False, _share),
        "coarse_grained_score": (False, _share),
    },
    "interval_matching": {"interval": (True, _interval), "units": (True, _texts_or_none)},
    "multi_interval_matching": {
        "intervals": (True, _intervals),
        "units": (True, _many_units),
    },
}
EVALUATORS = tuple(_ARGUMENTS)
_NAMES = ", ".join(EVALUATORS)
