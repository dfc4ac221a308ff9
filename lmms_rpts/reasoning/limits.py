"""Limits on the length of chains, for responses of looping models."""

from __future__ import annotations

from dataclasses import replace

from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step
from lmms_rpts.reasoning.tree import cited_steps

MAX_PREMISES = 64
"""Premises of one step that are kept; the longest gold step has 3."""


def distinct_premises(chain: ReasoningChain) -> ReasoningChain:
    """Each step with each of its premises once, and with 64 of them at most."""

    def tidy(step: Step) -> Step:
        return Step(tuple(dict.fromkeys(step.premises))[:MAX_PREMISES], step.conclusion)

    return replace(chain, steps=tuple(map(tidy, chain.steps)))


def limit_steps(chain: ReasoningChain, most: int) -> tuple[ReasoningChain, tuple[str, ...]]:
    """A chain of at most ``most`` steps, and what to say of the cut.

    The last step stays, since the score is that of the argument for it. Of a longer chain first
    the steps go that it does not rest on, which don't enter the score, then the earliest others;
    a reference to a step that went leads nowhere.
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
    note = f"{total} steps; only {len(kept)} are judged, of those that the last one rests on"
    return replace(chain, steps=steps), (note,)
