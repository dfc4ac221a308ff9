"""The reasoning tree of a chain: heights, parents, invalid references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lmms_rpts.escaping import count
from lmms_rpts.notebook import html_of
from lmms_rpts.reasoning.clues import Clue, ReasoningChain


@dataclass(frozen=True, slots=True)
class InvalidReference:
    """A premise that is not available to the step; it counts as a leaf without evidence."""

    step: int
    clue: Clue
    reason: str


@dataclass(frozen=True, slots=True)
class ReasoningTree:
    """A chain seen from its last step, the root (RPTS, arXiv 2511.06899).

    Attributes:
        chain: the chain.
        heights: for each step, 1 + the height of its highest premise; leaves have height 0.
        parents: for each step, the steps that cite it, in order, once for each citation.
        uses: for each step, the number of its occurrences in the tree with shared conclusions
            unrolled; 0 for a step that the root does not depend on. Exact, and possibly
            astronomically large.
        invalid: references to clues that do not exist, or to steps that are not earlier.
    """

    chain: ReasoningChain
    heights: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]
    uses: tuple[int, ...]
    invalid: tuple[InvalidReference, ...]

    def __repr__(self) -> str:
        invalid = f", {count(len(self.invalid), 'invalid reference')}" if self.invalid else ""
        height = max(self.heights, default=0)
        return f"<ReasoningTree: {count(len(self.heights), 'step')}, height {height}{invalid}>"

    def _repr_html_(self) -> str:
        return html_of("tree_html", self)

    @property
    def root(self) -> int | None:
        """Index of the root step, None for an empty chain."""
        return len(self.heights) - 1 if self.heights else None


def build_tree(chain: ReasoningChain, n_images: int, n_texts: int) -> ReasoningTree:
    """Build the tree of a chain, in time linear in the number of premises.

    Args:
        chain: the (repaired) chain.
        n_images: number of images of the instance.
        n_texts: number of textual clues of the instance.

    Returns:
        The tree, with invalid references listed.
    """
    heights: list[int] = []
    parents: list[list[int]] = [[] for _ in chain.steps]
    invalid: list[InvalidReference] = []
    for at, step in enumerate(chain.steps):
        height = 0
        for clue in step.premises:
            reason = _fault(clue, at, len(chain.steps), n_images, n_texts)
            if reason:
                invalid.append(InvalidReference(at, clue, reason))
        for child in cited_steps(chain, at):
            parents[child].append(at)
            height = max(height, heights[child])
        heights.append(height + 1)
    uses = [0] * len(heights)
    if uses:
        uses[-1] = 1
    for at in reversed(range(len(uses))):
        if uses[at]:
            for child in cited_steps(chain, at):
                uses[child] += uses[at]
    return ReasoningTree(
        chain, tuple(heights), tuple(map(tuple, parents)), tuple(uses), tuple(invalid)
    )


def cited_steps(chain: ReasoningChain, at: int) -> Iterator[int]:
    """Indices of the steps that step ``at`` cites validly, once per citation."""
    for clue in chain.steps[at].premises:
        if clue.kind == "conclusion" and clue.index is not None and clue.index < at:
            yield clue.index


def _fault(clue: Clue, at: int, n_steps: int, n_images: int, n_texts: int) -> str | None:
    if clue.kind == "context":
        return None
    if clue.index is None:
        return f"the {clue.kind} has no number"
    if clue.kind == "conclusion":
        if clue.index < at:
            return None
        if clue.index >= n_steps:
            return "no step has this number"
        return "the step cites itself" if clue.index == at else "the step comes later"
    available = n_images if clue.kind == "image" else n_texts
    if clue.index < available:
        return None
    if not available:
        return f"there are no {clue.kind}s"
    few = f"is only 1 {clue.kind}" if available == 1 else f"are only {available} {clue.kind}s"
    return f"there {few}, numbered from 0"
