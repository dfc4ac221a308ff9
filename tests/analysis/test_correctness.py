"""Which metric says whether an answer is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lmms_rpts.analysis.correctness import Criterion, choose_criterion
from lmms_rpts.base.settings import SettingError
from tests.support.tables import table


def chosen(logged: Sequence[Mapping[str, Any]], correct: str | None = None) -> Criterion:
    return choose_criterion("t", logged, {"length": len}, {"length": False}, correct)


def rows(values: Sequence[Any]) -> list[dict[str, Any]]:
    return [{"m": value, "length": 3} for value in values]


@table(
    "values, correct, expected",
    ([1, 0, 1, True], None, [True, False, True, True]),
    ([0.5, 0.4, None, 1.0], None, [True, False, None, True]),
    ([{"score": 1.0}, {"score": 0.2}], None, [True, False]),
    ([{"hits": 0.9, "id": "x"}, {"hits": 0.8}], "m.hits>=0.85", [True, False]),
    ([100.0, 40.0, 60.0, 0.0], "m>=50", [True, False, True, False]),
    ([3, 2, 5], "m>=3", [True, False, True]),
    ([1, 0], "none", [None, None]),
    (["yes", "no"], None, [None, None]),
    ([100.0, 40.0], None, [None, None]),  # a scale that nobody named
    ([float("nan"), 1], "m", [None, True]),
)  # fmt: skip
def test_which_answers_are_right(
    values: list[Any], correct: str | None, expected: list[bool | None]
) -> None:
    logged = rows(values)
    assert [chosen(logged, correct).is_right(each) for each in logged] == expected


@table(
    "correct, told",
    ("colour", "'colour' is not a metric of the task. Use one of length, m"),
    ("m>=-2", "is not a metric"), ("m>=half", "is not a metric"), ("m<1", "is not a metric"),
    ("m", "m has values up to 5. Write the minimum of a right answer on this scale, such as m>="),
)  # fmt: skip
def test_a_wrong_metric_is_told(correct: str, told: str) -> None:
    with pytest.raises(SettingError) as caught:
        chosen(rows([3, 5]), correct)
    assert told in str(caught.value)
