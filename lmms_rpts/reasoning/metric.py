"""The Reasoning Process Tree Score."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from operator import mul

from lmms_rpts.reasoning.tree import ReasoningTree

DEFAULT_DECAY = 0.9
DEFAULT_FOCUS_HEIGHT = 1


def rpts_score(
    tree: ReasoningTree,
    step_scores: Sequence[float],
    decay: float = DEFAULT_DECAY,
    focus_height: int = DEFAULT_FOCUS_HEIGHT,
) -> float:
    """Compute the Reasoning Process Tree Score of a chain.

    RPTS = sum(w_i * s_i) / sum(w_i), with w_i = decay ** abs(focus_height - h_i).

    Source: Wang and Zhang, RPTS, arXiv 2511.06899. The sums are over the unrolled tree below the
    last step: a conclusion that is used twice counts twice. The time is linear in the number of
    steps, though the unrolled tree may have more than 10**300 nodes.

    Args:
        tree: the tree of the repaired chain.
        step_scores: one score in [0, 1] for each step of the chain, in order.
        decay: factor of the weight for each level of distance from the focus height, in [0, 1].
        focus_height: the height with the greatest weight; a step directly above the leaves has
            height 1.

    Returns:
        A score in [0, 1]; 0 for an empty chain. With a decay of 0 and no step at the focus
        height, no step has any weight: the score is then 1, as in the published code.

    Raises:
        ValueError: if the number of scores, a score or the decay is out of range.
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must lie in [0, 1], got {decay}")
    check_scores(tree, step_scores)
    if not tree.heights:
        return 0.0
    weights = _weights(tree, decay, focus_height)
    total = math.fsum(weights.values())
    if not total:
        return 1.0
    # Never above 1: fsum rounds only once, so smaller terms never have a greater sum.
    return math.fsum(weight * step_scores[at] for at, weight in weights.items()) / total


def check_scores(tree: ReasoningTree, step_scores: Sequence[float]) -> None:
    """Raise ValueError if the number of scores or a score is out of range."""
    if len(step_scores) != len(tree.heights):
        raise ValueError(f"{len(tree.heights)} steps, but {len(step_scores)} scores")
    for at, score in enumerate(step_scores):
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"The score of step {at} must lie in [0, 1], got {score}")


def step_weights(
    tree: ReasoningTree, decay: float = DEFAULT_DECAY, focus_height: int = DEFAULT_FOCUS_HEIGHT
) -> list[float]:
    """The share of each step in the total weight of RPTS, over all its uses."""
    weights = _weights(tree, decay, focus_height)
    total = math.fsum(weights.values())
    return [weights.get(at, 0.0) / total if total else 0.0 for at in range(len(tree.heights))]


def _weights(tree: ReasoningTree, decay: float, focus_height: int) -> dict[int, float]:
    """The weights of the steps that the root depends on."""
    distances = [abs(focus_height - height) for height in tree.heights]
    powers = list(accumulate([decay] * max(distances, default=0), mul, initial=1.0))
    used = ((at, uses) for at, uses in enumerate(tree.uses) if uses)
    return {at: uses * powers[distances[at]] for at, uses in used}
