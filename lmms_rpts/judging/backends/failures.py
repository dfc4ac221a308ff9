"""What a failed call means: wait and try again, leave this request, or stop asking."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

from lmms_rpts.judging.types import FatalJudgeError, RefusedError, TransientError

_FATAL_CODES = {"insufficient_quota", "model_not_found", "invalid_api_key"}
_FATAL_STATUS = (401, 402, 403, 404)
_TRANSIENT_STATUS = (408, 409, 425, 429)
_THROTTLED = 429
_LONGEST_SAID = 500
LONG_KEY = 16
"""Keys from this length on are no word that a judge might say."""

_PUBLIC_KEY = 4
"""Keys up to this length ("none", "x") are placeholders, no secrets."""


def classify(
    status: int, said: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Exception:
    """The exception for an HTTP error; ``said`` is the server's own message, without secrets.

    Args:
        code: the error code in the body, where the server gives one (``insufficient_quota``).
        headers: of the response, names in lower case; ``retry-after`` is read.
    """
    said = said[:_LONGEST_SAID]
    if status in _FATAL_STATUS or code in _FATAL_CODES:
        return FatalJudgeError(f"the judge's server says ({status}): {said}")
    if status in _TRANSIENT_STATUS or status >= 500:
        return TransientError(
            f"the judge's server failed ({status}): {said}",
            retry_after((headers or {}).get("retry-after", "")),
            throttled=status == _THROTTLED,
        )
    return RefusedError(f"the judge's server refused ({status}): {said}")


def retry_after(value: str) -> float | None:
    """Seconds to wait, from a Retry-After header: a number or a date; None if it says nothing."""
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, OverflowError, TypeError):
        return None


def hide(text: str, secret: str, shortest: int = _PUBLIC_KEY + 1) -> str:
    """``text`` without any part of a key that is not too short: servers like to quote it."""
    for part in secret.split():
        if len(part) >= shortest:
            text = text.replace(part, "[key]")
    return text
