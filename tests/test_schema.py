"""Types of JSON fields: each accepts its own values, and its error names the field."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest
from pydantic import ValidationError, create_model

from lmms_rpts.base.schema import Flag, Model, Number, Share, Text, Whole, first_fault, shown

ENORMOUS = 10**5000
DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]


class Inner(Model):
    a: Text


TYPES: list[tuple[Any, list[object], list[object]]] = [
    (Text, ["", "x"], [None, 1, True, [], {}]),
    (Text | None, ["", "x", None], [1, True, [], {}]),
    (Flag, [True, False], [None, 0, 1, "true", [], {}]),
    (Flag | None, [True, False, None], [0, 1, "true", [], {}]),
    (Whole, [0, 1, 2**63 - 1], [None, -1, 2**63, 0.0, 1.5, True, "1", [], math.nan]),
    (Share, [0, 1, 0.5, 0.0, 1.0], [None, -0.1, 1.1, True, "0.5", math.nan, math.inf, 10**400]),
    (Share | None, [0, 1.0, None], [-0.1, 1.1, True, "0.5", math.nan]),
    (Number, [-7, 0, 1e300], [None, True, "1", math.nan, math.inf, -math.inf, 10**400, ENORMOUS]),
    (tuple[Text, ...], [[], ["a", "b"], ("a",)], [None, "ab", [1], ["a", None], {}, DEEP]),
    (Inner, [{"a": "x"}, {"a": "x", "b": 1}], [None, [], "x", 7, DEEP]),
    (tuple[Inner, ...], [[], [{"a": "x"}]], [None, {}, [{"a": "x"}, 1], [[]], DEEP]),
    (Literal["x", "y"], ["x"], ["z", None, 1, ["x"], {}, ENORMOUS, "\ud800"]),
]
NAMES = ["text", "text?", "flag", "flag?", "whole", "share", "share?", "number", "texts", "object"]
NAMES += ["objects", "choice"]


@pytest.mark.parametrize(("kind", "good", "bad"), TYPES, ids=NAMES)
def test_each_type_takes_its_own_values(kind: Any, good: list[object], bad: list[object]) -> None:
    step = create_model("Step", __base__=Model, a=(kind, ...))
    record = create_model("Record", __base__=Model, steps=(tuple[step, ...], ...))  # type: ignore[valid-type]
    for value in good:
        hash(record.model_validate({"steps": [{"a": value}]}))
    for value in [*bad, None]:
        if value is None and None in good:
            continue
        with pytest.raises(ValidationError) as caught:
            record.model_validate({"steps": [{"a": value}]})
        message = first_fault(caught.value)
        assert message.startswith(("steps[0].a should be ", "steps[0].a[")), message
        assert " should be " in message
        assert len(message) < 200
        message.encode()
    with pytest.raises(ValidationError) as caught:
        record.model_validate({"steps": [{}]})
    assert first_fault(caught.value) == "steps[0].a is missing"


def test_a_choice_names_what_there_is() -> None:
    model = create_model("Record", __base__=Model, a=(Literal["x", "y"], ...))
    with pytest.raises(ValidationError) as caught:
        model.model_validate({"a": "z"})
    assert first_fault(caught.value) == "a should be one of x, y, not 'z'"


def test_there_is_no_negative_zero() -> None:
    model = create_model("Record", __base__=Model, a=(Share, ...))
    assert math.copysign(1.0, model.model_validate({"a": -0.0}).a) == 1.0  # type: ignore[attr-defined]


def test_values_are_shown_short_even_if_python_does_not_print_them() -> None:
    for value in (None, 7, "x" * 1000, ["x"] * 1000, {"x": "y" * 1000}):
        assert shown(value).rstrip("…") == repr(value)[:60]
    assert shown(ENORMOUS) == "this int"
    assert shown(DEEP) in ("this list", "[" * 60 + "…")  # from Python 3.13 on, repr gets deeper
    shown("\ud800").encode()
