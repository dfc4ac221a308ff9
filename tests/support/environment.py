"""The variables that our settings are read from."""

from __future__ import annotations

VARIABLES = [
    "OPENAI_API_KEY",
    "OPENAI_API_URL",
    "OPENAI_BASE_URL",
    "WORLD_SIZE",
    "RANK",
    "LMMS_RPTS_JUDGE",
    "LMMS_RPTS_CONCURRENCY",
    "LMMS_RPTS_TIMEOUT",
    "LMMS_RPTS_TRANSFORM",
    "LMMS_RPTS_DECAY",
    "LMMS_RPTS_FOCUS_HEIGHT",
    "RPTS_PATH",
]
