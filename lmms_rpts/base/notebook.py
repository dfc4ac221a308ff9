"""HTML of objects in a notebook (``_repr_html_``); ``report.notebook`` is imported on demand."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def html_of(name: str, value: Any) -> str:
    """HTML of a value from the function ``name`` of ``lmms_rpts.report.notebook``.

    The function is imported only when a notebook shows the value.
    """
    made: str = getattr(import_module("lmms_rpts.report.notebook"), name)(value)
    return made
