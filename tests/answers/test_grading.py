"""Contract of the grader: its results, the gold answers it refuses, and no exceptions."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.answers.grading import (
    AnswerKind,
    answer_fault,
    find_final_answer,
    grade_answer,
)
from lmms_rpts.grading.quantities import read_quantity
from tests.support.growth import assert_linear_in_text
from tests.support.tables import table

KINDS: tuple[AnswerKind, ...] = get_args(AnswerKind)
CITIES = ("London", "Paris", "Rome")
GOLD = {"choice": "B", "number": "8 cm", "text": "Eiffel Tower"}
# kind, options, gold answer, text of the error; empty: it can be graded
FAULTS = [
    ("choice", CITIES, "B", ""), ("choice", CITIES, "(c)", ""), ("choice", CITIES, "rome", ""),
    ("choice", CITIES, "B. Paris", ""), ("choice", (), "J", ""), ("choice", (), "b", ""),
    ("choice", CITIES, "D", "'D' is neither one of the letters A to C nor the text of exactly one"),
    ("choice", CITIES, "Berlin", "'Berlin' is neither"), ("choice", CITIES, "", "'' is neither"),
    ("choice", CITIES, "B. Rome", "is neither"), ("choice", CITIES, "AC", "is neither"),
    ("choice", ("x", "x"), "x", "exactly one option"), ("choice", ("B", "A"), "A", "exactly one"),
    ("choice", ("x", "x"), "B", ""),
    ("choice", (), "K", "letters A to J, and there are no options"),
    ("choice", ("x",) * 27, "A", "27 options; at most 26"),
    ("number", (), "4", ""), ("number", (), "1,250", ""), ("number", (), "-3.5", ""),
    ("number", (), "3/4", ""), ("number", (), "50%", ""), ("number", (), "$12.50", ""),
    ("number", (), "1.2e3", ""), ("number", (), "１２", ""), ("number", (), "four", ""),
    ("number", (), "四", ""), ("number", (), "12 cm", ""), ("number", (), "5 km/h", ""),
    ("number", (), "", "'' is not a number"), ("number", (), "many", "'many' is not a number"),
    ("number", (), "3-4", "is not a number"), ("number", (), "3,5", "is not a number"),
    ("number", (), "1/0", "is not a number"), ("number", (), "3:45", "is not a number"),
    ("text", (), "Paris", ""), ("text", (), "猫", ""), ("text", (), "≠", ""),
    ("text", (), " ", "the answer is empty"), ("text", (), "...", "has no letter"),
    ("text", (), "x" * 2001, "2001 characters; at most 2000"),
]  # fmt: skip
# response, the final answer that it states
STATED = [
    ("The answer is **B**.", "B"), ("So \\boxed{\\frac{3}{4}}", "3/4"), ("", ""), ("...", ""),
    ("Answer: St. Louis", "St. Louis"), ("First this.\n\nIt is a red car.", "It is a red car"),
    ("答案：红色", "红色"), ("<think>B</think>", ""), ("Answer:", ""), ("$x = 8$", "x = 8"),
    ("Final answer: 12 cm", "12 cm"), ("### Answer\n\nParis", "Paris"),
]  # fmt: skip
# kind, response, the value that the grade shows
VALUES = [
    ("choice", "The answer is (b) Paris.", "B"), ("choice", "It is Paris.", "B"),
    ("choice", "London or Paris", "London or Paris"), ("number", "Answer: x = 9", "9"),
    ("number", "There are 8 apples.", "8 apples"), ("number", "", ""),
    ("text", "It's big.", "It's big"),
]  # fmt: skip
# Pieces of responses that the rules react to.
PIECES = st.sampled_from([
    "A", "B", "8", "9", "cm", "Paris", "Rome", "Eiffel Tower", "Answer: ", "The answer is ", " or ",
    " and ", " not ", "\\boxed{", "}", "{", "$", "**", "\n", ". ", ", ", "? ", "(", ")", "if ",
    "so ",
    "it is ", "答案：", "不是", "选", "是", "八", "eight", "half", "-", "/", "=", "^", "%", "...",
    "Wait, ",
    "<think>", "</think>", "\ud800", "\0", "İ", "ſ", "ß", "½", "²", "٣", "①", "maybe ", "'", '"',
    "~~",
])  # fmt: skip


@table("kind, options, answer, fault", *FAULTS)
def test_gold_answers(kind: AnswerKind, options: tuple[str, ...], answer: str, fault: str) -> None:
    found = answer_fault(kind, answer, options)
    assert (found is None) == (not fault)
    assert fault in (found or "")
    if fault:
        grade = grade_answer(kind, answer, answer, options=options)
        assert grade.correct is None
        assert grade.rule == "the gold answer can't be graded"


@table("response, answer", *STATED)
def test_final_answers(response: str, answer: str) -> None:
    assert find_final_answer(response) == answer


@table("kind, response, value", *VALUES)
def test_values(kind: AnswerKind, response: str, value: str) -> None:
    assert grade_answer(kind, response, GOLD[kind], options=CITIES).value == value


def check(kind: AnswerKind, response: str, answer: str) -> bool | None:
    """The grade of a response, after checks that apply to every grade."""
    grade = grade_answer(kind, response, answer, options=CITIES if kind == "choice" else ())
    for text in (grade.value, find_final_answer(response)):
        assert len(text) <= 200
        assert len(text.splitlines()) <= 1
    assert grade.rule
    answer_fault(kind, answer, CITIES)
    return grade.correct


@given(st.sampled_from(KINDS), st.text(max_size=60), st.text(max_size=20))
def test_any_text(kind: AnswerKind, response: str, answer: str) -> None:
    check(kind, response, answer)
    check(kind, response, GOLD[kind])


@given(st.sampled_from(KINDS), st.lists(PIECES, max_size=12).map("".join))
def test_any_pieces(kind: AnswerKind, response: str) -> None:
    correct = check(kind, response, GOLD[kind])
    needed = {"choice": ("B", "Paris"), "number": ("8", "八", "eight"), "text": ("Eiffel",)}
    if not any(each in response for each in needed[kind]):
        assert correct is not True


@given(st.integers(-(10**12), 10**12), st.sampled_from(["", ".5", ".25"]))
def test_any_number(whole: int, decimals: str) -> None:
    number, grouped = f"{whole}{decimals}", f"{whole:,}{decimals}"
    for said in (number, grouped, f"Answer: {grouped}.", f"\\boxed{{{number}}}", f"x = {number}"):
        assert grade_answer("number", said, number).correct is True
        assert grade_answer("number", said, f"{number}7").correct is not True


@given(st.text(min_size=1, max_size=30))
def test_a_longer_text_is_not_the_answer(answer: str) -> None:
    if answer_fault("text", answer) is None:
        assert grade_answer("text", f"Answer: {answer}x", answer).correct is not True


@given(st.text(max_size=40))
def test_quantities_are_read_from_any_text(text: str) -> None:
    found = read_quantity(text)
    assert found is None or found.value.denominator > 0


def test_hostile_responses_take_linear_time() -> None:
    pieces = ("B\n", "Answer: B ", "so it is ", "\\boxed{", "ﷺ", "½", "1,000,", "A. x\n", "St. ")
    for kind in KINDS:

        def grade(text: str, kind: AnswerKind = kind) -> object:
            return grade_answer(kind, text, GOLD[kind], options=CITIES)

        for piece in pieces:
            assert_linear_in_text(grade, piece * (100_000 // len(piece)))
