"""Judge backend: any server that uses the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lmms_rpts.judging.backends.bodies import ENCODINGS, Body, read_body
from lmms_rpts.judging.backends.completions import (
    GRACE,
    HIDDEN_THINKING,
    read_completion,
    read_fault,
)
from lmms_rpts.judging.backends.failures import classify, redirect_target, redirected, shown
from lmms_rpts.judging.backends.forms import TEXT, FormLadder, has_form, response_format, with_shape
from lmms_rpts.judging.backends.openai_images import Sight, with_images
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.types import (
    AdaptedError,
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
)
from lmms_rpts.masking import MASK, RUN, mask_images

_PATH = "/chat/completions"
_OPENAI = "https://api.openai.com/v1"
_NOT_UNDERSTOOD = (400, 422)
_THIS_QUESTION = ("content_filter", "content_policy_violation", "context_length_exceeded")
# llama.cpp: "request (9031 tokens) exceeds the available context size (8192 tokens)"; vLLM: "This
# model's maximum context length is 4096 tokens."
_BEYOND_CONTEXT = re.compile("available context size|maximum context length")
_TOO_LONG = "the judge took too long to answer"
_DROPPED = {"ServerDisconnectedError", "ClientOSError", "RemoteProtocolError", "ReadError"}
_OF_THE_LINE = {"TransportError", "ClientError", "APIConnectionError", "OSError"}
_NEVER_CONNECTED = {
    "ConnectTimeout",
    "ConnectError",
    "ClientConnectorError",
    "ClientConnectorDNSError",
    "ConnectionTimeoutError",
}
_SCHEMA = re.compile("response_format|schema|structured|guided|grammar", re.IGNORECASE)


class OpenAIJudge:
    """One model behind a server that uses the OpenAI chat protocol.

    The options that a server supports are learned from its error messages:
    ``max_completion_tokens`` instead of ``max_tokens``, no temperature, a weaker JSON schema or
    none, more tokens for a model with hidden thinking.

    Args:
        model: the model's name, as the server knows it.
        base_url: base URL of the server; None: OpenAI's.
        api_key: the key; servers without keys accept any value. It is hidden in all messages.
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
            **ENCODINGS,
            **(headers or {}),
        }
        self._secrets = " ".join([api_key, *(headers or {}).values()])
        self._client: Any = None
        self._address: Any = None
        self._tokens_field = "max_tokens"
        self._temperature: float | None = temperature
        self._forms = FormLadder(structured)
        self._thinks = False
        self._answered = False
        self._sight = Sight(model)
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
        form = self._forms.form if has_form(request) else TEXT
        body = self._body(request, form)
        content = await self._encoded(request, body)
        limit = self.time_limit * request.patience
        try:
            # The client limits each part of a call only; a slow server could take forever.
            response, answer = await asyncio.wait_for(self._post(content, limit), limit + GRACE)
        except asyncio.TimeoutError:
            raise TransientError(_TOO_LONG, timed_out=True) from None
        except Exception as error:  # from several libraries
            raise self._no_answer(error, request) from None
        if 300 <= response.status_code < 400:
            target = redirect_target(self._url, response.headers.get("location"))
            raise self._strayed(redirected(response.status_code, shown(target, self._secrets)))
        if response.status_code >= 400:
            raise self._failure(response, answer.content, body, form, request)
        if answer.fault is not None:
            raise self._strayed(type(answer.fault)(shown(str(answer.fault), self._secrets)))
        if has_form(request):
            self._forms.accepted(form)
        reply = self._read(answer.content, body, request)
        self._answered = True
        return reply

    def _strayed(self, failure: Exception) -> Exception:
        """A redirect or an oversized reply: it may pass if the server has answered before."""
        return TransientError(str(failure)) if self._answered else failure

    async def _encoded(self, request: JudgeRequest, body: Mapping[str, Any]) -> bytes:
        if not request.images:
            return json.dumps(body).encode()

        def encode() -> bytes:
            messages = with_images(body["messages"], request.images)
            return json.dumps({**body, "messages": messages}).encode()

        try:
            # Not in the event loop: encoding images would delay other calls.
            return await asyncio.to_thread(encode)
        except ImageError as error:
            raise RefusedError(str(error)) from None

    async def _post(self, content: bytes, limit: float) -> tuple[Any, Body]:
        """The response and its body; an error is classified by status even if its body breaks."""
        call = self._client.stream(
            "POST", self._address, content=content, headers=self._headers, timeout=limit
        )
        async with call as response:
            if 300 <= response.status_code < 400:
                return response, Body(b"")
            try:
                return response, await read_body(response)
            except Exception:  # from several libraries
                if response.status_code < 400:
                    raise
                return response, Body(b"")

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    def _body(self, request: JudgeRequest, form: int) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": with_shape(request, form),
            self._tokens_field: request.most_tokens + self._room_to_think,
        }
        if self._temperature is not None:
            body["temperature"] = self._temperature
        wanted = response_format(request, form)
        return body if wanted is None else {**body, "response_format": wanted}

    @property
    def _room_to_think(self) -> int:
        # max_completion_tokens also limits the hidden thinking of a reasoning model.
        thinks = self._thinks or self._tokens_field == "max_completion_tokens"
        return HIDDEN_THINKING if thinks else 0

    def _read(self, content: bytes, sent: Mapping[str, Any], request: JudgeRequest) -> Reply:
        try:
            completion = read_completion(json.loads(content))
        except (RefusedError, TransientError) as failure:
            raise type(failure)(shown(str(failure), self._secrets)) from None
        except (ValueError, RecursionError) as error:
            reason = f"the judge's server sent no chat completion ({type(error).__name__})"
            raise TransientError(reason) from None
        self.served_model = completion.model or self.served_model
        if completion.thought_too_long and not self._thinks:
            self._thinks = True
            reason = "the judge uses hidden thinking and needs a higher token limit"
            raise AdaptedError(reason, completion.reply.usage)
        text = completion.reply.text
        if len(self._key) > RUN:
            text = text.replace(self._key, MASK)
        if request.images:
            self._sight.took()
            text = mask_images(text)
        limit = sent.get("max_tokens") or sent.get("max_completion_tokens")
        return replace(completion.reply, text=text, limit=limit)

    def _no_answer(self, error: Exception, request: JudgeRequest) -> Exception:
        """The error of a failed connection."""
        causes: list[BaseException] = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        # By name: the underlying libraries depend on openai's version, and one of them reports any
        # broken connection as a timeout.
        kinds = {kind.__name__ for cause in causes for kind in type(cause).__mro__}
        names = {type(cause).__name__ for cause in causes}
        reason = shown(f"{causes[-1]}", self._secrets) or type(causes[-1]).__name__
        if not kinds & _OF_THE_LINE:
            return RefusedError(f"{type(error).__name__}: {reason}")
        dropped = bool(names & _DROPPED)
        unreachable = bool(names & _NEVER_CONNECTED) and not dropped
        if not dropped and "imeout" in type(causes[-1]).__name__:
            return TransientError(_TOO_LONG, None, unreachable, timed_out=not unreachable)
        said = "no connection to" if unreachable else "the connection was lost to"
        return TransientError(f"{said} {self._url}: {reason}", None, unreachable)

    def _failure(
        self,
        response: Any,
        content: bytes,
        sent: Mapping[str, Any],
        form: int,
        request: JudgeRequest,
    ) -> Exception:
        status = response.status_code
        complaint, code = read_fault(content)
        said = shown(complaint, self._secrets)
        refusal = None
        if request.images:
            refusal = self._sight.refusal(status, mask_images(complaint), code, said)
        headers = {name.lower(): value for name, value in response.headers.items()}
        failure = refusal or classify(status, said, code, headers)
        fatal = isinstance(failure, FatalJudgeError)
        about_it = code in _THIS_QUESTION or _BEYOND_CONTEXT.search(complaint)
        if status not in _NOT_UNDERSTOOD or about_it or fatal:
            return failure
        if refusal is not None:
            self._forms.refused(TEXT, named=False)  # an image was refused, not the form
        elif self._adapt(complaint, sent, form):
            return AdaptedError(f"the judge's server refused ({status}): {said}")
        return failure

    def _adapt(self, complaint: str, sent: Mapping[str, Any], form: int) -> bool:
        """Whether another form of the request avoids the complaint.

        Concurrent requests get the same complaint, so only what this one sent counts.
        """
        if "max_tokens" in sent and "max_completion_tokens" in complaint:
            self._tokens_field = "max_completion_tokens"
        elif "temperature" in sent and "temperature" in complaint:
            self._temperature = None
        else:
            # Servers name it in many ways, or not at all; the prompt asks for a score anyway.
            return self._forms.refused(form, named=bool(_SCHEMA.search(complaint)))
        return True


def _http_client() -> Any:
    """The HTTP client that openai installs; with aiohttp if available, which halves the time.

    Not openai's chat client, which needs more time to check and type a message than to send it.
    """
    import openai

    options: dict[str, Any] = {"limits": openai.DEFAULT_CONNECTION_LIMITS}
    options["follow_redirects"] = False
    faster = getattr(openai, "DefaultAioHttpClient", None)
    if faster is not None:
        # It cannot be created without aiohttp.
        with contextlib.suppress(RuntimeError, ImportError):
            return faster(**options)
    return openai.DefaultAsyncHttpxClient(**options)
