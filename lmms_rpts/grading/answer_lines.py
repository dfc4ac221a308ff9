"""Detection of lines that state the final answer to a question of any kind."""

from __future__ import annotations

import re

_FRAME = " \t\u3000*_#>-`\"'$.。!！【"
_NUMBERING = re.compile(r"(?:\d{1,4}[.)、:：]|[（(]\d{1,4}[)）]|[-•·])[ \t\u3000*_]{0,4}")
_LEADS = (
    r"(?:(?:so|therefore|thus|hence|and|my|the|that|correct"
    r"|因此|因而|所以|故|综上所述|综上|于是|那么|我的|本题|此题|该题|正确|的)[,，: ：]{0,2}){0,5}"
)
_FINAL = r"(?:final answer|最终(?:的)?(?:答案|结果))"
_STATES = r"[*_\"'`】\] ]{0,4}(?:is\b|[:：]|是(?!否)|为|】|$)"
_MARKED = re.compile(
    rf"{_LEADS}(?:(?P<final>{_FINAL})|answer|答案){_STATES}[\s*_\"'`$:：]{{0,12}}(?P<rest>.*)",
    re.IGNORECASE,
)
_CHOSEN = re.compile(
    rf"{_LEADS}(?:答案|本题)?(?:应|可)?选(?:择|项)?(?:[:：为是]|\s){{0,3}}(?:[A-H](?:[\s、,，和与]|及){{0,3}}){{1,8}}"
)
_BOXED = re.compile(r"\\boxed\s{0,4}\{.{0,200}\}")
_CITES = re.compile(
    r"根据|(?:图片|文本|结论)\s{0,4}\d|\b(?:image|text|conclusion)\s{0,4}\d", re.IGNORECASE
)
_REASONS = re.compile(r"因为|由于|∵|\b(?:because|since)\b", re.IGNORECASE)
_DELIMITERS = str.maketrans("", "", "${}")
_LONGEST, _LONGEST_FINAL = 160, 400

_RUN_ON = re.compile(
    rf"(?<=[。．.;；!！])[ \t]{{0,8}}(?=\*{{0,2}}{_FINAL}\*{{0,2}}[ \t]{{0,4}}[:：])", re.IGNORECASE
)
_FINAL_LINE = re.compile(rf"[\s*_#>\-]{{0,12}}{_FINAL}", re.IGNORECASE)


def is_answer_line(line: str) -> bool:
    """Whether a line states the final answer, whatever the answer is, and nothing else.

    A reason may follow "Final answer", since problems ask for reasons, but it cites no clue.
    """
    said = _NUMBERING.sub("", line.strip(_FRAME), count=1).strip(_FRAME)
    marked = _MARKED.match(said)
    if marked:
        rest, final = marked["rest"], marked["final"] is not None
        stated = len(rest) <= (_LONGEST_FINAL if final else _LONGEST)
        return stated and not _CITES.search(rest) and (final or not _REASONS.search(rest))
    bare = said[:_LONGEST].translate(_DELIMITERS).strip(_FRAME + "．")
    return _BOXED.fullmatch(said) is not None or _CHOSEN.fullmatch(bare) is not None


def without_answer(text: str) -> str:
    """A solution without its final answer at the end, which may take several lines.

    Only text from the last "最终答案" or "Final answer" on is removed, and only if it is short and
    cites nothing: an answer may be stated first and derived below.
    """
    lines = _RUN_ON.sub("\n", text).splitlines()
    for at in reversed(range(len(lines))):
        if _FINAL_LINE.match(lines[at]) and is_answer_line(lines[at]):
            below = "\n".join(lines[at + 1 :])
            if len(below) <= _LONGEST_FINAL and not _CITES.search(below):
                return "\n".join(lines[:at])
            break
    return "\n".join(lines)
