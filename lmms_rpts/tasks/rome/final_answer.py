"""Detection of the final answer of a response.

Our own rules, for the strict graders: the answer that is stated last counts, be it after a label
("Final Answer:", "the answer is", 最终答案, 故选) or in a box; else bold text or a short last line.
Every pattern is bounded, so that no text makes it slow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_LONGEST = 2000
_READ = 100_000
_SHORT_LINE = 200
_SHORT_TEXT = 1000
_BOXED = "\\boxed{"

_ENGLISH = (
    r"(?<![a-z])(?:(?:final|correct|right|my)\s{1,3})?"
    r"(?:answers?|(?:correct|right|best)\s{1,3}(?:option|choice))(?![a-z])"
    r"(?:\s{1,3}(?:to|for)\s[^.:：\n]{1,60}?)?(?:\s{0,3}[(（][^()（）\n]{0,40}[)）])?"
    r"[\s*_`\"”]{0,6}?"
    r"(?:[:：=]|(?:is|are|was|would\s{1,3}be|should\s{1,3}be|must\s{1,3}be|will\s{1,3}be)\b"
    r"(?!\s{0,3}(?:n't|(?:not|different|unaffected|the\s{1,3}same|clear|obvious)\b))(?:\s{0,3}(?:therefore|thus|clearly|likely|probably|:|：)){0,3})"
)
_CHINESE = (
    r"(?:答案|正确选项)[\s*_`\"”]{0,4}(?:应该|应当|应|就|便|可能)?(?:[:：]|是|为|选)[:：]?(?!不|否)"
    r"|(?:故|因此|所以|应该|应)选(?:择|项)?(?:是|为)?[:：]?"
)
_STATED = re.compile(f"{_ENGLISH}|{_CHINESE}", re.IGNORECASE)
_HEADING = re.compile(
    r"^[#*_\s]{0,8}(?:final\s{1,3}answer|最终答案|答案)[*_]{0,3}[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_EXPLANATION = re.compile(
    r"^[#*_\s]{0,8}(?:explanations?|reason(?:ing|s)?|because|解释|理由|说明|解析|因为)"
    r"[*_]{0,3}[ :：]",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s{0,8}(?:[-*•·+]\s|\d{1,2}[.)、]\s?|[(（]\d{1,2}[)）])")
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")
_QUOTE = re.compile(r"\s{0,3}(?:>\s{1,3}){1,5}")
_MARKUP = ' \t\r\n*_`#>"“”'
# ">" is no markup beside an answer: ">12" is a bound.
_EDGES = _MARKUP.replace(">", "")


class Found(NamedTuple):
    """An answer and whether the response says that it is one."""

    text: str
    stated: bool


def final_answer(response: str) -> Found:
    """The final answer, at most 2,000 characters; empty where none can be told.

    Thinking before a closing tag is passed over; of what follows the last 100,000 characters
    are read.
    """
    text = _after_thinking(response)
    stated = _last_stated(text)
    if stated:
        return Found(stated, True)
    return Found(_unstated(text), False)


def whole_answer(response: str) -> str:
    """What a free answer says: the stated answer, or a short response as it is.

    Of a long response that states none: its first and last paragraphs and what is bold.
    """
    found = final_answer(response)
    if found.stated:
        return found.text
    text = _after_thinking(response).strip()
    if len(text) <= _SHORT_TEXT:
        return text
    head, tail = text[:_LONGEST], text[-_LONGEST:]
    paragraphs = [head.split("\n\n", 1)[0], tail.rsplit("\n\n", 1)[-1]]
    ends = [paragraph for paragraph in paragraphs if len(paragraph) <= _SHORT_TEXT]
    bold = [one or other for one, other in _BOLD.findall(text[-20 * _LONGEST :])]
    return "\n".join([*ends, *bold[-50:]])


def _after_thinking(response: str) -> str:
    return response.rsplit("</think>", 1)[-1][-_READ:]


def _last_stated(text: str) -> str:
    """The content of the last label or box that has one."""
    box_start, box = _last_box(text)
    marks = [(found.start(), found.end()) for found in _STATED.finditer(text)]
    marks += [(found.start(), found.end()) for found in _HEADING.finditer(text)]
    for start, end in sorted(marks, reverse=True)[:50]:
        if start < box_start:
            break
        content = _content(text, end)
        if content and not content.endswith(("?", "？")):
            return content
    return box


def _content(text: str, start: int) -> str:
    """The rest of the label's line, or the next line where that is empty, and bullets below."""
    lines = text[start : start + 2 * _LONGEST].split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip(_MARKUP + "$：:")), None)
    if first is None or first > 3:
        return ""
    kept = [_unquoted(lines[first]) if first else lines[first]]
    for line in lines[first + 1 :]:
        if not _BULLET.match(line):
            break
        kept.append(line)
    return "\n".join(kept)[:_LONGEST].strip(_EDGES)


def _last_box(text: str) -> tuple[int, str]:
    """Where the last box that isn't empty begins, or -1; and what all boxes of its line hold."""
    contents: list[str] = []
    first, end = -1, len(text)
    for _ in range(50):
        start = text.rfind(_BOXED, 0, end)
        if start < 0 or (contents and "\n" in text[start:first]):
            break
        content = _to_closing_brace(text, start + len(_BOXED)).strip()
        if content:
            first = start
            contents.insert(0, content)
        end = start
    return first, ", ".join(contents)[:_LONGEST]


def _to_closing_brace(text: str, start: int) -> str:
    depth = 1
    for place in range(start, min(len(text), start + _LONGEST)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    return text[start : start + _LONGEST].split("\n", 1)[0]


def _unstated(text: str) -> str:
    """A line that stands alone or before an explanation, bold text, or a short last line."""
    stripped = text.strip()
    lines = [line for line in (stripped[:_LONGEST] + "\n").split("\n") if line.strip()]
    if not lines:
        return ""
    alone = len(lines) == 1 and len(stripped) <= _LONGEST
    if alone or (len(lines) > 1 and _EXPLANATION.match(lines[1])):
        return _bare(lines[0])
    last = stripped[-_LONGEST:].rsplit("\n", 1)[-1]
    bold = [one or other for one, other in _BOLD.findall(last)]
    if bold:
        return ", ".join(bold)
    if all(_BULLET.match(line) for line in lines) and len(stripped) <= _SHORT_LINE:
        return stripped
    return _bare(last)


def _bare(line: str) -> str:
    """A short line without its markup; of a long one nothing."""
    if len(line) > _SHORT_LINE:
        return ""
    return _unquoted(line).strip(_EDGES)


def _unquoted(line: str) -> str:
    quote = _QUOTE.match(line)
    return line[quote.end() :] if quote else line
