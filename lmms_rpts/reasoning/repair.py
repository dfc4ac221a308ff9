"""Repair of a chain before judging, as published (RPTS, arXiv 2511.06899)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lmms_rpts.reasoning.clues import Clue, ReasoningChain, Step

Restates = Callable[[str, str], bool]
"""Whether a conclusion only restates a textual clue: ``restates(conclusion, clue)``."""


def repair_chain(
    chain: ReasoningChain,
    textual_clues: Sequence[str],
    restates: Restates,
    n_images: int | None = None,
) -> ReasoningChain:
    """Repair a chain as in the published code, in one pass over the steps.

    - A premise without a number becomes all clues of its kind (conclusions: all earlier ones).
    - A step from one image alone is merged into an earlier step from the same image alone
      (conclusions joined with ``;``).
    - An image next to other premises is replaced by that image's conclusion, if there is one.
    - A step from one textual clue alone that restates it is dropped; references go to the clue.
    - A step without premises is dropped, together with references to it.

    Args:
        chain: the parsed chain.
        textual_clues: the instance's textual clues, by number.
        restates: whether a conclusion restates a clue.
        n_images: number of images of the instance; None: as many as the chain names.

    Returns:
        A chain without new invalid references. Forward references and references to steps that
        never existed remain invalid.
    """
    if n_images is None:
        named = [
            clue.index
            for step in chain.steps
            for clue in step.premises
            if clue.kind == "image" and clue.index is not None
        ]
        n_images = max(named, default=0) + 1
    pass_ = _Repair(n_images, textual_clues, restates)
    for step in chain.steps:
        pass_.add(step)
    steps = tuple(Step(tuple(p), ";".join(c)) for p, c in pass_.kept)
    return ReasoningChain(steps, chain.language, chain.problems + tuple(pass_.problems))


@dataclass
class _Repair:
    n_images: int
    textual_clues: Sequence[str]
    restates: Restates
    kept: list[tuple[list[Clue], list[str]]] = field(default_factory=list)
    became: list[Clue | None] = field(default_factory=list)
    of_image: dict[int, Clue] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, step: Step) -> None:
        premises = [new for clue in step.premises for new in self._follow(clue)]
        if len(premises) > 1:
            premises = [self._through_image(clue) for clue in premises]
        self.became.append(self._place(premises, step.conclusion))

    def _follow(self, clue: Clue) -> list[Clue]:
        if clue.kind == "context":
            return [clue]
        if clue.index is None:
            return [Clue(clue.kind, k) for k in range(self._count(clue.kind))]
        if clue.kind != "conclusion" or clue.index >= len(self.became):
            return [clue]
        new = self.became[clue.index]
        return [] if new is None else [new]

    def _count(self, kind: str) -> int:
        counts = {"image": self.n_images, "text": len(self.textual_clues)}
        return counts.get(kind, len(self.kept))

    def _through_image(self, clue: Clue) -> Clue:
        if clue.kind == "image" and clue.index is not None:
            return self.of_image.get(clue.index, clue)
        return clue

    def _place(self, premises: list[Clue], conclusion: str) -> Clue | None:
        if not premises:
            self.problems.append(f"step {len(self.became)}: dropped, it cites no premise")
            return None
        here = Clue("conclusion", len(self.kept))
        if len(premises) == 1:
            kind, index = premises[0].kind, premises[0].index
            if kind == "image" and index is not None:
                first = self.of_image.setdefault(index, here)
                if first is not here and first.index is not None:
                    self.kept[first.index][1].append(conclusion)
                    return first
            elif kind == "text" and index is not None and self._restates(conclusion, index):
                return premises[0]
        self.kept.append((premises, [conclusion]))
        return here

    def _restates(self, conclusion: str, index: int) -> bool:
        clues = self.textual_clues
        return index < len(clues) and self.restates(conclusion, clues[index])
