"""Detection of lines that state the final answer."""

from __future__ import annotations

import re
from collections.abc import Callable

from lmms_rpts.reasoning.answers import find_marked_answer, is_plain_stance
from lmms_rpts.reasoning.mentions import find_mentions

IsAnswer = Callable[[str], bool]
"""Whether a line states the final answer and no other content."""

_FRAME = " \t\u3000*_#>-`\"'$.。!！"
_NUMBERING = re.compile(r"^(?:\d{1,4}[.)、:：]|[（(]\d{1,4}[)）]|[-•·])[ \t\u3000*_]{0,4}")
_MARKED = re.compile(
    r"(?:(?:so|therefore|thus|hence|and|my|the|因此|所以|综上|我的)[,， ]{0,2}){0,3}"
    r"(?:final (?:answer|verdict|stance|decision|judge?ment)|answer|verdict|stance"
    r"|最终答案|最终回答|最终结论|答案|回答)[*_\"'` ]{0,4}(?:is\b|[:：]|是|为|$)"
    r"[\s*_\"'`$:：]{0,12}(?P<rest>.{0,200})",
    re.IGNORECASE,
)
_CONCLUDED = re.compile(r"(?:conclusion|结论)[*_\"'` ]{0,4}[:：]\s{0,4}(?P<rest>.{0,200})", re.I)
_BOXED = re.compile(
    r"\$?(?:\\boxed\{(?:\\text\{)?[^{}]{0,60}\}{1,2}|<answer>[^<]{0,60}</answer>)\$?", re.I
)


def is_answer_line(line: str) -> bool:
    """Whether a line states that the author agrees or disagrees, and has no other content."""
    said = _unnumbered(line)
    marked = _MARKED.match(said)
    if marked:
        rest = _unnumbered(marked["rest"])
        stated = not rest or find_marked_answer(f"Final answer: {rest}") is not None
        return stated and not find_mentions(rest)
    concluded = _CONCLUDED.match(said)
    if concluded:
        return is_plain_stance(concluded["rest"])
    return _BOXED.fullmatch(said) is not None or (bool(said) and is_plain_stance(said))


def _unnumbered(text: str) -> str:
    """A text without its frame and leading number: ``2) agree``."""
    return _NUMBERING.sub("", text.strip(_FRAME)).strip(_FRAME)
