"""A judge behind any server that speaks the OpenAI chat protocol."""

from __future__ import annotations

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
    from openai.types.chat import ChatCompletion

_TOKENS = {"image": 512, "inference": 512, "answer": 64, "transform": 4096}
_FATAL_CODES = {"insufficient_quota", "model_not_found", "invalid_api_key"}


class OpenAIJudge:
    """Asks one model, greedily.

    Args:
        model: the model's name, as the server knows it.
        base_url: of the server; None: OpenAI's.
        api_key: the key; servers that need none accept any.
        timeout: seconds that one call may take.
    """

    def __init__(self, model: str, base_url: str | None, api_key: str, timeout: float) -> None:
        self._model = model
        self._options: dict[str, Any] = {
            "base_url": base_url,
            "api_key": api_key,
            "timeout": timeout,
            "max_retries": 0,  # the engine retries, in one bounded layer
        }
        self._client: openai.AsyncOpenAI | None = None
        self._tokens_field = "max_tokens"
        self._greedy = True

    async def ask(self, request: JudgeRequest) -> Reply:
        import openai

        if self._client is None:
            self._client = openai.AsyncOpenAI(**self._options)
        try:
            return _read(await self._create(self._client, request))
        except openai.APITimeoutError as error:
            raise TransientError("the judge took too long to answer") from error
        except openai.APIConnectionError as error:
            reason = f"no connection to {self._client.base_url}: {error.__cause__ or error}"
            raise TransientError(reason, unreachable=True) from error
        except openai.APIStatusError as error:
            raise _classified(error) from error

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()

    async def _create(self, client: openai.AsyncOpenAI, request: JudgeRequest) -> ChatCompletion:
        import openai

        for _ in range(3):
            arguments: dict[str, Any] = {
                "model": self._model,
                "messages": [dict(message) for message in request.messages],
                self._tokens_field: _TOKENS[request.kind],
            }
            if self._greedy:
                arguments["temperature"] = 0
            try:
                created: ChatCompletion = await client.chat.completions.create(**arguments)
                return created
            except openai.BadRequestError as error:
                if not self._adapt(_said(error)):
                    raise
        raise RefusedError("the judge refuses every way of limiting its reply")

    def _adapt(self, complaint: str) -> bool:
        """Reasoning models take neither ``max_tokens`` nor a temperature; they say so."""
        if self._tokens_field == "max_tokens" and "max_completion_tokens" in complaint:
            self._tokens_field = "max_completion_tokens"
            return True
        if self._greedy and "temperature" in complaint:
            self._greedy = False
            return True
        return False


def _read(completion: ChatCompletion) -> Reply:
    if not completion.choices:
        raise TransientError("the judge's reply holds no choice")
    choice = completion.choices[0]
    if choice.finish_reason == "content_filter":
        raise RefusedError("the judge's content filter refused the request")
    if choice.message.refusal:
        raise RefusedError(f"the judge refused: {choice.message.refusal}")
    usage = completion.usage
    counted = Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0) if usage else None
    return Reply(choice.message.content or "", counted)


def _classified(error: openai.APIStatusError) -> Exception:
    status, said = error.status_code, _said(error)
    if status in (401, 403, 404) or error.code in _FATAL_CODES:
        return FatalJudgeError(f"the judge's server says ({status}): {said}")
    if status in (408, 409, 425, 429) or status >= 500:
        return TransientError(f"the judge's server failed ({status}): {said}", _retry_after(error))
    return RefusedError(f"the judge's server refused ({status}): {said}")


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
        return None
