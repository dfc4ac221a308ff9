"""Analyses of runs as functions, before and after a run, for scripts and notebooks.

Names are imported on first use, because pandas and lmms-eval are slow to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.analysis.agreement import agreement_of_judges, agreement_with_humans
    from lmms_rpts.analysis.comparison import compare_runs
    from lmms_rpts.analysis.dataframes import documents_frame, responses_frame, steps_frame
    from lmms_rpts.analysis.estimate import Estimate, Need, estimate_need
    from lmms_rpts.analysis.export import read_frame, write_frame
    from lmms_rpts.analysis.overview import overview_of
    from lmms_rpts.analysis.ratings import read_ratings
    from lmms_rpts.analysis.sweeping import sweep
    from lmms_rpts.analysis.validity import validity_notes
    from lmms_rpts.runs.samples import RunError
    from lmms_rpts.runs.validity import read_validity_files
    from lmms_rpts.stats.intervals import estimate_mean
    from lmms_rpts.tasks.cmmath.knowledge import tree_frame
    from lmms_rpts.tasks.cmmath.record import CmmathRun, read_cmmath_runs
    from lmms_rpts.tasks.cmmath.summary import summarize_cmmath
    from lmms_rpts.tasks.reform_eval.record import ReformRun, read_reform_runs
    from lmms_rpts.tasks.reform_eval.summary import summarize_reform
    from lmms_rpts.tasks.rome.record import RomeRun, read_rome_runs
    from lmms_rpts.tasks.rome.summary import summarize_rome
    from lmms_rpts.tasks.rpts_eval.runs import Run, read_run, read_runs
    from lmms_rpts.tasks.rpts_eval.summary import summarize

_MODULES = {
    "analysis.agreement": ("agreement_of_judges", "agreement_with_humans"),
    "analysis.comparison": ("compare_runs",),
    "analysis.dataframes": ("documents_frame", "responses_frame", "steps_frame"),
    "analysis.estimate": ("Estimate", "Need", "estimate_need"),
    "analysis.export": ("read_frame", "write_frame"),
    "analysis.overview": ("overview_of",),
    "analysis.ratings": ("read_ratings",),
    "tasks.rpts_eval.summary": ("summarize",),
    "analysis.sweeping": ("sweep",),
    "analysis.validity": ("validity_notes",),
    "runs.samples": ("RunError",),
    "runs.validity": ("read_validity_files",),
    "stats.intervals": ("estimate_mean",),
    "tasks.cmmath.knowledge": ("tree_frame",),
    "tasks.cmmath.record": ("CmmathRun", "read_cmmath_runs"),
    "tasks.cmmath.summary": ("summarize_cmmath",),
    "tasks.reform_eval.record": ("ReformRun", "read_reform_runs"),
    "tasks.reform_eval.summary": ("summarize_reform",),
    "tasks.rome.record": ("RomeRun", "read_rome_runs"),
    "tasks.rpts_eval.runs": ("Run", "read_run", "read_runs"),
    "tasks.rome.summary": ("summarize_rome",),
}
_PLACES = {name: f"lmms_rpts.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "CmmathRun",
    "Estimate",
    "Need",
    "ReformRun",
    "RomeRun",
    "Run",
    "RunError",
    "agreement_of_judges",
    "agreement_with_humans",
    "compare_runs",
    "documents_frame",
    "estimate_mean",
    "estimate_need",
    "overview_of",
    "read_cmmath_runs",
    "read_frame",
    "read_ratings",
    "read_reform_runs",
    "read_rome_runs",
    "read_run",
    "read_runs",
    "read_validity_files",
    "responses_frame",
    "steps_frame",
    "summarize",
    "summarize_cmmath",
    "summarize_reform",
    "summarize_rome",
    "sweep",
    "tree_frame",
    "validity_notes",
    "write_frame",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
