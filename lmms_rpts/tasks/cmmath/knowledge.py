"""Knowledge points of CMMaTH: parser, share of points mastered (SSR), and accuracy by area."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING

from lmms_rpts.base.escaping import shorten
from lmms_rpts.base.sheet import Sheet
from lmms_rpts.runs.rounds import NONE, Figure, document_means, over_rounds, there
from lmms_rpts.tasks.grade_types import Curve, Rounds, Subject

if TYPE_CHECKING:
    from lmms_rpts.tasks.cmmath.record import CmmathRecord, CmmathRun

Point = tuple[str, ...]
"""A knowledge point with its parents, from the top: ("A", "B", "C")."""

Items = Iterable[tuple[Iterable[Point], float | None]]
"""Problems: the points of each and its score in [0, 1], None if it has none."""

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


# --- points mastered -----------------------------------------------------------------------------


def mastery(items: Items) -> dict[Point, float]:
    """The mean score of each point, over the problems that name it and have a score.

    A problem that names only a descendant of a point doesn't count for the point.
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


def figures_of_points(
    rounds: Rounds, area: str | None = None, thresholds: Sequence[float] = THRESHOLDS
) -> tuple[dict[str, Figure], int]:
    """``ssr_T`` for each threshold, and how many points have a score in any round.

    Several rounds give the mean and sample standard deviation of their shares.

    Args:
        area: count the points of this area only; None: all.
    """
    by_round = [
        mastery(
            ([point for point in points if area in (None, point[0])], score)
            for points, score in _problems(responses).values()
        )
        for responses in rounds
    ]
    points = len({point for found in by_round for point in found})
    figures = {}
    for threshold in thresholds:
        shares = [ssr(found, threshold) for found in by_round]
        figure = over_rounds(shares) if len(shares) > 1 else Figure(shares[0], n=points)
        figures[f"ssr_{threshold}"] = figure
    return figures, points


def ssr_curve(subject: Subject, rounds: Rounds) -> Curve:
    """SSR over the thresholds 0, 0.01, ..., 0.99; above 1 there is none."""
    thresholds = [hundredth / 100 for hundredth in range(100)]
    found, points = figures_of_points(rounds, thresholds=thresholds)
    return Curve(subject, thresholds, list(found.values()), points)


def _problems(
    responses: Sequence[CmmathRecord],
) -> dict[tuple[str, int], tuple[tuple[Point, ...], float | None]]:
    """The points of each problem, and the mean score over its responses."""
    means = document_means((each.instance.key, each.score) for each in responses)
    points = {each.instance.key: each.instance.points for each in responses}
    return dict(zip(points, zip(points.values(), means, strict=True), strict=True))


# --- accuracy by area ----------------------------------------------------------------------------


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

    def __iter__(self) -> Iterator[Node]:
        """The node itself, then those below it."""
        yield self
        yield from chain.from_iterable(self.children)


@dataclass(frozen=True, slots=True)
class CmmathTree:
    """The areas of knowledge of one task with the accuracies of one model.

    A problem's score is the mean over its rounds of the mean over the responses in each.
    """

    task: str
    model: str
    nodes: tuple[Node, ...]


def knowledge_tree(items: Items, level: int = 0) -> tuple[Node, ...]:
    """The areas of a level, each with its subtree.

    A problem counts once at each node at or above its points, however many of its points are there.
    """
    found: dict[Point, list[tuple[list[Point], float | None]]] = {}
    for points, score in items:
        below: dict[Point, list[Point]] = {}
        for point in points:
            if len(point) > level:
                below.setdefault(point[: level + 1], []).append(point)
        for path, own in below.items():
            found.setdefault(path, []).append((own, score))
    nodes = []
    for path, problems in found.items():
        scores = there(score for _, score in problems)
        nodes.append(
            Node(
                name=path[-1],
                path=path,
                problems=len(problems),
                scored=len(scores),
                accuracy=fmean(scores) if scores else None,
                children=knowledge_tree(problems, level + 1),
                point=any(path in points for points, _ in problems),
            )
        )
    return tuple(nodes)


def tree_of(subject: Subject, rounds: Sequence[CmmathRun]) -> CmmathTree:
    """The knowledge tree of a model on a task, over its rounds."""
    problems: dict[tuple[str, int], tuple[tuple[Point, ...], list[float]]] = {}
    for run in rounds:
        for key, (points, score) in _problems(run.responses).items():
            problems.setdefault(key, (points, []))[1].extend(there([score]))
    items = [(points, fmean(found) if found else None) for points, found in problems.values()]
    return CmmathTree(*subject, knowledge_tree(items))


def tree_sheets(trees: Sequence[CmmathTree], depth: int) -> Iterator[Sheet]:
    """Tables of the trees down to a level, one for each task with a column for each model."""
    for task in dict.fromkeys(tree.task for tree in trees):
        of_task = [tree for tree in trees if tree.task == task]
        models = [{node.path: node for node in chain.from_iterable(tree.nodes)} for tree in of_task]
        rows = [
            [
                f"{'· ' * (len(path) - 1)}{shorten(path[-1], 40)}",
                *(_accuracy_of(nodes.get(path)) for nodes in models),
            ]
            for path in _from_the_top(chain(*models))
            if len(path) <= depth
        ]
        heads = ["knowledge", *(shorten(tree.model, 24) for tree in of_task)]
        yield Sheet(f"Accuracy by knowledge points: {shorten(task, 40)}", heads, 1, [rows])


def _from_the_top(paths: Iterable[Point]) -> list[Point]:
    """Each path once, followed by those below it; otherwise in the given order."""
    places = {path: at for at, path in enumerate(dict.fromkeys(paths))}
    return sorted(places, key=lambda path: [places[path[: n + 1]] for n in range(len(path))])


def _accuracy_of(node: Node | None) -> str:
    if node is None or node.accuracy is None:
        return NONE
    return f"{node.accuracy:.3f} ({node.scored})"
