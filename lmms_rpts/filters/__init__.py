"""lmms-eval filters: free-text reasoning becomes a scored tree."""

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
