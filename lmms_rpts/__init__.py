"""Did the model reason its way to the answer, or just land on it?

A plugin for lmms-eval: importing this package, or having it installed, adds its tasks, filters and
models to lmms-eval. ``import lmms_rpts as lr`` has the analyses of runs as functions, such as
``lr.read_runs``; they are imported on first use, because pandas and lmms-eval are slow to import.
The reasoning core is in ``lmms_rpts.reasoning``, the client of judges in ``lmms_rpts.judging``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lmms_rpts.plugin import register

if TYPE_CHECKING:
    from lmms_rpts.analysis.agreements import agreement as agreement
    from lmms_rpts.analysis.agreements import read_ratings as read_ratings
    from lmms_rpts.analysis.comparison import compare_runs as compare_runs
    from lmms_rpts.analysis.comparison import parts_of as parts_of
    from lmms_rpts.analysis.estimate import estimate_need as estimate_need
    from lmms_rpts.analysis.frames import read_runs as read_runs
    from lmms_rpts.analysis.frames import responses_frame as responses_frame
    from lmms_rpts.analysis.frames import steps_frame as steps_frame
    from lmms_rpts.analysis.scoring import score as score
    from lmms_rpts.analysis.summary import summarize as summarize
    from lmms_rpts.analysis.sweeping import sweep as sweep
    from lmms_rpts.runs.reading import RunError as RunError
    from lmms_rpts.runs.run import Run as Run

__version__ = "0.3.0"

_MODULES = {
    "analysis.agreements": "agreement read_ratings",
    "analysis.comparison": "compare_runs parts_of",
    "analysis.estimate": "estimate_need",
    "analysis.frames": "read_runs responses_frame steps_frame",
    "analysis.scoring": "score",
    "analysis.summary": "summarize",
    "analysis.sweeping": "sweep",
    "runs.reading": "RunError",
    "runs.run": "Run",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = sorted(_PLACES)


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"lmms_rpts.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


register()
