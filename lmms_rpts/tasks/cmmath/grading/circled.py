"""Grading of answers that name statements by circled numbers: ①③④."""

from __future__ import annotations

import re

_LONGEST = 200
_NOUN = "结论|说法|命题|判断|选项|式子|答案"
_BEFORE = re.compile(
    rf"(?:其中)?(?:(?:所有)?正确的?)?(?:{_NOUN})?(?:的?(?:序号|编号))?(?:分别)?(?:有|是|为)?\s?:?\s?"
)
_AFTER = re.compile(
    r"\s?(?:这[一二两三四五六七八九十]个)?(?:都|均)?(?:是)?(?:正确|成立)的?|\s?(?:is|are)\s(?:correct|true)"
)
_SEPARATOR = re.compile(r"(?:[\s,、;.。和与及]|以及|and){0,6}")
_RANGE = re.compile(r"\s?[~-]\s?|至|到")
_FIRST, _LAST = "①", "⑳"


def circled_of(text: str) -> frozenset[int] | None:
    """The circled numbers ① to ⑳ of a cleaned text that says nothing else.

    Words such as 正确的结论是 before them and 都正确 after them are passed over; ①~③ are three
    numbers. None for any other text, such as (1)(3) or ①正确②错误.
    """
    if len(text) > _LONGEST:
        return None
    text = _unwrapped(text.strip(" \n,、;.。"))
    before = _BEFORE.match(text)
    at = before.end() if before else 0
    found: set[int] = set()
    while at < len(text):
        at = _space(text, at)
        if not _is_circled(text[at : at + 1]):
            break
        first = last = _number(text[at])
        at += 1
        through = _RANGE.match(text, at)
        if through and _is_circled(text[through.end() : through.end() + 1]):
            last = _number(text[through.end()])
            at = through.end() + 1
            if last <= first:
                return None
        found.update(range(first, last + 1))
    whole = at >= len(text) or _AFTER.fullmatch(text, at)
    return frozenset(found) if found and whole else None


def _unwrapped(text: str) -> str:
    return text[1:-1] if text[:1] + text[-1:] in ("()", "[]", "❴❵", "【】", "“”") else text


def _space(text: str, at: int) -> int:
    found = _SEPARATOR.match(text, at)
    return found.end() if found else at


def _is_circled(character: str) -> bool:
    return len(character) == 1 and _FIRST <= character <= _LAST


def _number(character: str) -> int:
    return ord(character) - ord(_FIRST) + 1


_ROW = r"[①-⑳](?:[\s,、和与及]{0,3}[①-⑳]){0,19}"
_JUDGED = re.compile(
    rf"({_ROW})(?:(?:的?(?:{_NOUN}))|都|均|是|为|\s){{0,3}}(不正确|不成立|错误?|正确|成立|对)"
)
_NAMED = re.compile(
    rf"(不正确|不成立|错误|正确|成立)的?(?:{_NOUN}|的?序号)?(?:分别)?(?:有|是|为|:){{1,2}}\s?({_ROW})"
)
_WRONG = re.compile(r"不|错")
_WRONG_ASKED = re.compile(r"(?:错误|不正确|不成立)的")


def called_so(text: str, question: str) -> frozenset[int] | None:
    """The circled numbers that a cleaned text calls right, or wrong where those are asked for.

    None where it says both, or nothing, of any number that it names.
    """
    said = [(row, word) for row, word in _JUDGED.findall(text)]
    said += [(row, word) for word, row in _NAMED.findall(text)]
    right: set[int] = set()
    wrong: set[int] = set()
    for row, word in said:
        (wrong if _WRONG.search(word) else right).update(
            _number(character) for character in row if _is_circled(character)
        )
    named = {_number(character) for character in text if _is_circled(character)}
    if not said or right & wrong or right | wrong != named:
        return None
    return frozenset(wrong if _WRONG_ASKED.search(question) else right) or None
