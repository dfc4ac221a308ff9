"""Judge backend: lmms-eval's judge providers, with the limits and errors of this package."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import inspect
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from loguru import logger

from lmms_rpts.judging.backends.completions import GRACE, HIDDEN_THINKING, read_completion
from lmms_rpts.judging.backends.failures import shown
from lmms_rpts.judging.backends.lmms_answers import completion_of, failure_of, fold, stumbled_over
from lmms_rpts.judging.backends.lmms_providers import (
    NEEDS,
    clients_of,
    endpoint_of,
    logs_usage,
    open_provider,
    secrets_of,
)
from lmms_rpts.judging.backends.masking import hide_in_reply
from lmms_rpts.judging.types import (
    AdaptedError,
    JudgeConfigurationError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
)

_THINKERS = ("gpt-5", "o1", "o3", "o4")
"""Models whose token limit, as lmms-eval sends it, includes hidden thinking."""


class LmmsJudge:
    """A model that is called through lmms-eval, once per ``ask``.

    Args:
        api_type: the provider's name in lmms-eval, such as ``openai`` or ``bedrock``.
        model: the model's name, as the server knows it.
        timeout: seconds that one call may take in total.
        concurrency: number of concurrent calls to prepare the provider for.
        openai_url: base URL instead of OpenAI's, for ``openai`` and ``async_openai``.
        openai_key: the key for these two; hidden in all messages.
        temperature: sampling temperature; 0: greedy. lmms-eval omits it for models without one.

    Attributes:
        logs_usage: whether the provider itself reports its token usage to lmms-eval.

    Raises:
        JudgeConfigurationError: if ``check_lmms`` finds an error.
    """

    def __init__(
        self,
        api_type: str,
        model: str,
        *,
        timeout: float,
        concurrency: int,
        openai_url: str | None,
        openai_key: str | None,
        temperature: float = 0.0,
    ) -> None:
        # One call per ``ask``: only the engine retries, with a limit.
        options = {"timeout": timeout, "num_retries": 1, "retry_delay": 0}
        sampling = {"model_name": model, "temperature": temperature}
        self._options: dict[str, Any] = {**sampling, **options, "max_concurrent": concurrency}
        self._api_type = api_type
        self._thinks = model.rpartition("/")[2].startswith(_THINKERS)
        self._provider = open_provider(api_type, self._options, openai_url, openai_key)
        if api_type == "bedrock":
            # Several threads cannot open boto3's client at once. ``ask`` reports its errors.
            with contextlib.suppress(Exception):
                _ = self._provider.client
        self._secrets = secrets_of(self._provider, openai_key)
        self.logs_usage = logs_usage(type(self._provider))
        self._closed = False
        _QUIET.begin()

    @property
    def identity(self) -> dict[str, object]:
        """Everything except the request that the replies depend on, for the cache key."""
        return {
            "backend": "lmms",
            "api_type": self._api_type,
            "model": self._options["model_name"],
            "endpoint": endpoint_of(self._provider),
            "temperature": self._options["temperature"],
        }

    async def ask(self, request: JudgeRequest) -> Reply:
        content: object = None
        said: Mapping[str, Any] | None
        try:
            # Providers only limit each part of a call; a slow server could take forever.
            limit = self._options["timeout"] + GRACE
            answer = await asyncio.wait_for(self._call(request), limit)
            content, said = answer.content, completion_of(answer)
        except Exception as error:
            said = stumbled_over(error)
            if said is None:
                raise failure_of(error, self._shown, endpoint_of(self._provider)) from None
        return self._read(content, said)

    async def aclose(self) -> None:
        """Close the connections; threads that hang in a call are abandoned."""
        if self._closed:
            return
        self._closed = True
        for client in clients_of(self._provider):
            with contextlib.suppress(Exception):  # an abandoned call may still hold it
                closing = client.close()
                if inspect.isawaitable(closing):
                    await closing
        _QUIET.end()

    async def _call(self, request: JudgeRequest) -> Any:
        from lmms_eval.llm_judge import Request, ServerConfig

        room = request.most_tokens + (HIDDEN_THINKING if self._thinks else 0)
        messages = [dict(message) for message in request.messages]
        asked = Request(
            messages=fold(messages) if self._api_type == "bedrock" else messages,
            config=ServerConfig(**self._options, max_tokens=room),
        )
        if hasattr(self._provider, "evaluate_async"):
            return await self._provider.evaluate_async(asked)
        # One thread per call, no pool: a hanging call does not take another call's place and
        # does not keep the process from ending.
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        work = (future, self._provider.evaluate, asked)
        threading.Thread(target=_work, args=work, daemon=True).start()
        return await asyncio.wrap_future(future)

    def _read(self, content: object, said: Mapping[str, Any]) -> Reply:
        try:
            completion = read_completion(said)
        except (RefusedError, TransientError) as error:
            raise type(error)(self._shown(str(error))) from None
        except (ValueError, RecursionError) as error:
            reason = f"the judge's server sent no chat completion ({type(error).__name__})"
            raise TransientError(reason) from None
        reply = completion.reply
        if completion.thought_too_long and not self._thinks:
            self._thinks = True
            reason = "the judge uses hidden thinking and needs a higher token limit"
            raise AdaptedError(reason, reply.usage)
        text = content if isinstance(content, str) else reply.text
        return replace(reply, text=hide_in_reply(text, self._secrets))

    def _shown(self, text: str) -> str:
        return shown(text, self._secrets)


def check_lmms(model: str) -> str | None:
    """Why ``API_TYPE:MODEL`` cannot be used and what to set, None if it can; makes no call."""
    api_type, _, name = model.partition(":")
    if not api_type or not name:
        return "add an API type of lmms-eval and a model, such as lmms:openai:gpt-4o-mini"
    if api_type == "bedrock" and importlib.util.find_spec("boto3") is None:
        return NEEDS["bedrock"]
    try:
        open_provider(api_type, {"model_name": name, "timeout": 1.0}, None, None)
    except JudgeConfigurationError as error:
        return str(error)
    return None


class _Quiet:
    """Silences lmms-eval's log of full server messages while any judge is open."""

    def __init__(self) -> None:
        self._open = 0
        self._lock = threading.Lock()

    def begin(self) -> None:
        with self._lock:
            self._open += 1
            logger.disable("lmms_eval.llm_judge")

    def end(self) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                logger.enable("lmms_eval.llm_judge")


_QUIET = _Quiet()


def _work(future: Future[Any], call: Callable[[Any], Any], asked: Any) -> None:
    _QUIET.begin()  # separate, because it may outlive the judge
    try:
        answer = call(asked)
    except BaseException as error:
        _QUIET.end()
        # A BaseException, for example of sys.exit(), would end the engine's loop.
        future.set_exception(error if isinstance(error, Exception) else RuntimeError(repr(error)))
    else:
        _QUIET.end()
        future.set_result(answer)
