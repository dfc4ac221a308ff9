"""lmms-eval filters that convert free-text reasoning into a scored tree.

Modules are imported on first access: lmms-eval's modules take a second to import, and code that
only reads records does not need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmms_rpts.late_names import late_names

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

__getattr__, __dir__ = late_names(
    __name__, {name: f"{__name__}.{module}" for name, module in _MODULES.items()}
)
