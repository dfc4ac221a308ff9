"""Knowledge points of CMMaTH: parser, and share of points mastered (SSR)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from statistics import fmean

Point = tuple[str, ...]
"""A knowledge point with its parents, from the top: ("A", "B", "C")."""

THRESHOLDS = (0.1, 0.2, 0.3, 0.6)
"""The accuracies above which the publishers call a point mastered (arXiv 2407.12023)."""

# The marks of a tree such as "A(B(C,D),E)".
_MARK = re.compile(r"([(),])")


def knowledge_points(text: str | None) -> tuple[Point, ...]:
    """The points that ``A(B(C,D),E)`` names: its leaves in their order, each once.

    Brackets and commas are those of ASCII; full-width ones belong to names. Empty names are
    skipped. Text that is not such a tree (a bracket too many or too few, a name after a closing
    bracket) is one point.
    """
    if not text or not text.strip():
        return ()
    found = _leaves(text)
    return ((text.strip(),),) if found is None else tuple(dict.fromkeys(found))


def _leaves(text: str) -> list[Point] | None:
    """The leaves; None if the text is not a tree."""
    found: list[Point] = []
    opened: list[tuple[str, int]] = []  # a name, and the number of leaves before it
    closed = False
    parts = (*_MARK.split(text), ",")
    for name, mark in zip(map(str.strip, parts[::2]), parts[1::2], strict=True):
        if closed and (name or mark == "("):
            return None
        if mark == "(":
            opened.append((name, len(found)))
            continue
        if name:
            found.append(_path(opened, name))
        closed = mark == ")"
        if closed:
            if not opened:
                return None
            parent, before = opened.pop()
            if parent and len(found) == before:  # nothing in its brackets
                found.append(_path(opened, parent))
    return None if opened else found


def _path(opened: Iterable[tuple[str, int]], name: str) -> Point:
    return (*(parent for parent, _ in opened if parent), name)


def mastery(items: Iterable[tuple[Iterable[Point], float | None]]) -> dict[Point, float]:
    """The mean score of each point, over the problems that name it and have a score.

    A problem that names only a descendant of a point doesn't count for the point.

    Args:
        items: the points of each problem and its score in [0, 1], None if it has none.
    """
    scores: dict[Point, list[float]] = {}
    for points, score in items:
        if score is not None:
            for point in dict.fromkeys(points):
                scores.setdefault(point, []).append(score)
    return {point: fmean(each) for point, each in scores.items()}


def ssr(mastered: Mapping[Point, float], threshold: float) -> float | None:
    """The share of points whose accuracy exceeds the threshold: SSR of CMMaTH (arXiv 2407.12023).

    Args:
        mastered: as returned by ``mastery``; None if it is empty.
    """
    above = sum(accuracy > threshold for accuracy in mastered.values())
    return above / len(mastered) if mastered else None
