"""What can be told about a run, before and after it: plain functions, for notebooks as well.

Each name is imported when it is first used: pandas and lmms-eval take their time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.analysis.agreement import agreement_of_judges, agreement_with_humans
    from lmms_rpts.analysis.cmmath import CmmathRun, read_cmmath_runs
    from lmms_rpts.analysis.cmmath_points import tree_frame
    from lmms_rpts.analysis.cmmath_summary import summarize_cmmath
    from lmms_rpts.analysis.comparison import compare_runs
    from lmms_rpts.analysis.estimate import Estimate, Need, estimate_need
    from lmms_rpts.analysis.exporting import rating_frame, read_frame, write_frame
    from lmms_rpts.analysis.frames import documents_frame, responses_frame, steps_frame
    from lmms_rpts.analysis.health.examination import examine
    from lmms_rpts.analysis.human import read_ratings
    from lmms_rpts.analysis.overview import overview_of
    from lmms_rpts.analysis.rome import RomeRun, read_rome_runs
    from lmms_rpts.analysis.rome_summary import summarize_rome
    from lmms_rpts.analysis.runs import Run, read_run, read_runs
    from lmms_rpts.analysis.samples import RunError
    from lmms_rpts.analysis.statistics import estimate_mean
    from lmms_rpts.analysis.summary import summarize
    from lmms_rpts.analysis.sweeping import sweep

_MODULES = {
    "agreement": ("agreement_of_judges", "agreement_with_humans"),
    "cmmath": ("CmmathRun", "read_cmmath_runs"),
    "cmmath_points": ("tree_frame",),
    "cmmath_summary": ("summarize_cmmath",),
    "comparison": ("compare_runs",),
    "estimate": ("Estimate", "Need", "estimate_need"),
    "exporting": ("rating_frame", "read_frame", "write_frame"),
    "frames": ("documents_frame", "responses_frame", "steps_frame"),
    "health.examination": ("examine",),
    "human": ("read_ratings",),
    "overview": ("overview_of",),
    "rome": ("RomeRun", "read_rome_runs"),
    "rome_summary": ("summarize_rome",),
    "runs": ("Run", "read_run", "read_runs"),
    "samples": ("RunError",),
    "statistics": ("estimate_mean",),
    "summary": ("summarize",),
    "sweeping": ("sweep",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "CmmathRun",
    "Estimate",
    "Need",
    "RomeRun",
    "Run",
    "RunError",
    "agreement_of_judges",
    "agreement_with_humans",
    "compare_runs",
    "documents_frame",
    "estimate_mean",
    "estimate_need",
    "examine",
    "overview_of",
    "rating_frame",
    "read_cmmath_runs",
    "read_frame",
    "read_ratings",
    "read_rome_runs",
    "read_run",
    "read_runs",
    "responses_frame",
    "steps_frame",
    "summarize",
    "summarize_cmmath",
    "summarize_rome",
    "sweep",
    "tree_frame",
    "write_frame",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
