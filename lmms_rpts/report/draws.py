"""What differs between two draws of a question: their prompts, and the steps of the reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from operator import eq
from typing import Any, NamedTuple

from lmms_rpts.base.escaping import cut_middle

# Chinese and Japanese characters are words of their own.
_WORD = re.compile(r"(?:[⺀-鿿豈-﫿＀-￯]|[^\W⺀-鿿豈-﫿＀-￯]+|[^\w\s])\s*|\s+")
# Words between the equal ends of two texts that are compared one by one: it takes quadratic time.
_MOST_WORDS = 500
# Words that must be equal in sequence, so that a sentence is not marked in shreds.
_LEAST_EQUAL = 3
# Characters of an unchanged passage that are shown.
_MOST_SAME = 120


class Against(NamedTuple):
    """A draw compared with the first one of the same run.

    Attributes:
        first: the name of that draw; empty: it is the first itself, or there is only one.
        flips: in what their outcomes differ, see ``DIFFERING_WORDS``.
        prompt: the passages of both prompts, each ``same``, ``removed`` or ``added``; empty if
            they are equal, or unknown.
        step: the first step of the reasoning that differs; None: none does.
        how: in what it differs, see ``first_difference``.
    """

    first: str = ""
    flips: Sequence[str] = ()
    prompt: Sequence[tuple[str, str]] = ()
    step: int | None = None
    how: Sequence[str] = ()


def compare_prompts(one: str, other: str) -> list[tuple[str, str]]:
    """The passages of two texts, of unchanged ones their beginning and end; see `Against`."""
    a, b = _WORD.findall(one), _WORD.findall(other)
    start = _equal(a, b)
    end = _equal(a[start:][::-1], b[start:][::-1])
    inner = a[start : len(a) - end], b[start : len(b) - end]
    blocks = [(len(inner[0]), len(inner[1]), 0)]
    if max(map(len, inner)) <= _MOST_WORDS:
        found = SequenceMatcher(None, *inner, autojunk=False).get_matching_blocks()
        blocks = [each for each in found if each.size >= _LEAST_EQUAL] + blocks
    parts, at, to = [("same", a[:start])], 0, 0
    for i, j, size in blocks:
        parts += [("removed", inner[0][at:i]), ("added", inner[1][to:j])]
        parts += [("same", inner[0][i : i + size])]
        at, to = i + size, j + size
    texts = [(kind, "".join(words)) for kind, words in [*parts, ("same", a[len(a) - end :])]]
    return [
        (kind, cut_middle(text, _MOST_SAME) if kind == "same" else text)
        for kind, text in texts
        if text and one != other
    ]


def _equal(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of words that two texts begin with alike."""
    return sum(takewhile(bool, map(eq, one, other)))


def first_difference(one: Any, other: Any) -> tuple[int | None, list[str]]:
    """The first step that differs, and in what: ``evidence``, ``words``; empty: only in the score.

    None: no step differs, or there are none.
    """
    for at, (a, b) in enumerate(zip_longest(_steps(one), _steps(other), fillvalue=())):
        if a != b:
            pairs = zip(("evidence", "words"), a, b, strict=False)
            return at, [name for name, before, after in pairs if before != after]
    return None, []


def _steps(record: Any) -> Iterator[tuple[object, ...]]:
    """Evidence, words and score of each step; clues have their numbers in the data."""
    orders = {"image": record.instance.drawn.images, "text": record.instance.drawn.clues}
    numbers = {(kind, at): each for kind, order in orders.items() for at, each in enumerate(order)}
    for step in getattr(record, "steps", ()):
        cited = {
            (each.kind, numbers.get((each.kind, each.index), each.index)) for each in step.premises
        }
        yield cited, step.conclusion.split(), step.score
