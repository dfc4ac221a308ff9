"""Which metric says whether an answer is right."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_rpts.analysis.correctness import right_answers
from lmms_rpts.base.settings import SettingError
from tests.support.tables import table


def right(values: list[Any], correct: str | None = None) -> list[bool | None]:
    """By the metric m with these values, beside one that is better if lower."""
    rows = [{"m": value, "length": 1} for value in values]
    return right_answers("t", rows, {"length": len}, {"length": False}, correct)


@table(
    "values, correct, expected",
    ([1, 0, 1, True], None, [True, False, True, True]),
    ([0.5, 0.4, None, 1.0], None, [True, False, None, True]),
    ([{"score": 1.0}, {"score": 0.2}], None, [True, False]),
    ([{"hits": 0.9, "id": "x"}, {"hits": 0.8}], "m.hits>=0.85", [True, False]),
    ([100.0, 40.0, 60.0, 0.0], "m >= 50", [True, False, True, False]),
    ([1, 0], "none", [None, None]),
    (["yes", "no"], None, [None, None]),
    ([100.0, 40.0], None, [None, None]),  # a scale that nobody named
    ([float("nan"), 1], "m", [None, True]),
)  # fmt: skip
def test_which_answers_are_right(
    values: list[Any], correct: str | None, expected: list[bool | None]
) -> None:
    assert right(values, correct) == expected


@table(
    "correct, told",
    ("colour", "'colour' is not a metric of the task. Use one of length, m"),
    ("m>=-2", "is not a metric"), ("m>=half", "is not a metric"), ("m<1", "is not a metric"),
    ("m", "m has values up to 5. Write the minimum of a right answer on this scale, such as m>="),
)  # fmt: skip
def test_a_wrong_metric_is_told(correct: str, told: str) -> None:
    with pytest.raises(SettingError) as caught:
        right([3, 5], correct)
    assert told in str(caught.value)
