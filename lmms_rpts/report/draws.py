"""What differs between two draws of a question: their prompts, and the steps of the reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import Any, NamedTuple

from lmms_rpts.base.escaping import cut_middle

# Lines, sentences and clauses, so that a sentence is not marked in shreds; "A. red" is one.
_PART = re.compile(r"(?s).{3,}?(?:[,;:.?!]\s+|[\n，；：。？！]\s*|\Z)|.+")
# Parts of two texts that are compared one by one: it takes quadratic time.
_MOST_PARTS = 300
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
    if one == other:
        return []
    a, b = _PART.findall(one), _PART.findall(other)
    if max(len(a), len(b)) > _MOST_PARTS:
        a, b = [one], [other]
    found = []
    for kind, i, until, j, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        removed, added = "".join(a[i:until]), "".join(b[j:end])
        same = [("same", cut_middle(removed, _MOST_SAME))]
        found += same if kind == "equal" else [("removed", removed), ("added", added)]
    return [each for each in found if each[1]]


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
