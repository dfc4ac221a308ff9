"""``rome_answer``: the filter of ROME for lmms-eval."""

from __future__ import annotations

from lmms_rpts.filters.grading import GradingFilter
from lmms_rpts.tasks.rome.scorer import RomeScorer


class RomeAnswerFilter(GradingFilter):
    """Turns each response into one JSON string, its record; see `RomeScorer`."""

    SCORER = RomeScorer
    ORDER = "use rome_answer alone"
