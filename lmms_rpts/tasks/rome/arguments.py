"""The arguments of ROME's evaluators, as the annotations give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from annotated_types import Len
from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    TypeAdapter,
    ValidationError,
)

from lmms_rpts.base.escaping import did_you_mean
from lmms_rpts.base.schema import Share, shown

_Texts = list[StrictStr]
_Words = Annotated[StrictStr, StringConstraints(pattern=r"\S")]
_Number = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)] | StrictFloat
_Time = Annotated[StrictStr, StringConstraints(pattern=r"^-?\d{1,4}(:-?\d{1,4}){0,2}$")]
_Interval = Annotated[list[_Number], Len(2, 2)] | Annotated[list[_Time], Len(2, 2)]

_SHARE = (Share, "a number from 0 to 1")
_PLACES = (Annotated[_Texts, Len(1)], "a list of strings, not empty")
_KEY_ITEMS = (
    Annotated[list[_Texts], Len(1)] | Annotated[_Texts, Len(1)],
    "a list of lists of strings, or a list of strings, not empty",
)
_ORDER = (_Words | Annotated[_Texts, Len(1)], "a string or a list of strings, not empty")
_TEXTS = (_Texts, "a list of strings")
_INTERVALS = (
    Annotated[list[_Interval], Len(1)],
    'a list of pairs of numbers or of times such as "10:05", not empty',
)
# The type of each argument, and a message's words for it. "?": it may be missing.
_ARGUMENTS: Mapping[str, Mapping[str, tuple[Any, str]]] = {
    "key_items_matching": {"key_items": _KEY_ITEMS, "remove_space?": (StrictBool, "true or false")},
    "choices_matching": {"label": (_Words, "a string of letters, not empty")},
    "ordered_list_matching": {"order": _ORDER},
    "number_matching": {"value_to_match": (_Number, "a finite number")},
    "location_matching": {
        "location_fine_grained": _PLACES,
        "location_coarse_grained?": _TEXTS,
        "fine_grained_score?": _SHARE,
        "coarse_grained_score?": _SHARE,
    },
    "interval_matching": {
        "interval": (_Interval, 'two numbers, or two times such as "10:05"'),
        "units": _TEXTS,
    },
    "multi_interval_matching": {
        "intervals": _INTERVALS,
        "units": (list[StrictStr | _Texts], "a list of lists of strings, one for each interval"),
    },
}
EVALUATORS = tuple(_ARGUMENTS)
_FINITE = ConfigDict(allow_inf_nan=False)
_CHECKED = {
    name: {
        argument.rstrip("?"): (TypeAdapter(kind, config=_FINITE), wanted, argument.endswith("?"))
        for argument, (kind, wanted) in arguments.items()
    }
    for name, arguments in _ARGUMENTS.items()
}


def check_arguments(evaluator: object, given: object) -> None:
    """Check the arguments of an evaluator.

    Raises:
        ValueError: if the evaluator is unknown, or an argument is missing, unknown or wrong; one
            sentence without its full stop.
    """
    known = _CHECKED.get(evaluator) if isinstance(evaluator, str) else None
    if known is None:
        near = did_you_mean(str(evaluator), EVALUATORS)
        all_ = ", ".join(EVALUATORS)
        raise ValueError(f"unknown evaluator {evaluator!r}; known evaluators: {all_}.{near}")
    if not isinstance(given, Mapping):
        raise ValueError(f"{evaluator}: its arguments should be an object, not {shown(given)}")
    for name, (adapter, wanted, optional) in known.items():
        if name not in given and not optional:
            raise ValueError(f"{evaluator}: the argument {name!r} is missing")
        try:
            adapter.validate_python(given[name]) if name in given else None
        except ValidationError:
            raise ValueError(
                f"{evaluator}: {name!r} should be {wanted}, not {shown(given[name])}"
            ) from None
    for name in given:
        if name not in known:
            raise ValueError(
                f"{evaluator}: unknown argument {name!r}; known arguments: {', '.join(known)}"
            )
