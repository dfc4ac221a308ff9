"""Contract of the grader: its results, the gold answers it refuses, and no exceptions."""

from __future__ import annotations

import random
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.choice import read_choice
from lmms_rpts.grading.grader import UNGRADABLE, Kind, Outcome, find_final_answer, gold_fault, grade
from lmms_rpts.grading.options import read_options
from lmms_rpts.grading.quantities import read_quantity
from tests.support.tables import table

KINDS: tuple[Kind, ...] = ("choice", "number", "text", "agree")  # maths: test_cmmath_grading
CITIES = ("London", "Paris", "Rome")
GOLD = {"choice": "B", "number": "8 cm", "text": "Eiffel Tower", "agree": "agree"}
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
def test_gold_answers(kind: Kind, options: tuple[str, ...], answer: str, fault: str) -> None:
    found = gold_fault(kind, answer, options)
    assert (found is None) == (not fault)
    assert fault in (found or "")
    if fault and answer != "AC":  # several marks are right only where a task says so
        found = grade(answer, answer, kind=kind, options=options)
        assert (found.outcome, found.rule) == ("undecided", UNGRADABLE)


@table("response, answer", *STATED)
def test_final_answers(response: str, answer: str) -> None:
    assert find_final_answer(response) == answer


@table("kind, response, value", *VALUES)
def test_values(kind: Kind, response: str, value: str) -> None:
    found = grade(response, GOLD[kind], kind=kind, options=CITIES)
    assert (found.answer or "") == value


def check(kind: Kind, response: str, gold: str) -> Outcome:
    """The outcome of a response, after checks that apply to every grade."""
    found = grade(response, gold, kind=kind, options=CITIES if kind == "choice" else ())
    for text in (found.answer or "", find_final_answer(response)):
        assert len(text) <= 200
        assert len(text.splitlines()) <= 1
    assert found.rule
    gold_fault(kind, gold, CITIES)
    return found.outcome


@given(st.sampled_from(KINDS), st.lists(PIECES, max_size=12).map("".join))
def test_any_pieces(kind: Kind, response: str) -> None:
    outcome = check(kind, response, GOLD[kind])
    if not any(each in response for each in ("B", "8", "Paris", "Eiffel", "eight", "八", "agree")):
        assert outcome != "correct"


@given(st.integers(-(10**12), 10**12), st.sampled_from(["", ".5", ".25"]))
def test_any_number(whole: int, decimals: str) -> None:
    number = f"{whole}{decimals}"
    for said in (number, f"Answer: {number}", f"\\boxed{{{number}}}"):
        assert check("number", said, number) == "correct"
        assert check("number", said, f"{number}7") != "correct"


@given(st.text(min_size=1, max_size=30))
def test_a_longer_text_is_not_the_answer(answer: str) -> None:
    if gold_fault("text", answer) is None:
        assert check("text", f"Answer: {answer}x", answer) != "correct"


@given(st.text(max_size=40))
def test_quantities_are_read_from_any_text(text: str) -> None:
    found = read_quantity(text)
    assert found is None or found.value.denominator > 0


ANIMALS = ("cat", "dog", "red car", "not sure")
MARKS = (tuple("ABCD"), tuple("abcd"), tuple("1234"))
PARTS = (
    *("A", "(A)", "( B )", "[c]", "（D）", "**", "1.", "2)", "(E)", "a dog", "cat", "yes", "AB"),
    *("not sure", " is ", " or ", "not ", "The answer is ", "答案是", "选", "不是", "?", "\n", ";"),
    *("<think>", "</think>", "\\boxed{", "}", "İ", "ſ", "ß", "\ud800", "٣", "Ⅷ", "\0", "$", "_"),
    *("，", "twenty", "hundred ", "1,000", "-", "'", "I think ", "wait ", "because ", "are wrong"),
    *("agree", "disagree", "Final answer: ", "\ue000", "\uf003", "→", "Scratch that. ", "除了"),
)  # fmt: skip


def test_4000_responses_of_odd_parts_are_graded() -> None:
    generator = random.Random(14)
    kinds: tuple[Kind, ...] = ("choice", "choice", "number", "text", "agree")
    for number in range(4_000):
        response = "".join(generator.choices(PARTS, k=generator.randint(0, 12)))
        marks, kind = MARKS[number % 3], kinds[number % 5]
        gold = {"choice": marks[1], "agree": "agree"}.get(kind, "12")
        options = ANIMALS if kind == "choice" else ()
        found = grade(response, gold, kind=kind, options=options, marks=marks if options else ())
        assert found.outcome in get_args(Outcome)
        assert kind != "choice" or found.outcome != "correct" or found.answer == marks[1]


def test_marks_are_small_letters_or_numbers() -> None:
    for marks, response in ((MARKS[1], "The answer is (c)."), (MARKS[2], "3. red car")):
        assert read_choice(response, read_options(ANIMALS, marks)).marks == {marks[2]}
