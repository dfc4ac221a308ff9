"""HTML of objects in a notebook (``_repr_html_``), made by ``report.notebook`` at first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def html_of(name: str, value: Any) -> str:
    """The HTML that a function of ``lmms_rpts.report.notebook`` makes of a value.

    The packages of records, runs and trees import nothing for it until a notebook asks.
    """
    made: str = getattr(import_module("lmms_rpts.report.notebook"), name)(value)
    return made
