"""Agree or disagree: the stance that a response takes towards a statement.

The rules read plain stances only and must never reverse one. What is stated in other words is left
to a judge; a response that takes no side states no answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_rpts.base.escaping import lower
from lmms_rpts.grading.patterns import phrases
from lmms_rpts.grading.statement import (
    Statement,
    find_statement,
    gives_up,
    is_small_talk,
    sentences,
)
from lmms_rpts.reasoning.answer_lines import Answer, is_plain_stance, leading_stance
from lmms_rpts.reasoning.clues import FULL_WIDTH

_FRAME = " \t*_\"'`$#“”.。!！:"
# "My verdict is: agree", 结论：同意
_LABEL = re.compile(
    r"^\W{0,8}(?:(?:the|my|最终)?\s?(?:final\s)?(?:verdict|stance|decision|judge?ment|回答|结论|答案|立场)\s?(?:is|[:：是为]))",
    re.IGNORECASE | re.MULTILINE,
)
_SECOND_THOUGHTS = phrases("second_thoughts")
# A stance of others: "others may disagree"
_STANCE_WORD = phrases("stance_word")
# "true" and "correct" answer many questions; they count as a stance only after a mark.
_WORD = phrases("bare_stance")
# "agree or disagree", 同意还是不同意: the question, repeated, is no answer
_OFFERED = phrases("offered")
# Without a mark, "this is true" may be about anything, and a quotation is not the model's answer.
_OF_OTHERS = phrases("of_others")
# "I cannot say that": what follows is not the stance
_GOES_ON = phrases("stance_goes_on")
# "the statement is supported by the evidence": a stance in words that the rules do not read
_SIDE = phrases("side")
# "It is unclear whether ...", "not enough information", 不确定
_NO_SIDE = phrases("no_side")


class Stance(NamedTuple):
    """The stance of a response.

    Attributes:
        answer: None if the rules cannot read it, or none is stated.
        words: the words of a stance that the rules cannot read; empty if none is stated.
    """

    answer: Answer | None
    words: str


def read_stance(response: str, *, marked_only: bool = False) -> Stance:
    """The stance that a response takes."""
    stated = find_statement(response.translate(FULL_WIDTH))
    said, labels = _LABEL.subn("", stated.said)
    marked = stated.marked or labels > 0
    if marked_only and not marked:
        return Stance(None, "")
    answer, rest = leading_stance(said)
    if answer and not marked:
        before = stated.head.rstrip()
        aside = _OF_OTHERS.search(said) or _GOES_ON.search(before) or _WORD.fullmatch(said)
        aside = aside or _LABEL.search(before)
        answer = None if aside or not is_plain_stance(said) else answer
    doubtful = answer in ("agree", "disagree") and _is_doubtful(stated, said, rest, answer)
    if answer is None or doubtful:
        return Stance(None, _words(stated, said, marked=marked))
    return Stance(answer, "")


def _is_doubtful(stated: Statement, said: str, rest: str, answer: Answer) -> bool:
    """Whether the text around a stance, or after it, may take another one."""
    line = stated.head[-300:].rsplit("\n", 1)[-1]
    other = "disagree" if answer == "agree" else "agree"
    if stated.doubt or (stated.marked and _OFFERED.search(line + said)):
        return True
    if stated.boxed and re.search(r"\w", stated.after.partition("\n")[0]):
        return True  # "\\boxed{agree} is possible."
    lines = stated.head.split("\n")[-4:]
    if not stated.marked and any(
        leading_stance(each)[0] == other for each in lines if is_plain_stance(each)
    ):
        return True  # two stances, on lines of their own
    before = sentences(line)[-1:] if stated.marked else []
    after = [each for each in sentences(stated.after) if not is_small_talk(each)]
    rest = "\n".join((*before, rest + "\n".join(after)))
    sides = filter(_SIDE.search, after)
    if _SECOND_THOUGHTS.search(rest) or any(leading_stance(each)[0] != answer for each in sides):
        return True
    return any(
        ((lower(word["word"]) in ("agree", "同意")) == (word["not"] is None)) != (answer == "agree")
        for word in _STANCE_WORD.finditer(rest)
    )


def _words(stated: Statement, said: str, *, marked: bool) -> str:
    """The words of a stance in any form: those after the last mark, or of the last sentences."""
    words = _OFFERED.sub(" ", said).strip(_FRAME)[:200]
    stated_so = len(words.split()) < 3 or stated.head.rstrip().endswith((":", "："))
    if marked and stated_so and re.search(r"\w", words) and not _takes_no_side(words):
        return words
    parts = sentences(_OFFERED.sub(" ", stated.spoken[-4_000:]))[-2:]
    for part in (words, *parts) if marked else parts:
        clause = re.split(r"\bbut\b|但", part)[-1]
        if _SIDE.search(clause) and not _takes_no_side(clause):
            return part.strip(_FRAME)
    return ""


def _takes_no_side(words: str) -> bool:
    return _NO_SIDE.search(words) is not None or (gives_up(words) and not _SIDE.search(words))
