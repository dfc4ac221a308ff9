"""Accuracy by knowledge points over runs of CMMaTH."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from lmms_rpts.escaping import shorten
from lmms_rpts.runs.rounds import NONE, Figure, document_means, over_rounds, there
from lmms_rpts.sheet import Sheet
from lmms_rpts.tasks.cmmath.knowledge import (
    THRESHOLDS,
    Node,
    Point,
    knowledge_tree,
    mastery,
    share_above,
)
from lmms_rpts.tasks.cmmath.record import CmmathRecord, CmmathRun
from lmms_rpts.tasks.grade_types import Subject
from lmms_rpts.tasks.groups import numeric_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CmmathTree:
    """The areas of knowledge of one task with the accuracies of one model.

    A problem's score is the mean over its rounds of the mean over the responses in each.
    """

    task: str
    model: str
    nodes: tuple[Node, ...]


def mastered(
    rounds: Sequence[Sequence[CmmathRecord]], area: str | None = None
) -> tuple[dict[str, Figure], int]:
    """``ssr_T`` for each of ``THRESHOLDS``, and how many points have a score in any round.

    Several rounds give the mean and sample standard deviation of their shares.

    Args:
        area: count the points of this area only; None: all.
    """
    by_round = [mastery(_items(responses, area)) for responses in rounds]
    points = len({point for found in by_round for point in found})
    figures = {}
    for threshold in THRESHOLDS:
        shares = [share_above(found, threshold) for found in by_round]
        one = len(shares) == 1
        figures[f"ssr_{threshold}"] = Figure(shares[0], n=points) if one else over_rounds(shares)
    return figures, points


def tree_of(subject: Subject, rounds: Sequence[CmmathRun]) -> CmmathTree:
    """The knowledge tree of a model on a task, over its rounds."""
    problems: dict[tuple[str, int], tuple[tuple[Point, ...], list[float]]] = {}
    for run in rounds:
        for key, (points, score) in _problems(run.responses).items():
            found = problems.setdefault(key, (points, []))[1]
            found += there([score])
    items = [(points, fmean(found) if found else None) for points, found in problems.values()]
    return CmmathTree(*subject, knowledge_tree(items))


def tree_frame(trees: Sequence[CmmathTree]) -> pd.DataFrame:
    """One row per node.

    Columns: ``task``, ``model``, ``level`` (from 1), ``path`` (names, separated by " > "),
    ``point`` (whether it is one itself), ``problems``, ``scored``, ``accuracy``.
    """
    rows = [
        {
            "task": tree.task,
            "model": tree.model,
            "level": len(node.path),
            "path": " > ".join(node.path),
            "point": node.point,
            "problems": node.problems,
            "scored": node.scored,
            "accuracy": node.accuracy,
        }
        for tree in trees
        for node in _nodes(tree.nodes)
    ]
    return numeric_frame(rows, ("task", "model", "path"))


def tree_sheets(trees: Sequence[CmmathTree], depth: int) -> Iterator[Sheet]:
    """Tables of the trees down to a level, one for each task with a column for each model."""
    for task in dict.fromkeys(tree.task for tree in trees):
        of_task = [tree for tree in trees if tree.task == task]
        areas = [{node.name: node for node in tree.nodes} for tree in of_task]
        yield Sheet(
            f"Accuracy by knowledge points: {shorten(task, 40)}",
            ["knowledge", *(shorten(tree.model, 24) for tree in of_task)],
            1,
            [list(_branches(areas, depth))],
        )


def _branches(
    forests: Sequence[Mapping[str, Node]], depth: int, level: int = 0
) -> Iterator[list[str]]:
    """The rows of some nodes, one for each model, and of their descendants."""
    if level == depth:
        return
    for name in dict.fromkeys(name for forest in forests for name in forest):
        nodes = [forest.get(name) for forest in forests]
        yield [f"{'· ' * level}{shorten(name, 40)}", *map(_branch, nodes)]
        below = [{each.name: each for each in node.children} if node else {} for node in nodes]
        yield from _branches(below, depth, level + 1)


def _branch(node: Node | None) -> str:
    if node is None or node.accuracy is None:
        return NONE
    return f"{node.accuracy:.3f} ({node.scored})"


def _nodes(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _nodes(node.children)


def _items(
    responses: Sequence[CmmathRecord], area: str | None
) -> Iterable[tuple[Sequence[Point], float | None]]:
    problems = _problems(responses).values()
    if area is None:
        return problems
    return [([point for point in points if point[0] == area], score) for points, score in problems]


def _problems(
    responses: Sequence[CmmathRecord],
) -> dict[tuple[str, int], tuple[tuple[Point, ...], float | None]]:
    """The points of each problem, and the mean score over its responses."""
    means = document_means((each.instance.key, each.score) for each in responses)
    points = {each.instance.key: each.instance.points for each in responses}
    return dict(zip(points, zip(points.values(), means, strict=True), strict=True))
