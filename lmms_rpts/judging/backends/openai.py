"""Judge backend: any server that uses the OpenAI chat protocol, through openai's client."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.parsers import json_object, strip_thinking
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Usage,
)

OPENAI = "https://api.openai.com/v1"

# Tokens of hidden thinking that a model may use in addition to those of its reply.
HIDDEN_THINKING = 8192
# Fewer tokens hold no score.
FEWEST_TOKENS = 16
# Maximum number of changes to one request.
MOST_CHANGES = 8
# Maximum bytes of a response: a judge's longest reply takes about 100 KB.
LONGEST_BODY = 4 * 2**20
# Seconds after the time limit in which the client may still report the timeout itself.
GRACE = 0.2

# A JSON schema with ``enum`` and ``maxLength``; without ``maxLength``; text. Servers enforce a
# schema to the letter: llama.cpp wrote ``{"score": -1}`` and endless reasons with one that had
# neither. It ignores bounds of numbers that are no integers, so scores are listed.
BOUNDED, ENUM, TEXT = range(3)
SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a server takes, as far as its refusals told.

    Attributes:
        form: how a score is requested.
        tokens: the field with the limit of tokens; None: no field.
        most: the largest limit of tokens.
        temperature: None: no field.
        system: whether there may be a system message.
        extra: further fields, from the setting ``extra_body``.
    """

    form: int = BOUNDED
    tokens: str | None = "max_tokens"
    most: int | None = None
    temperature: float | None = None
    system: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    Fields that the server refuses are dropped or replaced, for all requests to come; the refused
    call is repeated at once.

    Attributes:
        served_model: the name of the model in the server's replies; None before the first one.
    """

    def __init__(self, model: str, settings: Settings) -> None:
        extra = dict(getattr(settings, "extra_body", None) or {})
        self.identity: dict[str, object] = {
            "endpoint": settings.openai_url or OPENAI,
            "model": model,
            "temperature": settings.temperature,
            **({"extra_body": extra} if extra else {}),
        }
        self.time_limit = settings.timeout
        self.served_model: str | None = None
        self._model, self._settings = model, settings
        self._secrets = " ".join([settings.openai_key or "", *settings.openai_headers.values()])
        self._client: Any = None
        self._shape = Shape(temperature=settings.temperature, extra=extra)
        self._took_form = self._thinks = False

    async def ask(self, request: Request) -> Reply:
        """The server's reply, in the shape that it takes."""
        shape, limit, spent = self._shape, None, Usage()
        for _ in range(MOST_CHANGES):
            body = await self._encoded(request, self._body(request, shape, limit, self._thinks))
            sent = next((body[name] for name in _TOKENS if name in body), None)
            answer = await self._post(body, self.time_limit * request.patience)
            if isinstance(answer, Fault):
                shape, limit = self._changed(answer, request, body, shape, limit)
                continue
            reply, thought_too_long, served = answer
            self.served_model = served or self.served_model
            if not thought_too_long or sent is None or sent > request.most_tokens:
                break
            self._thinks, spent = True, reply.usage or spent
        else:
            raise RefusedError("the judge's server refused the request in every form")
        if "response_format" in body:
            self._took_form = True
        elif shape.form == TEXT and not self._took_form:
            self._shape = replace(self._shape, form=TEXT)
        usage = reply.usage and reply.usage + spent
        return replace(reply, usage=usage, limit=sent)

    def body(self, request: Request) -> dict[str, Any]:
        """The body of a call of which nothing can be learned until its batch is answered.

        A text, and a score that is asked for again, have room for hidden thinking.
        """
        thinks = request.attempt > 0 or not request_kinds()[request.kind].has_verdict
        return self._body(request, self._shape, None, thinks)

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def _body(
        self, request: Request, shape: Shape, limit: int | None, thinks: bool
    ) -> dict[str, Any]:
        messages = [dict(message) for message in request.messages]
        if not shape.system:
            system = messages.pop(0)
            messages[0]["content"] = f"{system['content']}\n\n{messages[0]['content']}"
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = thinks or shape.tokens == "max_completion_tokens"
        if shape.tokens is not None:
            most = request.most_tokens + thinks * HIDDEN_THINKING
            body[shape.tokens] = min(most, shape.most or most, limit or most)
        if shape.temperature is not None:
            body["temperature"] = shape.temperature
        if shape.form != TEXT and _has_form(request):
            body["response_format"] = _schema(request, shape.form)
        return {**body, **shape.extra}

    async def _encoded(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the images, each after its name, at the begin of the first user message."""
        if not request.images:
            return body
        parts: list[dict[str, Any]] = []
        for image in request.images:
            try:  # in another thread, so that other calls are not delayed
                content = await asyncio.to_thread(image.encoded)
            except ImageError as error:
                raise RefusedError(str(error)) from None
            url = f"data:{MEDIA_TYPE};base64,{base64.b64encode(content).decode('ascii')}"
            parts.append({"type": "text", "text": f"{image.name}:"})
            parts.append({"type": "image_url", "image_url": {"url": url}})
        first = next(each for each in body["messages"] if each["role"] == "user")
        first["content"] = [*parts, {"type": "text", "text": first["content"]}]
        return body

    async def _post(self, body: Mapping[str, Any], limit: float) -> Completion | Fault:
        """The completion, or what the server answered instead; an error if it did not answer."""
        import httpx
        from openai import APIConnectionError, APIStatusError, APITimeoutError

        client = self._client = self._client or self._opened()
        try:
            # The client limits each part of a call only; a slow server could take forever.
            call = client.post(
                "/chat/completions", cast_to=httpx.Response, body=body, options={"timeout": limit}
            )
            answer = await asyncio.wait_for(call, limit + GRACE)
        except APIStatusError as error:
            answer = error.response
            return read_fault(answer.status_code, answer.headers, answer.content, self._secrets)
        except (APITimeoutError, asyncio.TimeoutError) as error:
            if not isinstance(error.__cause__, httpx.ConnectTimeout):
                raise TransientError(
                    "the judge took too long to answer", kind="timed out"
                ) from None
            raise self._unreachable(error) from None
        except APIConnectionError as error:
            if isinstance(error.__cause__, httpx.ConnectError | httpx.ProxyError):
                raise self._unreachable(error) from None
            reason = shown(str(error.__cause__ or error), self._secrets)
            where = self.identity["endpoint"]
            raise TransientError(f"the connection was lost to {where}: {reason}") from None
        if len(answer.content) > LONGEST_BODY:
            # Not retried: the next reply is likely to be as long and to cost as much.
            reason = f"the judge's server sent a reply of more than {LONGEST_BODY // 2**20} MiB"
            raise RefusedError(reason)
        try:
            return read_completion(answer.content)
        except Exception as failure:
            failure.args = (shown(str(failure), self._secrets),)
            raise

    def _unreachable(self, error: Exception) -> TransientError:
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        reason = shown(str(causes[-1]), self._secrets) or type(causes[-1]).__name__
        where = self.identity["endpoint"]
        return TransientError(f"no connection to {where}: {reason}", kind="unreachable")

    def _opened(self) -> Any:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        try:
            return AsyncOpenAI(
                base_url=str(self.identity["endpoint"]),
                api_key=self._settings.openai_key or "none",  # your own server need not have one
                default_headers=dict(self._settings.openai_headers),
                max_retries=0,
                http_client=DefaultAsyncHttpxClient(follow_redirects=False),
            )
        except Exception as error:  # a proxy of the environment that httpx cannot use
            raise FatalJudgeError(
                f"cannot open a client ({shown(str(error), self._secrets)}): if HTTPS_PROXY, "
                "HTTP_PROXY or ALL_PROXY names a SOCKS proxy, run: pip install socksio; else "
                "correct or unset it"
            ) from None

    def _changed(
        self,
        fault: Fault,
        request: Request,
        body: Mapping[str, Any],
        shape: Shape,
        limit: int | None,
    ) -> tuple[Shape, int | None]:
        """The shape and limit of tokens for the next call; raises the error if there is none."""
        if fault.status not in (400, 413, 415, 422, 500, 501) or fault.is_final or fault.is_unsafe:
            raise fault.error(bool(request.images))
        name = next((name for name in _TOKENS if name in body), None)
        if name and limit is None and fault.status != 500 and _TOO_LONG.search(fault.words):
            fits, always = _fitting(fault.words, body[name])
            if fits is not None:
                if always:
                    self._shape = replace(self._shape, most=fits)
                return shape, fits
            if not _INSTEAD.search(fault.words):
                raise fault.error(bool(request.images))
        change = _change(fault, body, shape)
        if change:
            # Concurrent requests get the same complaint: what another one learnt stays.
            for field_name, value in change.items():
                if getattr(self._shape, field_name) == getattr(shape, field_name):
                    self._shape = replace(self._shape, **{field_name: value})
            return replace(shape, **change), limit
        # Some servers do not name the field; the prompt asks for a score anyway.
        unnamed = fault.status in (400, 422) and not (request.images and _IMAGE.search(fault.words))
        if unnamed and "response_format" in body and not self._took_form:
            return replace(shape, form=TEXT), limit
        raise fault.error(bool(request.images))


def _has_form(request: Request) -> bool:
    """Whether a request asks for a score or for one of a few words, which a schema can express.

    The last request after unreadable replies is sent without: the schema may have been the cause.
    """
    kind = request_kinds()[request.kind]
    own = not kind.words and request.parse is not None
    return kind.has_verdict and not own and request.attempt < 2


def _schema(request: Request, form: int) -> dict[str, Any]:
    """The ``response_format`` of a call.

    Asked for are the reason, unless it is not wanted or the request was repeated, and the score or
    word that is based on it.
    """
    kind = request_kinds()[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and request.reasoned and not request.attempt:
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


# ---- refused fields

_TOKENS = ("max_tokens", "max_completion_tokens")
# The names of our fields in messages: "'response_format' is not supported", "guided decoding is
# off", "Developer instruction is not enabled for models/gemma-3", "System role not supported".
_FIELDS = {
    "response_format": r"response[_ ]?format|json[_ ]?schema|schema|structured|guided|grammar",
    "max_tokens": r"max_?(?:completion_?|output_?|new_?)?tokens",
    "max_completion_tokens": r"max_?(?:completion_?|output_?|new_?)?tokens",
    "temperature": "temperature",
    "system": r"\bsystem\b|\broles?\b|developer (?:instruction|message)",
}
# "parameter.enable_thinking must be set to false for non-streaming calls": a field with its value
_MUST_BE = re.compile(
    r"(\b[a-z]\w{2,40})\W{1,3}(?:must|should|has to|can only) be (?:set to )?\W?(true|false)\b"
)
_INSTEAD = re.compile(r"max_completion_tokens.{0,20}instead|instead.{0,20}max_completion_tokens")
_IMAGE = re.compile(r"image|multi-?modal|\bvision|content must be|图[片像]|视觉|多模态")
_TOO_LONG = re.compile(
    r"(?:max_?(?:completion_|output_|new_)?tokens|context|tokens?\b|input length|上下文).{0,200}?"
    r"(?:too (?:large|long|many|high)|at most|maximum|exceed|range|less than|longer|>|limit|超)"
    r"|(?:too (?:large|long|many)|at most|maximum|exceed|range|less than|超).{0,200}?"
    r"(?:tokens?\b|context|上下文)",
    re.DOTALL,
)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?:,\d{3})+(?![\w-])|(?<![\w.-])\d{1,9}(?![\w-]|\.\d)")


def _change(fault: Fault, body: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    """What to change in the shape, since the server refuses a field that we sent."""
    sent = {
        name: words for name, words in _FIELDS.items() if name in body and name not in shape.extra
    }
    if body["messages"][0]["role"] == "system":
        sent["system"] = _FIELDS["system"]
    sent |= {name: rf"\b{re.escape(name.lower())}\b" for name in shape.extra}
    if fault.status >= 500:  # of a failure, only the form may be the cause
        sent = {name: words for name, words in sent.items() if name == "response_format"}
    if needed := _MUST_BE.search(fault.words):
        name, value = needed[1], needed[2] == "true"
        if name != "stream" and name not in _FIELDS and shape.extra.get(name) is not value:
            return {"extra": {**shape.extra, name: value}}
    # The first name counts: "response_format is not supported: {'temperature': 0, ...}"
    places = {
        name: mention.start()
        for name, words in sent.items()
        if (mention := re.search(words, fault.words))
    }
    if not places:
        return {}
    name = min(places, key=lambda each: places[each])
    if name == "response_format":
        return {"form": shape.form + 1}
    if name == "max_tokens":
        return {"tokens": "max_completion_tokens"}
    if name == "max_completion_tokens":
        return {"tokens": None}
    if name == "system":
        return {"system": False}
    if name == "temperature":
        return {"temperature": None}
    return {"extra": {key: value for key, value in shape.extra.items() if key != name}}


def _fitting(words: str, sent: int) -> tuple[int | None, bool]:
    """The limit of tokens that a refusal leaves, and whether it holds for all requests.

    "maximum context length is 4096 tokens. However, you requested 4200 tokens (3688 in the
    messages, 512 in the completion)" leaves 4096 - 3688; "at most 4096 completion tokens" 4096.
    """
    numbers = {int(each.replace(",", "")) for each in _NUMBER.findall(words)}
    totals = {number for number in numbers if number - sent in numbers}
    known = {number for number in numbers - totals if number not in (0, 1, sent)}
    room = {a - b for a in known for b in known if FEWEST_TOKENS <= a - b < sent and b > 0}
    if room and not any(FEWEST_TOKENS <= number < sent for number in known):
        return min(room), False
    caps = {number for number in known if FEWEST_TOKENS <= number < sent}
    if room:  # the prompt is shorter than the limit that was sent
        return min(room), False
    return (max(caps), True) if caps else (None, False)


# ---- what servers say

# No request can succeed: no credit, a wrong key, an unknown model.
_FINAL = re.compile(
    r"insufficient[ _-]?(?:account[ _-])?(?:quota|balance|credit|fund)"
    r"|balance (?:is )?(?:insufficient|not enough|too low|exhausted)|credit balance|credit limit"
    r"|(?:out of|no|any|more|enough|remaining) credits?\b|exceeded_current_quota|arrearage"
    r"|in good standing|billing_hard_limit|billing hard limit|payment required"
    r"|account .{0,60}(?:suspended|deactivated|overdue)|余额不足|欠费|余额.{0,6}(?:不足|用尽)"
    r"|(?:invalid|incorrect|missing|expired|wrong)[ _-]?(?:x-)?api[ _-]?key|api_key_invalid"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired|missing|not found)"
    r"|authentication[ _]?(?:error|fail)|unauthenticated|login fail|身份验证|鉴权|令牌"
    r"|model[ _]?not[ _]?(?:found|exist)|no such model|model .{0,80}(?:does not|doesn't) exist"
    r"|is not a valid model|invalid model name|unknown model|model .{0,60} not found|模型不存在"
    r"|pinned to"
)
_QUOTA = re.compile(r"exceeded your current quota|quota exceeded")
_UNSAFE = re.compile(
    r"content[ _-]?(?:filter|policy|management|moderation)|moderation|flagged|safety"
    r"|responsible ?ai|prohibited[ _]content|data_?inspection|inappropriate|敏感|违规|不安全"
)
_BUSY = re.compile(r"rate[ _-]?limit|too many requests|throttl|频率|速率|限流")
_STARTING = re.compile(r"loading|warming|starting|initiali[sz]ing|not (?:yet )?ready")
# "Please try again in 7m54.3s", "retryDelay": "28s", "retry after 3 seconds"
_AGAIN = re.compile(
    r"(?:try again|retry)[^\d]{0,30}((?:\d{1,6}(?:\.\d{1,9})? ?(?:ms|m|s|h)[a-z]{0,6} ?){1,3})"
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Fault:
    """An error of a server: its status, its message without secrets, and Retry-After.

    ``words``: all that it says, in lower case, without what it quotes of the request.
    """

    status: int
    message: str
    words: str
    retry_after: float | None = None

    @property
    def is_final(self) -> bool:
        """Whether no request can succeed."""
        if self.is_unsafe:
            return False
        again = self.retry_after is not None or "per minute" in self.words
        quota = not again and _QUOTA.search(self.words)
        said = bool(_FINAL.search(self.words) or quota)
        return self.status in (401, 402, 403, 404) or said

    @property
    def is_unsafe(self) -> bool:
        """Whether a filter refused the contents of this request."""
        return self.status in (200, 400, 403, 422, 451) and bool(_UNSAFE.search(self.words))

    def error(self, with_images: bool = False) -> Exception:
        """The exception for the error."""
        detail = f"({self.status}): {self.message}"
        if self.is_unsafe:
            return RefusedError(f"the judge's server refused the contents {detail}")
        if self.is_final:
            return FatalJudgeError(f"the judge's server reports {detail}")
        if self.status in (200, 408, 409, 425, 429) or self.status >= 500:
            reason = f"the judge's server failed {detail}"
            if self.status in (429, 529) or _BUSY.search(self.words):
                return TransientError(reason, self.retry_after, "throttled")
            starting = self.status == 503 and _STARTING.search(self.words)
            return TransientError(reason, self.retry_after, "starting" if starting else "")
        if 300 <= self.status < 400:
            return TransientError(
                f"the judge's server redirects {detail}; redirects are not followed: set "
                "OPENAI_BASE_URL to the final address"
            )
        if with_images and self.status == 413:
            detail += "; try smaller images: set image_size in rpts.toml"
        if with_images and _IMAGE.search(self.words):
            return RefusedError(f"the judge's server refused a question with images {detail}")
        return RefusedError(f"the judge's server refused {detail}")


def read_fault(status: int, headers: Mapping[str, str], content: bytes, secrets: str = "") -> Fault:
    """The error in a response; its message is the body if that is not JSON."""
    text = content[: 10 * LONGEST].decode("utf-8", "replace")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        title = re.search(r"<title>(.{1,200}?)</title>", text, re.DOTALL | re.IGNORECASE)
        body = title[1] if title else text
    words = "\n".join(_words(body))[: 2 * LONGEST].lower()
    location = headers.get("location", "").partition("?")[0]
    message = message_of(body) + (f" to {location}" if location else "")
    wait = _seconds(headers) if headers else None
    if wait is None and (again := _AGAIN.search(words)):
        parts = re.findall(r"([\d.]+) ?(ms|m|s|h)", again[1])
        wait = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return Fault(status, shown(message, secrets), words, wait)


def _words(body: object) -> Iterator[str]:
    """The names and values of an error, but for what it quotes of the request."""
    if isinstance(body, Mapping):
        for name, value in body.items():
            if name not in ("input", "ctx", "messages", "request", "failed_generation"):
                yield from (str(name), *_words(value))
    elif isinstance(body, list):
        for value in body:
            yield from _words(value)
    else:
        yield str(body)


def message_of(body: object) -> str:
    """The message in an error that a server reports."""
    if isinstance(body, list) and body:
        return message_of(body[0])
    if not isinstance(body, Mapping):
        return "" if body is None else str(body)
    names = ("error", "message", "msg", "detail", "error_msg", "base_resp", "status_msg", "errors")
    inner = next((body[name] for name in names if body.get(name)), None)
    if inner is None:
        return json.dumps(body)
    place = ".".join(map(str, body["loc"])) + ": " if isinstance(body.get("loc"), list) else ""
    metadata = body.get("metadata")  # OpenRouter: what the provider said
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return place + message_of(inner) + (f": {raw}" if raw else "")


def shown(text: str, secrets: str) -> str:
    """A server's text for a message: one short, printable line without keys and images."""
    return shorten(mask(printable(text[:LONGEST]), secrets), 500)


def _seconds(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from Retry-After: a number or a date; None if it is neither."""
    known = {name.lower(): value for name, value in headers.items()}
    value = known.get("retry-after", "")
    with contextlib.suppress(ValueError):
        seconds = (
            float(known["retry-after-ms"]) / 1000 if "retry-after-ms" in known else float(value)
        )
        return max(0.0, seconds) if math.isfinite(seconds) else None
    with contextlib.suppress(ValueError, OverflowError, TypeError, IndexError):
        until = parsedate_to_datetime(value)
        until = until if until.tzinfo else until.replace(tzinfo=timezone.utc)
        return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
    return None


# Highest plausible token count of one call: accepting 2**70 would exhaust any budget.
MOST_COUNTED = 100_000_000

_ODD = "the judge's server sent no chat completion"
# Reasons for an end: the limit of tokens; a filter; a failure
_CUT = ("length", "max_tokens", "model_length", "max_output_tokens")
_FILTERED = re.compile(
    r"filter|safety|recitation|prohibited|blocklist|spii|sensitive|refusal|guard"
)
_BROKEN_OFF = re.compile(r"abort|cancel|error|timeout|insufficient|malformed|fail")

Completion = tuple[Reply, bool, "str | None"]
"""A reply, whether it was cut off before its visible part began, and the server's model name."""


def read_completion(content: bytes) -> Completion:
    """The reply in the body of a response; raises the error that it holds, of our types."""
    try:
        known = json.loads(content)
    except (ValueError, RecursionError) as error:
        if content.lstrip()[:1] == b"<":
            raise TransientError(
                f"{_ODD}, but a page of HTML: this is no OpenAI-compatible endpoint; does the "
                "address end in /v1?"
            ) from None
        raise TransientError(f"{_ODD} ({type(error).__name__})") from None
    known = known if isinstance(known, Mapping) else {"message": known}
    choices = known.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    failed = known if not choice else choice if isinstance(choice, Mapping) else {}
    if not choice or failed.get("error"):
        # Some gateways report errors with status 200.
        if choices == [] and not known.get("error"):
            raise TransientError("the judge's reply contains no choice")
        fault = read_fault(200, {}, json.dumps(failed).encode())
        code = re.search(r"\b(?:code|status|status_code)\n([45]\d\d)\b", fault.words)
        fault = replace(fault, status=int(code[1]) if code else 200)
        error = fault.error()
        error.args = (f"{_ODD} but: {error}",)
        raise error
    message = failed.get("message")
    if not isinstance(message, Mapping):
        message = {"content": failed.get("text")}
    finish = str(failed.get("finish_reason") or "").lower()
    if _FILTERED.search(finish):
        raise RefusedError(f"the judge's content filter refused the request ({finish})")
    if message.get("refusal"):
        raise RefusedError(f"the judge refused: {message['refusal']}")
    cut = finish in _CUT
    if _BROKEN_OFF.search(finish):
        raise TransientError(f"the judge stopped early: {finish}")
    text, note = _text(message.get("content")), ""
    thinking = message.get("reasoning_content") or message.get("reasoning")
    # A long run of white space is no thinking: with a schema, models get stuck in it (vLLM).
    silent = not text.strip() and len(text) < 100
    if silent and isinstance(thinking, str) and not cut:
        name = "reasoning_content" if message.get("reasoning_content") else "reasoning"
        note = f"the server put the whole reply into {name}"
        text = thinking if json_object(thinking) else text
    silent = silent or bool(text.strip() and not strip_thinking(text).strip())
    model, unfinished = known.get("model"), cut and bool(silent or thinking)
    return (
        Reply(text, _usage(known.get("usage")), complete=not cut, note=note),
        unfinished,
        model if isinstance(model, str) else None,
    )


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


def _text(content: Any) -> str:
    """The text of a message; some servers send parts, an object or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, dict):
        return json.dumps(content)
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
