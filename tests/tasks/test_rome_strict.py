"""The strict grades of ROME: what each published rule asks of the grading core."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.rome.strict import grade_strictly
from tests.support.tables import table

PLACES = {
    "location_fine_grained": ["Times Square", "时代广场"],
    "location_coarse_grained": ["New York"],
    "coarse_grained_score": 0.25,
}


@table(
    "evaluator, kwargs, answer, score",
    ("choices_matching", {"label": "AC"}, "Final Answer: A, C", 1),
    ("choices_matching", {"label": "A, C"}, "Final Answer: A", 0),
    ("choices_matching", {"label": "T"}, "Final Answer: T", 1),
    ("choices_matching", {"label": "A"}, "Final Answer: A or B", None),
    ("number_matching", {"value_to_match": 12}, "Final Answer: 12", 1),
    ("number_matching", {"value_to_match": 12}, "Final Answer: 12.1", 0),
    ("number_matching", {"value_to_match": 45.0}, "Final Answer: 48", 0),
    ("number_matching", {"value_to_match": 3.14}, "Final Answer: 3.144", 1),
    ("number_matching", {"value_to_match": 3.14}, "Final Answer: 3.15", 0),
    ("interval_matching", {"interval": [20, 22], "units": ["°C"]}, "Final Answer: 22 °C", 1),
    ("interval_matching", {"interval": [20, 22], "units": ["°C"]}, "Final Answer: 22", None),
    ("interval_matching", {"interval": [20, 22], "units": []}, "Final Answer: 23", 0),
    ("interval_matching", {"interval": ["10:05", "10:15"], "units": []}, "Answer: 10:10", None),
    ("multi_interval_matching", {"intervals": [[1, 2], [7, 9]], "units": [[], []]}, "Answer: 8", 1),
    ("key_items_matching", {"key_items": [["snail", "蜗牛"]]}, "Final Answer: snail", None),
    ("location_matching", PLACES, "最终答案：时代广场", None),
)
def test_a_grade(evaluator: str, kwargs: dict[str, Any], answer: str, score: float | None) -> None:
    assert grade_strictly(evaluator, kwargs, answer) == score


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
    "Answer:", "the answer is ", "答案是", "\\boxed{", "}", "{", "**", "\n", " ", "A", "(B)",
    ", ", "or", "not ", "不是", "1", "2.5", "½", "²³¹", "e999", "/0", "10:10", "pm", "%", "百万",
    "٣", "Ⅷ", "İ", "\ud800", "\x00", "cm", "New York", "\\frac{1}{0}", "×10^999", "<", "->",
)  # fmt: skip
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=200)


@given(answer=HOSTILE)
def test_any_text_gets_a_grade(answer: str) -> None:
    for evaluator, kwargs, possible in ALL_KWARGS:
        assert grade_strictly(evaluator, kwargs, answer) in {None, *possible}
