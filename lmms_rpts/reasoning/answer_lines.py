"""Telling lines that state the final answer from lines that reason."""

from __future__ import annotations

import re

from lmms_rpts.reasoning.answers import find_answer

_FRAME = " \t\u3000*_#>-`\"'$.。!！"
_NUMBERING = re.compile(r"(?:\d{1,4}[.)、:：]|[（(]\d{1,4}[)）]|[-•·])[ \t\u3000*_]{0,4}")
_MARKED = re.compile(
    r"(?:(?:so|therefore|thus|hence|and|my|the|因此|所以|综上|我的)[,， ]{0,2}){0,3}"
    r"(?:final (?:answer|verdict|stance|decision|judge?ment)|answer|verdict|stance|conclusion"
    r"|最终答案|最终回答|最终结论|答案|回答|结论)[*_\"'` ]{0,4}(?:is\b|[:：]|是|为)"
    r"[\s*_\"'`$:：]{0,12}(?P<rest>.{0,200})",
    re.IGNORECASE,
)
_BOXED = re.compile(
    r"\$?(?:\\boxed\{(?:\\text\{)?[^{}]{0,60}\}{1,2}|<answer>[^<]{0,60}</answer>)\$?", re.I
)
_STATED = re.compile(
    r"(?:(?:so|therefore|thus|hence|overall|in conclusion|consequently),? )?"
    r"(?:I (?:\w{1,20} ){0,2}?(?:(?:do not|don't|don’t|cannot|can't|can not) )?)?"
    r"(?:agree|disagree|support)"
    r"(?: with (?:it|this|that|the (?:given )?statement)| (?:it|this|the statement))?"
    r"|(?:因此|所以|综上|综上所述|故|总之)?[，,]?我?(?:不能|并不|不)?(?:同意|支持|赞同|反对)"
    r"(?:该|这个?|此|上述)?(?:陈述|说法|观点|命题)?",
    re.IGNORECASE,
)


def is_answer_line(line: str) -> bool:
    """Whether a line states the final answer and nothing else of weight."""
    said = _NUMBERING.sub("", line.strip(_FRAME), count=1).strip(_FRAME)
    marked = _MARKED.match(said)
    if marked:
        rest = marked["rest"].strip(_FRAME)
        return not rest or find_answer(f"Final answer: {rest}") is not None
    return bool(_BOXED.fullmatch(said) or _STATED.fullmatch(said))
