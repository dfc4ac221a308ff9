"""Labelled values: what a question or a reference asks for, and the clauses about each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lmms_rpts.tasks.cmmath.grading.hedging import Verdict, holds_numbers
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from lmms_rpts.tasks.cmmath.grading.response import Reading, part_of
from lmms_rpts.tasks.cmmath.grading.target import Question, Target, read_value
from lmms_rpts.tasks.cmmath.grading.text_answers import BLANK, placed, squeezed
from lmms_rpts.tasks.cmmath.grading.verdicts import value_verdict

_MOST = 12
_LABEL = 40
_STOP = re.compile(r"[,;。;]|\.(?!\d)")
_SENTENCE = re.compile(r"[。;\n?]|\.(?!\d)")
ALL_OF = re.compile(  # 平均数和众数都是5
    r"([\u4e00-\u9fff]{1,8})(?:和|与|及|、)([\u4e00-\u9fff]{1,8}?)(?:都|均)(?:约?[是为]|等于)?\s?([^,。;\u4e00-\u9fff]{1,40})"
)
# Where a clause ends; not within (2,0), nor in 1,000.
_CUT = re.compile(
    r"(?:[;。\n∴]|\.(?!\d)|,(?!\d{3}(?!\d))|(?<![A-Za-z])and(?![A-Za-z]))(?![^()\n]{0,60}\))"
)
# 若AE:ED=1:2, 当x<1时: a condition belongs to what follows it
_CONDITION = re.compile(r"^\W{0,6}(?:若|如果|当[^,]{1,60}时$|(?:if|when|for)\s)", re.IGNORECASE)
# ∠C+∠D=180° gives no value of ∠D
_SUM = re.compile(r"[A-Za-z∠]\S{0,8}\s?[+\-]\s?\S{0,8}[A-Za-z∠][^\u4e00-\u9fff]*=")
_TERM = re.compile(r"(?<=[\da-z)}+-])[a-z]=")  # the b of 7b+5b=12b is no name
_NUMBER = re.compile(
    r"(?<![\d.A-Za-z_{])-?(?:\\frac\{\d{1,9}\}\{\d{1,9}\}|\d{1,12}(?:\.\d{1,12}|/\d{1,9})?%?)(?![\d.])"
)
_BRACKETS = re.compile(r"\([^()]{0,40}\)")
_CHINESE = re.compile("[\u4e00-\u9fff]")
_LABELLED = re.compile(  # 平均分76, a=18, 甲的平均分为74.5
    r"(?P<label>.{0,40}?[\u4e00-\u9fffA-Za-z}'])\s?(?:的?值)?(?:约?[是为]|等于|[=:≈])?\s?"
    r"(?P<value>[-\d√\\π].{0,80})"
)


class Item(NamedTuple):
    """A value that is asked for, and the words before and after its place, squeezed."""

    before: str
    after: str
    target: Target

    def verdict(self, clause: str) -> Verdict:
        """Whether a cleaned clause gives the value; one in English may by its only number."""
        text = placed(clause, self.before, self.after) or clause
        found = value_verdict(part_of(text), self.target)
        english = _BRACKETS.sub("", clause)
        numbers = [] if found.same or _CHINESE.search(english) else _NUMBER.findall(english)
        return value_verdict(part_of(numbers[0]), self.target) if len(numbers) == 1 else found

    def held_in(self, text: str) -> bool:
        return holds_numbers(clean(text), self.target.text)


def items_of_blanks(target: Target) -> list[Item]:
    """The blanks of a question with the words around each; empty where these can't be told."""
    around = [clean(piece) for piece in BLANK.split(target.question.raw)]
    if len(around) != len(target.parts) + 1:
        return []
    before = squeezed(_SENTENCE.split(around[0])[-1])
    found = []
    for part, text in zip(target.parts, around[1:], strict=True):
        stop = _STOP.search(text)
        after, rest = (text[: stop.start()], text[stop.end() :]) if stop else (text, text)
        found.append(Item(before[-_LABEL:], squeezed(after)[:_LABEL], part))
        before = squeezed(rest)
    return found


def items_of_part(part: Target) -> list[Item]:
    """The labelled numbers of a part; a single value goes by the words of its question."""
    text = ALL_OF.sub(r"\1为\3,\2为\3", part.text)
    found: list[Item] = []
    for piece in clauses_of(text):
        labelled = _LABELLED.fullmatch(piece.strip())
        value = Reading(labelled["value"]) if labelled else None
        if labelled is None or value is None or not value.is_number:
            found = []
            break
        found.append(Item(squeezed(labelled["label"]) + _sign(piece), "", _number(value)))
    return found or [Item(part.question.words[-_LABEL:], "", part)]


def _sign(piece: str) -> str:
    return "=" if "=" in piece else ""


def _number(value: Reading) -> Target:
    return read_value(Question(""), value.text)


def clauses_of(text: str) -> list[str]:
    """The clauses of a text, cleaned, each with the condition before it."""
    found: list[str] = []
    held = ""
    for piece in _CUT.split(ALL_OF.sub(r"\1为\3,\2为\3", clean(text))):
        if _CONDITION.match(piece) and not held:
            held = f"{piece},"
        elif piece.strip():
            found.append(held + piece.strip())
            held = ""
    return found


def named_in(clauses: Sequence[str], items: Sequence[Item]) -> list[list[str]]:
    """For each item the clauses whose words name it more than they name any other."""
    grams = [_grams(item.before + item.after) for item in items]
    own = [
        each - frozenset[str]().union(*(other for other in grams if other is not each))
        for each in grams
    ]
    found: list[list[str]] = [[] for _ in items]
    for clause in clauses[-4 * _MOST :]:
        if _SUM.match(clause):
            continue
        said = _grams(squeezed(clause))
        scores = [len(each & said) for each in own]
        best = max(scores)
        if best and scores.count(best) == 1:
            found[scores.index(best)].append(clause)
    return [_where_placed(at, items[at], found, clauses) for at in range(len(items))]


def _where_placed(
    at: int, item: Item, named: Sequence[list[str]], clauses: Sequence[str]
) -> list[str]:
    """The clauses that put a value where the question leaves the blank, if its own don't."""
    own = named[at]
    filled = [each for each in clauses if placed(each, item.before, item.after)]
    if any(each in own for each in filled):
        return own
    others = {each for other in named for each in other}
    return [each for each in filled if each not in others] or filled or own


def _grams(text: str) -> frozenset[str]:
    """Pairs of characters with a letter among them, and Chinese characters by themselves."""
    text = _TERM.sub("=", text)
    pairs = {text[at : at + 2] for at in range(len(text) - 1)}
    kept = {pair for pair in pairs if pair[0].isalpha() or pair[1].isalpha() or "∠" in pair}
    return frozenset(kept | {each for each in text if "\u4e00" <= each <= "\u9fff"})
