"""A judge behind any server that speaks the OpenAI chat protocol."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from lmms_rpts.judging.types import (
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
)

if TYPE_CHECKING:
    import openai

_TOKENS = {"image": 512, "inference": 512, "answer": 64, "transform": 4096}
_HIDDEN_THINKING = 8192
_GRACE = 0.2
_FATAL_CODES = {"insufficient_quota", "model_not_found", "invalid_api_key"}
_FATAL_STATUS = (401, 402, 403, 404)
_TRANSIENT_STATUS = (408, 409, 425, 429)
_ODD = "the judge's server sent no chat completion"


class OpenAIJudge:
    """Asks one model, greedily.

    Args:
        model: the model's name, as the server knows it.
        base_url: of the server; None: OpenAI's.
        api_key: the key; servers that need none accept any. It is kept out of all messages.
        timeout: seconds that one call may take, all in all.
    """

    def __init__(self, model: str, base_url: str | None, api_key: str, timeout: float) -> None:
        self._model = model
        self._key = api_key
        self._timeout = timeout
        self._base_url = base_url
        self._client: openai.AsyncOpenAI | None = None
        self._tokens_field = "max_tokens"
        self._greedy = True

    async def ask(self, request: JudgeRequest) -> Reply:
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(
                base_url=self._base_url,
                api_key=self._key,
                timeout=self._timeout,
                max_retries=0,  # the engine retries, in one bounded layer
            )
        try:
            created = self._create(self._client, request)
            # The client limits each part of a call; a server that drips would take for ever.
            return _read(await asyncio.wait_for(created, self._timeout + _GRACE))
        except (openai.APITimeoutError, asyncio.TimeoutError) as error:
            # By name: which HTTP library the client brings depends on its version.
            no_answer = type(error.__cause__).__name__ == "ConnectTimeout"
            raise TransientError("the judge took too long to answer", None, no_answer) from None
        except openai.APIConnectionError as error:
            url = self._client.base_url.copy_with(userinfo=b"")
            reason = f"no connection to {url}: {error.__cause__ or error}"
            raise TransientError(self._hide(reason), unreachable=True) from None
        except openai.APIStatusError as error:
            raise self._classified(error) from None
        except (openai.OpenAIError, json.JSONDecodeError) as error:
            raise TransientError(f"{_ODD} ({type(error).__name__})") from None

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _create(self, client: openai.AsyncOpenAI, request: JudgeRequest) -> Any:
        import openai

        for _ in range(4):
            arguments: dict[str, Any] = {
                "model": self._model,
                "messages": [dict(message) for message in request.messages],
                self._tokens_field: self._room(request),
            }
            if self._greedy:
                arguments["temperature"] = 0
            try:
                return await client.chat.completions.create(**arguments)
            except openai.BadRequestError as error:
                if not self._adapt(_said(error), arguments):
                    raise
        raise RefusedError("the judge refuses every way of limiting its reply")

    def _room(self, request: JudgeRequest) -> int:
        # max_completion_tokens also limits what a reasoning model thinks before it speaks.
        thinking = _HIDDEN_THINKING if self._tokens_field == "max_completion_tokens" else 0
        return _TOKENS[request.kind] + thinking

    def _adapt(self, complaint: str, sent: Mapping[str, Any]) -> bool:
        """Reasoning models take neither ``max_tokens`` nor a temperature; they say so.

        Requests in flight together all learn of it: what counts is what this one sent.
        """
        if "max_tokens" in sent and "max_completion_tokens" in complaint:
            self._tokens_field = "max_completion_tokens"
            return True
        if "temperature" in sent and "temperature" in complaint:
            self._greedy = False
            return True
        return False

    def _classified(self, error: openai.APIStatusError) -> Exception:
        status, said = error.status_code, self._hide(_said(error))
        if status in _FATAL_STATUS or error.code in _FATAL_CODES:
            return FatalJudgeError(f"the judge's server says ({status}): {said}")
        if status in _TRANSIENT_STATUS or status >= 500:
            return TransientError(
                f"the judge's server failed ({status}): {said}", _retry_after(error)
            )
        return RefusedError(f"the judge's server refused ({status}): {said}")

    def _hide(self, text: str) -> str:
        for part in self._key.split():
            if len(part) > _PUBLIC_KEY:
                text = text.replace(part, "[key]")
        return text


_PUBLIC_KEY = 4
"""Keys up to this length ("none", "x") are placeholders, no secrets."""


def _read(completion: Any) -> Reply:
    choices = getattr(completion, "choices", None)
    if not isinstance(choices, list):
        raise TransientError(_ODD)
    if not choices:
        raise TransientError("the judge's reply holds no choice")
    choice = choices[0]
    if choice.finish_reason == "content_filter":
        raise RefusedError("the judge's content filter refused the request")
    message = choice.message
    if message is None:
        raise TransientError(_ODD)
    if message.refusal:
        raise RefusedError(f"the judge refused: {message.refusal}")
    usage = completion.usage
    counted = Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else None
    return Reply(_text(message.content), counted, complete=choice.finish_reason != "length")


def _text(content: Any) -> str:
    """The text of a message; some servers send a list of parts, or a bare number."""
    if isinstance(content, list):
        parts = (part.get("text") if isinstance(part, dict) else part for part in content)
        return "".join(part for part in parts if isinstance(part, str))
    return "" if content is None else str(content)


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return str(body["message"])[:500]
    return str(error)[:500]


def _retry_after(error: openai.APIStatusError) -> float | None:
    value = error.response.headers.get("retry-after", "")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())
