"""The judge engine: asks a judge, and tells scores from failures."""

from lmms_rpts.judging.engine import Dialogue, JudgeEngine
from lmms_rpts.judging.registry import (
    BACKENDS,
    NO_JUDGE,
    Backend,
    choices,
    find_backend,
    find_kind,
    open_engine,
)
from lmms_rpts.judging.scores import parse_score
from lmms_rpts.judging.types import (
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

__all__ = [
    "BACKENDS",
    "NO_JUDGE",
    "Backend",
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
    "choices",
    "find_backend",
    "find_kind",
    "open_engine",
    "parse_score",
]
