"""Honest chains of other shapes, and chains of graded quality, from the gold reasoning."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from benchmarks.ideal_judge import Instance, joined, nonsense
from lmms_rpts.reasoning import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.tree import cited_steps

Shape = Callable[[Instance, random.Random], ReasoningChain]

CORRUPTED = (0.0, 0.1, 0.25, 0.5, 1.0)
"""The share of corrupted steps of each graded model, from the best to the worst."""


def as_it_is(instance: Instance, draw: random.Random) -> ReasoningChain:
    """The gold reasoning."""
    return instance.gold


def reordered(instance: Instance, draw: random.Random) -> ReasoningChain:
    """The steps in another order; each still comes after the steps that it cites."""
    chain = instance.gold
    last = len(chain.steps) - 1
    left = set(range(last))
    order: list[int] = []
    while left:
        free = sorted(at for at in left if left.isdisjoint(cited_steps(chain, at)))
        order.append(draw.choice(free))
        left.remove(order[-1])
    return _renumbered(chain, [*order, last])


def split_in_two(instance: Instance, draw: random.Random) -> ReasoningChain:
    """Each inference from two texts split into two steps: one joins them, the other concludes."""
    chain = instance.gold
    steps: list[Step] = []
    place: dict[int, int] = {}
    for at, step in enumerate(chain.steps):
        premises = tuple(_placed(clue, place) for clue in step.premises)
        texts = [_text(clue, instance, at) for clue in step.premises]
        said = [text for text in texts if text is not None]
        if len(said) == len(texts) == 2:
            steps.append(Step(premises, joined(*said)))
            premises = (Clue("conclusion", len(steps) - 1),)
        steps.append(Step(premises, step.conclusion))
        place[at] = len(steps) - 1
    return replace(chain, steps=tuple(steps))


def merged_in_pairs(instance: Instance, draw: random.Random) -> ReasoningChain:
    """Each inference that only one step cites merged into that step; each step merges once."""
    chain = instance.gold
    steps = list(chain.steps)
    cited = [list(cited_steps(chain, at)) for at in range(len(steps))]
    merged: set[int] = set()
    gone: set[int] = set()
    for at, below in enumerate(cited):
        for child in below:
            alone = sum(other.count(child) for other in cited) == 1
            if alone and _infers(chain.steps[child]) and not {at, child} & merged:
                premises = (*steps[child].premises, *steps[at].premises)
                own = dict.fromkeys(clue for clue in premises if clue != Clue("conclusion", child))
                steps[at] = Step(tuple(own), steps[at].conclusion)
                merged |= {at, child}
                gone.add(child)
    kept = [at for at in range(len(steps)) if at not in gone]
    return _renumbered(replace(chain, steps=tuple(steps)), kept)


def corrupted(instance: Instance, share: float, seed: str) -> ReasoningChain:
    """The gold reasoning with a random share of its conclusions replaced by nonsense."""
    draw = random.Random(f"{seed} {instance.language} {instance.doc['id']} {share}")
    steps = [
        replace(step, conclusion=nonsense(at)) if draw.random() < share else step
        for at, step in enumerate(instance.gold.steps)
    ]
    return replace(instance.gold, steps=tuple(steps))


def _text(clue: Clue, instance: Instance, at: int) -> str | None:
    """The text of a premise of step ``at``; None for images and for clues that do not exist."""
    if clue.kind == "text" and clue.index is not None and clue.index < len(instance.clues):
        return instance.clues[clue.index]
    if clue.kind == "conclusion" and clue.index is not None and clue.index < at:
        return instance.gold.steps[clue.index].conclusion
    return None


def _infers(step: Step) -> bool:
    """Whether a step cites no image itself; steps on images are never merged into others."""
    return all(clue.kind != "image" for clue in step.premises)


def _renumbered(chain: ReasoningChain, order: Sequence[int]) -> ReasoningChain:
    place = {old: new for new, old in enumerate(order)}
    steps = [chain.steps[old] for old in order]
    return replace(
        chain,
        steps=tuple(
            replace(step, premises=tuple(_placed(clue, place) for clue in step.premises))
            for step in steps
        ),
    )


def _placed(clue: Clue, place: Mapping[int, int]) -> Clue:
    if clue.kind != "conclusion" or clue.index is None:
        return clue
    # A few gold steps cite steps that do not come before them.
    return Clue("conclusion", place.get(clue.index, clue.index))


SHAPES: dict[str, Shape] = {
    "gold": as_it_is,
    "reordered": reordered,
    "split in two": split_in_two,
    "merged in pairs": merged_in_pairs,
}
