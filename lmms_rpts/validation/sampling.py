"""Stratified sampling of the chains of a set, identical for every judge."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from lmms_rpts.validation.chains import LabelledChain

Stratum = tuple[str, bool]


def draw(chains: Sequence[LabelledChain], limit: int | None, seed: int) -> list[LabelledChain]:
    """At most ``limit`` chains, in their original order.

    Strata are the parts of the set, each split into chains with and without an error. Each stratum
    gets its share of the limit (largest remainders), so that the prevalence of errors is
    preserved. Within a stratum, chains are chosen by a hash of seed and id: the choice does not
    depend on the judge, on the order of the files or on other sets.

    Args:
        limit: maximum number of chains; None: all.
        seed: seed of the choice.
    """
    if limit is None or limit >= len(chains):
        return list(chains)
    strata: dict[Stratum, list[int]] = {}
    for at, chain in enumerate(chains):
        strata.setdefault((chain.stratum, chain.has_error), []).append(at)
    taken: list[int] = []
    for stratum, size in _sizes(strata, limit, len(chains)).items():
        ranked = sorted(strata[stratum], key=lambda at: _rank(chains[at], seed))
        taken += ranked[:size]
    return [chains[at] for at in sorted(taken)]


def _sizes(strata: dict[Stratum, list[int]], limit: int, total: int) -> dict[Stratum, int]:
    """Number of chains of each stratum; remaining places go to the largest remainders."""
    quotas = {name: divmod(len(members) * limit, total) for name, members in strata.items()}
    sizes = {name: whole for name, (whole, _) in quotas.items()}
    by_rest = sorted(strata, key=lambda name: (-quotas[name][1], name))
    for name in by_rest[: limit - sum(sizes.values())]:
        sizes[name] += 1
    return sizes


def _rank(chain: LabelledChain, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{chain.stratum}\0{chain.id}".encode()).digest()
