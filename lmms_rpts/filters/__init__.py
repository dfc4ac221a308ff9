"""lmms-eval filters that turn free-text reasoning into a scored tree."""

from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.base import FilterInputError, JudgingFilter, RptsFilter
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter

FILTERS: dict[str, type[RptsFilter]] = {
    "rpts_transform": TransformFilter,
    "rpts_score": ScoreFilter,
    "rpts_aggregate": AggregateFilter,
}

__all__ = [
    "FILTERS",
    "AggregateFilter",
    "FilterInputError",
    "JudgingFilter",
    "RptsFilter",
    "ScoreFilter",
    "TransformFilter",
]
