"""lmms-eval filters: free-text reasoning becomes a scored tree, answers are graded."""

from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.base import FilterInputError, JudgingFilter, RptsFilter
from lmms_rpts.filters.cmmath import CmmathGradeFilter
from lmms_rpts.filters.cmmath_transform import CmmathTransformFilter
from lmms_rpts.filters.rome import RomeAnswerFilter
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.filters.transform import TransformFilter

FILTERS: dict[str, type[RptsFilter]] = {
    "rpts_transform": TransformFilter,
    "rpts_score": ScoreFilter,
    "rpts_aggregate": AggregateFilter,
    "rome_answer": RomeAnswerFilter,
    "cmmath_grade": CmmathGradeFilter,
    "cmmath_transform": CmmathTransformFilter,
}

__all__ = [
    "FILTERS",
    "AggregateFilter",
    "CmmathGradeFilter",
    "CmmathTransformFilter",
    "FilterInputError",
    "JudgingFilter",
    "RomeAnswerFilter",
    "RptsFilter",
    "ScoreFilter",
    "TransformFilter",
]
