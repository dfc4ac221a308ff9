"""Answers and errors of lmms-eval's judge providers, and messages for Bedrock."""

from __future__ import annotations

import contextlib
import json
import re
import traceback
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lmms_rpts.judging.backends.failures import classify, redirect_target, redirected
from lmms_rpts.judging.types import FatalJudgeError, Message, RefusedError, TransientError

# The providers raise errors of various libraries, which are recognized by class name.
_NOT_REACHED = {"ConnectError", "ConnectTimeout", "NewConnectionError", "ConnectTimeoutError"}
_NOT_REACHED |= {"EndpointConnectionError", "ClientConnectorError", "ConnectionRefusedError"}
_NOT_READ = {"AttributeError", "IndexError", "JSONDecodeError", "KeyError", "TypeError"}
_LOST = {"APIConnectionError", "ClientError", "HTTPClientError", "OSError", "TransportError"}
_UNUSABLE = {"ImportError", "NoCredentialsError", "NoRegionError", "PartialCredentialsError"}
_ADDRESSES = "OPENAI_BASE_URL, AZURE_ENDPOINT or LLM_JUDGE_URL"
_TOO_MANY = 429
_THROTTLED = re.compile("throttling|toomanyrequests|quotaexceeded|limitexceeded", re.IGNORECASE)


def completion_of(answer: Any) -> Mapping[str, Any]:
    """A provider's answer as the JSON of a chat completion."""
    whole = _as_completion(answer.raw_response)
    message = {"content": answer.content}
    return whole or {"choices": [{"message": message}], "usage": answer.usage}


def _as_completion(raw: Any) -> Mapping[str, Any] | None:
    """The server's reply, if it is a chat completion: OpenAI's object, JSON, or Bedrock's."""
    said = raw.model_dump(warnings=False) if hasattr(raw, "model_dump") else raw
    if not isinstance(said, Mapping):
        return None
    if isinstance(said.get("output"), Mapping) and "stopReason" in said:
        ends = {"max_tokens": "length"}
        ends |= dict.fromkeys(("content_filtered", "guardrail_intervened"), "content_filter")
        choice = {**said["output"], "finish_reason": ends.get(str(said["stopReason"]))}
        taken = said.get("usage")
        names = {"prompt_tokens": "inputTokens", "completion_tokens": "outputTokens"}
        taken = taken if isinstance(taken, Mapping) else {}
        usage = {ours: taken.get(theirs) for ours, theirs in names.items()}
        return {"choices": [choice], "usage": usage}
    return said if "choices" in said else None


def stumbled_over(error: Exception) -> Mapping[str, Any] | None:
    """The completion that a provider received but could not parse; None if there is none.

    All providers call ``content.strip()``, and a refusal or truncated thinking has no content. The
    reply was paid for and is more informative than the error. It is found among the variables of
    the failed call.
    """
    if isinstance(error, AttributeError | IndexError | KeyError | TypeError):
        for frame, _ in traceback.walk_tb(error.__traceback__):
            for name in ("response", "data"):
                said = _as_completion(frame.f_locals.get(name))
                if said is not None:
                    return said
    return None


def failure_of(error: Exception, hidden: Callable[[str], str], endpoint: str | None) -> Exception:
    """The error class of a failed call, whichever library raised it."""
    status, said, code, headers = _http(error)
    if 300 <= status < 400:
        target = redirect_target(endpoint or "", headers.get("location"))
        return redirected(status, hidden(target), _ADDRESSES)
    if status >= 400:
        return classify(status, hidden(said), code, headers)
    names, causes = _names(error), _names(error, depth=8)
    told = hidden(f"{type(error).__name__}: {error.__cause__ or error}")
    if causes & _NOT_REACHED:
        server = endpoint or "the judge's server"
        return TransientError(f"no connection to {server}: {told}", unreachable=True)
    if any(name.endswith(("Timeout", "TimeoutError")) for name in causes):
        return TransientError("the judge took too long to answer")
    if names & _UNUSABLE:
        return FatalJudgeError(f"lmms-eval's provider cannot be used: {told}")
    if names & _NOT_READ:
        return TransientError(f"the judge's server sent no chat completion ({told})")
    if names & _LOST:
        return TransientError(f"the connection to the judge's server was lost: {told}")
    return RefusedError(f"lmms-eval's provider failed: {told}")


def _names(error: BaseException | None, depth: int = 1) -> set[str]:
    """The names of an error's classes, and of those of its causes."""
    names: set[str] = set()
    while error is not None and depth:
        names.update(kind.__name__ for kind in type(error).__mro__)
        error, depth = error.__cause__ or error.__context__, depth - 1
    return names


def _http(error: Exception) -> tuple[int, str, str | None, dict[str, str]]:
    """Status (0: no HTTP error), the server's message, its error code and its headers."""
    response = getattr(error, "response", None)
    if isinstance(response, Mapping):  # botocore's
        told, meta = response.get("Error") or {}, response.get("ResponseMetadata") or {}
        code = str(told.get("Code"))
        status = _TOO_MANY if _THROTTLED.search(code) else meta.get("HTTPStatusCode") or 0
        return status, f"{code}: {told.get('Message')}", code, _lower(meta.get("HTTPHeaders"))
    answer = error if response is None else response
    found = (getattr(answer, name, None) for name in ("status_code", "status"))
    status = next((number for number in found if isinstance(number, int)), 0)
    said, known = _told(error, response)
    return status, said, known, _lower(getattr(answer, "headers", None))


def _told(error: Exception, response: Any) -> tuple[str, str | None]:
    """The message and the code in the body of an error."""
    body = getattr(error, "body", None) or getattr(response, "text", None)
    if isinstance(body, str):
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(body)
    inner = body.get("error") or body if isinstance(body, Mapping) else body
    code, said = None, inner
    if isinstance(inner, Mapping):
        code, said = inner.get("code"), inner.get("message") or inner.get("detail")
    try:
        told = str(said or error)
    except RecursionError:  # "[[[[[...": str() may fail on what json could parse
        told = type(error).__name__
    return told, code if isinstance(code, str) else None


def _lower(headers: Any) -> dict[str, str]:
    return {str(name).lower(): str(value) for name, value in dict(headers or {}).items()}


def fold(messages: Iterable[Message]) -> list[Message]:
    """The messages for Bedrock: no system message, and never two of one role in a row."""
    folded: list[Message] = []
    for message in sorted(messages, key=lambda message: message["role"] != "system"):
        role = "user" if message["role"] == "system" else message["role"]
        if folded and folded[-1]["role"] == role:
            folded[-1]["content"] += f"\n\n{message['content']}"
        else:
            folded.append({"role": role, "content": message["content"]})
    return folded
