"""lmms-eval filters that convert free-text reasoning into a scored tree.

Modules are imported on first access: lmms-eval's modules take a second to import, and code that
only reads records does not need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.filters.aggregate import AggregateFilter
    from lmms_rpts.filters.base import FilterInputError, JudgingFilter, RptsFilter
    from lmms_rpts.filters.score import ScoreFilter
    from lmms_rpts.filters.transform import TransformFilter

__all__ = [
    "AggregateFilter",
    "FilterInputError",
    "JudgingFilter",
    "RptsFilter",
    "ScoreFilter",
    "TransformFilter",
]

_MODULES = {
    "AggregateFilter": "aggregate",
    "FilterInputError": "base",
    "JudgingFilter": "base",
    "RptsFilter": "base",
    "ScoreFilter": "score",
    "TransformFilter": "transform",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})  # for help() and completion, before the first use
