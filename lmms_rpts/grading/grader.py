"""Grading of a final answer by rules, as options, a number, a text or a stance; any text.

The rules abstain rather than guess: an answer that is hedged, contradictory or in an unusual form
is undecided, so that a judge can be asked. A hedged, denied or doubled answer is never correct, and
a retracted one never counts; the one put in its place does.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from lmms_rpts.grading.choice import FOREIGN, SEVERAL, UNIDENTIFIED, Reader
from lmms_rpts.grading.maths import maths_verdict
from lmms_rpts.grading.options import Options, Values, gold_marks, read_options
from lmms_rpts.grading.plain_text import LONGEST, plain
from lmms_rpts.grading.quantities import (
    gold_quantity,
    number_verdict,
    read_quantity,
    stated_number,
    units_agree,
)
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.grading.statement import Statement, Verdict, find_statement
from lmms_rpts.grading.text_grading import gold_text, text_verdict

AnswerKind = Literal["choice", "number", "text", "agree"]
Kind = Literal["choice", "number", "text", "anls", "relaxed", "agree", "maths"]
Outcome = Literal["correct", "incorrect", "undecided"]

MOST_OPTIONS = 26
# Maximum length of an answer in a grade, in characters.
SHOWN = 200
UNGRADABLE = "the gold answer can't be graded"

_OUTCOMES: dict[bool | None, Outcome] = {True: "correct", False: "incorrect", None: "undecided"}
_WORD = re.compile(r"[^\W_]|[√∞<>=≤≥≠±+#%$€£♠-♯☀-➿😀-🙏🄰-🇿]")


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a final answer.

    Attributes:
        outcome: ``undecided`` if the rules cannot be sure.
        answer: the answer that was found, on one line, at most 200 characters: the marks of a
            choice, ``agree``, ``disagree`` or ``undetermined``, else text; None if there is none.
            Of ``maths``, the statement as it is written, at most 400 characters.
        rule: short name of the rule that decided, for records.
    """

    outcome: Outcome
    answer: str | None
    rule: str


def grade(
    response: str,
    gold: str | Sequence[str],
    *,
    kind: Kind,
    options: Sequence[str] = (),
    marks: Sequence[str] = (),
    tolerance: float = 0.0,
    question: str = "",
) -> Grade:
    """Grade the final answer of a response by rules.

    Args:
        response: what a model wrote, any text; thinking (``<think>``) is not graded.
        gold: a mark, several marks or the text of an option; a number with or without a unit; a
            text; ``agree`` or ``disagree``.
        kind: type of the gold answer.
        options: the texts of the options; without options, A to J may be chosen.
        marks: one mark for each option; A, B, C ... unless given.
        tolerance: maximum relative error of a number.
        question: the problem of ``maths``, with its options and blanks, in LaTeX.

    Returns:
        The grade; ``undecided`` also if the gold answer cannot be graded (see ``gold_fault``).
    """
    if not isinstance(gold, str):  # provisional
        grades = [
            grade(
                response, each, kind=kind, options=options, marks=marks, tolerance=tolerance,
                question=question,
            )
            for each in gold
        ]  # fmt: skip
        best = ("correct", "undecided", "incorrect").index
        return min(grades, key=lambda each: best(each.outcome))
    if kind == "anls":  # provisional
        said = find_final_answer(response).lower()
        near = SequenceMatcher(None, said, gold.lower()).ratio() >= 0.5
        return Grade("correct" if near else "incorrect", said or None, "similarity")
    if kind == "relaxed":  # provisional
        kind, tolerance = ("number", 0.05) if gold_quantity(gold) else ("text", 0.0)
    if kind == "agree":
        return _stance_grade(response, gold)
    if kind == "maths":
        maths, _ = maths_verdict(response, gold, question)
        return Grade(_OUTCOMES[maths.correct], maths.value or None, maths.rule)
    if len(options) <= MOST_OPTIONS:
        if kind == "choice":
            return _choice_grade(
                response, gold, read_options(options, marks, _values(options, marks))
            )
        verdict_of = _grader(kind, gold, tolerance)
        if verdict_of is not None:
            return _value_grade(find_statement(response), verdict_of)
    return Grade("undecided", find_final_answer(response) or None, UNGRADABLE)


def find_final_answer(response: str) -> str:
    """The final answer stated in a response, without label and markup.

    One line of at most 200 characters; empty if there is none.
    """
    text = find_statement(response).said
    return _shown(text) if _WORD.search(text) else ""


def gold_fault(
    kind: Kind, gold: str, options: Sequence[str] = (), marks: Sequence[str] = ()
) -> str | None:
    """Why a gold answer cannot be graded, for messages; None if it can."""
    shown = repr(gold[:60])
    if kind == "agree":
        return None if gold in ("agree", "disagree") else f"{shown} is neither agree nor disagree"
    if kind != "choice":
        if _grader(kind, gold, 0.0) is not None:
            return None
        if kind == "number":
            return f"{shown} is not a number such as 4, -3.5, 3/4, 50% or 12 cm"
        if len(gold) > LONGEST:
            return f"the answer has {len(gold)} characters; at most {LONGEST} can be graded"
        return "the answer is empty" if not gold.strip() else f"{shown} has no letter or digit"
    if len(options) > MOST_OPTIONS:
        return f"{len(options)} options; at most {MOST_OPTIONS} can be graded"
    read = read_options(options, marks)
    if len(gold_marks(gold, read)) == 1:
        return None
    letters = f"{read.marks[0]} to {read.marks[-1]}"
    if not options:
        return f"{shown} is not one of the letters {letters}, and there are no options"
    return f"{shown} is neither one of the letters {letters} nor the text of exactly one option"


def infer_kind(gold: str, options: Sequence[str] = (), marks: Sequence[str] = ()) -> AnswerKind:
    """The type of a gold answer: one of the options, a letter, a number, else a text."""
    given = gold.strip()
    if options and gold_fault("choice", given, options, marks) is None:
        return "choice"
    if given in ("agree", "disagree"):  # provisional
        return "agree"
    if re.fullmatch("[A-J]", given):
        return "choice"
    return "number" if gold_fault("number", given) is None else "text"


# Options


def _values(options: Sequence[str], marks: Sequence[str]) -> Values | None:
    """The reader of the values of options, if all of them are quantities."""
    quantities = [read_quantity(plain(option)) for option in options]
    if not quantities or None in quantities:
        return None

    def marks_of(text: str) -> frozenset[str] | None:
        found = stated_number(plain(text).strip(" .。)"))
        if found is None or found.about:
            return None
        return frozenset(
            mark
            for mark, each in zip(marks or string.ascii_uppercase, quantities, strict=False)
            if each and each.value == found.quantity.value and units_agree(found.quantity, each)
        )

    return marks_of


def _choice_grade(response: str, gold: str, options: Options) -> Grade:
    right = gold_marks(gold, options)
    stated = find_statement(options.shielded(response))
    choice = Reader(options, several=len(right) > 1).read(stated)
    answer = _shown(stated.said) if choice.marks is None else ", ".join(sorted(choice.marks))
    if not right:
        return Grade("undecided", answer or None, UNGRADABLE)
    if choice.marks is not None:
        several = len(choice.marks) > 1 and len(right) == 1
        verdict = None if several else choice.marks == right
        return Grade(_OUTCOMES[verdict], answer, SEVERAL if several else choice.rule)
    if not _WORD.search(stated.said):
        return Grade("incorrect", None, "no answer")
    if choice.rule == UNIDENTIFIED and stated.gives_up and not options.mask(stated.end).tokens:
        return Grade("incorrect", answer, "gives up")
    return Grade("incorrect" if choice.rule == FOREIGN else "undecided", answer, choice.rule)


# Stances


def _stance_grade(response: str, gold: str) -> Grade:
    stance = read_stance(response)
    if stance.answer in ("agree", "disagree"):
        return Grade(_OUTCOMES[stance.answer == gold], stance.answer, "a plain stance")
    if stance.answer is None and stance.words:
        return Grade("undecided", _shown(stance.words), "a stance in other words")
    return Grade("incorrect", stance.answer, "takes no side")


# Numbers and texts

_VerdictOf = Callable[[Statement], Verdict]


def _grader(kind: Kind, gold: str, tolerance: float) -> _VerdictOf | None:
    """The grader of a kind for a gold answer; None if the gold answer cannot be graded."""
    if kind == "number":
        wanted = gold_quantity(gold)
        return None if wanted is None else lambda stated: number_verdict(stated, wanted, tolerance)
    text = gold_text(gold)
    return (lambda stated: text_verdict(stated, text)) if _WORD.search(text) else None


def _value_grade(stated: Statement, verdict_of: _VerdictOf) -> Grade:
    if not _WORD.search(stated.said):
        return Grade("incorrect", None, "no answer")
    correct, rule, value = verdict_of(stated)
    if correct is None and stated.gives_up and not value:
        silent = not stated.doubt and not re.search(r"\d", stated.end)
        return Grade("incorrect" if silent else "undecided", _shown(stated.said), "gives up")
    if correct is not None and stated.doubt:
        correct, rule = None, stated.doubt
    if correct is not None and stated.rival:
        other = verdict_of(stated.rival).correct
        correct, rule = (correct, rule) if other in (None, correct) else (None, "two final answers")
    return Grade(_OUTCOMES[correct], _shown(value or stated.said), rule)


def _shown(text: str) -> str:
    return " ".join(plain(text).split())[:SHOWN].strip()
