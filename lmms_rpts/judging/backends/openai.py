"""Judge backend: any server that uses the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.request import getproxies

from loguru import logger

from lmms_rpts.base.escaping import printable, shorten
from lmms_rpts.base.masking import LONGEST, mask
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    JudgeError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Usage,
)
from lmms_rpts.reasoning.thinking import strip_thinking

# Tokens of hidden thinking that a model may use in addition to those of its reply.
HIDDEN_THINKING = 8192
# Maximum number of calls for one reply, and of bytes of a response.
MOST_CHANGES, LONGEST_BODY = 8, 4 * 2**20
CHANGED = "The server of {} refuses {}: requests go on without it, or with another value"
# Servers enforce a schema to the letter, and llama.cpp ignores the bounds of numbers that are no
# integers: it wrote {"score": -1}. So scores are listed.
SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    A field that the server refuses is dropped or replaced, and the call repeated at once; what the
    server then accepts is kept for all requests to come.
    """

    def __init__(self, model: str, settings: Settings) -> None:
        self._model, self._settings = model, settings
        self._url = settings.openai_url or "https://api.openai.com/v1"
        self._extra = dict(settings.extra_body or {})
        self.identity: dict[str, object] = {
            "endpoint": self._url,
            "model": model,
            "temperature": settings.temperature,
            **({"extra_body": self._extra} if self._extra else {}),
        }
        self.time_limit = settings.timeout
        self._secrets = " ".join([settings.openai_key or "", *settings.openai_headers.values()])
        self._client: Any = None
        # Other values of fields, None for one to leave out
        self._changes: dict[str, Any] = {}
        self._thinks = self._took_form = False

    async def ask(self, request: Request) -> Reply:
        """The server's reply, without the fields that it refuses."""
        changes = dict(self._changes)
        for _ in range(MOST_CHANGES):
            body = await self.body(request, changes)
            try:
                content = await self._post(body, self.time_limit * request.patience)
                reply, thought_too_long = read_completion(content, self._secrets)
            except JudgeError as error:
                if not (change := _change(error, body, self._took_form)):
                    raise
                changes |= change
                continue
            # A number of tokens fits this request alone.
            kept = {name: it for name, it in changes.items() if type(it) is not int}
            for name in kept.keys() - self._changes.keys():
                logger.warning(CHANGED, self._model, name)
            self._changes |= kept
            self._took_form = self._took_form or "response_format" in body
            self._thinks = self._thinks or thought_too_long  # asked again, it has more tokens
            return reply
        raise RefusedError("the judge's server refused the request in every form")

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def body(
        self, request: Request, changes: Mapping[str, Any], *, thinks: bool = False
    ) -> dict[str, Any]:
        """The body of a call; images, each after its name, begin the first user message."""
        kind, messages = KINDS[request.kind], [dict(each) for each in request.messages]
        if "system" in changes:
            system = messages.pop(0)["content"]
            messages[0]["content"] = f"{system}\n\n{messages[0]['content']}"
        parts: list[dict[str, Any]] = []
        for image in request.images:
            # In another thread, so that other calls are not delayed
            content = await asyncio.to_thread(image.encoded)
            url = f"data:image/jpeg;base64,{base64.b64encode(content).decode('ascii')}"
            parts.append({"type": "text", "text": f"{image.name}:"})
            parts.append({"type": "image_url", "image_url": {"url": url}})
        asked: dict[str, Any] = next(each for each in messages if each["role"] == "user")
        if parts:
            asked["content"] = [*parts, {"type": "text", "text": asked["content"]}]
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        if changes.get("max_tokens", True):
            body["max_tokens"] = request.most_tokens + (thinks or self._thinks) * HIDDEN_THINKING
        else:  # which also limits the hidden thinking of a reasoning model
            body["max_completion_tokens"] = request.most_tokens + HIDDEN_THINKING
        body["temperature"] = self._settings.temperature
        # The last request after unreadable replies has no schema, which may be the cause.
        own = not kind.words and request.parse is not None
        if kind.has_verdict and not own and request.attempt < 2:
            body["response_format"] = _schema(request, "maxLength" not in changes)
        body |= {**self._extra, **changes}
        return {name: value for name, value in body.items() if value is not None}

    async def _post(self, body: Mapping[str, Any], limit: float) -> bytes:
        """The body of the response; raises the error that the server reports."""
        import httpx
        from openai import APIConnectionError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient

        self._client = self._client or AsyncOpenAI(
            base_url=self._url,
            api_key=self._settings.openai_key or "none",  # your own server need not have one
            default_headers=dict(self._settings.openai_headers),
            max_retries=0,
            http_client=DefaultAsyncHttpxClient(follow_redirects=False, timeout=None),
        )
        try:
            # The client limits each part of a call only; a slow server could take forever.
            call = self._client.post("/chat/completions", cast_to=httpx.Response, body=body)
            return bytes((await asyncio.wait_for(call, limit)).content)
        except APIStatusError as error:
            told = error.response
            raise read_fault(told.status_code, told.headers, told.content, self._secrets) from None
        except asyncio.TimeoutError:
            raise TransientError("the judge took too long to answer", kind="timed out") from None
        except APIConnectionError as error:
            reason = shown(str(error.__cause__ or error), self._secrets)
            proxy = getproxies().get(self._url.partition(":")[0])
            via = f" by the proxy {shown(proxy, self._secrets)}" if proxy else ""
            raise TransientError(f"no connection to {self._url}{via}: {reason}") from None


def _change(error: JudgeError, body: Mapping[str, Any], took_form: bool) -> dict[str, Any]:
    """What the next call does otherwise; empty if the server refuses nothing that we sent."""
    words, sent = error.words, {*body, body["messages"][0]["role"]}
    if not words:
        return {}
    if isinstance(error, TransientError):  # of a failure, only the form may be the cause
        sent &= {"response_format"}
    elif _LENGTH.search(words) and _EXCEEDS.search(words):
        name = "max_tokens" if "max_tokens" in body else "max_completion_tokens"
        most = body.get(name, 0)
        # Else the request itself is too long; fewer than 16 tokens hold no score.
        ours = re.search(rf"{_FIELDS['max_tokens']}|\b{most}\b", words)
        return {name: most // 2} if ours and most >= 32 else {}
    elif (needed := _MUST_BE.search(words)) and needed[1] not in (*_FIELDS, "stream"):
        value = needed[2] == "true"
        return {} if body.get(needed[1]) is value else {needed[1]: value}
    found = {
        at.start(): name
        for name in sent - {"model", "messages", "user"}
        if (at := re.search(_FIELDS.get(name, re.escape(name.lower())), words))
    }
    if not found and "response_format" in body and isinstance(error, RefusedError):
        # Some servers do not name the field; the prompt asks for a score anyway.
        found = {} if took_form else {0: "response_format"}
    # The first name counts: "response_format is not supported: {'temperature': 0, ...}"
    name = found[min(found)] if found else ""
    if name == "response_format" and "maxLength" in str(body[name]):
        name = "maxLength"
    return {name: None} if name else {}


def _schema(request: Request, bounded: bool) -> dict[str, Any]:
    """The ``response_format`` of a call: the reason, if wanted, and the score or word."""
    kind = KINDS[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and request.reasoned and not request.attempt:
        # Without it, llama.cpp wrote endless reasons.
        longest = {"maxLength": kind.longest_reason} if bounded else {}
        fields["reason"] = {"type": "string", **longest}
    if kind.words:
        fields["verdict"] = {"type": "string", "enum": list(kind.words)}
    else:
        fields["score"] = {"type": "number", "enum": list(SCORES)}
    schema: dict[str, Any] = {"type": "object", "properties": fields, "required": list(fields)}
    schema["additionalProperties"] = False
    named = {"name": "verdict", "strict": True, "schema": schema}
    return {"type": "json_schema", "json_schema": named}


# ---- what errors mean

# What a refusal may name of a request: "'response_format' is not supported", "guided decoding is
# off", "failed to parse grammar", "Developer instruction is not enabled for models/gemma-3".
_FIELDS = {
    "response_format": r"response[_ ]?format|schema|structured|guided|grammar",
    "max_tokens": r"max_?(?:output_?|new_?)?tokens",
    "temperature": "temperature",
    "system": r"\bsystem\b|\broles?\b|developer (?:instruction|message)",
}
# "parameter.enable_thinking must be set to false for non-streaming calls": a field with its value
_MUST_BE = re.compile(
    r"(\b[a-z]\w{2,40})\W{1,3}(?:must|should|has to|can only) be (?:set to )?\W?(true|false)\b"
)
_LENGTH = re.compile(r"token|context|input length|上下文")
_EXCEEDS = re.compile(
    r"too (?:large|long|many|high)|at most|maximum|exceed|range|longer|(?:less|greater) than|<="
    r"|between \d|超"
)
# No request can succeed, unless the server tells when to come again: credit, key, account, model.
# A quota alone, with 429, may be that of a minute.
_UNPAID = re.compile(
    r"insufficient[ _](?:quota|fund)|\bbalance\b|credits?\b|billing|arrear|suspend|余额|欠费"
)
_FINAL = re.compile(
    r"(?:insufficient|invalid|incorrect|missing|expired|unknown|no such|not a valid|out of|enough)"
    r"[ _-](?:\w+[ _-])?(?:quota|balance|credits?|funds?|api[ _-]?key|model)\b"
    r"|(?:quota|balance|credits?)\b.{0,30}(?:insufficient|not enough|too low|exhausted|exceeded)"
    r"|exceeded.{0,20}quota|billing_(?:hard|not)|arrear|account\b.{0,60}(?:suspend|deactivat|disabl)"
    r"|api[ _-]?key\b.{0,30}(?:invalid|not valid|incorrect|expired|missing|revoked|disabled)"
    r"|(?:login|auth\w*) fail|model(?:\b|_).{0,80}(?:not|n't)[ _](?:exist|found)"
    r"|余额不足|欠费|模型不存在|鉴权|身份验证|budget.{0,20}exceeded|usage limits?\b|decommission"
)
# Errors and reasons for an end: filters of contents
_FILTERED = re.compile(
    r"filter|safety|recitation|prohibited|blocklist|spii|sensitive|refus|guard|moderation|flagged"
    r"|content (?:policy|management)|data_?inspection|inappropriate|敏感|违规|不安全"
)
_BUSY = re.compile(r"rate[ _-]?limit|too many requests|throttl|loading|限流")
# "Please try again in 7.5s", "retryDelay": "28s": such an end is not final
_LATER = re.compile(r"(?:try again|retry) ?(?:in|after|delay)", re.I)


def read_fault(
    status: int, headers: Mapping[str, str], content: bytes, secrets: str = ""
) -> JudgeError:
    """The error in a response; its words are the message, codes and types: no quoted request."""
    try:
        body = json.loads(content)
        text = json.dumps(body, ensure_ascii=False)
    except (ValueError, RecursionError):
        body = text = re.sub("<[^<>]*>", " ", content[:LONGEST].decode("utf-8", "replace")).strip()
    said = message_of(body)[: 2 * LONGEST]
    codes = re.findall(r'"(?:\w*code|type|status|param|reason)": "?([\w.]{1,60})', text[:LONGEST])
    words = " ".join([said, *codes]).lower()
    if status == 200:  # of some gateways
        status = next((int(code) for code in codes if re.fullmatch(r"[45]\d\d", code)), 200)
    wait: float | None = None
    with suppress(ValueError):
        wait = max(0.0, float(headers.get("retry-after", "")))
    if place := headers.get("location", "").partition("?")[0]:
        said = f"it redirects to {place}: set OPENAI_BASE_URL to that address"
    said = shown(f"({status}): {said}", secrets)
    if status in (400, 403, 422, 451) and _FILTERED.search(words):
        return RefusedError(f"the judge's server refused the contents {said}")
    final = wait is None and status < 500 and not _LATER.search(text[:LONGEST])
    final = final and bool((_UNPAID if status == 429 else _FINAL).search(words))
    if status in (301, 302, 307, 308, 401, 402, 403, 404, 405, 410) or final:
        return FatalJudgeError(f"the judge's server reports {said}")
    error: JudgeError = RefusedError(f"the judge's server refused {said}")
    if status in (200, 408, 409, 423, 424, 425, 429, 498, 499) or status >= 500:
        reason = f"the judge's server {'sent no chat completion' if status == 200 else 'failed'}"
        busy = wait is not None or status in (429, 529) or _BUSY.search(words)
        error = TransientError(f"{reason} {said}", wait, "throttled" if busy else "")
    if status in (400, 422) or status >= 500:
        error.words = words
    return error


def message_of(body: object) -> str:
    """The message in an error that a server reports."""
    if isinstance(body, list) and body:
        return message_of(body[0])
    if not isinstance(body, Mapping):
        return "" if body is None else str(body)
    names = ("error", "message", "msg", "detail", "error_msg", "base_resp", "status_msg", "errors")
    inner = next((body[name] for name in names if body.get(name)), None)
    # The field, in errors of FastAPI; what the provider said, in those of OpenRouter
    more = [json.dumps(body[name]) for name in ("loc", "metadata") if body.get(name)]
    return json.dumps(body) if inner is None else " ".join([message_of(inner), *more])


def shown(text: str, secrets: str) -> str:
    """A server's text for a message: one short, printable line without keys and images."""
    return shorten(mask(printable(text[:LONGEST]), secrets), 500)


# ---- replies

_TEXTS = ("text", "output_text")  # types of parts, beside those of thinking
_PAGE = "a page of HTML: this is no OpenAI-compatible endpoint; does the address end in /v1?"
# Reasons for an end: the limit of tokens, and failures
_CUT = re.compile("length|limit|max|window|incomplete|exceeded")
_BROKEN_OFF = re.compile(r"abort|cancel|error|timeout|insufficient|malformed|fail")


def read_completion(content: bytes, secrets: str = "") -> tuple[Reply, bool]:
    """The reply in the body of a response, and whether its thinking was too long.

    Raises the error that it holds.
    """
    if len(content) > LONGEST_BODY:
        # Not retried: the next reply is likely to be as long and to cost as much.
        raise RefusedError("the judge's server sent a reply of more than 4 MiB")
    try:
        known = json.loads(content)
    except (ValueError, RecursionError) as error:
        begin = f"{content[:80].decode('utf-8', 'replace')} ({type(error).__name__})"
        what = _PAGE if content.lstrip()[:1] == b"<" else shown(begin, secrets)
        raise TransientError(f"the judge's server sent no chat completion: {what}") from None
    choices = known.get("choices") if isinstance(known, Mapping) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping) or choice.get("error"):
        raise read_fault(200, {}, json.dumps(choice or known).encode(), secrets)
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {"content": choice.get("text")}
    finish = shown(str(choice.get("finish_reason") or "").lower(), secrets)
    if message.get("refusal") or _FILTERED.search(finish):
        said = shown(str(message.get("refusal") or finish), secrets)
        raise RefusedError(f"the judge refused: {said}")
    if _BROKEN_OFF.search(finish):
        raise TransientError(f"the judge stopped early: {finish}")
    text, cut = message.get("content"), bool(_CUT.search(finish))
    if isinstance(text, list):  # parts: of thinking, and of text
        parts = [part if isinstance(part, dict) else {"text": part} for part in text]
        spoken = [part.get("text") for part in parts if part.get("type", "text") in _TEXTS]
        text = "".join(part for part in spoken if isinstance(part, str))
    elif not isinstance(text, str):
        text = "" if text is None else json.dumps(text)
    thinking = message.get("reasoning_content") or message.get("reasoning")
    # A long run of white space is no thinking: with a schema, models get stuck in it (vLLM).
    silent = not text.strip() and len(text) < 100
    if silent and isinstance(thinking, str) and thinking.lstrip()[:1] == "{":
        text = thinking
    silent = silent or not strip_thinking(text).strip()
    reply = Reply(text, _usage(known.get("usage")), complete=not cut)
    return reply, cut and bool(silent or thinking)


def _usage(counted: object) -> Usage | None:
    """The tokens in a completion's ``usage``; None if they are missing or implausible."""
    counted = counted if isinstance(counted, Mapping) else {}
    tokens: list[Any] = [counted.get("prompt_tokens") or 0, counted.get("completion_tokens")]
    # Accepting 2**70 would exhaust any budget.
    plausible = all(type(number) is int and 0 <= number <= 10**8 for number in tokens)
    return Usage(*tokens) if plausible and any(tokens) else None


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
