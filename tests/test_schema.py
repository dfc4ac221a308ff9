"""Types of JSON fields: each accepts its own values, and its error names the field."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest
from pydantic import ValidationError, create_model

from lmms_rpts.base.schema import Flag, Line, Model, Number, Share, Text, Whole, first_fault

ENORMOUS = 10**5000
DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]


class Inner(Model):
    a: Text


TYPES: dict[str, tuple[Any, list[object], list[object]]] = {
    "text": (Text, ["", "x", "\ud800"], [None, 1, True, [], {}]),
    "line": (Line, ["x"], [None, "", " \n", 1]),
    "text?": (Text | None, ["", "x", None], [1, True, [], {}]),
    "flag": (Flag, [True, False], [None, 0, 1, "true", [], {}]),
    "whole": (Whole, [0, 1, 2**63 - 1], [None, -1, 2**63, 0.0, 1.5, True, "1", [], math.nan]),
    "share": (Share, [0, 1, 0.5, -0.0], [None, -0.1, 1.1, True, "0.5", math.nan, 10**400]),
    "number": (Number, [-7, 0, 1e300], [None, True, "1", math.nan, -math.inf, 10**400, ENORMOUS]),
    "texts": (tuple[Text, ...], [[], ["a", "b"]], [None, "ab", [1], ["a", None], {}, DEEP]),
    "object": (Inner, [{"a": "x"}, {"a": "x", "b": 1}], [None, [], "x", 7, DEEP]),
    "objects": (tuple[Inner, ...], [[], [{"a": "x"}]], [None, {}, [{"a": "x"}, 1], [[]], DEEP]),
    "choice": (Literal["x", "y"], ["x"], ["z", None, 1, ["x"], {}, ENORMOUS, "\ud800"]),
}


@pytest.mark.parametrize("name", TYPES)
def test_each_type_takes_its_own_values(name: str) -> None:
    kind, good, bad = TYPES[name]
    step = create_model("Step", __base__=Model, a=(kind, ...))
    record = create_model("Record", __base__=Model, steps=(tuple[step, ...], ...))  # type: ignore[valid-type]
    for value in good:
        found = record.model_validate({"steps": [{"a": value}]})
        hash(found)
        found.model_dump_json().encode()
        assert "-0.0" not in repr(found)
    for value in bad:
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
