"""Parser of one-word verdicts: strict, without guessing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from lmms_rpts.judging.parsers.scores import strip_thinking

Grade = Literal["correct", "incorrect"]
Consistency = Literal["consistent", "inconsistent"]
YesNo = Literal["yes", "no"]
Mistake = Literal["perception", "reasoning", "calculation", "reject"]
W = TypeVar("W", bound=str)

_GRADES: Mapping[Grade, str] = {"correct": "正确", "incorrect": "不正确|错误"}
_CONSISTENCIES: Mapping[Consistency, str] = {"consistent": "一致", "inconsistent": "不一致"}
_MISTAKES: Mapping[Mistake, str] = {
    "perception": "感知",
    "reasoning": "推理",
    "calculation": "计算",
    "reject": "拒答",
}
_DECOR = r"(?:[\s*_`#\"“”'(\[{]|\\boxed\{|\\text(?:bf)?\{)*"
_LABEL = rf"(?:[-•]\s)?{_DECOR}(?:final |最终)?(?:verdict|判定){_DECOR}(?::|is\b|为|是)"
_CLOSING = r"[\s*_`\"“”'.。!)\]}]*"
_LONGEST = 120
_ENDS = (".", "。", "!", ":", ")", "”", '"', "*")
_SO = r"(?:(?:so|thus|hence|therefore)[, ]+|(?:因此|所以|故)[, ]?)"
_NAMED = (
    r"(?:(?:the|my|final|最终) ?)*"
    r"(?:verdict|answer|judge?ment|decision|comparison|conclusion|result|判定|判断|答案|比较|结论)"
    rf"{_DECOR}(?::|is\b:?|[为是]:?)"
)
_MARK = re.compile(r"<(yes|no)>")
_MARKED = re.compile(
    rf"(?:(?:[-•]\s)?{_DECOR}{_SO}?{_NAMED}|{_DECOR}{_SO})?{_DECOR}<(?:yes|no)>{_CLOSING}"
)
_BARE = re.compile(rf"{_DECOR}(yes|no){_CLOSING}")
_AFTER_SENTENCE = re.compile(r"[.。!?][\s*_`]*")
_OPENING_WORD = re.compile(r"(?:^|[.。!?:,;])\s*(yes|no)\s*(?=[.。!?:,;])")
_OR = re.compile(r"(?:\bor|/|\||或)$")


def parse_grade(reply: str) -> Grade | None:
    """``correct`` or ``incorrect``; None if the reply does not end with one of them.

    The last line must be the verdict and nothing else: "Verdict: correct" (判定：正确), or the word
    alone. Other text after or next to a verdict may retract it: then the request is retried.
    """
    return _stated(reply, _GRADES)


def parse_consistency(reply: str) -> Consistency | None:
    """``consistent`` or ``inconsistent``, parsed as in `parse_grade`."""
    return _stated(reply, _CONSISTENCIES)


def parse_mistake(reply: str) -> Mistake | None:
    """The kind of a mistake, parsed as in `parse_grade`."""
    return _stated(reply, _MISTAKES)


def parse_yes_no(reply: str) -> YesNo | None:
    """``yes`` or ``no``; None if the reply does not end with one of them.

    The last line must end with one mark, <Yes> or <No>, which is alone, after a label or after a
    complete sentence; or the line is the bare word. A mark does not count within a sentence ("I
    can't say <Yes>"), with text after it, or with the other mark next to it or directly above it.
    """
    lines = _lines(reply)
    if not lines:
        return None
    found = _mark(lines[-1])
    if found is None:
        bare = _BARE.fullmatch(lines[-1]) if len(lines[-1]) <= _LONGEST else None
        found = bare[1] if bare and _stands_alone(lines) else None
    before = next((line for line in reversed(lines[:-1]) if line), "")
    above = _mark(_OR.sub("", before).rstrip())  # two marks in a row repeat the instructions
    if found is None or above not in (None, found):
        return None
    return "yes" if found == "yes" else "no"


def _mark(line: str) -> str | None:
    """The word of the only mark of a line, if the line ends with it."""
    marks = list(_MARK.finditer(line))
    if len(marks) != 1:
        return None
    head, word, tail = line[: marks[0].start()], marks[0][1], line[marks[0].end() :]
    if len(line) <= _LONGEST and _MARKED.fullmatch(line):
        return word
    if tail.strip("*_`.。! ") or not _AFTER_SENTENCE.fullmatch(_ending(head)):
        return None
    return word if all(said == word for said in _OPENING_WORD.findall(head)) else None


def _ending(head: str) -> str:
    return head[len(head.rstrip("*_` \t")) - 1 :]


def _stated(reply: str, verdicts: Mapping[W, str]) -> W | None:
    lines = _lines(reply)
    if not lines or len(lines[-1]) > _LONGEST:
        return None
    words = {
        word: verdict
        for verdict, more in verdicts.items()
        for word in f"{verdict}|{more}".split("|")
    }
    word = rf"{_DECOR}(?P<word>{'|'.join(words)}){_CLOSING}"
    found = re.fullmatch(rf"(?P<label>{_LABEL})?{word}", lines[-1])
    if found is None:
        return None
    return words[found["word"]] if found["label"] or _stands_alone(lines) else None


def _lines(reply: str) -> list[str]:
    """The lines of a reply, folded, up to the last one with content."""
    said = unicodedata.normalize("NFKC", strip_thinking(reply)).lower()
    lines = [line.strip() for line in said.splitlines()]
    while lines and set(lines[-1]) <= set("`}"):  # blank lines, and closing fences
        lines.pop()
    return lines


def _stands_alone(lines: Sequence[str]) -> bool:
    """Whether the last line, a word without a label, is separate from the text before it."""
    before = next((line for line in reversed(lines[:-1]) if line), "")[-_LONGEST:]
    label = re.match(_LABEL, before)
    if label:
        return not before[label.end() :].strip("*_` ")
    return not before or not lines[-2] or before.endswith(_ENDS)
