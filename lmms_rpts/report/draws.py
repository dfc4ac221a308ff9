"""What differs between two draws of a question: their prompts, and the steps of the reasoning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest
from operator import eq
from typing import Any, NamedTuple

from lmms_rpts.base.escaping import cut_middle
from lmms_rpts.report.trees import figure

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
        flips: in what their outcomes differ, see ``DIFFERING_WORDS``.
        prompt: the passages of both prompts, each ``same``, ``removed`` or ``added``; empty if
            they are equal, or unknown.
        step: the first step of the reasoning that differs; None: none does.
        how: how it differs.
    """

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


def compare_steps(one: Any, other: Any) -> tuple[int | None, list[str]]:
    """The first step that differs, and how ``other`` differs in it; None for graded answers."""
    steps = (getattr(each, "steps", ()) for each in (one, other))
    for at, (a, b) in enumerate(zip_longest(*steps)):
        if a is None or b is None:
            return at, ["there are no more steps" if b is None else "one step more"]
        how = ["other evidence"] if _cited(one, a) != _cited(other, b) else []
        how += ["other words"] if a.conclusion.split() != b.conclusion.split() else []
        how += [f"score {figure(b.score)}, not {figure(a.score)}"] if a.score != b.score else []
        if how:
            return at, how
    return None, []


def _cited(record: Any, step: Any) -> set[tuple[str, int | None]]:
    """What a step cites, with the numbers that clues have in the data."""
    drawn = record.instance.perturbed
    orders = {"image": drawn.images, "text": drawn.clues} if drawn else {}
    numbers = {(kind, at): each for kind, order in orders.items() for at, each in enumerate(order)}
    return {(each.kind, numbers.get((each.kind, each.index), each.index)) for each in step.premises}
