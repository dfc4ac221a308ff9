"""Grading of a final answer by rules, as an option, a number or a text; accepts any text.

The rules abstain rather than guess: an answer that is hedged, contradictory or in an unusual form
stays undecided, so that a judge can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.answers.choice_grading import (
    choice_verdict,
    gold_letter,
    is_choice,
    mentions_others,
)
from lmms_rpts.answers.number_grading import gold_quantity, number_verdict
from lmms_rpts.answers.options import mentions, read_options
from lmms_rpts.answers.plain_text import LONGEST, plain
from lmms_rpts.answers.stated import TAKEN_BACK, Stated, Verdict, read_stated
from lmms_rpts.answers.text_grading import gold_text, text_verdict
from lmms_rpts.grading.numbers import NUMBER_WORD
from lmms_rpts.grading.quantities import read_quantity

AnswerKind = Literal["choice", "number", "text"]

_BARE_LETTERS = "ABCDEFGHIJ"
"""Letters that count as options if no options are given."""
SHOWN = 200
"""Maximum length of an answer in a grade, in characters."""

_WORD = re.compile(r"[^\W_]|[√∞<>=≤≥≠±+#%$€£♠-♯☀-➿😀-🙏🄰-🇿]")
_WRONG = r"(?:[Oo]ption\s)?\(?\b{letter}\b\)?\s(?:is|was)\s(?:wrong|incorrect)\b"
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class AnswerGrade:
    """The grade of a final answer.

    Attributes:
        value: the answer that was found, on one line, at most 200 characters; empty if none.
        correct: None if the rules cannot decide: hedged, several answers, different wording.
        rule: short name of the rule that decided, for records.
    """

    value: str
    correct: bool | None
    rule: str


def grade_answer(
    kind: AnswerKind,
    response: str,
    answer: str,
    *,
    options: Sequence[str] = (),
    tolerance: float = 0.0,
) -> AnswerGrade:
    """Grade the final answer of a response by rules.

    Args:
        kind: type of the gold answer.
        response: what a model wrote, any text; thinking (``<think>``) is not graded.
        answer: the gold answer: a letter or the text of an option, a number, or a text.
        options: the texts of the options, A first; without options, A to J may be chosen.
        tolerance: maximum relative error of a number.

    Returns:
        The grade; ``correct`` is also None if the gold answer cannot be graded (see
        ``answer_fault``).
    """
    grade = _grader(kind, answer, options, tolerance)
    if grade is None:
        return AnswerGrade(find_final_answer(response), None, "the gold answer can't be graded")
    stated = read_stated(response)
    if not _WORD.search(stated.text):
        return AnswerGrade("", False, "no answer")
    verdict = _settled(stated, grade)
    first = None if verdict.value or verdict.correct else _first_line(kind, stated, options)
    if first is not None:
        stated, verdict = first, _settled(first, grade)
    if verdict.correct is not None and stated.doubt == TAKEN_BACK and kind == "choice":
        stated, verdict = _without_others(response, stated, verdict, grade)
    if verdict.correct is None and stated.gives_up and not verdict.value:
        silent = stated.doubt == "" and not _mentioned(kind, stated.end, answer, options)
        return AnswerGrade(_shown(stated.text), False if silent else None, "gives up")
    value = _shown(verdict.value or stated.text)
    if verdict.correct is not None and stated.doubt:
        return AnswerGrade(value, None, stated.doubt)
    return AnswerGrade(value, verdict.correct, verdict.rule)


def find_final_answer(response: str) -> str:
    """The final answer stated in a response, without label and markup.

    One line of at most 200 characters; empty if there is none.
    """
    text = read_stated(response).text
    return _shown(text) if _WORD.search(text) else ""


def answer_fault(kind: AnswerKind, answer: str, options: Sequence[str] = ()) -> str | None:
    """Why a gold answer cannot be graded, for messages; None if it can."""
    if _grader(kind, answer, options, 0.0) is not None:
        return None
    shown = repr(answer[:60])
    if kind == "number":
        return f"{shown} is not a number such as 4, -3.5, 3/4, 50% or 12 cm"
    if kind == "text":
        if len(answer) > LONGEST:
            return f"the answer has {len(answer)} characters; at most {LONGEST} can be graded"
        return "the answer is empty" if not answer.strip() else f"{shown} has no letter or digit"
    if len(options) > 26:
        return f"{len(options)} options; at most 26 can be graded"
    read = read_options(options)
    letters = f"{read.letters[0]} to {read.letters[-1]}"
    if not options:
        return f"{shown} is not one of the letters {letters}, and there are no options"
    return f"{shown} is neither one of the letters {letters} nor the text of exactly one option"


_Grader = Callable[[Stated], Verdict]


def _grader(
    kind: AnswerKind, answer: str, options: Sequence[str], tolerance: float
) -> _Grader | None:
    """The grader of a kind for a gold answer; None if the gold answer cannot be graded."""
    if kind == "number":
        gold = gold_quantity(answer)
        return None if gold is None else lambda stated: number_verdict(stated, gold, tolerance)
    if kind == "text":
        text = gold_text(answer)
        return (lambda stated: text_verdict(stated, text)) if _WORD.search(text) else None
    read = read_options(options)
    letter = gold_letter(answer, read) if len(options) <= 26 else None
    return None if letter is None else lambda stated: choice_verdict(stated, read, letter)


def _settled(stated: Stated, grade: _Grader) -> Verdict:
    """The verdict on a statement; undecided if a rival statement has a different verdict."""
    verdict = grade(stated)
    if stated.rival and verdict.correct is not None:
        other = grade(read_stated(stated.rival))
        if other.correct is not None and other.correct != verdict.correct:
            return Verdict(None, "two final answers", verdict.value)
    return verdict


def _without_others(
    response: str, stated: Stated, verdict: Verdict, grade: _Grader
) -> tuple[Stated, Verdict]:
    """Like ``_settled``, but without the text after a letter that only calls others wrong."""
    others = "".join(each for each in "ABCDEFGHIJ" if each != verdict.value)
    again = read_stated(re.sub(_WRONG.format(letter=f"[{others}]"), " ", response))
    found = _settled(again, grade)
    return (again, found) if found.value == verdict.value and not again.doubt else (stated, verdict)


def _mentioned(kind: AnswerKind, text: str, answer: str, options: Sequence[str]) -> bool:
    """Whether a text that gives up nevertheless names a possible answer."""
    if kind == "choice":
        return mentions(text, read_options(options))
    if kind == "number":
        return re.search(r"\d", text) is not None or NUMBER_WORD.search(text) is not None
    return gold_text(answer) in gold_text(text)


def _first_line(kind: AnswerKind, stated: Stated, options: Sequence[str]) -> Stated | None:
    """The first line as the answer, if it is one and an explanation follows; else None."""
    first, _, rest = stated.spoken.strip().partition("\n")
    if stated.marked or stated.doubt or not rest.strip() or len(first) > _LONGEST_LINE:
        return None
    line = plain(first)
    if kind == "choice":
        read = read_options(options)
        stands = is_choice(line, read) and not mentions_others(plain(rest), line, read)
    else:
        stands = kind == "number" and not re.search(r"[.)、:]$", line) and bool(read_quantity(line))
    return read_stated(f"Answer: {stated.spoken.strip()}") if stands else None


def _shown(text: str) -> str:
    return " ".join(plain(text).split())[:SHOWN].strip()


def infer_kind(answer: str, options: Sequence[str] = ()) -> AnswerKind:
    """The type of a gold answer: one of the options, a letter, a number, else a text."""
    given = answer.strip()
    if options and answer_fault("choice", given, options) is None:
        return "choice"
    if len(given) == 1 and given in _BARE_LETTERS:
        return "choice"
    return "number" if answer_fault("number", given) is None else "text"
