"""Grading of a final answer by rules, as options, a number, a text, a stance or maths; any text.

The rules abstain rather than guess: an answer that is hedged, contradictory or in an unusual form
is undecided, so that a judge can be asked. A hedged, denied, doubled or retracted answer is never
correct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from lmms_rpts.grading.choice import UNIDENTIFIED, gold_marks, read_choice, read_options
from lmms_rpts.grading.maths import maths_verdict
from lmms_rpts.grading.number import number_verdict, read_quantity
from lmms_rpts.grading.plain import LONGEST, plain
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.grading.statement import Statement, Verdict, find_statement, gives_up
from lmms_rpts.grading.text import anls_verdict, gold_text, relaxed_verdict, text_verdict

AnswerKind = Literal["choice", "number", "text", "agree"]
Kind = Literal["choice", "number", "text", "anls", "relaxed", "agree", "maths"]
Outcome = Literal["correct", "incorrect", "undecided"]

MOST_OPTIONS = 26
SHOWN = 200  # characters of an answer in a grade
UNGRADABLE = "the gold answer can't be graded"
STANCES = ("agree", "disagree")

_OUTCOMES: dict[bool | None, Outcome] = {True: "correct", False: "incorrect", None: "undecided"}
_WORD = re.compile(r"[^\W_]|[√×∅{∞<>=≤≥≠±+#%$€£♠-♯☀-➿😀-🙏🄰-🇿]")


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a final answer.

    Attributes:
        outcome: ``undecided`` if the rules cannot be sure.
        answer: the answer that was found, on one line, at most 200 characters: the marks of a
            choice, ``agree``, ``disagree`` or ``undetermined``, else text; None if there is none.
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
        gold: the right answer, or several, of which one is enough: a mark, several marks or the
            text of an option; a number with or without a unit; a text; ``agree`` or ``disagree``.
        kind: type of the gold answer; ``anls``: a text of which at most half has to be edited
            (DocVQA); ``relaxed``: a number within 5%, or a text (ChartQA); ``maths``: as CMMaTH.
        options: the texts of the options; without options, A to J may be chosen.
        marks: one mark for each option; A, B, C ... unless given.
        tolerance: maximum relative error of a number.
        question: the problem of ``maths``, with its options and blanks, in LaTeX.

    Returns:
        The grade; ``undecided`` also if the gold answer cannot be graded (see ``gold_fault``).
    """
    if not isinstance(gold, str):
        one = partial(grade, response, kind=kind, options=options, marks=marks)
        return _best([one(each, tolerance=tolerance, question=question) for each in gold])
    if kind == "agree":
        return _stance_grade(response, gold)
    if kind == "choice" and len(options) <= MOST_OPTIONS:
        return _choice_grade(response, gold, options, marks)
    verdict_of = None if kind == "choice" else _grader(kind, gold, tolerance, question)
    if verdict_of is None:
        return Grade("undecided", find_final_answer(response) or None, UNGRADABLE)
    return _value_grade(find_statement(response), verdict_of, refusal=gives_up(gold + question))


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
        return None if gold in STANCES else f"{shown} is neither agree nor disagree"
    if kind != "choice":
        if _grader(kind, gold, 0.0, "") is not None:
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
    """The type of a gold answer: one of the options, a stance, a letter, a number, else a text."""
    given = gold.strip()
    if options and gold_fault("choice", given, options, marks) is None:
        return "choice"
    if given in STANCES:
        return "agree"
    if re.fullmatch("[A-J]", given):
        return "choice"
    return "number" if gold_fault("number", given) is None else "text"


def _best(grades: Sequence[Grade]) -> Grade:
    """The grade by several gold answers: correct by one, incorrect by all."""
    order = ("correct", "undecided", "incorrect")
    none = Grade("undecided", None, UNGRADABLE)
    return min(grades, key=lambda one: order.index(one.outcome), default=none)


def _choice_grade(response: str, gold: str, texts: Sequence[str], marks: Sequence[str]) -> Grade:
    options = read_options(texts, marks)
    right = gold_marks(gold, options)
    stated = find_statement(response)
    choice = read_choice(stated, options, several=len(right) > 1)
    answer = _shown(stated.said) if choice.marks is None else ", ".join(sorted(choice.marks))
    if not right:
        return Grade("undecided", answer or None, UNGRADABLE)
    if choice.marks is not None:
        return Grade(_OUTCOMES[choice.marks == right], answer, choice.rule)
    if not _WORD.search(stated.said):
        return Grade("incorrect", None, "no answer")
    if choice.rule == UNIDENTIFIED and gives_up(stated.end) and not options.mask(stated.end)[1]:
        return Grade("incorrect", answer, "gives up")
    return Grade("undecided", answer, choice.rule)


def _stance_grade(response: str, gold: str) -> Grade:
    stance = read_stance(response)
    if stance.answer in STANCES:
        return Grade(_OUTCOMES[stance.answer == gold], stance.answer, "a plain stance")
    if stance.answer is None and stance.words:
        return Grade("undecided", _shown(stance.words), "a stance in other words")
    return Grade("incorrect", stance.answer, "takes no side")


_VerdictOf = Callable[[Statement], Verdict]


def _grader(kind: Kind, gold: str, tolerance: float, question: str) -> _VerdictOf | None:
    """The grader of a kind for a gold answer; None if the gold answer cannot be graded."""
    if kind == "number":
        wanted = read_quantity(plain(gold)) if len(gold) <= SHOWN else None
        return None if wanted is None else lambda stated: number_verdict(stated, wanted, tolerance)
    if kind == "maths":
        return lambda stated: maths_verdict(stated, gold, question)
    text = gold_text(gold)
    if not _WORD.search(text):
        return None
    if kind == "text":
        return lambda stated: text_verdict(stated, text)
    verdict = anls_verdict if kind == "anls" else relaxed_verdict
    return lambda stated: verdict(stated, gold)


def _value_grade(stated: Statement, verdict_of: _VerdictOf, *, refusal: bool) -> Grade:
    """The grade of a value; ``refusal``: the gold answer says that there is none."""
    if not _WORD.search(stated.said):
        return Grade("incorrect", None, "no answer")
    correct, rule, value = verdict_of(stated)
    answer = _shown(value or stated.said)
    if correct is None and gives_up(stated.end) and not value and not refusal:
        silent = not stated.doubt and not re.search(r"\d", stated.said)
        return Grade("incorrect" if silent else "undecided", answer, "gives up")
    if correct is not None and stated.doubt:
        return Grade("undecided", answer, stated.doubt)
    if correct is not None:
        rivals = {verdict_of(other).correct for other in stated.others} - {None}
        if rivals - {correct}:
            return Grade("undecided", answer, "two final answers")
    return Grade(_OUTCOMES[correct], answer, rule)


def _shown(text: str) -> str:
    return " ".join(plain(text).split())[:SHOWN].strip()
