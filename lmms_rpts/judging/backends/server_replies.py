"""What OpenAI-compatible servers say: completions, errors, and what each error means."""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from lmms_rpts.escaping import printable, shorten
from lmms_rpts.judging.types import (
    FailureKind,
    FatalJudgeError,
    RefusedError,
    Reply,
    TransientError,
    Usage,
)
from lmms_rpts.masking import LONGEST, mask

MOST_COUNTED = 100_000_000
"""Highest plausible token count of one call: accepting 2**70 would exhaust any budget."""

_ODD = "the judge's server sent no chat completion"
_CUT = ("length", "max_tokens", "model_length", "MAX_TOKENS")
_BROKEN_OFF = (
    *("abort", "cancelled", "error", "network_error", "timeout"),
    "insufficient_system_resource",
)
_THINKING = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_SPOKEN = re.compile(r"</(?:think|thinking|thought|reasoning)>\s*\S", re.IGNORECASE)

FORM = re.compile("response_format|schema|structured|guided|grammar", re.IGNORECASE)
"""The form in which a reply was requested, as messages of servers name it."""

_PARAMETER = re.compile(
    r"response_format|json_schema|structured|guided|grammar|temperature|max_(?:completion_)?tokens",
    re.IGNORECASE,
)
_NOT_UNDERSTOOD = (400, 422)
_RULES: tuple[tuple[str, Container[int], tuple[str, ...]], ...] = (
    (
        "fatal",
        range(400, 600),
        (r"\A(?:insufficient_quota|model_not_found|invalid_api_key)\n",),
    ),
    (
        "refused",
        _NOT_UNDERSTOOD,
        (r"\A(?:content_filter|content_policy_violation|context_length_exceeded)\n",),
    ),
    (
        "no vision",
        (*_NOT_UNDERSTOOD, 404, 500),
        (
            r"image_url\W{1,3}(?:is only|content is not) supported",  # OpenAI
            r"not an? multi-?modal",  # vLLM
            r"at most 0 image",  # vLLM
            r"multi-?modal data is not",
            r"that support image input",  # OpenRouter
            r"(?:variant|type|value:?)\W{1,3}image_url",  # DeepSeek
            r"(?:be|expected) an? (?:valid )?string",  # Groq: messages[0].content must be ...
            "mmproj",  # llama.cpp
            r"(?:not|n't) (?:support|accept|take|handle) (?:vision|visual|multi-?modal|images?)"
            r"(?: inputs?| content)?\b(?! (?:inputs?|content|larger|of|with|that))",
            r"(?:vision|multi-?modal input|images|image (?:inputs?|content)) (?:is|are) not"
            r" (?:supported|accepted|enabled)\b(?! (?:of|with|that))",
            r"no vision|text[ -]only",
            r"不支持图[片像]",
        ),
    ),
    ("image", _NOT_UNDERSTOOD, (r"image|multi-?modal|\bvision|图[片像]|视觉|多模态",)),
    ("large image", (413,), ("",)),
    ("fatal", (401, 402, 403, 404), ("",)),
    (
        "fatal",
        _NOT_UNDERSTOOD,
        (
            r"Server is pinned to .{1,200}; requested ",  # transformers serve
            r"is not a valid model ID\b",  # OpenRouter
            r"\nModel Not Exist$",  # DeepSeek
            r"Invalid model name passed in model=",  # LiteLLM
        ),
    ),
    ("throttled", (429,), ("",)),
    ("starting", (503,), ("loading model",)),  # llama.cpp
    ("transient", (408, 409, 425, *range(500, 1000)), ("",)),
    # llama.cpp: "request (9031 tokens) exceeds the available context size"; vLLM: "This model's
    # maximum context length is 4096 tokens."
    ("refused", _NOT_UNDERSTOOD, ("available context size", "maximum context length")),
    ("adaptable", _NOT_UNDERSTOOD, ("",)),
    ("refused", range(1000), ("",)),
)
"""What an error means, by its status and its wording, which follows its code and a line break: the
first rule that fits."""

_COMPILED = [
    (kind, statuses, re.compile("|".join(words), re.IGNORECASE)) for kind, statuses, words in _RULES
]
_OF_IMAGES = ("no vision", "image", "large image")
_TRANSIENT: Mapping[str, FailureKind] = {
    "throttled": "throttled",
    "starting": "starting",
    "transient": "",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """An HTTP error: status, the server's message without secrets, its code, and Retry-After."""

    status: int
    said: str
    code: str = ""
    retry_after: float | None = None

    def kind(self, with_images: bool = False, model: str = "") -> str:
        """What the error means for its request, which may have images.

        ``model`` is the model's name, which may contain "vision".
        """
        said = self.said.replace(model, "") if len(model) > 1 else self.said
        said = f"{self.code}\n{said}"
        # The first name counts: "response_format is not supported with images", but also
        # "content must be a string: {'temperature': 0, ...}".
        parameter = _PARAMETER.search(said)
        for kind, statuses, words in _COMPILED:
            found = words.search(said) if self.status in statuses else None
            if found is None:
                continue
            if kind not in _OF_IMAGES:
                return kind
            if with_images and not (parameter and parameter.start() < found.start()):
                return kind
        return "refused"

    def error(self, kind: str) -> Exception:
        """The exception for an error of this kind."""
        told = f"({self.status}): {self.said}"
        if kind == "fatal":
            return FatalJudgeError(f"the judge's server reports {told}")
        if kind in _TRANSIENT:
            reason = f"the judge's server failed {told}"
            return TransientError(reason, self.retry_after, _TRANSIENT[kind])
        if kind in ("no vision", "image"):
            return RefusedError(f"the judge's server refused a question with images {told}")
        if kind == "large image":
            told += "; try smaller images: set image_size in rpts.toml"
        return RefusedError(f"the judge's server refused {told}")


def read_fault(status: int, headers: Mapping[str, str], content: bytes, secrets: str) -> Fault:
    """The error in a response, with ``secrets`` masked; its message is the body if not JSON."""
    wait = {name.lower(): value for name, value in headers.items()}.get("retry-after", "")
    text, code = content.decode("utf-8", "replace"), None
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(text)
        inner = body.get("error", body) if isinstance(body, Mapping) else body
        text = _told(inner)
        code = inner.get("code") if isinstance(inner, Mapping) else None
    code = code if isinstance(code, str) else ""
    return Fault(status, shown(text, secrets), code, _seconds(wait))


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply; ``thought_too_long``: it was cut off before the visible part began.

    ``model`` is the name that the server gives its model, if any.
    """

    reply: Reply
    thought_too_long: bool
    model: str | None = None


def read_completion(content: bytes) -> Completion:
    """The reply in the body of a response; raises TransientError or RefusedError."""
    try:
        said = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TransientError(f"{_ODD} ({type(error).__name__})") from None
    known = said if isinstance(said, Mapping) else {}
    choices, fault = known.get("choices"), known.get("error")
    if not isinstance(choices, list):
        # Some gateways report errors with status 200.
        raise TransientError(f"{_ODD} but {_told(fault)}" if fault else _ODD)
    if not choices:
        raise TransientError("the judge's reply contains no choice")
    choice = choices[0] if isinstance(choices[0], Mapping) else {}
    finish, message = choice.get("finish_reason"), choice.get("message")
    if finish == "content_filter":
        raise RefusedError("the judge's content filter refused the request")
    if not isinstance(message, Mapping):
        raise TransientError(_ODD)
    if message.get("refusal"):
        raise RefusedError(f"the judge refused: {message['refusal']}")
    if finish in _BROKEN_OFF:
        raise TransientError(f"the judge stopped early: {finish}")
    text, cut = _text(message.get("content")), finish in _CUT
    # A long run of white space is no thinking: with a schema, models get stuck in it (vLLM).
    silent = not text.strip() and len(text) < 100
    silent = silent or bool(_THINKING.search(text) and not _SPOKEN.search(text))
    thinks = message.get("reasoning_content") or message.get("reasoning")
    model = known.get("model")
    return Completion(
        Reply(text, _usage(known.get("usage")), complete=not cut),
        cut and bool(silent or thinks),
        model if isinstance(model, str) else None,
    )


def shown(text: str, secrets: str) -> str:
    """A server's text for a message: one short, printable line without keys and images."""
    return shorten(mask(printable(text[:LONGEST]), secrets), 500)


def _usage(counted: object) -> Usage | None:
    """The tokens in a completion's ``usage``; None if they are missing or implausible."""
    counted = counted if isinstance(counted, Mapping) else {}
    read, said = _count(counted, "prompt_tokens"), _count(counted, "completion_tokens")
    if read is None or said is None or not read + said:
        return None
    details = counted.get("completion_tokens_details")
    thought = _count(details, "reasoning_tokens") if isinstance(details, Mapping) else 0
    return Usage(read, said, min(thought or 0, said))


def _count(counted: Mapping[str, Any], name: str) -> int | None:
    """A number of tokens: 0 if it is missing, None if it is implausible."""
    value = counted.get(name)
    if value is None:
        return 0
    return value if type(value) is int and 0 <= value <= MOST_COUNTED else None


def _seconds(value: str) -> float | None:
    """Seconds to wait, from a Retry-After header: a number or a date; None if it is neither."""
    with contextlib.suppress(ValueError):
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with contextlib.suppress(ValueError, OverflowError, TypeError, IndexError):
        until = parsedate_to_datetime(value)
        until = until if until.tzinfo else until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
    return None


def _told(fault: object) -> str:
    if isinstance(fault, Mapping):
        fault = fault.get("message") or fault.get("detail") or fault
    return str(fault)


def _text(content: Any) -> str:
    """The text of a message; some servers send a list of parts, or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)
