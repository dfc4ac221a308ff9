"""Accuracy by knowledge points over runs of CMMaTH."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from lmms_rpts.runs.rounds import Figure, document_means, over_rounds, there
from lmms_rpts.tasks.cmmath.knowledge import (
    THRESHOLDS,
    Node,
    Point,
    knowledge_tree,
    mastery,
    share_above,
)
from lmms_rpts.tasks.cmmath.record import CmmathRecord, CmmathRun
from lmms_rpts.tasks.grades import numeric_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class CmmathTree:
    """The areas of knowledge of one task with the accuracies of one model.

    A problem's score is the mean over its rounds, in each over its responses.
    """

    task: str
    model: str
    nodes: tuple[Node, ...]


def mastered(
    rounds: Sequence[Sequence[CmmathRecord]], area: str | None = None
) -> tuple[dict[str, Figure], int]:
    """``ssr_T`` for each of ``THRESHOLDS``, and how many points have a score in any round.

    Several rounds have the mean and sample standard deviation of their shares.

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


def tree_of(task: str, model: str, rounds: Sequence[CmmathRun]) -> CmmathTree:
    """The knowledge tree of a model, over its rounds."""
    problems: dict[tuple[str, int], tuple[tuple[Point, ...], list[float]]] = {}
    for run in rounds:
        for key, (points, score) in _problems(run.responses).items():
            found = problems.setdefault(key, (points, []))[1]
            found += there([score])
    items = [(points, fmean(found) if found else None) for points, found in problems.values()]
    return CmmathTree(task, model, knowledge_tree(items))


def tree_frame(trees: Sequence[CmmathTree]) -> pd.DataFrame:
    """A row a node: ``task``, ``model``, ``level`` (from 1), ``path`` (names, parted by " > "),
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
