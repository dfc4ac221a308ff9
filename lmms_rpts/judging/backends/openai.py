"""Judge backend: any server that uses the OpenAI chat protocol, through openai's client."""

from __future__ import annotations

import asyncio
import base64
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any

from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.parsers import json_object
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    Backend,
    FailureKind,
    FatalJudgeError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Usage,
)
from lmms_rpts.reasoning.thinking import strip_thinking

# Tokens of hidden thinking that a model may use in addition to those of its reply.
HIDDEN_THINKING = 8192
# Maximum number of changes to one request, and of bytes of a response.
MOST_CHANGES, LONGEST_BODY = 8, 4 * 2**20
# Servers enforce a schema to the letter, and llama.cpp ignores the bounds of numbers that are no
# integers: it wrote {"score": -1}. So scores are listed.
SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
_TOKENS = ("max_tokens", "max_completion_tokens")  # in the order in which they are tried


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    Fields that the server refuses are dropped or replaced, for all requests to come; the refused
    call is repeated at once. ``served_model``: the name of the model in the server's replies.
    """

    def __init__(self, model: str, settings: Settings) -> None:
        self._model, self._settings = model, settings
        self._url = settings.openai_url or "https://api.openai.com/v1"
        self._extra = dict(settings.extra_body or {})
        self.identity: dict[str, object] = {
            "endpoint": self._url,
            "model": model,
            "temperature": settings.temperature,
            **({"extra_body": dict(self._extra)} if self._extra else {}),
        }
        self.time_limit = settings.timeout
        self.served_model: str | None = None
        self._secrets = " ".join([settings.openai_key or "", *settings.openai_headers.values()])
        self._client: Any = None
        self._refused: frozenset[str] = frozenset()  # names of _FIELDS
        self._most_tokens = math.inf
        self._took_form = self._thinks = False

    async def ask(self, request: Request) -> Reply:
        """The server's reply, without the fields that it refuses."""
        refused, most, spent = self._refused, self._most_tokens, Usage()
        for _ in range(MOST_CHANGES):
            body = self.body(request, refused | self._refused, most, self._thinks)
            limit = next((body[name] for name in _TOKENS if name in body), None)
            sent = await self.with_images(request, body) if request.images else body
            answer = await self._post(sent, self.time_limit * request.patience)
            if isinstance(answer, Fault):
                refused, most = self._adapted(answer, request, body, refused, most)
                continue
            reply, thought_too_long, served = answer
            self.served_model = served or self.served_model
            if not thought_too_long or limit is None or limit > request.most_tokens:
                self._took_form = self._took_form or "response_format" in body
                if not self._took_form:
                    self._refused |= refused & {"response_format"}
                return replace(reply, usage=reply.usage and reply.usage + spent, limit=limit)
            self._thinks, spent = True, reply.usage or spent
        raise RefusedError("the judge's server refused the request in every form")

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    def body(
        self,
        request: Request,
        refused: frozenset[str] = frozenset(),
        most: float = math.inf,
        thinks: bool | None = None,
    ) -> dict[str, Any]:
        """The body of a call, without images; ``thinks``: None if nothing can be learned."""
        kind = request_kinds()[request.kind]
        messages = [dict(message) for message in request.messages]
        if "system" in refused:
            system = messages.pop(0)["content"]
            messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        tokens = next((name for name in _TOKENS if name not in refused), "")
        if thinks is None:
            thinks = request.attempt > 0 or not kind.has_verdict
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = thinks or tokens == "max_completion_tokens"
        if tokens:
            body[tokens] = int(min(request.most_tokens + thinks * HIDDEN_THINKING, most))
        if "temperature" not in refused:
            body["temperature"] = self._settings.temperature
        # The last request after unreadable replies has no schema, which may be the cause.
        own = not kind.words and request.parse is not None
        formed = kind.has_verdict and not own and request.attempt < 2
        if formed and "response_format" not in refused:
            body["response_format"] = _schema(request, "maxLength" not in refused)
        return body | {name: value for name, value in self._extra.items() if name not in refused}

    async def with_images(self, request: Request, body: dict[str, Any]) -> dict[str, Any]:
        """The body with the images, each after its name, at the begin of the first user message."""
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
        from openai import APIConnectionError, APIStatusError

        self._client = self._client or self._opened()
        try:
            # The client limits each part of a call only; a slow server could take forever.
            call = self._client.post("/chat/completions", cast_to=httpx.Response, body=body)
            answer = await asyncio.wait_for(call, limit)
        except APIStatusError as error:
            answer = error.response
            return read_fault(answer.status_code, answer.headers, answer.content, self._secrets)
        except asyncio.TimeoutError:
            raise TransientError("the judge took too long to answer", kind="timed out") from None
        except APIConnectionError as error:
            cause = error.__cause__
            reason = shown(str(cause or error), self._secrets) or type(cause).__name__
            # By name: the library below depends on openai's version.
            if type(cause).__name__ in ("ConnectError", "ConnectTimeout", "ProxyError"):
                reason = f"no connection to {self._url}: {reason}"
                raise TransientError(reason, kind="unreachable") from None
            raise TransientError(f"the connection was lost to {self._url}: {reason}") from None
        if len(answer.content) > LONGEST_BODY:
            # Not retried: the next reply is likely to be as long and to cost as much.
            raise RefusedError("the judge's server sent a reply of more than 4 MiB")
        try:
            return read_completion(answer.content)
        except Exception as failure:
            failure.args = (shown(str(failure), self._secrets),)
            raise

    def _opened(self) -> Any:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        try:
            return AsyncOpenAI(
                base_url=self._url,
                api_key=self._settings.openai_key or "none",  # your own server need not have one
                default_headers=dict(self._settings.openai_headers),
                max_retries=0,
                http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=None),
            )
        except Exception as error:  # a proxy of the environment that httpx cannot use
            said = f"cannot use the proxy of the environment ({shown(str(error), self._secrets)})"
            raise FatalJudgeError(f"{said}; a SOCKS proxy needs: pip install socksio") from None

    def _adapted(
        self,
        fault: Fault,
        request: Request,
        body: Mapping[str, Any],
        refused: frozenset[str],
        most: float,
    ) -> tuple[frozenset[str], float]:
        """The refused fields and most tokens of the next call; raises the error if none is left."""
        images = bool(request.images)
        tokens = next((name for name in _TOKENS if name in body), None)
        if fault.status not in (400, 413, 415, 422, 500, 501) or fault.final or fault.unsafe:
            raise fault.error(images)
        if tokens and fault.status < 500 and _TOO_LONG.search(fault.words):
            fits, always = _fitting(fault.words, body[tokens])
            if fits and most == self._most_tokens:
                self._most_tokens = fits if always else most
                return refused, fits
            if fits or not _INSTEAD.search(fault.words):
                raise fault.error(images)
        if name := self._refused_field(fault, body):
            self._refused |= {name}
            return refused | {name}, most
        # Some servers do not name the field; the prompt asks for a score anyway.
        unnamed = "response_format" in body and not self._took_form and fault.status in (400, 422)
        if unnamed and not (images and _IMAGE.search(fault.words)):
            return refused | {"response_format"}, most
        raise fault.error(images)

    def _refused_field(self, fault: Fault, body: Mapping[str, Any]) -> str | None:
        """The name of the field that the server refuses; None if it names none that we sent."""
        needed = _MUST_BE.search(fault.words)
        if needed and needed[1] not in (*_FIELDS, "stream"):
            value = needed[2] == "true"
            if body.get(needed[1]) is not value:
                self._extra[needed[1]] = value
                return f"another {needed[1]}"
        fields = {name: words for name, words in _FIELDS.items() if name in body}
        if body["messages"][0]["role"] == "system":
            fields["system"] = _FIELDS["system"]
        fields |= {name: re.escape(name.lower()) for name in self._extra if name in body}
        if fault.status >= 500:  # of a failure, only the form may be the cause
            fields = {name: words for name, words in fields.items() if name == "response_format"}
        # The first name counts: "response_format is not supported: {'temperature': 0, ...}"
        places = {name: re.search(words, fault.words) for name, words in fields.items()}
        named = {name: place.start() for name, place in places.items() if place}
        name = min(named, key=lambda each: named[each], default=None)
        if name == "response_format" and "maxLength" in str(body[name]):
            return "maxLength"
        return name


def _schema(request: Request, bounded: bool) -> dict[str, Any]:
    """The ``response_format`` of a call: the reason, if wanted, and the score or word."""
    kind = request_kinds()[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and request.reasoned and not request.attempt:
        # Without it, llama.cpp wrote endless reasons.
        longest = {"maxLength": kind.longest_reason} if bounded else {}
        fields["reason"] = {"type": "string", **longest}
    if kind.words:
        fields["verdict"] = {"type": "string", "enum": list(kind.words)}
    else:
        fields["score"] = {"type": "number", "enum": list(SCORES)}
    required = {"required": list(fields), "additionalProperties": False}
    schema = {"type": "object", "properties": fields, **required}
    named = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


# ---- refused fields

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
_EXCEEDS = r"(?:too (?:large|long|many|high)|at most|maximum|exceed|range|less than|longer|>|超)"
_LENGTH = r"(?:max_?(?:completion_|output_|new_)?tokens|tokens?\b|context|input length|上下文)"
_TOO_LONG = re.compile(f"{_LENGTH}.{{0,200}}?{_EXCEEDS}|{_EXCEEDS}.{{0,200}}?{_LENGTH}", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.-])(?:\d{1,3}(?:,\d{3})+|\d{1,9})(?![\w-]|\.\d)")


def _fitting(words: str, sent: int) -> tuple[int | None, bool]:
    """The limit of tokens that a refusal leaves, and whether it holds for all requests.

    "maximum context length is 4096 tokens. However, you requested 4200 tokens (3688 in the
    messages, 512 in the completion)" leaves 4096 - 3688; "at most 4096 completion tokens" 4096.
    """
    numbers = {int(each.replace(",", "")) for each in _NUMBER.findall(words)} - {0, 1, sent}
    known = {number for number in numbers if number - sent not in numbers}  # no totals
    # Fewer than 16 tokens hold no score.
    if room := {a - b for a in known for b in known if 16 <= a - b < sent}:
        return min(room), False
    caps = {number for number in known if 16 <= number < sent}
    return (max(caps), True) if caps else (None, False)


# ---- what errors mean

# No request can succeed: no credit, a wrong key, an unknown model.
_FINAL = re.compile(
    r"insufficient[ _-]?(?:account[ _-])?(?:quota|balance|credit|fund)|credit (?:balance|limit)"
    r"|balance (?:is )?(?:insufficient|not enough|too low|exhausted)|payment required|arrearage"
    r"|(?:out of|no|any|more|enough|remaining) credits?\b|exceeded_current_quota|in good standing"
    r"|billing[ _]hard[ _]limit|account .{0,60}(?:suspended|deactivated|overdue)|余额不足|欠费"
    r"|(?:invalid|incorrect|missing|expired|wrong)[ _-]?(?:x-)?api[ _-]?key|api_key_invalid"
    r"|api[ _-]?key (?:is )?(?:not valid|invalid|incorrect|expired|missing|not found)"
    r"|authentication[ _]?(?:error|fail)|unauthenticated|login fail|身份验证|鉴权|令牌"
    r"|model[ _]?not[ _]?(?:found|exist)|no such model|model .{0,80}(?:does not|doesn't) exist"
    r"|is not a valid model|invalid model name|unknown model|model .{0,60} not found|模型不存在"
    r"|server is pinned to"
)
_QUOTA = re.compile(r"exceeded your current quota|quota exceeded")
_UNSAFE = re.compile(
    r"content[ _-]?(?:filter|policy|management|moderation)|moderation|flagged|safety"
    r"|responsible ?ai|prohibited[ _]content|data_?inspection|inappropriate|敏感|违规|不安全"
)
_BUSY = re.compile(r"rate[ _-]?limit|too many requests|throttl|频率|速率|限流")
_STARTING = re.compile(r"loading|warming|starting|initiali[sz]ing|not (?:yet )?ready")
# "Please try again in 7m54.3s", "retryDelay": "28s"
_AGAIN = re.compile(
    r"(?:try again|retry)[^\d]{0,30}((?:\d{1,6}(?:\.\d{1,9})? ?(?:ms|m|s|h)[a-z]{0,6} ?){1,3})"
)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
# What an error may quote of the request
_QUOTED = ("input", "ctx", "messages", "request", "failed_generation")


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
    def unsafe(self) -> bool:
        """Whether a filter refused the contents of this request."""
        return self.status in (200, 400, 403, 422, 451) and bool(_UNSAFE.search(self.words))

    @property
    def final(self) -> bool:
        """Whether no request can succeed."""
        said = _FINAL.search(self.words) or (self.retry_after is None and _QUOTA.search(self.words))
        return not self.unsafe and (self.status in (401, 402, 403, 404) or bool(said))

    def error(self, with_images: bool = False) -> Exception:
        """The exception for the error."""
        detail, status = f"({self.status}): {self.message}", self.status
        if self.unsafe:
            return RefusedError(f"the judge's server refused the contents {detail}")
        if self.final:
            return FatalJudgeError(f"the judge's server reports {detail}")
        if status in (200, 408, 409, 425, 429) or status >= 500:
            busy = status in (429, 529) or _BUSY.search(self.words)
            starting = status == 503 and _STARTING.search(self.words)
            kind: FailureKind = "throttled" if busy else "starting" if starting else ""
            reason = f"the judge's server failed {detail}"
            return TransientError(reason, self.retry_after, kind)
        if 300 <= status < 400:
            hint = "redirects are not followed: set OPENAI_BASE_URL to the final address"
            return TransientError(f"the judge's server redirects {detail}; {hint}")
        what = " a question with images" * (with_images and bool(_IMAGE.search(self.words)))
        hint = "; try smaller images: set image_size in rpts.toml" if status == 413 else ""
        return RefusedError(f"the judge's server refused{what} {detail}{hint}")


def read_fault(status: int, headers: Mapping[str, str], content: bytes, secrets: str = "") -> Fault:
    """The error in a response; its message is the body if that is not JSON."""
    try:
        body = json.loads(
            content, object_hook=lambda it: {k: v for k, v in it.items() if k not in _QUOTED}
        )
    except (ValueError, RecursionError):
        text = content[:LONGEST].decode("utf-8", "replace")
        title = re.search(r"<title>(.{1,200}?)</title>", text, re.DOTALL | re.IGNORECASE)
        body = title[1] if title else text
    words = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).lower()
    words, wait = words[: 2 * LONGEST], headers.get("retry-after", "")
    seconds: float | None = None
    if again := _AGAIN.search(words):
        parts = re.findall(r"([\d.]+) ?(ms|m|s|h)", again[1])
        seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    with suppress(ValueError, TypeError, OverflowError, IndexError):  # a date, or a number
        until = parsedate_to_datetime(wait).replace(tzinfo=timezone.utc)
        seconds = max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
    with suppress(ValueError):
        seconds = max(0.0, float(wait)) if math.isfinite(float(wait)) else seconds
    place = headers.get("location", "").partition("?")[0]
    message = message_of(body) + (f" to {place}" if place else "")
    return Fault(status, shown(message, secrets), words, seconds)


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
    # The field, in errors of FastAPI; what the provider said, in those of OpenRouter
    more = [body.get("loc"), body.get("metadata")]
    return " ".join([message_of(inner), *(json.dumps(each) for each in more if each)])


def shown(text: str, secrets: str) -> str:
    """A server's text for a message: one short, printable line without keys and images."""
    return shorten(mask(printable(text[:LONGEST]), secrets), 500)


# ---- replies

_ODD = "the judge's server sent no chat completion"
_PAGE = ", but a page of HTML: this is no OpenAI-compatible endpoint; does the address end in /v1?"
# Reasons for an end: the limit of tokens; a filter; a failure
_CUT = ("length", "max_tokens", "model_length", "max_output_tokens")
_FILTERED = re.compile(r"filter|safety|recitation|prohibited|blocklist|spii|sensitive|refus|guard")
_BROKEN_OFF = re.compile(r"abort|cancel|error|timeout|insufficient|malformed|fail")

Completion = tuple[Reply, bool, "str | None"]
"""A reply, whether it was cut off before its visible part began, and the server's model name."""


def read_completion(content: bytes) -> Completion:
    """The reply in the body of a response; raises the error that it holds, of our types."""
    try:
        known = json.loads(content)
    except (ValueError, RecursionError) as error:
        page = content.lstrip()[:1] == b"<"
        raise TransientError(f"{_ODD}{_PAGE if page else f' ({type(error).__name__})'}") from None
    known = known if isinstance(known, Mapping) else {"message": known}
    choices = known.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping) or choice.get("error"):
        # Some gateways report errors with status 200.
        fault = read_fault(200, {}, json.dumps(choice or known).encode())
        code = re.search(r'"(?:status_)?(?:code|status)": "?([45]\d\d)\b', fault.words)
        failure = replace(fault, status=int(code[1]) if code else 200).error()
        failure.args = (f"{_ODD}, but: {failure}",)
        raise failure
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {"content": choice.get("text")}
    finish = str(choice.get("finish_reason") or "").lower()
    if _FILTERED.search(finish) or message.get("refusal"):
        raise RefusedError(f"the judge refused: {message.get('refusal') or finish}")
    if _BROKEN_OFF.search(finish):
        raise TransientError(f"the judge stopped early: {finish}")
    text, note, cut = message.get("content"), "", finish in _CUT
    if isinstance(text, list):  # parts: of thinking, and of text
        parts = (part.get("text") if isinstance(part, dict) else part for part in text)
        text = "".join(part for part in parts if isinstance(part, str))
    elif not isinstance(text, str):
        text = "" if text is None else json.dumps(text)
    name = "reasoning_content" if message.get("reasoning_content") else "reasoning"
    thinking = message.get(name)
    # A long run of white space is no thinking: with a schema, models get stuck in it (vLLM).
    silent = not text.strip() and len(text) < 100
    if silent and isinstance(thinking, str) and not cut:
        note = f"the server put the whole reply into {name}"
        text = thinking if json_object(thinking) else text
    silent = silent or not strip_thinking(text).strip()
    model = known.get("model")
    return (
        Reply(text, _usage(known.get("usage")), complete=not cut, note=note),
        cut and bool(silent or thinking),
        model if isinstance(model, str) else None,
    )


def _usage(counted: object) -> Usage | None:
    """The tokens in a completion's ``usage``; None if they are missing or implausible."""
    counted = counted if isinstance(counted, Mapping) else {}
    details = counted.get("completion_tokens_details")
    thought = details.get("reasoning_tokens") if isinstance(details, Mapping) else 0
    tokens = [counted.get("prompt_tokens"), counted.get("completion_tokens"), thought]
    read, made, thought = (0 if number is None else number for number in tokens)
    # Accepting 2**70 would exhaust any budget.
    if not all(type(number) is int and 0 <= number <= 10**8 for number in (read, made, thought)):
        return None
    return Usage(read, made, min(thought, made)) if read + made else None


def _check(model: str, settings: Settings) -> str | None:
    key = settings.openai_key
    if not model:
        return "add a model, such as openai:gpt-4o-mini"
    if not key and not settings.openai_url:
        return "set OPENAI_API_KEY, or OPENAI_BASE_URL for your own server (vLLM, SGLang, ...)"
    if key and not re.fullmatch(r"[\x21-\x7e]+", key):
        return "OPENAI_API_KEY has a space, a line break or a curly quote: copy the key again"
    return None


BACKEND = Backend(
    usage="openai:MODEL",
    purpose="a model behind an OpenAI-compatible server (OPENAI_API_KEY, OPENAI_BASE_URL)",
    check=_check,
    open=OpenAIJudge,
    sees=lambda model, settings: True,  # known only from a server's replies
)
