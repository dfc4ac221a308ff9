"""The built-in set of labelled steps."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_rpts.runs.validity import BUILT_IN
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.loading import LoadedSet
from lmms_rpts.validation.own_steps import own_chains
from lmms_rpts.validation.rows import Row, RowError


def own_set() -> LoadedSet:
    """The demo's instances: their gold steps, and manually written wrong steps."""
    chains = own_chains()
    return LoadedSet(BUILT_IN, LAYOUT, chains, rows=len(chains))


def _read(row: Row) -> Iterable[LabelledChain]:
    raise RowError("(row)", "does not come from a file")


LAYOUT = Layout(
    name=BUILT_IN,
    title="labelled steps of lmms-rpts: the demo's instances, sound and with written errors",
    fields=frozenset(),
    read=_read,
    labels="written by the authors of lmms-rpts; too few and too simple to rank judges",
    licence="MIT",
    source="part of this package",
    fixed_premises=True,
)
