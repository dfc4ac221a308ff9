"""The strict graders of ROME; answers graded by hand are rows of the grading corpus."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.rome.strict import final_answer, grade_strictly
from tests.support.tables import table

TWO = [["Monterrey"], ["Seattle Sounders", "Sounders"]]
FINE, COARSE = ["Times Square", "时代广场"], ["New York", "纽约"]


@table(
    "response, answer",
    ("Final Answer: A", "A"),
    ("Answer: A\nAnswer:", "A"),
    ("Is the answer: A?\nThe answer is B", "B"),
    ("The **answer** is: **B**", "B"),
    ("\\boxed{\\frac{1}{2}} is it", "\\frac{1}{2}"),
    ("Answer: 1\nso \\boxed{2}", "2"),
    ("\\boxed{2}\nAnswer: 1", "1"),
    ("\\boxed{never closed", "never closed"),
    ("</think>Answer: B", "B"),
    ("", ""),
)
def test_where_the_final_answer_stands(response: str, answer: str) -> None:
    assert final_answer(response) == answer


ALL_KWARGS: list[tuple[str, dict[str, Any], set[float]]] = [
    ("key_items_matching", {"key_items": TWO}, {0, 1}),
    ("choices_matching", {"label": "AC"}, {0, 1}),
    ("ordered_list_matching", {"order": ["A", "B"]}, {0, 1}),
    ("number_matching", {"value_to_match": 2.5}, {0, 1}),
    (
        "location_matching",
        {
            "location_fine_grained": FINE,
            "location_coarse_grained": COARSE,
            "coarse_grained_score": 0.25,
        },
        {0, 0.25, 1},
    ),
    ("interval_matching", {"interval": [1, 2], "units": ["cm", "米", "$"]}, {0, 1}),
    ("interval_matching", {"interval": ["10:05", "10:15"], "units": []}, {0, 1}),
    ("multi_interval_matching", {"intervals": [[1, 2]], "units": [["°C"]]}, {0, 1}),
]
PIECES = (
    "Answer:", "Final Answer", "the answer is ", "答案是", "故选", "\\boxed{", "}", "{", "**", "\n",
    " ", "A", "C.", "(B)", ", ", "or", "not ", "不是", "1", "2.5", "½", "²", "²³¹", "e9", "e999",
    "/0", "10:10", "pm", "%", "十", "百", "百万", "万", "一", "٣", "Ⅷ", "İ", "ß", "́", "\ud800",
    "\x00", "cm", "New York", "'s", "’", ".", "-", "−", "^", "\\frac{1}{0}", "1e400", "×10^999",
    "<", "->",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200)


@given(answer=HOSTILE)
def test_any_text_gets_a_grade(answer: str) -> None:
    for evaluator, kwargs, possible in ALL_KWARGS:
        assert grade_strictly(evaluator, kwargs, answer) in possible


@table("score", -0.1, 1.5, True, "1", float("nan"), 10**400)
@table("name", "fine_grained_score", "coarse_grained_score")
def test_a_score_of_a_place_is_a_share(name: str, score: object) -> None:
    kwargs = {"location_fine_grained": FINE, name: score}
    with pytest.raises(ValueError, match=f"{name}.*from 0 to 1"):
        grade_strictly("location_matching", kwargs, "New York")
    assert grade_strictly("location_matching", kwargs | {name: 1}, "Times Square") == 1


@table(
    "evaluator, kwargs, told",
    ("nothing", {}, "key_items_matching"),
    ("choices_matching", {}, "label"),
)
def test_bad_arguments_are_named(evaluator: str, kwargs: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        grade_strictly(evaluator, kwargs, "A")
