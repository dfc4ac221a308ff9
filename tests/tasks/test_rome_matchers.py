"""The published graders of ROME: the reference cases, their quirks, and hostile text."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.rome.matchers import match, rule_of
from lmms_rpts.tasks.rome.scorer import grade_strictly
from tests.support.reference import reference
from tests.support.tables import table

PLACE = {"location_fine_grained": ["a"]}
PLACES = {
    "location_fine_grained": ["Times Square", "时代广场"],
    "location_coarse_grained": ["New York"],
    "coarse_grained_score": 0.25,
}
ALL_KWARGS: list[tuple[str, dict[str, Any], set[float]]] = [
    ("key_items_matching", {"key_items": [["Monterrey"], ["Seattle", "Sounders"]]}, {0, 1}),
    ("choices_matching", {"label": "AC"}, {0, 1}),
    ("ordered_list_matching", {"order": ["A", "B"]}, {0, 1}),
    ("number_matching", {"value_to_match": 2.5}, {0, 1}),
    ("location_matching", PLACES, {0, 0.25, 1}),
    ("interval_matching", {"interval": [1, 2], "units": ["cm", "米", "$"]}, {0, 1}),
    ("interval_matching", {"interval": ["10:05", "10:15"], "units": []}, {0, 1}),
    ("multi_interval_matching", {"intervals": [[1, 2]], "units": [["°C"]]}, {0, 1}),
]
PIECES = (
    "Answer:", "the answer is ", "答案是", "\\boxed{", "}", "**", "\n", " ", "A", "(B)", ", ", "or",
    "not ", "不是", "1", "½", "²³¹", "e999", "/0", "10:10", "pm", "%", "百万", "٣", "İ", "\ud800",
    "\x00", "cm", "New York", "\\frac{1}{0}", "×10^999", "<", "->",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200)
QUIRKS = Path(__file__).resolve().parents[1] / "fixtures" / "rome_quirks.csv"  # a page of the site


def test_the_published_code_gives_the_same() -> None:
    text = reference("rome", "matchers.jsonl").read_text(encoding="utf-8")
    cases = [json.loads(line) for line in text.splitlines()]
    assert len(cases) == 384
    differing = [
        case
        for case in cases
        if match(case["evaluator"], case["evaluator_kwargs"], case["answer"]) != case["expected"]
    ]
    assert differing == []


def test_the_examples_of_the_documentation() -> None:
    with QUIRKS.open(encoding="utf-8", newline="") as lines:
        _, *rows = csv.reader(lines)
    assert len(rows) >= 30
    assert {row[1] for row in rows} == {evaluator for evaluator, _, _ in ALL_KWARGS}
    for _, evaluator, kwargs, answer, published, right in rows:
        found = match(evaluator, json.loads(kwargs), json.loads(answer))
        assert found == float(published) != float(right), answer


@table(
    "evaluator, kwargs, answer, score",
    ("choices_matching", {"label": "AC"}, "A, C; so A and C", 1),
    ("choices_matching", {"label": "AA"}, "A", 0),  # the label keeps repeated letters
    *(("number_matching", {"value_to_match": value}, answer, score) for value, answer, score in (
        (5, "5.0009", 1), (5, "5.001", 0), (5.0, "5.5", 0), (5.0, "5.49", 1), (5, "9" * 400, 0),
        (12, "１２", 1),
    )),
    ("interval_matching", {"interval": [1, 2], "units": []}, "9" * 400, 0),
    ("interval_matching", {"interval": [1, 2], "units": ["cm"]}, "2 CM", 0),
    ("interval_matching", {"interval": ["3:00:-1", "3:00:1"], "units": []}, "3:00", 1),
    ("interval_matching", {"interval": ["10:05", "10:15"], "units": []}, "是10:10", 0),
    ("multi_interval_matching", {"intervals": [[1, 2], [3, 4]], "units": [[]]}, "3", 0),
    ("multi_interval_matching", {"intervals": [[1, 2]], "units": [""]}, "1", 1),
    ("location_matching", {"location_fine_grained": ["a"], "fine_grained_score": 0.9}, "A", 0.9),
    ("key_items_matching", {"key_items": [["a b"]], "remove_space": True}, "A\tB", 0),
    ("key_items_matching", {"key_items": [["a"], []]}, "a", 0),
    ("ordered_list_matching", {"order": ["a b", "c"]}, "ab,c", 1),
)  # fmt: skip
def test_corners(evaluator: str, kwargs: dict[str, Any], answer: str, score: float) -> None:
    found = match(evaluator, kwargs, answer)
    assert isinstance(found, float)
    assert found == score


@table(
    "evaluator, kwargs, told",
    ("number_match", {}, "Did you mean number_matching?"),
    (None, {}, "unknown evaluator None"),
    ("number_matching", None, "should be an object, not None"),
    ("number_matching", {}, "'value_to_match' is missing"),
    ("number_matching", {"value_to_match": "3"}, "'value_to_match' has a wrong value"),
    ("number_matching", {"value_to_match": 10**400}, "'value_to_match' has a wrong value"),
    ("number_matching", {"value_to_match": 1, "unit": "m"}, "'unit' is unknown"),
    ("ordered_list_matching", {"order": []}, "'order'"),
    ("interval_matching", {"interval": [1, "2"], "units": []}, "'interval'"),
    ("multi_interval_matching", {"intervals": [[1, 2]], "units": [1]}, "'units'"),
)  # fmt: skip
def test_what_is_wrong_with_the_arguments_is_told(evaluator: Any, kwargs: Any, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        match(evaluator, kwargs, "A")


@table(
    "evaluator, kwargs, answer, score",
    ("choices_matching", {"label": "AC"}, "Final Answer: A, C", 1),
    ("choices_matching", {"label": "A, C"}, "Final Answer: A", 0),
    ("choices_matching", {"label": "A"}, "Final Answer: A or B", None),
    ("number_matching", {"value_to_match": 12}, "Final Answer: 12.1", 0),
    ("number_matching", {"value_to_match": 45.0}, "Final Answer: 48", 0),
    ("number_matching", {"value_to_match": 3.14}, "Final Answer: 3.144", 1),
    ("number_matching", {"value_to_match": 3.14}, "Final Answer: 3.15", 0),
    ("interval_matching", {"interval": [20, 22], "units": []}, "Final Answer: 21", None),
    ("location_matching", PLACES, "最终答案：时代广场", None),
)
def test_a_strict_grade(
    evaluator: str, kwargs: dict[str, Any], answer: str, score: float | None
) -> None:
    assert grade_strictly(rule_of(evaluator, kwargs), answer).score == score


@given(answer=HOSTILE)
def test_any_text_gets_a_score(answer: str) -> None:
    for evaluator, kwargs, possible in ALL_KWARGS:
        assert match(evaluator, kwargs, answer) in possible
        assert grade_strictly(rule_of(evaluator, kwargs), answer).score in {None, *possible}
