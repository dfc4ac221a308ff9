"""Contract of the grader: its results, the gold answers it refuses, and no exceptions."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.grader import Kind, Outcome, find_final_answer, gold_fault, grade, infer_kind
from tests.grading.corpus import Row, corpus
from tests.support.tables import table

KINDS: tuple[Kind, ...] = get_args(Kind)
CITIES = ("London", "Paris", "Rome")
GOLD = {
    "choice": "B", "number": "8 cm", "text": "Eiffel Tower", "agree": "agree", "maths": "8",
    "anls": "Eiffel Tower", "relaxed": "8",
}  # fmt: skip
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


@table("row", *corpus("answers.jsonl"))
def test_answers(row: Row) -> None:
    """``answers.jsonl``: the error of a gold answer (empty: none), its kind, the final answer that
    a response states, or the value that its grade shows."""
    gold, options, said = row.get("gold", ""), row.get("options", []), row["said"]
    if row["test"] == "fault":
        found = gold_fault(row["kind"], gold, options)
        assert said in (found or "")
        assert (found is None) == (not said)
        outcome = grade(gold, gold, kind=row["kind"], options=options).outcome
        assert not said or outcome != "correct"
    elif row["test"] == "kind":
        assert infer_kind(gold, options) == said
    elif row["test"] == "statement":
        assert find_final_answer(row["response"]) == said
    else:
        graded = grade(row["response"], gold, kind=row["kind"], options=options)
        assert (graded.answer or "") == said


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
