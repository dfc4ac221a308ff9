"""HTTP calls to a judge's server, and what its errors mean."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.types import FailureKind, FatalJudgeError, RefusedError, TransientError

# Maximum bytes of a response: a judge's longest reply takes about 100 KB.
LONGEST_BODY = 4 * 2**20

# Seconds after the time limit in which the client may still report the timeout itself.
GRACE = 0.2

_TOO_LONG = "the judge took too long to answer"


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered: the HTTP status, the headers and the body."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


class Server:
    """One address of a server, called with the key and the headers of the settings.

    Attributes:
        secrets: what must not appear in messages.
    """

    def __init__(self, url: str, settings: Settings) -> None:
        key = settings.openai_key or "none"  # the header needs one; your own server need not
        self.url = url
        self.secrets = " ".join([key, *settings.openai_headers.values()])
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # replies are short
            **settings.openai_headers,
        }
        self._client: Any = None
        self._address: Any = None
        self._answered = False

    async def post(self, content: bytes, limit: float) -> Answer:
        """Send a request's body; raises an error if there is no answer. An HTTP error is one.

        ``limit``: seconds that the call may take.
        """
        if self._client is None:
            self._client = _http_client()
            self._address = self._client.build_request("POST", self.url).url  # parsed once
        try:
            # The client limits each part of a call only; a slow server could take forever.
            answer = await asyncio.wait_for(self._post(content, limit), limit + GRACE)
        except asyncio.TimeoutError:
            raise TransientError(_TOO_LONG, kind="timed out") from None
        except Exception as error:  # from several libraries
            raise self._no_answer(error) from None
        if 300 <= answer.status < 400:
            place = shown(answer.headers.get("location", "").partition("?")[0], self.secrets)
            # One stray redirect of a server that has answered before doesn't end a long run.
            raise (TransientError if self._answered else FatalJudgeError)(
                f"the judge's server redirects ({answer.status}) to {place or 'nowhere'}; "
                "redirects are not followed: set OPENAI_BASE_URL to the final address"
            )
        if answer.status < 300 and len(answer.content) > LONGEST_BODY:
            # Not retried: the next reply is likely to be as long and to cost as much.
            reason = f"the judge's server sent a reply of more than {LONGEST_BODY // 2**20} MiB"
            raise RefusedError(reason)
        self._answered |= answer.status < 300
        return answer

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _post(self, content: bytes, limit: float) -> Answer:
        """The response and its body; an error counts by its status even if its body breaks."""
        call = self._client.stream(
            "POST", self._address, content=content, headers=self._headers, timeout=limit
        )
        body = bytearray()
        async with call as response:
            try:
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > LONGEST_BODY:
                        break
            except Exception:  # from several libraries
                if response.status_code < 300:
                    raise
        return Answer(response.status_code, bytes(body), response.headers)

    def _no_answer(self, error: Exception) -> Exception:
        """What an exception means, by name: the underlying library depends on openai's version."""
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        kinds = {kind.__name__ for kind in type(error).__mro__}
        reason = shown(f"{causes[-1]}", self.secrets) or type(causes[-1]).__name__
        if not kinds & {"RequestError", "ClientError", "OSError"}:
            return RefusedError(f"{type(error).__name__}: {reason}")
        # openai's client with aiohttp reports any broken connection as a timeout.
        broken = {type(cause).__name__ for cause in causes} & {
            "ClientOSError",
            "ServerDisconnectedError",
        }
        if not broken and kinds & {"ConnectError", "ConnectTimeout"}:
            return TransientError(f"no connection to {self.url}: {reason}", kind="unreachable")
        if not broken and "TimeoutException" in kinds:
            return TransientError(_TOO_LONG, kind="timed out")
        return TransientError(f"the connection was lost to {self.url}: {reason}")


def _http_client() -> Any:
    """The HTTP client that openai installs; with aiohttp if available, which halves the time.

    Not openai's chat client, which needs more time to check and type a message than to send it.
    """
    import openai

    # Older versions do not have it, and it cannot be created without aiohttp.
    with contextlib.suppress(AttributeError, TypeError, RuntimeError, ImportError):
        return openai.DefaultAioHttpClient(follow_redirects=False)
    return openai.DefaultAsyncHttpxClient(follow_redirects=False)


# ---- what errors mean

# "'response_format' is not supported", "guided decoding is off", "invalid grammar"
# The form in which a reply was requested, as messages of servers name it.
FORM = re.compile("response_format|schema|structured|guided|grammar", re.IGNORECASE)

# "Unsupported value: 'temperature' does not support 0", "Unsupported parameter: 'max_tokens'"
_PARAMETER = re.compile(f"{FORM.pattern}|temperature|max_(?:completion_)?tokens", re.IGNORECASE)
_NOT_UNDERSTOOD = (400, 422)
# What an error means, by its status and its wording, which follows its code and a line break: the
# first rule that fits.
_RULES: tuple[tuple[str, Container[int], tuple[str, ...]], ...] = (
    ("fatal", range(400, 600), (r"\A(?:insufficient_quota|model_not_found|invalid_api_key)\n",)),
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
    message: str
    code: str = ""
    retry_after: float | None = None

    def kind(self, with_images: bool = False, model: str = "") -> str:
        """What the error means for its request, which may have images.

        ``model`` is the model's name, which may contain "vision".
        """
        said = self.message.replace(model, "") if len(model) > 1 else self.message
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
        detail = f"({self.status}): {self.message}"
        if kind == "fatal":
            return FatalJudgeError(f"the judge's server reports {detail}")
        if kind in _TRANSIENT:
            reason = f"the judge's server failed {detail}"
            return TransientError(reason, self.retry_after, _TRANSIENT[kind])
        if kind in ("no vision", "image"):
            return RefusedError(f"the judge's server refused a question with images {detail}")
        if kind == "large image":
            detail += "; try smaller images: set image_size in rpts.toml"
        return RefusedError(f"the judge's server refused {detail}")


def read_fault(status: int, headers: Mapping[str, str], content: bytes, secrets: str) -> Fault:
    """The error in a response, with ``secrets`` masked; its message is the body if not JSON."""
    wait = {name.lower(): value for name, value in headers.items()}.get("retry-after", "")
    text, code = content.decode("utf-8", "replace"), None
    with contextlib.suppress(ValueError, RecursionError):
        body = json.loads(text)
        inner = body.get("error", body) if isinstance(body, Mapping) else body
        text = message_of(inner)
        code = inner.get("code") if isinstance(inner, Mapping) else None
    code = code if isinstance(code, str) else ""
    return Fault(status, shown(text, secrets), code, _seconds(wait))


def shown(text: str, secrets: str) -> str:
    """A server's text for a message: one short, printable line without keys and images."""
    return shorten(mask(printable(text[:LONGEST]), secrets), 500)


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


def message_of(fault: object) -> str:
    """The message in an error that a server reports."""
    if isinstance(fault, Mapping):
        fault = fault.get("message") or fault.get("detail") or fault
    return str(fault)
