"""Judge backend: any server that uses the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.base.masking import LONGEST, MASK, RUN, mask, mask_images
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.parsers import strip_thinking
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    Backend,
    FailureKind,
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
)

# Maximum bytes of a response: a judge's longest reply takes about 100 KB.
LONGEST_BODY = 4 * 2**20

# Tokens of hidden thinking that a model may use in addition to those of its reply.
HIDDEN_THINKING = 8192

# Seconds after the time limit in which the client may still report the timeout itself.
GRACE = 0.2

# Refusals after which a model that never accepted an image counts as text-only.
BLIND_AFTER = 3

_TOO_LONG = "the judge took too long to answer"
_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"

# A JSON schema with ``enum`` and ``maxLength``; without ``maxLength``; text. Servers enforce a
# schema to the letter: llama.cpp wrote ``{"score": -1}`` and endless reasons with one that had
# neither. It ignores bounds of numbers that are no integers, so scores are listed.
BOUNDED, ENUM, TEXT = range(3)

SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    The options that a server supports are learned from its error messages:
    ``max_completion_tokens`` instead of ``max_tokens``, no temperature, a weaker JSON schema or
    none, more tokens for a model with hidden thinking. The refused call is repeated at once.

    Attributes:
        served_model: the name of the model in the server's replies; None before the first one.
    """

    def __init__(self, model: str, settings: Settings) -> None:
        base = settings.openai_url or "https://api.openai.com/v1"
        self.identity: dict[str, object] = {
            "endpoint": base,
            "model": model,
            "temperature": settings.temperature,
            "structured": settings.structured,
        }
        self.time_limit = settings.timeout
        self.served_model: str | None = None
        self._model, self._url = model, f"{base}/chat/completions"
        self._key = settings.openai_key or "none"  # the header needs one; your own server need not
        self._headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # replies are short
            **settings.openai_headers,
        }
        self._secrets = " ".join([self._key, *settings.openai_headers.values()])
        self._client: Any = None
        self._address: Any = None
        self._tokens_field = "max_tokens"
        self._temperature: float | None = settings.temperature
        self._form = BOUNDED if settings.structured else TEXT
        self._strictest = TEXT  # form that was accepted
        self._thinks = self._answered = self._took_images = False
        self._refused_images = 0

    async def ask(self, request: JudgeRequest) -> Reply:
        if self._client is None:
            self._client = _http_client()
            self._address = self._client.build_request("POST", self._url).url  # parsed once
        form, spent = self._form if _has_form(request) else TEXT, Usage()
        while True:
            sent = self._body(request, form)
            # Images are encoded in another thread, so that other calls are not delayed.
            encode = partial(_encoded, request, sent)
            content = await asyncio.to_thread(encode) if request.images else encode()
            done = await self._call(content, request)
            limit: int = sent.get("max_tokens") or sent["max_completion_tokens"]
            if isinstance(done, Fault):
                form = self._adapted(done, sent, form, request)
                continue
            reply, thought_too_long, served = done
            if not thought_too_long or limit > request.most_tokens:
                break
            self._thinks, spent = True, reply.usage or spent
        if _has_form(request):
            # A question that was refused with a schema does not change how others are asked.
            self._strictest = min(self._strictest, form)
            self._form = max(self._form, min(form, self._strictest))
        self._answered = True
        self.served_model = served or self.served_model
        text, usage = reply.text, reply.usage
        if len(self._key) > RUN:
            text = text.replace(self._key, MASK)
        if request.images:
            self._took_images = True
            text = mask_images(text)
        usage = usage and usage + spent
        return replace(reply, text=text, usage=usage, limit=limit)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _body(self, request: JudgeRequest, form: int) -> dict[str, Any]:
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = self._thinks or self._tokens_field == "max_completion_tokens"
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [dict(message) for message in request.messages],
            self._tokens_field: request.most_tokens + thinks * HIDDEN_THINKING,
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        if form != TEXT:
            body["response_format"] = _schema(request, form)
        return body

    async def _call(self, content: bytes, request: JudgeRequest) -> Completion | Fault:
        limit = self.time_limit * request.patience
        try:
            # The client limits each part of a call only; a slow server could take forever.
            response, answer = await asyncio.wait_for(self._post(content, limit), limit + GRACE)
        except asyncio.TimeoutError:
            raise TransientError(_TOO_LONG, kind="timed out") from None
        except Exception as error:  # from several libraries
            raise self._no_answer(error) from None
        status = response.status_code
        if 300 <= status < 400:
            place = shown(response.headers.get("location", "").partition("?")[0], self._secrets)
            # One stray redirect of a server that has answered before doesn't end a long run.
            raise (TransientError if self._answered else FatalJudgeError)(
                f"the judge's server redirects ({status}) to {place or 'nowhere'}; redirects are "
                "not followed: set OPENAI_BASE_URL to the final address"
            )
        if status >= 400:
            return read_fault(status, response.headers, answer, self._secrets)
        if len(answer) > LONGEST_BODY:
            # Not retried: the next reply is likely to be as long and to cost as much.
            reason = f"the judge's server sent a reply of more than {LONGEST_BODY // 2**20} MiB"
            raise RefusedError(reason)
        try:
            return read_completion(answer)
        except (RefusedError, TransientError) as failure:
            raise type(failure)(shown(str(failure), self._secrets)) from None

    async def _post(self, content: bytes, limit: float) -> tuple[Any, bytes]:
        """The response and its body; an error counts by its status even if its body breaks."""
        call = self._client.stream(
            "POST", self._address, content=content, headers=self._headers, timeout=limit
        )
        answer = bytearray()
        async with call as response:
            try:
                async for piece in response.aiter_bytes():
                    answer += piece
                    if len(answer) > LONGEST_BODY:
                        break
            except Exception:  # from several libraries
                if response.status_code < 300:
                    raise
        return response, bytes(answer)

    def _no_answer(self, error: Exception) -> Exception:
        """What an exception means, by name: the underlying library depends on openai's version."""
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        kinds = {kind.__name__ for kind in type(error).__mro__}
        reason = shown(f"{causes[-1]}", self._secrets) or type(causes[-1]).__name__
        if not kinds & {"RequestError", "ClientError", "OSError"}:
            return RefusedError(f"{type(error).__name__}: {reason}")
        # openai's client with aiohttp reports any broken connection as a timeout.
        broken = {type(cause).__name__ for cause in causes} & {
            "ClientOSError",
            "ServerDisconnectedError",
        }
        if not broken and kinds & {"ConnectError", "ConnectTimeout"}:
            return TransientError(f"no connection to {self._url}: {reason}", kind="unreachable")
        if not broken and "TimeoutException" in kinds:
            return TransientError(_TOO_LONG, kind="timed out")
        return TransientError(f"the connection was lost to {self._url}: {reason}")

    def _adapted(
        self, fault: Fault, sent: Mapping[str, Any], form: int, request: JudgeRequest
    ) -> int:
        """Learn from a refusal; returns the form for the next call, or raises the error."""
        # A server that fails (500) and took images before is asked again.
        failed = fault.status >= 500 and self._took_images
        kind = fault.kind(bool(request.images) and not failed, self._model)
        if kind == "no vision" and not self._took_images:
            self._refused_images += 1
            if self._refused_images >= BLIND_AFTER:
                raise FatalJudgeError(
                    f"the judge's model {self._model!r} does not accept images ({fault.status}): "
                    f"{fault.message}; {_BLIND}"
                )
        # Concurrent requests get the same complaint, so only what this one sent counts.
        adaptable = kind == "adaptable"
        if adaptable and "max_completion_tokens" in fault.message and "max_tokens" in sent:
            self._tokens_field = "max_completion_tokens"
            return form
        if adaptable and "temperature" in fault.message and "temperature" in sent:
            self._temperature = None
            return form
        # Servers name the form in many ways, or not at all; the prompt asks for a score anyway.
        named = FORM.search(fault.message) is not None
        if not adaptable or form == TEXT or not (named or form < self._strictest):
            raise fault.error(kind)
        if named:
            self._form = max(self._form, form + 1)
        return form + 1


def _encoded(request: JudgeRequest, body: Mapping[str, Any]) -> bytes:
    """The body as JSON; the images, each after its name, begin the first user message."""
    if not request.images:
        return json.dumps(body).encode()
    parts: list[dict[str, Any]] = []
    for image in request.images:
        try:
            encoded = base64.b64encode(image.encoded()).decode("ascii")
        except ImageError as error:
            raise RefusedError(str(error)) from None
        url = {"url": f"data:{MEDIA_TYPE};base64,{encoded}"}
        parts += [
            {"type": "text", "text": f"{image.name}:"},
            {"type": "image_url", "image_url": url},
        ]
    chat = body["messages"]
    first = next(each for each in chat if each["role"] == "user")
    first["content"] = [*parts, {"type": "text", "text": first["content"]}]
    return json.dumps(body).encode()


def _http_client() -> Any:
    """The HTTP client that openai installs; with aiohttp if available, which halves the time.

    Not openai's chat client, which needs more time to check and type a message than to send it.
    """
    import openai

    # Older versions do not have it, and it cannot be created without aiohttp.
    with contextlib.suppress(AttributeError, TypeError, RuntimeError, ImportError):
        return openai.DefaultAioHttpClient(follow_redirects=False)
    return openai.DefaultAsyncHttpxClient(follow_redirects=False)


def _has_form(request: JudgeRequest) -> bool:
    """Whether a request asks for a score or for one of a few words, which a schema can express.

    The last request after unreadable replies is sent without: the schema may have been the cause.
    """
    kind = request_kinds()[request.kind]
    own = not kind.words and request.parse is not None
    return kind.has_verdict and not own and request.attempt < 2


def _schema(request: JudgeRequest, form: int) -> dict[str, Any]:
    """The ``response_format`` of a call.

    Asked for are the reason, unless the request was repeated, and the score or word that is based
    on it.
    """
    kind = request_kinds()[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and not request.attempt:
        longest = {"maxLength": kind.longest_reason} if form == BOUNDED else {}
        fields["reason"] = {"type": "string", **longest}
    if kind.words:
        fields["verdict"] = {"type": "string", "enum": list(kind.words)}
    else:
        fields["score"] = {"type": "number", "enum": list(SCORES)}
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    return {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }


# ---- what servers say: completions, errors, and what each error means

# Highest plausible token count of one call: accepting 2**70 would exhaust any budget.
MOST_COUNTED = 100_000_000

# A proxy's page of HTML, or another protocol
_ODD = "the judge's server sent no chat completion"
# The limit of tokens by its names: OpenAI, Anthropic, Mistral, Gemini
_CUT = ("length", "max_tokens", "model_length", "MAX_TOKENS")
# Reasons for an end that servers give when the reply is not whole: vLLM, DeepSeek, OpenRouter
_BROKEN_OFF = (
    *("abort", "cancelled", "error", "network_error", "timeout"),
    "insufficient_system_resource",
)

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
        text = _message_of(inner)
        code = inner.get("code") if isinstance(inner, Mapping) else None
    code = code if isinstance(code, str) else ""
    return Fault(status, shown(text, secrets), code, _seconds(wait))


Completion = tuple[Reply, bool, str | None]
"""A reply, whether it was cut off before its visible part began, and the server's model name."""


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
        raise TransientError(f"{_ODD} but {_message_of(fault)}" if fault else _ODD)
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
    silent = silent or bool(text.strip() and not strip_thinking(text).strip())
    thinks = message.get("reasoning_content") or message.get("reasoning")
    model = known.get("model")
    return (
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


def _message_of(fault: object) -> str:
    if isinstance(fault, Mapping):
        fault = fault.get("message") or fault.get("detail") or fault
    return str(fault)


def _text(content: Any) -> str:
    """The text of a message; some servers send a list of parts, or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def _check(model: str, settings: Settings) -> str | None:
    if not model:
        return "add a model, such as openai:gpt-4o-mini"
    if not settings.openai_key and not settings.openai_url:
        return (
            "set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server (vLLM, SGLang, Ollama, ...)"
        )
    if settings.openai_key and not re.fullmatch(r"[\x21-\x7e]+", settings.openai_key):
        return (
            "OPENAI_API_KEY contains a character that keys do not have: a space, a line break or a "
            "curly quote. Copy the key again"
        )
    return None


BACKEND = Backend(
    usage="openai:MODEL",
    purpose="a model behind an OpenAI-compatible server (OPENAI_API_KEY, OPENAI_BASE_URL)",
    check=_check,
    open=OpenAIJudge,
    sees=lambda model, settings: True,  # known only from a server's replies
)
