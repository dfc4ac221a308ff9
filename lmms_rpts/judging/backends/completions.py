"""Parser of chat completions, for many kinds of servers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmms_rpts.judging.types import RefusedError, Reply, TransientError, Usage

HIDDEN_THINKING = 8192
"""Tokens of hidden thinking that a model may use in addition to those of its reply."""

GRACE = 0.2
"""Seconds after the time limit in which a client may still report the timeout itself."""

MOST_COUNTED = 100_000_000
"""Highest plausible token count of one call: accepting 2**70 would exhaust any budget."""

_ODD = "the judge's server sent no chat completion"
_CUT = ("length", "max_tokens", "model_length", "MAX_TOKENS")
_BROKEN_OFF = (
    *("abort", "cancelled", "error", "network_error", "timeout"),
    "insufficient_system_resource",
)
_STUCK = 100
_THINKING = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_SPOKEN = re.compile(r"</(?:think|thinking|thought|reasoning)>\s*\S", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply; ``thought_too_long``: it was cut off before the visible part began.

    ``model`` is the name that the server gives its model, if any.
    """

    reply: Reply
    thought_too_long: bool
    model: str | None = None


def read_completion(said: object) -> Completion:
    """Parse the reply in a server's JSON.

    Raises:
        TransientError: if it contains no reply.
        RefusedError: if the model or a filter declined to answer.
    """
    choice = _choice(said)
    if choice.get("finish_reason") == "content_filter":
        raise RefusedError("the judge's content filter refused the request")
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise TransientError(_ODD)
    if message.get("refusal"):
        raise RefusedError(f"the judge refused: {message['refusal']}")
    text = _text(message.get("content"))
    finish = choice.get("finish_reason")
    if finish in _BROKEN_OFF:
        raise TransientError(f"the judge stopped early: {finish}")
    cut = finish in _CUT
    thinks = bool(message.get("reasoning_content") or message.get("reasoning"))
    # A long run of white space is no thinking: with a schema, models get stuck in it (vLLM).
    silent = not text.strip() and len(text) < _STUCK
    silent = silent or bool(_THINKING.search(text) and not _SPOKEN.search(text))
    told = said if isinstance(said, Mapping) else {}
    usage, model = read_usage(told.get("usage")), told.get("model")
    reply = Reply(text, usage, complete=not cut)
    return Completion(reply, cut and (silent or thinks), model if isinstance(model, str) else None)


def read_usage(counted: object) -> Usage | None:
    """The tokens in a completion's ``usage``; None if they are missing or implausible."""
    if not isinstance(counted, Mapping):
        return None
    read, said = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if read is None or said is None or not read + said:
        return None
    details = counted.get("completion_tokens_details")
    thought = _count(details, "reasoning_tokens") if isinstance(details, Mapping) else 0
    return Usage(read, said, min(thought or 0, said))


def read_fault(content: bytes | str) -> tuple[str, str | None]:
    """The message and the code in the body of an error; the whole body if it is not JSON."""
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    try:
        body = json.loads(text)
        inner = body.get("error", body) if isinstance(body, Mapping) else body
        if not isinstance(inner, Mapping):
            return str(inner), None
        said = _told(inner)
    except (ValueError, RecursionError):
        return text.strip(), None
    code = inner.get("code")
    return said, code if isinstance(code, str) else None


def _told(fault: object) -> str:
    """The message of an error object."""
    if isinstance(fault, Mapping):
        fault = fault.get("message") or fault.get("detail") or fault
    return str(fault)


def _choice(said: object) -> Mapping[str, Any]:
    choices = said.get("choices") if isinstance(said, Mapping) else None
    if not isinstance(choices, list):
        fault = said.get("error") if isinstance(said, Mapping) else None
        # Some gateways report errors with status 200.
        told = f"{_ODD} but {_told(fault)}" if fault else _ODD
        raise TransientError(told)
    if not choices:
        raise TransientError("the judge's reply contains no choice")
    if not isinstance(choices[0], Mapping):
        raise TransientError(_ODD)
    return choices[0]


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens: 0 if it is missing, None if it is implausible."""
    value = counted.get(name)
    if value is None:
        return 0
    known = isinstance(value, int) and not isinstance(value, bool)
    return value if known and 0 <= value <= MOST_COUNTED else None


def _text(content: Any) -> str:
    """The text of a message; some servers send a list of parts, or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)
