"""``cmmath_grade``: the filter of CMMaTH for lmms-eval."""

from __future__ import annotations

from lmms_rpts.filters.grading import GradingFilter
from lmms_rpts.tasks.cmmath.scorer import CmmathScorer


class CmmathGradeFilter(GradingFilter):
    """Turns each response into one JSON string, its record; see `CmmathScorer`."""

    SCORER = CmmathScorer
    ORDER = "use cmmath_grade alone"
