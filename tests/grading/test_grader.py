"""Contract of the grader: its results, the gold answers it refuses, and no exceptions."""

from __future__ import annotations

import random
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.grader import Kind, Outcome, find_final_answer, gold_fault, grade, infer_kind
from tests.support.tables import table

KINDS: tuple[Kind, ...] = get_args(Kind)
CITIES = ("London", "Paris", "Rome")
GOLD = {
    "choice": "B", "number": "8 cm", "text": "Eiffel Tower", "agree": "agree", "maths": "8",
    "anls": "Eiffel Tower", "relaxed": "8",
}  # fmt: skip
# kind, options, gold answer, text of the error; empty: it can be graded
FAULTS = [
    ("choice", CITIES, "B", ""), ("choice", CITIES, "(c)", ""), ("choice", CITIES, "rome", ""),
    ("choice", CITIES, "B. Paris", ""), ("choice", (), "J", ""), ("choice", (), "b", ""),
    ("choice", CITIES, "D", "D"), ("choice", CITIES, "Berlin", "Berlin"),
    ("choice", CITIES, "", "''"), ("choice", CITIES, "B. Rome", "B. Rome"),
    ("choice", ("x", "x"), "x", "x"), ("choice", ("B", "A"), "A", "A"), ("choice", (), "K", "K"),
    ("choice", ("x",) * 27, "A", "27"), ("choice", ("x", "x"), "B", ""),
    ("number", (), "4", ""), ("number", (), "1,250", ""), ("number", (), "-3.5", ""),
    ("number", (), "3/4", ""), ("number", (), "50%", ""), ("number", (), "$12.50", ""),
    ("number", (), "1.2e3", ""), ("number", (), "１２", ""), ("number", (), "four", ""),
    ("number", (), "四", ""), ("number", (), "12 cm", ""), ("number", (), "5 km/h", ""),
    ("number", (), "", "''"), ("number", (), "many", "many"), ("number", (), "3-4", "3-4"),
    ("number", (), "3,5", "3,5"), ("number", (), "1/0", "1/0"), ("number", (), "3:45", "3:45"),
    ("text", (), "Paris", ""), ("text", (), "猫", ""), ("text", (), " ", "empty"),
    ("text", (), "...", "letter"), ("text", (), "x" * 2001, "2001"),
    ("agree", (), "disagree", ""), ("agree", (), "yes", "yes"),
]  # fmt: skip
# gold answer, options, its kind
INFERRED = [
    ("B", CITIES, "choice"), ("Rome", CITIES, "choice"), ("B", (), "choice"), ("K", (), "text"),
    ("12 cm", (), "number"), ("four", (), "number"), ("Paris", (), "text"), ("4", CITIES, "number"),
    ("4", ("3", "4"), "choice"),
]  # fmt: skip
# response, the final answer that it states
STATED = [
    ("The answer is **B**.", "B"), ("So \\boxed{\\frac{3}{4}}", "3/4"), ("", ""), ("...", ""),
    ("Answer: St. Louis", "St. Louis"), ("First this.\n\nIt is a red car.", "It is a red car"),
    ("答案：红色", "红色"), ("<think>B</think>", ""), ("Answer:", ""), ("$x = 8$", "x = 8"),
    ("Final answer: 12 cm", "12 cm"), ("### Answer\n\nParis", "Paris"), ("<answer>C</answer>", "C"),
    ("先算 2+3=5。\n答案：5", "5"), ("The answer is 7. Let me know if you have questions.", "7"),
    ("Sum: 9.\r\n\r\nAnswer: 9\r\n", "9"),
    ("Answer: Rome\n\nQuestion: And Peru?\nAnswer: Lima", "Rome"),
]  # fmt: skip
# kind, response, the value that the grade shows
VALUES = [
    ("choice", "The answer is (b) Paris.", "B"), ("choice", "It is Paris.", "B"),
    ("choice", "London or Paris", "London or Paris"), ("number", "Answer: x = 9", "9"),
    ("number", "There are 8 apples.", "8 apples"), ("number", "", ""),
]  # fmt: skip
SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    "nineteen",
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
# Pieces of responses that the rules react to.
PIECES = st.sampled_from([
    "A", "B", "8", "9", "cm", "Paris", "Rome", "Eiffel Tower", "Answer: ", "The answer is ", " or ",
    " and ", " not ", "\\boxed{", "}", "{", "$", "**", "\n", ". ", ", ", "? ", "(", ")", "if ",
    "so ", "it is ", "答案：", "不是", "选", "是", "八", "eight", "half", "-", "/", "=", "^", "%",
    "...", "Wait, ", "<think>", "</think>", "\ud800", "\0", "İ", "ſ", "ß", "½", "²", "٣", "①",
    "maybe ", "'", '"', "~~", "\r\n", "\nQuestion: ", "❌", "Otherwise, ", "agree", "dis",
])  # fmt: skip


@table("kind, options, answer, fault", *FAULTS)
def test_gold_answers(kind: Kind, options: tuple[str, ...], answer: str, fault: str) -> None:
    found = gold_fault(kind, answer, options)
    assert (found is None) == (not fault)
    assert fault in (found or "")
    if fault:
        assert grade(answer, answer, kind=kind, options=options).outcome != "correct"


@table("answer, options, kind", *INFERRED)
def test_kind_of_a_gold_answer(answer: str, options: tuple[str, ...], kind: Kind) -> None:
    assert infer_kind(answer, options) == kind


@table("response, answer", *STATED)
def test_final_answers(response: str, answer: str) -> None:
    assert find_final_answer(response) == answer


@table("kind, response, value", *VALUES)
def test_values(kind: Kind, response: str, value: str) -> None:
    found = grade(response, GOLD[kind], kind=kind, options=CITIES)
    assert (found.answer or "") == value


def test_numbers_to_99_in_words() -> None:
    for number in range(100):
        tens, ones = divmod(number, 10)
        english = SMALL[number] if number < 20 else TENS[tens - 2] + f"-{SMALL[ones]}" * (ones > 0)
        chinese = "零一二三四五六七八九"[tens] * (tens > 1) + "十" * (tens > 0)
        chinese += "零一二三四五六七八九"[ones] * (ones > 0 or number == 0)
        for word in (english, chinese):
            assert grade(word, str(number), kind="number").outcome == "correct", word
            assert grade(word, str(number + 1), kind="number").outcome != "correct", word


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


@given(st.sampled_from(KINDS), st.text(max_size=40), st.text(max_size=40))
def test_any_texts(kind: Kind, response: str, gold: str) -> None:
    check(kind, response, gold)


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
    for number in range(4_000):
        response = "".join(generator.choices(PARTS, k=generator.randint(0, 12)))
        marks, kind = MARKS[number % 3], ("choice", *KINDS)[number % (len(KINDS) + 1)]
        gold = {"choice": marks[1], "agree": "agree"}.get(kind, "12")
        options = ANIMALS if kind == "choice" else ()
        found = grade(response, gold, kind=kind, options=options, marks=marks if options else ())
        assert found.outcome in get_args(Outcome)
        assert kind != "choice" or found.outcome != "correct" or found.answer == marks[1]
