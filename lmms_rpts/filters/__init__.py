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

_PLACES = {
    "AggregateFilter": "lmms_rpts.filters.aggregate",
    "FilterInputError": "lmms_rpts.filters.base",
    "JudgingFilter": "lmms_rpts.filters.base",
    "RptsFilter": "lmms_rpts.filters.base",
    "ScoreFilter": "lmms_rpts.filters.score",
    "TransformFilter": "lmms_rpts.filters.transform",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
