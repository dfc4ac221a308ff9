"""Groups of the RPTS metrics, and how to read their values."""

from __future__ import annotations

from collections.abc import Mapping

from lmms_rpts.filters.record import DIAGNOSTICS
from lmms_rpts.tasks.rpts_eval.results import LOWER_IS_BETTER

__all__ = ["COUNTS", "GROUPS", "LOWER_IS_BETTER", "NEITHER_IS_BETTER", "UNJUDGED"]

GROUPS: Mapping[str, tuple[str, ...]] = {
    "as published": (
        "rpts",
        "accuracy",
        "accuracy_rpts",
        "right_for_wrong_reason",
        "rpts_visual",
        "rpts_textual",
        "parse_rate",
        "judge_coverage",
    ),
    "guarded": (
        "rpts_guarded",
        "accuracy_guarded",
        "right_for_wrong_reason_guarded",
        "root_bears",
        "guarded_coverage",
    ),
    "diagnostics of the chains": DIAGNOSTICS,
}
"""All metrics, the headline of each group first."""

NEITHER_IS_BETTER = frozenset({"steps", "judge_coverage", "guarded_coverage"})
UNJUDGED = frozenset({"accuracy", "parse_rate"})
"""Metrics that need no judge."""

COUNTS = frozenset({"missing_references", "steps"})
"""Metrics without an upper bound; all others are in [0, 1]."""
