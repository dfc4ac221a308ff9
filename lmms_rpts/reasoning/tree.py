"""The reasoning tree of a chain, its score, its first error, and the evidence it depends on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from lmms_rpts.reasoning.clues import Clue, ClueKind, ReasoningChain, Step

# Maximum number of premises per step; the longest gold step has 3.
MAX_PREMISES = 64


@dataclass(frozen=True, slots=True)
class InvalidReference:
    """A premise that is not available to the step; it counts as a leaf without evidence."""

    step: int
    kind: ClueKind
    index: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ReasoningTree:
    """A chain seen from its last step, the root (RPTS, arXiv 2511.06899).

    Attributes:
        heights: for each step, 1 + the height of its highest premise; leaves have height 0.
        parents: for each step, the steps that cite it, in order, once for each citation.
        uses: for each step, the number of its occurrences in the unrolled tree, exact and possibly
            huge; 0 for a step that the root does not depend on.
        invalid: references to clues that do not exist, or to steps that are not earlier.
    """

    chain: ReasoningChain
    heights: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    uses: tuple[int, ...]
    invalid: tuple[InvalidReference, ...]


def build_tree(chain: ReasoningChain, n_images: int, n_texts: int) -> ReasoningTree:
    """Build the tree of a chain, in time linear in the number of premises."""
    heights: list[int] = []
    parents: list[list[int]] = [[] for _ in chain.steps]
    invalid: list[InvalidReference] = []
    for at, step in enumerate(chain.steps):
        height = 0
        available = {"image": n_images, "text": n_texts, "conclusion": at}
        for clue in step.premises:
            if clue.kind == "context":
                continue
            if clue.index is None or clue.index >= available[clue.kind]:
                reason = _fault(clue, at, len(chain.steps), available[clue.kind])
                invalid.append(InvalidReference(at, *clue, reason))
            elif clue.kind == "conclusion":
                parents[clue.index].append(at)
                height = max(height, heights[clue.index])
        heights.append(height + 1)
    uses = [0] * len(heights)
    if uses:
        uses[-1] = 1
    for at in reversed(range(len(uses))):  # parents come later, so their uses are known
        uses[at] += sum(uses[parent] for parent in parents[at])
    return ReasoningTree(
        chain, tuple(heights), tuple(map(tuple, parents)), tuple(uses), tuple(invalid)
    )


def _fault(clue: Clue, at: int, n_steps: int, available: int) -> str:
    """Why a premise of step ``at`` is not available to it."""
    if clue.index is None:
        return f"the {clue.kind} has no number"
    if clue.kind == "conclusion":
        if clue.index >= n_steps:
            return "no step has this number"
        return "the step cites itself" if clue.index == at else "the step comes later"
    if not available:
        return f"there are no {clue.kind}s"
    few = f"is only 1 {clue.kind}" if available == 1 else f"are only {available} {clue.kind}s"
    return f"there {few}, numbered from 0"


def limit_steps(chain: ReasoningChain, most: int) -> tuple[ReasoningChain, tuple[str, ...]]:
    """Shorten a chain to at most ``most`` steps, with a note on what was cut.

    Each step keeps its first 64 distinct premises. Steps that the last one does not depend on are
    removed, since they do not affect the score, and then the earliest of the others. A reference to
    a removed step becomes invalid.
    """
    total = len(chain.steps)
    distinct = [tuple(dict.fromkeys(step.premises))[:MAX_PREMISES] for step in chain.steps]
    steps = tuple(map(Step, distinct, (step.conclusion for step in chain.steps)))
    if total <= most:
        return replace(chain, steps=steps), ()
    needed = {total - 1}
    for at in reversed(range(total)):
        if at in needed:
            needed.update(
                clue.index
                for clue in steps[at].premises
                if clue.kind == "conclusion" and clue.index is not None and clue.index < at
            )
    kept = sorted(needed)[-most:]
    place = {old: new for new, old in enumerate(kept)}
    moved = tuple(
        Step(
            tuple(
                Clue("conclusion", place.get(clue.index, total + clue.index))
                if clue.kind == "conclusion" and clue.index is not None
                else clue
                for clue in steps[old].premises
            ),
            steps[old].conclusion,
        )
        for old in kept
    )
    note = f"{total} steps; only the {len(kept)} on which the last one depends are judged"
    return replace(chain, steps=moved), (note,)


# --- the score

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
        focus_height: the height with the greatest weight; a step from clues alone has height 1.

    Returns:
        A score in [0, 1]; 0 for an empty chain; 1, as published, if no step has any weight (a decay
        of 0 and no step at the focus height).
    """
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"decay must lie in [0, 1], got {decay}")
    if len(step_scores) != len(tree.heights):
        raise ValueError(f"{len(tree.heights)} steps, but {len(step_scores)} scores")
    for at, score in enumerate(step_scores):
        if not 0.0 <= score <= 1.0:
            raise ValueError(f"The score of step {at} must lie in [0, 1], got {score}")
    if not tree.heights:
        return 0.0
    weights = _weights(tree, decay, focus_height)
    total = math.fsum(weights.values())
    if not total:
        return 1.0
    # Never above 1: fsum rounds only once, so smaller terms never have a greater sum.
    return math.fsum(weight * step_scores[at] for at, weight in weights.items()) / total


def step_weights(
    tree: ReasoningTree, decay: float = DEFAULT_DECAY, focus_height: int = DEFAULT_FOCUS_HEIGHT
) -> list[float]:
    """The share of each step in the total weight of RPTS, over all its uses."""
    weights = _weights(tree, decay, focus_height)
    total = math.fsum(weights.values())
    return [weights.get(at, 0.0) / total if total else 0.0 for at in range(len(tree.heights))]


def _weights(tree: ReasoningTree, decay: float, focus_height: int) -> dict[int, float]:
    """The weights of used steps, over that of a step of the nearest height; all 0 if that is 0."""
    used = [at for at, uses in enumerate(tree.uses) if uses]
    distances = {at: abs(focus_height - tree.heights[at]) for at in used}
    nearest = min(distances.values(), default=0)
    if not decay and nearest:
        return {}
    # Uses may be too large for a float, but their quotient by a power of 2 is as exact as a float.
    most = 1 << max(tree.uses, default=0).bit_length()
    return {at: tree.uses[at] / most * decay ** (distances[at] - nearest) for at in used}


RIGHT_REASON = 0.5
"""RPTS at or above which the reasoning counts as sound."""


def is_sound(score: float, threshold: float = RIGHT_REASON) -> bool:
    """Whether reasoning with this score counts as sound; floating-point errors are rounded away."""
    return round(score, 9) >= threshold


# --- the first wrong step

Modality = Literal["visual", "textual", "mixed", "inference"]

WRONG_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class StepError:
    """The first wrong step of a chain.

    ``path`` has the indices of the steps on a shortest path from the step to the root, both
    included; ``invalid`` has the step's premises that do not exist.
    """

    step: int
    height: int
    modality: Modality
    score: float
    path: tuple[int, ...]
    invalid: tuple[Clue, ...]


def modality(step: Step) -> Modality:
    """The kind of a step's premises: ``inference`` if a conclusion is among them; else ``visual``,
    ``textual`` (clues or the context), or ``mixed``."""
    kinds = {clue.kind for clue in step.premises}
    if "conclusion" in kinds:
        return "inference"
    if kinds == {"image"}:
        return "visual"
    if kinds <= {"text", "context"}:
        return "textual"
    return "mixed"


def locate_error(tree: ReasoningTree, step_scores: Sequence[float]) -> StepError | None:
    """The first step, in reasoning order, that scores below 0.5; None if none does.

    Only steps that the root depends on count: an unrelated remark is not an error of the argument.
    """
    if len(step_scores) != len(tree.uses):
        raise ValueError(f"{len(tree.uses)} steps, but {len(step_scores)} scores")
    wrong = (at for at, each in enumerate(step_scores) if tree.uses[at] and each < WRONG_BELOW)
    first = next(wrong, None)
    if first is None:
        return None
    # Parents come later in the chain, so one pass from the root finds the shortest paths.
    root, next_step = len(tree.heights) - 1, dict[int, int]()
    distance = {root: 0}
    for at in range(root - 1, first - 1, -1):
        ways = [(distance[parent], parent) for parent in tree.parents[at] if parent in distance]
        if ways:
            nearest, next_step[at] = min(ways)
            distance[at] = nearest + 1
    path = [first]
    while path[-1] != root:
        path.append(next_step[path[-1]])
    return StepError(
        step=first,
        height=tree.heights[first],
        modality=modality(tree.chain.steps[first]),
        score=step_scores[first],
        path=tuple(path),
        invalid=tuple(Clue(it.kind, it.index) for it in tree.invalid if it.step == first),
    )


# --- evidence


def evidence_of(tree: ReasoningTree) -> frozenset[Clue]:
    """The images and textual clues that exist and that the root depends on."""
    faults = {(fault.step, Clue(fault.kind, fault.index)) for fault in tree.invalid}
    return frozenset(
        clue
        for at, step in enumerate(tree.chain.steps)
        if tree.uses[at]
        for clue in step.premises
        if clue.kind in ("image", "text") and (at, clue) not in faults
    )
