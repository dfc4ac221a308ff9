"""Labelled chains of steps, the form that all layouts are read into, and samples of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

Labels = tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class LabelledChain:
    """One solution, cut into steps, with a label for each step.

    Attributes:
        question: id of the question that it answers. Intervals resample questions, because chains
            of one question are not independent.
        stratum: the subset or subject that it belongs to.
        labels: whether each step is sound; None: unlabelled or neutral, neither judged nor counted.
        language: language of the judge's prompt: ``en`` or ``zh``.
        premises: premises of each step, if the data give them; None: all earlier steps.
        located: whether the data give the place of the first error, or state that there is none.
        images: names of the question's images, as in the data.
        files: the files of these images; empty if one of them is missing.
    """

    id: str
    question: str
    stratum: str
    context: str
    steps: tuple[str, ...]
    labels: Labels
    language: str = "en"
    premises: tuple[tuple[str, ...], ...] | None = None
    located: bool = True
    images: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def asked(self) -> tuple[int, ...]:
        """Numbers of the labelled steps, which are the ones sent to a judge."""
        return tuple(at for at, label in enumerate(self.labels) if label is not None)


def draw(chains: Sequence[LabelledChain], limit: int | None) -> list[LabelledChain]:
    """At most ``limit`` chains, in their order: a sample that keeps the shares of strata.

    Strata are the parts of the set, each split into chains with and without an error. Each gives
    its share of the chains, rounded up or down, and a hash of their names chooses them: whatever
    the judge and the order of the files. None: all.
    """
    if limit is None or limit >= len(chains):
        return list(chains)

    def rank(at: int) -> tuple[str, bool, bytes]:
        chain = chains[at]
        digest = hashlib.sha256(f"{chain.stratum}\0{chain.id}".encode()).digest()
        return chain.stratum, False in chain.labels, digest

    ranked = sorted(range(len(chains)), key=rank)
    taken = [ranked[(2 * number + 1) * len(chains) // (2 * limit)] for number in range(limit)]
    return [chains[at] for at in sorted(taken)]
