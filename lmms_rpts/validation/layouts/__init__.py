"""Registry of the layouts of published step labels, and detection of an object's layout."""

from __future__ import annotations

from collections.abc import Iterable

from lmms_rpts.escaping import did_you_mean
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.layouts.every_step import DELTABENCH, PRMBENCH
from lmms_rpts.validation.layouts.first_error import (
    BIGBENCH_MISTAKE,
    MR_BEN,
    MR_GSM8K,
    PROCESSBENCH,
    REASONEVAL,
    STEPVERIFY,
)
from lmms_rpts.validation.layouts.folio import FOLIO
from lmms_rpts.validation.layouts.parc import PARC
from lmms_rpts.validation.layouts.pictured import PROJUDGEBENCH, VISUALPROCESSBENCH, VLRMBENCH
from lmms_rpts.validation.layouts.prm800k import PRM800K
from lmms_rpts.validation.layouts.ratings import LAYOUT as RATINGS

LAYOUTS: tuple[Layout, ...] = (
    PARC,
    PROCESSBENCH,
    BIGBENCH_MISTAKE,
    MR_BEN,
    MR_GSM8K,
    PRM800K,
    PRMBENCH,
    REASONEVAL,
    STEPVERIFY,
    DELTABENCH,
    FOLIO,
    VISUALPROCESSBENCH,
    VLRMBENCH,
    PROJUDGEBENCH,
    RATINGS,
)


def find_layout(fields: Iterable[str]) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one."""
    there = frozenset(fields)
    found = [layout for layout in LAYOUTS if layout.fields <= there]
    return found[0] if len(found) == 1 else None


def layout_named(name: str) -> Layout:
    """The layout with this name.

    Raises:
        LookupError: there is no layout of this name; the message lists the known ones.
    """
    names = [layout.name for layout in LAYOUTS]
    if name in names:
        return LAYOUTS[names.index(name)]
    hint = did_you_mean(name.lower(), names) or f" Known sets: {', '.join(names)}"
    raise LookupError(f"Unknown set {name!r}.{hint}")
