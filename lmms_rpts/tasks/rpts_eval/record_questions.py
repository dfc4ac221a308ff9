"""Judge's questions and premises in records of RPTS."""

from __future__ import annotations

from typing import Any

from lmms_rpts.filters.records import Question
from lmms_rpts.judging import Opinion
from lmms_rpts.reasoning import Clue
from lmms_rpts.reasoning.clues import KINDS
from lmms_rpts.reasoning.mentions import MAX_DIGITS
from lmms_rpts.runs.fields import FieldError, Fields, shown


def read_premise(item: Any, step: Fields) -> Clue:
    """A pair of kind and number among the premises of ``step``.

    Raises:
        FieldError: if it is none.
    """
    if isinstance(item, list) and len(item) == 2 and item[0] in KINDS:
        return Clue(item[0], read_number(item[1], f"{step.place}.premises"))
    raise FieldError(f"{step.place}.premises should be pairs of kind and number")


def read_number(value: object, place: str) -> int | None:
    """The number of a clue, which may be as large as a model wrote it.

    Raises:
        FieldError: naming the ``place``.
    """
    if value is None or (type(value) is int and 0 <= value < 100**MAX_DIGITS):
        return value
    raise FieldError(f"{place}: the number should be whole or null, not {shown(value)}")


def read_question(part: Fields) -> Question:
    """One question about a step; old records have no ``spread`` and no ``opinions``.

    Raises:
        FieldError: naming the field.
    """
    return Question(
        kind=part.choice("kind", ("image", "inference", "second")),
        evidence=part.texts("evidence"),
        score=part.share_or_none("score"),
        reply=part.text_or_none("reply"),
        error=part.text_or_none("error"),
        spread=None if part.get("spread", None) is None else part.number("spread"),
        opinions=tuple(_opinion(each) for each in part.parts("opinions", [])),
    )


def _opinion(part: Fields) -> Opinion:
    return Opinion(
        judge=part.text("judge"),
        sample=part.whole("sample"),
        score=part.share_or_none("score"),
        text=part.text_or_none("text"),
        error=part.text_or_none("error"),
    )
