"""The judge engine: concurrent requests to judges, with retries, cache and budget."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lmms_rpts.judging.types import (
    NO_JUDGE,
    Backend,
    FatalJudgeError,
    Judge,
    JudgeConfigurationError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
)

if TYPE_CHECKING:
    from lmms_rpts.judging.budget import Budget
    from lmms_rpts.judging.engine import Dialogue, JudgeEngine
    from lmms_rpts.judging.parsers import parse_score
    from lmms_rpts.judging.registry import (
        BACKENDS,
        backend_of,
        choices,
        find_judge,
        open_budget,
        open_engine,
    )

__all__ = [
    "BACKENDS",
    "NO_JUDGE",
    "Backend",
    "Budget",
    "Dialogue",
    "FatalJudgeError",
    "Judge",
    "JudgeConfigurationError",
    "JudgeEngine",
    "JudgeRequest",
    "RefusedError",
    "Reply",
    "TransientError",
    "Usage",
    "Verdict",
    "backend_of",
    "choices",
    "find_judge",
    "open_budget",
    "open_engine",
    "parse_score",
]

_LATE = {
    "Budget": "budget",
    "Dialogue": "engine",
    "JudgeEngine": "engine",
    "parse_score": "parsers",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: code that only reads runs does not need the engine."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATE.get(name, 'registry')}"), name)


def __dir__() -> list[str]:
    """All names, for help() and completion, before their first use."""
    return sorted({*globals(), *__all__})
