"""Diagnosis of a chain, and the guarded score, which fixes weaknesses of the published score.

docs/guarded.md defines both, with reasons and a worked example.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.reasoning.clues import Clue, Evidence, ReasoningChain
from lmms_rpts.reasoning.metric import (
    DEFAULT_DECAY,
    DEFAULT_FOCUS_HEIGHT,
    check_scores,
    step_weights,
)
from lmms_rpts.reasoning.planning import gold_facts
from lmms_rpts.reasoning.tree import WRONG_BELOW, ReasoningTree

Restates = Callable[[str, str], bool]
"""Whether a conclusion only restates a text."""

# Factor on the score if the argument fails: the largest score below 0.5 on the judges' scale of
# tenths, so that such a chain is never sound, however good its other steps are.
FAILED = 0.4

_EVIDENCE = ("image", "text")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Structural properties of a chain.

    Attributes:
        restating: the steps whose conclusion only restates a clue, the context or an earlier
            conclusion that it cites.
        needed: the images and textual clues that the gold reasoning uses; all given clues if there
            is no gold reasoning.
        used: the needed clues that the chain's root depends on.
        missing: number of references to evidence that does not exist.
        heaviest: share of the published score's weight that the heaviest step has; 0 for an
            empty chain.
        most_uses: the highest number of times that the published score counts a single step.
    """

    restating: frozenset[int]
    needed: frozenset[Clue]
    used: frozenset[Clue]
    missing: int
    heaviest: float
    most_uses: int

    @property
    def coverage(self) -> float:
        """The share of the needed evidence that the chain uses; 1 if none is needed."""
        return len(self.used) / len(self.needed) if self.needed else 1.0


def diagnose(
    tree: ReasoningTree,
    needed: frozenset[Clue],
    context: str,
    clues: Sequence[str],
    restates: Restates,
    decay: float = DEFAULT_DECAY,
    focus_height: int = DEFAULT_FOCUS_HEIGHT,
) -> Diagnosis:
    """Compute the structural properties of a chain."""
    weights = step_weights(tree, decay, focus_height)
    return Diagnosis(
        restating=frozenset(restating_steps(tree.chain, context, clues, restates)),
        needed=needed,
        used=evidence_of(tree) & needed,
        missing=len(tree.invalid),
        heaviest=max(weights, default=0.0),
        most_uses=max(tree.uses, default=0),
    )


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


@dataclass(frozen=True, slots=True)
class RootQuery:
    """Does the evidence lead to the last conclusion, and does that settle the question?

    Attributes:
        evidence: what is known of the evidence that the root depends on: facts about the images,
            and textual clues.
        steps: the conclusions that the root depends on, in order; they are no evidence.
        conclusion: the conclusion of the root.
        images: numbers of the images that the judge sees.
    """

    evidence: tuple[str, ...]
    steps: tuple[str, ...]
    conclusion: str
    images: tuple[int, ...] = ()


def plan_root(
    tree: ReasoningTree, doc: Mapping[str, Any], evidence: Evidence = "facts"
) -> RootQuery:
    """The question about the root of a chain with steps; arguments as of ``plan_steps``.

    Without gold reasoning, a judge that sees no images takes the claims about them as they are: it
    is not asked about them either.
    """
    used = evidence_of(tree)
    images = sorted(clue.index for clue in used if clue.kind == "image" and clue.index is not None)
    texts = sorted(clue.index for clue in used if clue.kind == "text" and clue.index is not None)
    facts = {} if evidence == "image" else gold_facts(doc["reasoning"])
    steps = [step for at, step in enumerate(tree.chain.steps) if tree.uses[at]]
    if evidence == "facts" and not doc["reasoning"]:
        for step in steps:
            match step.premises:
                case (Clue("image", int(index)),) if index in images:
                    facts.setdefault(index, []).append(step.conclusion)
    known = [fact for at in images for fact in facts.get(at, [])]
    known += [doc["textual_clue"][at] for at in texts]
    *before, last = (step.conclusion for step in steps)
    return RootQuery(
        tuple(dict.fromkeys(known)),
        tuple(before),
        last,
        tuple(images if evidence != "facts" else ()),
    )


def guarded_score(
    tree: ReasoningTree, step_scores: Sequence[float], diagnosis: Diagnosis, root_bears: float
) -> float:
    """The score that repetition, restatement or an off-topic root cannot raise.

    It is the mean score of the steps that the root depends on, each counted once. A step that only
    restates does not count; a step that cites evidence that does not exist scores 0. The mean is
    multiplied by the share of the needed evidence that the root depends on. It is multiplied by
    ``FAILED`` if the argument fails: if the root, or a step that it depends on, scores below 0.5,
    or if the evidence does not lead to a root that settles the question.

    Args:
        tree: the tree of the repaired chain.
        step_scores: one score in [0, 1] for each step of the chain, in order.
        diagnosis: the properties of the chain; see ``diagnose``.
        root_bears: in [0, 1]; above 0.5, the evidence leads to a root that settles the question
            with the given answer.

    Returns:
        A score in [0, 1]; 0 for an empty chain, and for one whose steps all restate.

    Raises:
        ValueError: if the number of scores or a score is out of range.
    """
    check_scores(tree, step_scores)
    if not tree.heights:
        return 0.0
    cites_nothing = {fault.step for fault in tree.invalid}
    scores = [0.0 if at in cites_nothing else score for at, score in enumerate(step_scores)]
    # A step that the judge calls wrong is not a restatement, however similar the texts are.
    idle = {at for at in diagnosis.restating if scores[at] >= WRONG_BELOW}
    counted = [score for at, score in enumerate(scores) if tree.uses[at] and at not in idle]
    if not counted:
        return 0.0
    used = [score for at, score in enumerate(scores) if tree.uses[at]]
    # 0.5 means that the question remains open.
    holds = root_bears > WRONG_BELOW and min(used) >= WRONG_BELOW
    mean = math.fsum(counted) / len(counted)
    return mean * diagnosis.coverage * (1.0 if holds else FAILED)
