"""What a chain uses and repeats: evidence that its root depends on, and steps that only restate."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lmms_rpts.reasoning.clues import Clue, ReasoningChain
from lmms_rpts.reasoning.tree import ReasoningTree

Restates = Callable[[str, str], bool]
"""Whether a conclusion only restates a text."""

_EVIDENCE = ("image", "text")


def restating_steps(
    chain: ReasoningChain, context: str, clues: Sequence[str], restates: Restates
) -> list[int]:
    """The steps that only restate a textual clue, the context or a conclusion that they cite.

    A step from images only describes them and restates nothing.
    """
    given = [text for text in (context, *clues) if text.strip()]
    found = []
    for at, step in enumerate(chain.steps):
        if {clue.kind for clue in step.premises} == {"image"}:
            continue
        cited = [
            chain.steps[clue.index].conclusion
            for clue in dict.fromkeys(step.premises)
            if clue.kind == "conclusion" and clue.index is not None and clue.index < at
        ]
        if any(restates(step.conclusion, text) for text in (*given, *cited)):
            found.append(at)
    return found


def evidence_of(tree: ReasoningTree) -> frozenset[Clue]:
    """The images and textual clues that exist and that the root depends on."""
    faults = {(fault.step, fault.clue) for fault in tree.invalid}
    return frozenset(
        clue
        for at, step in enumerate(tree.chain.steps)
        if tree.uses[at]
        for clue in step.premises
        if clue.kind in _EVIDENCE and (at, clue) not in faults
    )


def needed_evidence(gold: ReasoningTree, n_images: int, n_texts: int) -> frozenset[Clue]:
    """The images and textual clues that the root of the gold reasoning depends on."""
    if gold.chain.steps:
        return evidence_of(gold)
    images = (Clue("image", at) for at in range(n_images))
    return frozenset((*images, *(Clue("text", at) for at in range(n_texts))))
