"""The judge engine: concurrent requests to judges, with retries, cache and budget.

Names are imported on first use: code that only reads runs does not need the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_rpts.judging.backends import BACKENDS, NO_JUDGE
    from lmms_rpts.judging.budget import Budget
    from lmms_rpts.judging.engine import Dialogue, JudgeEngine
    from lmms_rpts.judging.parsers.scores import parse_score
    from lmms_rpts.judging.registry import (
        caveats,
        choices,
        comparable,
        count_paid,
        find_judges,
        open_budget,
        open_engine,
        sees,
        writes,
    )
    from lmms_rpts.judging.types import (
        AdaptedError,
        Backend,
        FatalJudgeError,
        Judge,
        JudgeConfigurationError,
        JudgeRequest,
        Member,
        Opinion,
        RefusedError,
        Reply,
        TransientError,
        Usage,
        Verdict,
    )

_MODULES = {
    "backends": (
        "BACKENDS",
        "NO_JUDGE",
    ),
    "budget": ("Budget",),
    "engine": (
        "Dialogue",
        "JudgeEngine",
    ),
    "parsers.scores": ("parse_score",),
    "registry": (
        "caveats",
        "choices",
        "comparable",
        "count_paid",
        "find_judges",
        "open_budget",
        "open_engine",
        "sees",
        "writes",
    ),
    "types": (
        "AdaptedError",
        "Backend",
        "FatalJudgeError",
        "Judge",
        "JudgeConfigurationError",
        "JudgeRequest",
        "Member",
        "Opinion",
        "RefusedError",
        "Reply",
        "TransientError",
        "Usage",
        "Verdict",
    ),
}
_PLACES = {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}

__all__ = [
    "BACKENDS",
    "NO_JUDGE",
    "AdaptedError",
    "Backend",
    "Budget",
    "Dialogue",
    "FatalJudgeError",
    "Judge",
    "JudgeConfigurationError",
    "JudgeEngine",
    "JudgeRequest",
    "Member",
    "Opinion",
    "RefusedError",
    "Reply",
    "TransientError",
    "Usage",
    "Verdict",
    "caveats",
    "choices",
    "comparable",
    "count_paid",
    "find_judges",
    "open_budget",
    "open_engine",
    "parse_score",
    "sees",
    "writes",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
