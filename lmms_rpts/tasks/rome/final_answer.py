"""Final answer of a response to a question of ROME, for the strict graders."""

from __future__ import annotations

import re
from typing import NamedTuple

from lmms_rpts.grading.statement import Statement, find_statement

_LONGEST = 2000
_SHORT_LINE = 200
_SHORT_TEXT = 1000
# "The largest is **B**"
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")
# "B\nExplanation: ..."
_EXPLANATION = re.compile(
    r"^[#*_\s]{0,8}(?:explanations?|reason(?:ing|s)?|because|解释|理由|说明|解析|因为)"
    r"[*_]{0,3}[ :：]",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s{0,8}(?:[-*•·+]\s|\d{1,2}[.)、]\s?|[(（]\d{1,2}[)）])")
_QUOTE = re.compile(r"^\s{0,3}(?:>\s{1,3}){1,5}")
# ">" next to an answer is not markup: ">12" is a bound.
_EDGES = ' \t\r\n*_`#"“”'


class Found(NamedTuple):
    """An answer, and whether the response marks it as the answer."""

    text: str
    stated: bool


def final_answer(response: str) -> Found:
    """The final answer, at most 2,000 characters; empty if none is found.

    Thinking is ignored. The last stated answer counts; else a line by itself or before an
    explanation, bold text in the last line, a list, or a short last line.
    """
    found = find_statement(response)
    if found.marked:
        return Found(_stated(found), True)
    text = found.spoken.strip()
    lines = [line for line in text[:_LONGEST].split("\n") if line.strip()]
    if not lines:
        return Found("", False)
    alone = len(lines) == 1 and len(text) <= _LONGEST
    if alone or (len(lines) > 1 and _EXPLANATION.match(lines[1])):
        return Found(_short(lines[0]), False)
    last = text[-_LONGEST:].rsplit("\n", 1)[-1]
    bold = _bold(last)
    if bold:
        return Found(", ".join(bold), False)
    if all(map(_BULLET.match, lines)) and len(text) <= _SHORT_LINE:
        return Found(text, False)
    return Found(_short(last), False)


def whole_answer(response: str) -> str:
    """The text of a free answer: the stated answer, or a short response unchanged.

    For a long response without a stated answer: its first and last paragraphs and bold text.
    """
    found = find_statement(response)
    if found.marked:
        return _stated(found)
    text = found.spoken.strip()
    if len(text) <= _SHORT_TEXT:
        return text
    paragraphs = [text[:_LONGEST].split("\n\n", 1)[0], text[-_LONGEST:].rsplit("\n\n", 1)[-1]]
    ends = [paragraph for paragraph in paragraphs if len(paragraph) <= _SHORT_TEXT]
    return "\n".join([*ends, *_bold(text[-20 * _LONGEST :])[-50:]])


def _bold(text: str) -> list[str]:
    return [one or other for one, other in _BOLD.findall(text)]


def _stated(found: Statement) -> str:
    return (found.boxed or found.text)[:_LONGEST].strip(_EDGES)


def _short(line: str) -> str:
    """A short line without its markup; empty for a long one."""
    return _QUOTE.sub("", line).strip(_EDGES) if len(line) <= _SHORT_LINE else ""
