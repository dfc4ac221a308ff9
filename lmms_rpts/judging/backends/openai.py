"""Judge backend: any server that uses the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lmms_rpts.base.masking import MASK, RUN, mask_images
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.backends.server import FORM, Fault, Server, message_of, read_fault, shown
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.parsers import strip_thinking
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

# Tokens of hidden thinking that a model may use in addition to those of its reply.
HIDDEN_THINKING = 8192

# Refusals after which a model that never accepted an image counts as text-only.
BLIND_AFTER = 3

OPENAI = "https://api.openai.com/v1"

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
        self.identity: dict[str, object] = {
            "endpoint": settings.openai_url or OPENAI,
            "model": model,
            "temperature": settings.temperature,
            "structured": True,
        }
        self.time_limit = settings.timeout
        self.served_model: str | None = None
        self._model, self._key = model, settings.openai_key or ""
        self._server = Server(f"{settings.openai_url or OPENAI}/chat/completions", settings)
        self._secrets = self._server.secrets
        self._tokens_field = "max_tokens"
        self._temperature: float | None = settings.temperature
        self._form = BOUNDED
        self._strictest = TEXT  # form that was accepted
        self._thinks = self._took_images = False
        self._refused_images = 0

    async def ask(self, request: JudgeRequest) -> Reply:
        form, spent = self._form if _has_form(request) else TEXT, Usage()
        while True:
            sent = self._body(request, form)
            done = await self._call(sent, request)
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
        self.served_model = served or self.served_model
        text, usage = reply.text, reply.usage
        if len(self._key) > RUN:
            text = text.replace(self._key, MASK)
        if request.images:
            self._took_images = True
            text = mask_images(text)
        usage = usage and usage + spent
        return replace(reply, text=text, usage=usage, limit=limit)

    def body(self, request: JudgeRequest) -> bytes:
        """The body of a call of which nothing can be learned until its batch is answered.

        A text, and a score that is asked for again, have room for hidden thinking.
        """
        thinks = request.attempt > 0 or not request_kinds()[request.kind].has_verdict
        form = self._form if _has_form(request) else TEXT
        return _encoded(request, self._body(request, form, thinks))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    def _body(self, request: JudgeRequest, form: int, thinks: bool = False) -> dict[str, Any]:
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = thinks or self._thinks or self._tokens_field == "max_completion_tokens"
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

    async def _call(self, body: Mapping[str, Any], request: JudgeRequest) -> Completion | Fault:
        limit, encode = self.time_limit * request.patience, partial(_encoded, request, body)
        # Images are encoded in another thread, so that other calls are not delayed.
        answer = await self._server.post(
            await asyncio.to_thread(encode) if request.images else encode(), limit
        )
        if answer.status >= 400:
            return read_fault(answer.status, answer.headers, answer.content, self._secrets)
        try:
            return read_completion(answer.content)
        except (RefusedError, TransientError) as failure:
            raise type(failure)(shown(str(failure), self._secrets)) from None

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


# ---- what servers say

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
        raise TransientError(f"{_ODD} but {message_of(fault)}" if fault else _ODD)
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
    silent = silent or _is_thinking(text)
    thinks = message.get("reasoning_content") or message.get("reasoning")
    model, unfinished = known.get("model"), cut and bool(silent or thinks)
    return (
        Reply(text, _usage(known.get("usage")), complete=not cut),
        unfinished,
        model if isinstance(model, str) else None,
    )


def _is_thinking(text: str) -> bool:
    """Whether a text consists of thinking without an end."""
    return bool(text.strip() and not strip_thinking(text).strip())


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
    """The text of a message; some servers send a list of parts, or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def _check(model: str, settings: Settings) -> str | None:
    if not model:
        return "add a model, such as openai:gpt-4o-mini"
    if getattr(settings, "requests", None):  # nothing is sent
        return None
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
