"""Knowledge points of CMMaTH: parser, tree, and share of points mastered."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

Point = tuple[str, ...]
"""A knowledge point with its parents, from the top: ("A", "B", "C")."""

Items = Iterable[tuple[Iterable[Point], float | None]]
"""Problems: the points of each and its score in [0, 1], None if it has none."""

THRESHOLDS = (0.1, 0.2, 0.3, 0.6)
"""The accuracies above which the publishers call a point mastered (arXiv 2407.12023)."""

MAX_DEPTH = 50
"""Maximum number of levels of a point; the published ones have six. Keeps paths and trees small."""

_MARK = re.compile(r"([(),])")


@dataclass(frozen=True, slots=True)
class Node:
    """A point or an area of knowledge, with its subtree.

    Attributes:
        name: its own name, the last of ``path``.
        problems: the distinct problems at or below it.
        scored: how many of these have a score.
        accuracy: their mean score in [0, 1]; None without any.
        children: in the order in which problems first name them.
        point: whether it is itself a point of some problem.
    """

    name: str
    path: Point
    problems: int
    scored: int
    accuracy: float | None
    children: tuple[Node, ...]
    point: bool


def knowledge_points(text: str | None) -> tuple[Point, ...]:
    """The points that ``A(B(C,D),E)`` names: its leaves in their order, each once.

    Brackets and commas are those of ASCII; full-width ones belong to names. Empty names are
    skipped. Text that is not such a tree (a bracket too many or too few, a name after a closing
    bracket, more than ``MAX_DEPTH`` levels) is one point. Takes linear time.
    """
    if not text or not text.strip():
        return ()
    found = _leaves(text)
    return ((text.strip(),),) if found is None else tuple(dict.fromkeys(found))


def mastery(items: Items) -> dict[Point, float]:
    """The mean score of each point, over the problems that name it and have a score.

    A problem that names only a descendant of a point doesn't count for the point.
    """
    scores: dict[Point, list[float]] = {}
    for points, score in items:
        if score is not None:
            for point in dict.fromkeys(points):
                scores.setdefault(point, []).append(score)
    return {point: _mean(each) for point, each in scores.items()}


def ssr(items: Items, threshold: float) -> float | None:
    """The share of points whose accuracy exceeds the threshold: SSR of CMMaTH (arXiv 2407.12023).

    Only points with a scored problem count; None if there is none.
    """
    return share_above(mastery(items), threshold)


def share_above(mastered: Mapping[Point, float], threshold: float) -> float | None:
    """The share of points whose accuracy, as returned by ``mastery``, exceeds the threshold."""
    above = sum(accuracy > threshold for accuracy in mastered.values())
    return above / len(mastered) if mastered else None


def knowledge_tree(items: Items) -> tuple[Node, ...]:
    """The top-level areas, each with its subtree.

    A problem counts once at each node at or above its points, however many of its points are there.
    """
    problems: dict[Point, int] = {}
    scores: dict[Point, list[float]] = {}
    leaves: set[Point] = set()
    for points, score in items:
        own = [point for point in dict.fromkeys(points) if point]
        leaves.update(own)
        for path in dict.fromkeys(point[:end] for point in own for end in range(1, len(point) + 1)):
            problems[path] = problems.get(path, 0) + 1
            if score is not None:
                scores.setdefault(path, []).append(score)
    below: dict[Point, list[Node]] = {}
    # From the bottom up, so that children exist before their parents.
    for path in sorted(problems, key=len, reverse=True):
        there = scores.get(path, [])
        node = Node(
            name=path[-1],
            path=path,
            problems=problems[path],
            scored=len(there),
            accuracy=_mean(there) if there else None,
            children=tuple(below.pop(path, ())),
            point=path in leaves,
        )
        below.setdefault(path[:-1], []).append(node)
    return tuple(below.get((), ()))


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
            if len(opened) + 1 >= MAX_DEPTH:
                return None
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


def _mean(scores: list[float]) -> float:
    return math.fsum(scores) / len(scores)
