"""Comparison of texts: equal after normalisation, by edit distance, or as numbers within 5%."""

from __future__ import annotations

import re

from lmms_rpts.grading.number import number_verdict, read_quantity, stated_quantity
from lmms_rpts.grading.patterns import phrases
from lmms_rpts.grading.plain import LONGEST, normal, plain, without_lead
from lmms_rpts.grading.statement import Statement, Verdict, sentences

# From this similarity on, a text counts as the gold one (DocVQA, arXiv 2007.00398).
_SIMILAR = 0.5
# The relative error of a number that counts as the gold one (ChartQA, arXiv 2203.10244).
_RELAXED = 0.05
_LONGEST_COMPARED = 300

_YES, _NO = "yes true correct right 是 对 正确", "no false incorrect wrong 否 错 错误"
# "Yes, it is red."; but not "Yes, but only if it rains"
_YES_NO = phrases("yes_no")
_LIMITS, _UNSETTLED = phrases("limits"), phrases("unsettled")
_NUMBER = re.compile(r"[+-]?\d{1,40}")


def gold_text(answer: str) -> str:
    """The form of a gold answer for comparison; empty if it is empty or too long."""
    return "" if len(answer) > LONGEST else normal(plain(answer))


def text_verdict(stated: Statement, gold: str) -> Verdict:
    """Whether a statement is the gold text, in the form of ``gold_text``."""
    bare = normal(without_lead(stated.said))
    if gold in (normal(stated.said), bare):
        return Verdict(True, "the same text")
    found = _YES_NO.fullmatch(stated.said)
    plainly = found and not _LIMITS.search(found["reason"])
    word = normal(found[1]) if found and plainly else bare
    sides = [words.split() for words in (_YES, _NO)]
    for same, other in (sides, reversed(sides)):
        if gold in same and (word == gold or word in other):
            return Verdict(word == gold, "the word or its opposite")
    numbers = _NUMBER.fullmatch(gold) and _NUMBER.fullmatch(bare)
    if numbers and int(gold) != int(bare):  # 05 may be meant as 5
        return Verdict(False, "different number")
    return Verdict(None, "different wording")


def anls_verdict(stated: Statement, gold: str) -> Verdict:
    """Whether a statement is similar to the gold text: at most half of it has to be edited."""
    wanted = plain(gold).casefold()
    said = without_lead(stated.said).strip(" .。").casefold()
    if _UNSETTLED.search(said) and not _UNSETTLED.search(wanted):
        return Verdict(None, "an answer that may be denied")
    if 1 - _distance(said, wanted) / max(len(said), len(wanted), 1) >= _SIMILAR:
        return Verdict(True, "similar text")
    aside = not stated.marked and len(sentences(stated.spoken)) > 1
    return Verdict(None if aside or wanted in said else False, "different text")


def relaxed_verdict(stated: Statement, gold: str) -> Verdict:
    """Whether a statement has the gold number within 5%, or is the gold text."""
    wanted = read_quantity(plain(gold))
    if wanted is None or stated_quantity(stated.said) is None:
        return text_verdict(stated, gold_text(gold))
    return number_verdict(stated, wanted, _RELAXED)


def _distance(one: str, other: str) -> int:
    """The Levenshtein distance of the first 300 characters of two texts."""
    one, other = one[:_LONGEST_COMPARED], other[:_LONGEST_COMPARED]
    above = list(range(len(other) + 1))
    for row, character in enumerate(one, 1):
        below = [row]
        for column, mate in enumerate(other, 1):
            cost = above[column - 1] + (character != mate)
            below.append(min(above[column] + 1, below[-1] + 1, cost))
        above = below
    return above[-1]
