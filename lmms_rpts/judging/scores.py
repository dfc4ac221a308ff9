"""Reading a score in [0, 1] from a judge's reply: strictly, and never from a guess."""

from __future__ import annotations

import re

_NUMBER = r"(?<![\d.,])-?(?:\d{1,6}(?:[.,]\d{1,12})?|\.\d{1,12})(?!\d|[.,]\d)"
_THINKING_ENDS = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_THINKING_BEGINS = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
# "a score from 0 to 1", "(0-1)", "[0, 1]": the scale, not a score.
_SCALE = re.compile(
    r"[(（\[]?\b(?:from |between )?0(?:\.0)? ?(?:-|–|—|~|to|and|,|到|至) ?1(?:\.0)?\b[)）\]]?"
)
_DECORATION = re.compile(r"[*_`$#]|\\boxed|\\text|[{}]")
_VALUE = rf"(?P<value>{_NUMBER})(?: ?(?P<percent>%)|(?: ?/ ?| out of )(?P<of>{_NUMBER}))?"
_LABELLED = re.compile(
    r"(?:\bscores?|\brating|分数|得分|评分|打分)\"?[ \t]{0,4}(?:is|of|was|为|是)?[ \t]{0,4}[:：=]?"
    rf"[ \t\n]{{0,4}}{_VALUE}",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(_VALUE, re.IGNORECASE)
_ALONE = re.compile(rf"[ \t\"'(（]*{_VALUE}[ \t\"'.。)）]*", re.IGNORECASE)


def parse_score(reply: str) -> float | None:
    """The score that a reply states, None where it states none or none in range.

    Read, in this order: the last number that is called a score ("Score: 0.8", 得分：0.8); the
    last line that is nothing but a number; the only number of the reply. Fractions ("8/10",
    "4 out of 5") and percentages count as what they mean.
    """
    text = _DECORATION.sub("", _SCALE.sub(" ", strip_thinking(reply)))
    labelled = list(_LABELLED.finditer(text))
    if labelled:
        return _in_range(labelled[-1])
    alone = [match for match in map(_ALONE.fullmatch, text.splitlines()) if match]
    if alone:
        return _in_range(alone[-1])
    anywhere = list(_ANYWHERE.finditer(text))
    return _in_range(anywhere[0]) if len(anywhere) == 1 else None


def strip_thinking(reply: str) -> str:
    """What a reasoning judge says after its thinking; nothing if it never came to an end."""
    said = _THINKING_ENDS.split(reply)[-1]
    return _THINKING_BEGINS.split(said)[0]


def _in_range(match: re.Match[str]) -> float | None:
    value = _float(match["value"])
    if match["percent"]:
        value /= 100
    elif match["of"]:
        whole = _float(match["of"])
        value = value / whole if whole > 0 else -1.0
    return value if 0.0 <= value <= 1.0 else None


def _float(text: str) -> float:
    return float(text.replace(",", "."))
