"""Localisation of errors: the first wrong step and the steps that depend on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.reasoning.clues import Step
from lmms_rpts.reasoning.tree import InvalidReference, ReasoningTree

Modality = Literal["visual", "textual", "mixed", "inference"]

WRONG_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class StepError:
    """The first wrong step of a chain.

    Attributes:
        step: index of the step in the chain.
        height: height of the step in the tree.
        modality: kind of the step's premises; see ``modality``.
        score: the judge's score.
        path: indices of the steps on a shortest path from the step to the root, both included.
        invalid: references of the step to evidence that does not exist.
    """

    step: int
    height: int
    modality: Modality
    score: float
    path: tuple[int, ...]
    invalid: tuple[InvalidReference, ...]


def modality(step: Step) -> Modality:
    """The kind of premises that a step is based on.

    ``inference``: at least one earlier conclusion; ``visual``: images only; ``textual``: textual
    clues only, or the context; ``mixed``: clues of several kinds.
    """
    kinds = {clue.kind for clue in step.premises}
    if "conclusion" in kinds:
        return "inference"
    if kinds == {"image"}:
        return "visual"
    if kinds <= {"text", "context"}:
        return "textual"
    return "mixed"


def locate_error(
    tree: ReasoningTree, step_scores: Sequence[float], wrong_below: float = WRONG_BELOW
) -> StepError | None:
    """Find the first step, in reasoning order, that scores below ``wrong_below``.

    Only steps that the root depends on count: an unrelated remark is not an error of the argument.

    Args:
        tree: the tree of the repaired chain.
        step_scores: one score in [0, 1] for each step of the chain, in order.
        wrong_below: the score below which a step is wrong.

    Returns:
        The first wrong step; None if no step is wrong, and for an empty chain.
    """
    if len(step_scores) != len(tree.uses):
        raise ValueError(f"{len(tree.uses)} steps, but {len(step_scores)} scores")
    for at, (score, uses) in enumerate(zip(step_scores, tree.uses, strict=True)):
        if uses and score < wrong_below:
            return StepError(
                step=at,
                height=tree.heights[at],
                modality=modality(tree.chain.steps[at]),
                score=score,
                path=_path_to_root(tree, at),
                invalid=tuple(fault for fault in tree.invalid if fault.step == at),
            )
    return None


def _path_to_root(tree: ReasoningTree, start: int) -> tuple[int, ...]:
    root = len(tree.heights) - 1
    # Parents come later in the chain, so one pass from the root finds the shortest paths.
    next_step: dict[int, int] = {}
    distance = {root: 0}
    for at in range(root - 1, start - 1, -1):
        ways = [(distance[parent], parent) for parent in tree.parents[at] if parent in distance]
        if ways:
            nearest, next_step[at] = min(ways)
            distance[at] = nearest + 1
    path = [start]
    while path[-1] != root:
        path.append(next_step[path[-1]])
    return tuple(path)
