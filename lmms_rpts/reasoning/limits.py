"""Limits on the length of chains, for responses of looping models."""

from __future__ import annotations

from dataclasses import replace

from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.tree import cited_steps

MAX_PREMISES = 64
"""Maximum number of premises per step; the longest gold step has 3."""


def distinct_premises(chain: ReasoningChain) -> ReasoningChain:
    """A chain whose steps have at most 64 premises each, without duplicates."""

    def tidy(step: Step) -> Step:
        return Step(tuple(dict.fromkeys(step.premises))[:MAX_PREMISES], step.conclusion)

    return replace(chain, steps=tuple(map(tidy, chain.steps)))


def limit_steps(chain: ReasoningChain, most: int) -> tuple[ReasoningChain, tuple[str, ...]]:
    """Shorten a chain to at most ``most`` steps, with a note on what was cut.

    The last step stays, since the score is about the argument for it. Steps that it does not depend
    on are removed, since they do not affect the score, and then the earliest of the others. A
    reference to a removed step becomes invalid.
    """
    total = len(chain.steps)
    if total <= most:
        return chain, ()
    needed = {total - 1}
    for at in reversed(range(total)):
        if at in needed:
            needed.update(cited_steps(chain, at))
    kept = sorted(needed)[-most:]
    place = {old: new for new, old in enumerate(kept)}

    def move(clue: Clue) -> Clue:
        if clue.kind != "conclusion" or clue.index is None:
            return clue
        return Clue("conclusion", place.get(clue.index, total + clue.index))

    steps = tuple(
        Step(tuple(map(move, chain.steps[old].premises)), chain.steps[old].conclusion)
        for old in kept
    )
    note = f"{total} steps; only the {len(kept)} on which the last one depends are judged"
    return replace(chain, steps=steps), (note,)
