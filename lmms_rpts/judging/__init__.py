"""The judge engine: concurrent requests to judges, with retries, cache and budget."""

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
