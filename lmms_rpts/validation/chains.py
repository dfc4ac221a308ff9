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
        id: unique within its set.
        question: id of the question that it answers. Intervals resample questions, because chains
            of one question are not independent.
        stratum: the subset or subject that it belongs to.
        steps: texts of the steps, unchanged from the data.
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

    @property
    def first_error(self) -> int | None:
        """Number of the first wrong step, from 0; None: there is none."""
        return self.labels.index(False) if False in self.labels else None


def draw(chains: Sequence[LabelledChain], limit: int | None, seed: int) -> list[LabelledChain]:
    """At most ``limit`` chains, in their original order: a stratified sample.

    Strata are the parts of the set, each split into chains with and without an error. Each stratum
    gets its share of the limit (largest remainders), so that the share of wrong chains is
    preserved. Within a stratum, chains are chosen by a hash of seed and id: the choice does not
    depend on the judge, on the order of the files or on other sets.

    Args:
        limit: maximum number of chains; None: all.
    """
    if limit is None or limit >= len(chains):
        return list(chains)
    strata: dict[tuple[str, bool], list[int]] = {}
    for at, chain in enumerate(chains):
        strata.setdefault((chain.stratum, chain.first_error is not None), []).append(at)
    quotas = {name: divmod(len(own) * limit, len(chains)) for name, own in strata.items()}
    sizes = {name: quota for name, (quota, _) in quotas.items()}
    by_rest = sorted(strata, key=lambda name: (-quotas[name][1], name))
    for name in by_rest[: limit - sum(sizes.values())]:
        sizes[name] += 1

    def rank(at: int) -> bytes:
        named = f"{seed}\0{chains[at].stratum}\0{chains[at].id}"
        return hashlib.sha256(named.encode()).digest()

    taken = [at for name, own in strata.items() for at in sorted(own, key=rank)[: sizes[name]]]
    return [chains[at] for at in sorted(taken)]
