"""Grading of answers that are texts: equal after normalisation, else usually undecided."""

from __future__ import annotations

import re

from lmms_rpts.grading.plain_text import LONGEST, normal, plain, without_lead
from lmms_rpts.grading.statement import Stated, Verdict

_OPPOSITES = {
    "yes": "no", "true": "false", "correct": "incorrect", "right": "wrong", "是": "否", "对": "错",
    "正确": "错误",
}  # fmt: skip
_OTHER = {**_OPPOSITES, **{other: one for one, other in _OPPOSITES.items()}}
# "Yes, it is red."; but not "Yes, but only if it rains"
_YES_NO = re.compile(
    r"(yes|no|是|否|对|错)(?:[,，.。!:]|\s-)\s?(?P<reason>\S.{0,300})", re.IGNORECASE
)
_LIMITS = re.compile(
    r"\b(?:but|if|unless|except|however|or|only|although|though|yes|no|maybe)\b|但|如果|除非|或|不过",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?\d{1,40}")


def forms(text: str) -> list[str]:
    """Forms of a plain statement for comparison: with and without leading function words."""
    found = [normal(text), normal(without_lead(text))]
    return [each for each in dict.fromkeys(found) if each]


def gold_text(answer: str) -> str:
    """The form of a gold answer for comparison; empty if it is empty or too long."""
    return "" if len(answer) > LONGEST else normal(plain(answer))


def text_verdict(stated: Stated, gold: str) -> Verdict:
    """Whether a statement gives the gold text, in normal form."""
    said = forms(stated.text)
    if gold in said:
        return Verdict(True, "the same text")
    if gold in _OTHER:
        word = _yes_or_no(stated.text) or said[-1]
        if word in (gold, _OTHER[gold]):
            return Verdict(word == gold, "the word or its opposite")
    numbers = _NUMBER.fullmatch(gold) and _NUMBER.fullmatch(said[-1])
    if numbers and int(gold) != int(said[-1]):  # 05 may be meant as 5
        return Verdict(False, "different number")
    return Verdict(None, "different wording")


def _yes_or_no(text: str) -> str:
    found = _YES_NO.fullmatch(text)
    return "" if found is None or _LIMITS.search(found["reason"]) else normal(found[1])
