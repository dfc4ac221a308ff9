"""Data class of a grade."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Outcome = Literal["correct", "incorrect", "undecided"]
AnswerType = Literal[
    "choice_single",
    "choice_multi",
    "true_false",
    "number",
    "number_unit",
    "fraction",
    "expression",
    "equation",
    "coordinate",
    "interval",
    "set",
    "circled",
    "statement",
    "multi_blank",
    "multi_part",
]
ANSWER_TYPES: tuple[AnswerType, ...] = get_args(AnswerType)


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of a response.

    Attributes:
        outcome: ``undecided`` where the rules can't be sure.
        answer: the final answer that was found, as text; empty where there is none.
        rule: which comparer decided; where undecided, why none could.
        answer_type: of what type the reference is.
    """

    outcome: Outcome
    answer: str
    rule: str
    answer_type: AnswerType
