"""Judge backend: any server that uses the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lmms_rpts.judging.backends.server_replies import (
    FORM,
    Completion,
    Fault,
    read_completion,
    read_fault,
    shown,
)
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    Backend,
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
)
from lmms_rpts.masking import MASK, RUN, mask_images
from lmms_rpts.settings import Settings

LONGEST_BODY = 4 * 2**20
"""Maximum bytes of a response: a judge's longest reply takes about 100 KB."""

HIDDEN_THINKING = 8192
"""Tokens of hidden thinking that a model may use in addition to those of its reply."""

GRACE = 0.2
"""Seconds after the time limit in which the client may still report the timeout itself."""

BLIND_AFTER = 3
"""Refusals after which a model that never accepted an image counts as text-only."""

_OPENAI = "https://api.openai.com/v1"
_TOO_LONG = "the judge took too long to answer"
_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"

BOUNDED, ENUM, TEXT = range(3)
"""A JSON schema with ``enum`` and ``maxLength``; without ``maxLength``; text.

Servers enforce a schema to the letter: llama.cpp wrote ``{"score": -1}`` and endless reasons with
one that had neither. It ignores bounds of numbers that are no integers, so scores are listed."""

SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    The options that a server supports are learned from its error messages:
    ``max_completion_tokens`` instead of ``max_tokens``, no temperature, a weaker JSON schema or
    none, more tokens for a model with hidden thinking. The refused call is repeated at once.

    Args:
        model: the model's name, as the server knows it.
        base_url: base URL of the server; None: OpenAI's.
        api_key: the key; servers without keys accept any value. It is masked in all messages.
        timeout: seconds that one call may take in total, times the patience of its request.
        temperature: sampling temperature; 0: greedy.
        structured: whether to request scores and verdicts as JSON with a schema.
        headers: additional headers.

    Attributes:
        served_model: the name of the model in the server's replies; None before the first one.
    """

    def __init__(
        self,
        model: str,
        base_url: str | None,
        api_key: str,
        timeout: float,
        temperature: float = 0.0,
        structured: bool = True,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._model = model
        self._key = api_key
        self.time_limit = timeout
        self._url = f"{base_url or _OPENAI}/chat/completions"
        self._headers = {
            "Authorization": f"Bearer {api_key}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # replies are short
            **(headers or {}),
        }
        self._secrets = " ".join([api_key, *(headers or {}).values()])
        self._client: Any = None
        self._address: Any = None
        self._tokens_field = "max_tokens"
        self._temperature: float | None = temperature
        self._form = BOUNDED if structured else TEXT
        self._strictest = TEXT  # form that was accepted
        self._thinks = self._answered = self._took_images = False
        self._refused_images = 0
        self.served_model: str | None = None
        self.identity: dict[str, object] = {
            "endpoint": base_url or _OPENAI,
            "model": model,
            "temperature": temperature,
            "structured": structured,
        }

    async def ask(self, request: JudgeRequest) -> Reply:
        if self._client is None:
            self._client = _http_client()
            self._address = self._client.build_request("POST", self._url).url  # parsed once
        form, spent = self._form if _has_form(request) else TEXT, Usage()
        while True:
            sent = self._body(request, form)
            done = await self._call(await _encoded(request, sent), request)
            limit: int = sent[self._tokens_field]
            if isinstance(done, Fault):
                form = self._adapted(done, sent, form, request)
            elif done.thought_too_long and limit == request.most_tokens:
                self._thinks, spent = True, done.reply.usage or spent
            else:
                break
        if _has_form(request):
            # A question that was refused with a schema does not change how others are asked.
            self._strictest = min(self._strictest, form)
            self._form = max(self._form, min(form, self._strictest))
        self._answered = True
        self.served_model = done.model or self.served_model
        text, usage = done.reply.text, done.reply.usage
        if len(self._key) > RUN:
            text = text.replace(self._key, MASK)
        if request.images:
            self._took_images = True
            text = mask_images(text)
        usage = usage and usage + spent
        return replace(done.reply, text=text, usage=usage, limit=limit)

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
                    f"{fault.said}; {_BLIND}"
                )
        # Concurrent requests get the same complaint, so only what this one sent counts.
        if kind == "adaptable" and "max_completion_tokens" in fault.said and "max_tokens" in sent:
            self._tokens_field = "max_completion_tokens"
            return form
        if kind == "adaptable" and "temperature" in fault.said and "temperature" in sent:
            self._temperature = None
            return form
        # Servers name the form in many ways, or not at all; the prompt asks for a score anyway.
        named = FORM.search(fault.said) is not None
        if kind != "adaptable" or form == TEXT or not (named or form < self._strictest):
            raise fault.error(kind)
        if named:
            self._form = max(self._form, form + 1)
        return form + 1


async def _encoded(request: JudgeRequest, body: Mapping[str, Any]) -> bytes:
    """The body as JSON; the images, each after its name, begin the first user message."""
    if not request.images:
        return json.dumps(body).encode()

    def encode() -> bytes:
        parts: list[dict[str, Any]] = []
        for image in request.images:
            encoded = base64.b64encode(image.encoded().content).decode("ascii")
            url = {"url": f"data:{MEDIA_TYPE};base64,{encoded}"}
            parts += [
                {"type": "text", "text": f"{image.name}:"},
                {"type": "image_url", "image_url": url},
            ]
        chat = list(body["messages"])
        first = next((at for at, each in enumerate(chat) if each["role"] == "user"), 0)
        parts.append({"type": "text", "text": chat[first]["content"]})
        chat[first] = {**chat[first], "content": parts}
        return json.dumps({**body, "messages": chat}).encode()

    try:
        # Not in the event loop: encoding images would delay other calls.
        return await asyncio.to_thread(encode)
    except ImageError as error:
        raise RefusedError(str(error)) from None


def _http_client() -> Any:
    """The HTTP client that openai installs; with aiohttp if available, which halves the time.

    Not openai's chat client, which needs more time to check and type a message than to send it.
    """
    import openai

    options: dict[str, Any] = {
        "limits": openai.DEFAULT_CONNECTION_LIMITS,
        "follow_redirects": False,
    }
    # Older versions do not have it, and it cannot be created without aiohttp.
    with contextlib.suppress(AttributeError, TypeError, RuntimeError, ImportError):
        return openai.DefaultAioHttpClient(**options)
    return openai.DefaultAsyncHttpxClient(**options)


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
    open=lambda model, settings: OpenAIJudge(
        model,
        settings.openai_url,
        settings.openai_key or "none",  # the header needs a key; your own server need not
        settings.timeout,
        temperature=settings.temperature,
        structured=settings.structured,
        headers=settings.openai_headers,
    ),
    sees=lambda model, settings: True,  # known only from a server's replies
)
