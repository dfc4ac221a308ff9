"""Steps of a response matched with the gold steps that use the same evidence.

A match means that two steps are based on the same images and texts, not that they state the same:
no judge is called. Matches are for display; no score depends on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lmms_rpts.judging.backends.lexical import similarity
from lmms_rpts.reasoning import Clue, ReasoningTree
from lmms_rpts.reasoning.tree import cited_steps

LEAST = 0.5
"""The smallest overlap of evidence that counts as a match."""

_MOST_STEPS = 200
_DIGITS = 9


@dataclass(frozen=True, slots=True)
class GoldMatch:
    """The gold steps that one step corresponds to.

    Attributes:
        steps: their numbers, in order; several if neither evidence nor wording decides.
        overlap: Jaccard index of the evidence, from ``LEAST`` to 1. References of the step to clues
            that do not exist count in the union, so that the index of such a step is below 1.
    """

    steps: tuple[int, ...]
    overlap: float

    @property
    def percent(self) -> int:
        """``overlap`` in percent, rounded; 100 only if it is 1."""
        return 100 if self.overlap >= 1 else min(99, round(100 * self.overlap))


def match_steps(tree: ReasoningTree, gold: ReasoningTree) -> tuple[GoldMatch | None, ...]:
    """For each step the gold steps with the most similar evidence.

    The evidence of a step is the set of images, texts and the context that it is based on, directly
    or through earlier conclusions; references to clues that do not exist are not evidence. Among
    gold steps with equal overlap, those with the most similar wording match.

    Returns:
        One match for each step of ``tree``; None if no overlap reaches ``LEAST``. Chains of more
        than 200 steps have no matches.
    """
    if max(len(tree.heights), len(gold.heights)) > _MOST_STEPS:
        return (None,) * len(tree.heights)
    theirs = list(zip(evidence_sets(gold), gold.chain.steps, strict=True))
    absent_at: list[set[Clue]] = [set() for _ in tree.heights]
    for fault in tree.invalid:
        absent_at[fault.step].add(fault.clue)
    missing = _below(tree, absent_at)
    matches = []
    for own, absent, step in zip(evidence_sets(tree), missing, tree.chain.steps, strict=True):
        # The Jaccard index; clues that do not exist count in the union.
        overlaps = [len(own & each) / max(1, len(own | each) + len(absent)) for each, _ in theirs]
        best = max(overlaps, default=0.0)
        alike = [at for at, overlap in enumerate(overlaps) if overlap == best]
        if len(alike) > 1:
            words = [similarity(step.conclusion, theirs[at][1].conclusion) for at in alike]
            nearest = [round(each, _DIGITS) for each in words]
            alike = [at for at, each in zip(alike, nearest, strict=True) if each == max(nearest)]
        matches.append(GoldMatch(tuple(alike), best) if best >= LEAST else None)
    return tuple(matches)


def evidence_sets(tree: ReasoningTree) -> tuple[frozenset[Clue], ...]:
    """For each step, the valid leaves below it, directly or through conclusions."""
    invalid = {(fault.step, fault.clue) for fault in tree.invalid}
    leaves = [
        {each for each in step.premises if each.kind != "conclusion" and (at, each) not in invalid}
        for at, step in enumerate(tree.chain.steps)
    ]
    return _below(tree, leaves)


def _below(tree: ReasoningTree, own: Sequence[set[Clue]]) -> tuple[frozenset[Clue], ...]:
    """For each step, the union of ``own`` over the step and all conclusions below it."""
    found: list[frozenset[Clue]] = []
    for at, clues in enumerate(own):
        cited = (found[child] for child in cited_steps(tree.chain, at))
        found.append(frozenset(clues).union(*cited))
    return tuple(found)


def matched_by(matches: Sequence[GoldMatch | None], n_gold: int) -> tuple[tuple[int, ...], ...]:
    """For each of ``n_gold`` gold steps, the numbers of the steps that match it."""
    return tuple(
        tuple(at for at, match in enumerate(matches) if match and number in match.steps)
        for number in range(n_gold)
    )
