"""The Reasoning Process Tree Score."""

from __future__ import annotations

import math
from collections.abc import Sequence

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
    steps, for trees of any size, without overflow.

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
    _check_scores(tree, step_scores)
    if not tree.heights:
        return 0.0
    weights = _weights(tree, decay, focus_height)
    total = math.fsum(weights.values())
    if not total:
        return 1.0
    # Never above 1: fsum rounds only once, so smaller terms never have a greater sum.
    return math.fsum(weight * step_scores[at] for at, weight in weights.items()) / total


def _check_scores(tree: ReasoningTree, step_scores: Sequence[float]) -> None:
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
    """The weights of used steps, scaled by a common power of 2; empty if all are 0."""
    used = [at for at, uses in enumerate(tree.uses) if uses]
    if not used:
        return {}
    distances = {at: abs(focus_height - tree.heights[at]) for at in used}
    powers = _powers(decay, max(distances.values()))
    # Uses and powers span thousands of orders of magnitude, so weights are mantissa * 2**exponent.
    weights = []
    for at in used:
        mantissa, exponent = _binary(tree.uses[at])
        power, shift = powers[distances[at]]
        weights.append((mantissa * power, exponent + shift))
    heaviest = max((exponent for mantissa, exponent in weights if mantissa), default=None)
    if heaviest is None:
        return {}
    scaled = (math.ldexp(mantissa, exponent - heaviest) for mantissa, exponent in weights)
    return dict(zip(used, scaled, strict=True))


def _powers(decay: float, highest: int) -> list[tuple[float, int]]:
    """decay**k as (mantissa, binary exponent) for k = 0 ... highest."""
    power, exponent = 1.0, 0
    powers = []
    for _ in range(highest + 1):
        powers.append((power, exponent))
        power, shift = math.frexp(power * decay)
        exponent += shift
    return powers


def _binary(number: int) -> tuple[float, int]:
    """A positive integer as (mantissa, binary exponent), to the precision of a float."""
    exponent = max(0, number.bit_length() - 64)
    return float(number >> exponent), exponent
