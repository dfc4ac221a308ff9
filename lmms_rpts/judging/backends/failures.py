"""Classification of failed calls: retry, refuse this request, or stop the run."""

from __future__ import annotations

import contextlib
import math
import re
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

from lmms_rpts.judging.types import FatalJudgeError, RefusedError, TransientError
from lmms_rpts.masking import LONGEST, mask

_FATAL_CODES = {"insufficient_quota", "model_not_found", "invalid_api_key"}
# A wrong model name with status 400: `transformers serve`, OpenRouter, DeepSeek, LiteLLM.
_WRONG_MODEL = re.compile(
    r"Server is pinned to .{1,200}; requested |is not a valid model ID\b|^Model Not Exist$"
    r"|Invalid model name passed in model="
)
_STARTING = re.compile(r"loading model", re.IGNORECASE)  # llama.cpp, with status 503
_FATAL_STATUS = (401, 402, 403, 404)
_TRANSIENT_STATUS = (408, 409, 425, 429)
_THROTTLED = 429
_LONGEST_SAID = 500
_LONGEST_PLACE = 200
# Control sequences of terminals: CSI ("\x1b[31m"), OSC ("\x1b]0;title\x07"), other escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?"
)


def classify(
    status: int, said: str, code: str | None = None, headers: Mapping[str, str] | None = None
) -> Exception:
    """The exception for an HTTP error.

    Args:
        status: HTTP status of the response.
        said: the server's own message, without secrets.
        code: the error code in the body, if any (``insufficient_quota``).
        headers: headers of the response, names in lower case; ``retry-after`` is used.
    """
    said = said[:_LONGEST_SAID]
    wrong_model = status in (400, 422) and _WRONG_MODEL.search(said)
    if status in _FATAL_STATUS or code in _FATAL_CODES or wrong_model:
        return FatalJudgeError(f"the judge's server reports ({status}): {said}")
    if status in _TRANSIENT_STATUS or status >= 500:
        return TransientError(
            f"the judge's server failed ({status}): {said}",
            retry_after((headers or {}).get("retry-after", "")),
            throttled=status == _THROTTLED,
            starting=status == 503 and bool(_STARTING.search(said)),
        )
    return RefusedError(f"the judge's server refused ({status}): {said}")


def redirected(status: int, target: str, settings: str = "OPENAI_BASE_URL") -> FatalJudgeError:
    """The exception for a redirect. Redirects are not followed: keys go only where the user chose.

    Args:
        status: HTTP status of the response.
        target: the target of the redirect, without secrets; empty if unknown.
        settings: the setting with the judge's address, for the message.
    """
    to = f" to {target}" if target else ""
    return FatalJudgeError(
        f"the judge's server redirects ({status}){to}; redirects are not followed: set "
        f"{settings} to the final address"
    )


def redirect_target(asked: str, place: str | None) -> str:
    """The target of a Location header, without user, password and query; empty if invalid.

    Args:
        asked: the address that was called.
        place: value of the header.
    """
    try:
        parts = urlsplit(urljoin(asked, (place or "")[:_LONGEST_PLACE]))
        port = f":{parts.port}" if parts.port else ""
    except ValueError:  # "http://[::1", "http://host:port"
        return ""
    host = parts.hostname or ""
    if not place or not host or parts.scheme not in ("http", "https"):
        return ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}{parts.path}"


def retry_after(value: str) -> float | None:
    """Seconds to wait, from a Retry-After header: a number or a date; None if it is neither."""
    # float() also accepts digits of other scripts, which no server sends.
    with contextlib.suppress(ValueError):
        seconds = float(value) if value.isascii() else math.nan
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        until = parsedate_to_datetime(value)
        if until.tzinfo is None:
            until = until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, OverflowError, TypeError, IndexError):
        return None


def shown(text: str, secret: str) -> str:
    """A server's text for a message: one short, printable line without the keys."""
    # Cut first, so that a huge text is not read whole; parts of keys are hidden as well.
    line = mask(_one_line(text[:LONGEST]), secret)
    return (
        line
        if len(line) <= _LONGEST_SAID
        else f"{line[: _LONGEST_SAID - 1]}\N{HORIZONTAL ELLIPSIS}"
    )


def _one_line(text: str) -> str:
    """``text`` without line breaks and without terminal control characters."""
    return " ".join("".join(map(_printable, _ESCAPES.sub("", text))).split())


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return "" if unicodedata.category(character) == "Cf" else " "
