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

from lmms_rpts.judging.backends.server_replies import Fault, read_completion, read_fault, shown
from lmms_rpts.judging.images import MEDIA_TYPE, ImageError
from lmms_rpts.judging.request_kinds import request_kinds
from lmms_rpts.judging.types import (
    AdaptedError,
    Backend,
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
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

_PATH = "/chat/completions"
_OPENAI = "https://api.openai.com/v1"
_TOO_LONG = "the judge took too long to answer"
_BLIND = "choose a model with vision, or set LMMS_RPTS_EVIDENCE=facts"
_DROPPED = {"ServerDisconnectedError", "ClientOSError", "RemoteProtocolError", "ReadError"}
_OF_THE_LINE = {"DecodingError", "TransportError", "ClientError", "APIConnectionError", "OSError"}
_NEVER_CONNECTED = {
    "ConnectTimeout",
    "ConnectError",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ConnectionTimeoutError",
}


BOUNDED, ENUM, OBJECT, TEXT = range(4)
"""A JSON schema with ``enum`` and ``maxLength``; without ``maxLength``; any JSON object; text.

Servers enforce a schema to the letter: llama.cpp wrote ``{"score": -1}`` and endless reasons with
one that had neither. It ignores bounds of numbers that are no integers, so scores are listed."""

SCORES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    The options that a server supports are learned from its error messages:
    ``max_completion_tokens`` instead of ``max_tokens``, no temperature, a weaker JSON schema or
    none, more tokens for a model with hidden thinking.

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
        self._url = f"{base_url or _OPENAI}{_PATH}"
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
        self._forms = _FormLadder(structured)
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
        form = self._forms.form if _has_form(request) else TEXT
        body = self._body(request, form)
        content = await _encoded(request, body)
        limit = self.time_limit * request.patience
        try:
            # The client limits each part of a call only; a slow server could take forever.
            response, answer = await asyncio.wait_for(self._post(content, limit), limit + GRACE)
        except asyncio.TimeoutError:
            raise TransientError(_TOO_LONG, kind="timed out") from None
        except Exception as error:  # from several libraries
            raise self._no_answer(error) from None
        if 300 <= response.status_code < 400:
            # One stray redirect of a server that has answered before doesn't end a long run.
            raise (TransientError if self._answered else FatalJudgeError)(
                self._redirected(response)
            )
        if response.status_code >= 400:
            fault = read_fault(response.status_code, response.headers, answer, self._secrets)
            raise self._failure(fault, body, form, request)
        if len(answer) > LONGEST_BODY:
            # Not retried: the next reply is likely to be as long and to cost as much.
            reason = f"the judge's server sent a reply of more than {LONGEST_BODY // 2**20} MiB"
            raise RefusedError(reason)
        if _has_form(request):
            self._forms.accepted(form)
        reply = self._read(answer, body, request)
        self._answered = True
        return reply

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _body(self, request: JudgeRequest, form: int) -> dict[str, Any]:
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = self._thinks or self._tokens_field == "max_completion_tokens"
        body: dict[str, Any] = {
            "model": self._model,
            **_in_form(request, form),
            self._tokens_field: request.most_tokens + thinks * HIDDEN_THINKING,
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        return body

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

    def _read(self, content: bytes, sent: Mapping[str, Any], request: JudgeRequest) -> Reply:
        try:
            completion = read_completion(content)
        except (RefusedError, TransientError) as failure:
            raise type(failure)(shown(str(failure), self._secrets)) from None
        self.served_model = completion.model or self.served_model
        if completion.thought_too_long and not self._thinks:
            self._thinks = True
            reason = "the judge uses hidden thinking and needs a higher token limit"
            raise AdaptedError(reason, completion.reply.usage)
        text = completion.reply.text
        if len(self._key) > RUN:
            text = text.replace(self._key, MASK)
        if request.images:
            self._took_images = True
            text = mask_images(text)
        limit = sent.get("max_tokens") or sent.get("max_completion_tokens")
        return replace(completion.reply, text=text, limit=limit)

    def _redirected(self, response: Any) -> str:
        """The message of a redirect: none is followed, as keys go only where the user chose."""
        place = response.headers.get("location", "").partition("?")[0]
        return (
            f"the judge's server redirects ({response.status_code}) to "
            f"{shown(place, self._secrets) or 'nowhere'}; redirects are not followed: set "
            "OPENAI_BASE_URL to the final address"
        )

    def _no_answer(self, error: Exception) -> Exception:
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        # By name: the underlying libraries depend on openai's version, and one of them reports any
        # broken connection as a timeout.
        kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
        reason = shown(f"{causes[-1]}", self._secrets) or type(causes[-1]).__name__
        if not kinds & _OF_THE_LINE:
            return RefusedError(f"{type(error).__name__}: {reason}")
        dropped = bool({type(cause).__name__ for cause in causes} & _DROPPED)
        if not dropped and kinds & _NEVER_CONNECTED:
            return TransientError(f"no connection to {self._url}: {reason}", kind="unreachable")
        if not dropped and "imeout" in type(causes[-1]).__name__:
            return TransientError(_TOO_LONG, kind="timed out")
        return TransientError(f"the connection was lost to {self._url}: {reason}")

    def _failure(
        self, fault: Fault, sent: Mapping[str, Any], form: int, request: JudgeRequest
    ) -> Exception:
        # A server that fails (500) and took images before is asked again.
        failed = fault.status >= 500 and self._took_images
        kind = fault.kind(bool(request.images) and not failed, self._model)
        told = f"({fault.status}): {fault.said}"
        if kind in ("no vision", "images"):
            self._forms.refused(TEXT, named=False)  # an image was refused, not the form
            self._refused_images += kind == "no vision" and not self._took_images
            if self._refused_images >= BLIND_AFTER:
                return FatalJudgeError(
                    f"the judge's model {self._model!r} does not accept images {told}; {_BLIND}"
                )
            return RefusedError(f"the judge's server refused a question with images {told}")
        if kind == "too large":
            return RefusedError(f"{fault.error()}; try smaller images: set image_size in rpts.toml")
        if kind != "adaptable":
            return fault.error()
        # Concurrent requests get the same complaint, so only what this one sent counts.
        if "max_tokens" in sent and "max_completion_tokens" in fault.said:
            self._tokens_field = "max_completion_tokens"
        elif "temperature" in sent and "temperature" in fault.said:
            self._temperature = None
        # Servers name it in many ways, or not at all; the prompt asks for a score anyway.
        elif not self._forms.refused(form, fault.about_the_form):
            return fault.error()
        return AdaptedError(f"the judge's server refused {told}")


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


def _in_form(request: JudgeRequest, form: int) -> dict[str, Any]:
    """The messages of a call and its ``response_format``, if any.

    Asked for are the reason, unless the request was repeated, and the score or word that is based
    on it. Without a schema, the last message shows the JSON that is wanted: OpenAI refuses
    ``json_object`` if no message contains the word JSON.
    """
    messages = [dict(message) for message in request.messages]
    if form == TEXT:
        return {"messages": messages}
    kind = request_kinds()[request.kind]
    fields: dict[str, Any] = {}
    if kind.longest_reason and not request.attempt:
        longest = {"maxLength": kind.longest_reason} if form == BOUNDED else {}
        fields["reason"] = {"type": "string", **longest}
    if kind.words:
        fields["verdict"] = {"type": "string", "enum": list(kind.words)}
    else:
        fields["score"] = {"type": "number", "enum": list(SCORES)}
    if form == OBJECT:
        shapes = (
            f'"{name}": {" | ".join(map(json.dumps, rule.get("enum", ["..."])))}'
            for name, rule in fields.items()
        )
        messages[-1]["content"] += f"\n\nJSON: {{{', '.join(shapes)}}}"
        return {"messages": messages, "response_format": {"type": "json_object"}}
    schema = {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }
    verdict = {"name": "verdict", "strict": True, "schema": schema}
    wanted = {"type": "json_schema", "json_schema": verdict}
    return {"messages": messages, "response_format": wanted}


class _FormLadder:
    """The form that a server takes: one step down for each refusal, until calls succeed.

    Concurrent calls get the same refusal, so only the form that a call was ``sent`` in counts.
    Without ``structured``, all calls are text.
    """

    def __init__(self, structured: bool) -> None:
        self.form = BOUNDED if structured else TEXT
        self._strictest_accepted = TEXT
        self._blamed: int | None = None

    def accepted(self, sent: int) -> None:
        self._strictest_accepted = min(self._strictest_accepted, sent)
        if self._blamed is not None:
            self.form, self._blamed = min(self.form, sent), None

    def refused(self, sent: int, named: bool) -> bool:
        """Returns whether to try another form.

        If the server's message does not name the form, the question itself may be refused, so the
        form is restored if it is refused as text, too.
        """
        if sent == TEXT:
            if self._blamed is not None:
                self.form, self._blamed = self._blamed, None
            return False
        if not named and self._strictest_accepted <= sent:
            return False
        if self.form == sent:
            self.form = sent + 1
            if not named and self._blamed is None:
                self._blamed = sent
        return True


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
