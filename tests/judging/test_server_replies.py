"""What servers say: completions, errors by status and wording, one-line messages, pauses."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.judging import FatalJudgeError, RefusedError, Reply, TransientError, Usage
from lmms_rpts.judging.backends.openai import (
    MOST_COUNTED,
    Fault,
    read_completion,
    read_fault,
    shown,
)
from tests.support.tables import table

# ---- status x body -> error


def fault(status: int, body: object, **headers: str) -> Fault:
    content = body if isinstance(body, str) else json.dumps(body)
    return read_fault(status, headers, content.encode(), "sk-secret-0123456789")


DONE = {"error": {"message": "You are done.", "type": "x"}}


def coded(code: object) -> dict[str, Any]:
    return {"error": {"message": "You are done.", "code": code}}


@table(
    "status, body, kind, words",
    *((status, DONE, FatalJudgeError, "You are done.") for status in (401, 402, 403, 404)),
    *(
        (status, coded(code), FatalJudgeError, "You are done.")
        for code in ("insufficient_quota", "model_not_found", "invalid_api_key")
        for status in (400, 429)
    ),
    (400, "Server is pinned to 'a/b'; requested 'm'.", FatalJudgeError, "pinned"),  # transformers
    (400, {"detail": "Server is pinned to 'a/b'; requested 'm'."}, FatalJudgeError, "pinned"),
    (400, {"error": "m is not a valid model ID"}, FatalJudgeError, "valid model"),  # OpenRouter
    (400, {"error": {"message": "Model Not Exist"}}, FatalJudgeError, "Not Exist"),  # DeepSeek
    (400, "/x: Invalid model name passed in model=m. Call", FatalJudgeError, "Invalid"),  # LiteLLM
    (422, "no", RefusedError, "refused (422): no"),
    (400, coded(400), RefusedError, "You are done."),
    (413, "too large", RefusedError, "too large"),
    *(
        (status, DONE, TransientError, f"({status})")
        for status in (408, 409, 425, 429, 500, 502, 504, 529)
    ),
    (500, "", TransientError, "failed (500)"),
    (503, '{"error": ', TransientError, '{"error":'),
    (400, "Bearer sk-secret-0123456789 is wrong", RefusedError, "Bearer *** is wrong"),
    (400, "[" * 100_000, RefusedError, "[[["),
)
def test_errors_by_status_and_body(
    status: int, body: object, kind: type[Exception], words: str
) -> None:
    found = fault(status, body)
    error = found.error(found.kind())
    assert type(error) is kind
    assert words in str(error)
    assert f"({status})" in str(error)


PAUSES = {
    "0.5": 0.5,
    "-5": 0.0,
    "Wed, 21 Oct 2015 07:28:00 GMT": 0.0,
    "21 Oct 2015 07:28:00": 0.0,
    "Wed, 99 Oct 2015 07:28:00 GMT": None,
    "Wed, 21 Oct 99999 07:28:00 GMT": None,
    **dict.fromkeys(["nan", "inf", "1e400", "3,5", "", "soon", "0x10", "\x00"]),
}


@table(
    "status, body, headers, how",
    (429, DONE, {"Retry-After": "7"}, (7.0, "throttled")),
    (500, DONE, {"retry-after": "2"}, (2.0, "")),
    *((500, DONE, {"Retry-After": value}, (seconds, "")) for value, seconds in PAUSES.items()),
    (503, {"error": {"message": "Loading model", "code": 503}}, {}, (None, "starting")),
    (500, "Loading model", {}, (None, "")),
)
def test_transient_errors_say_how_to_wait(
    status: int, body: object, headers: dict[str, str], how: tuple[float | None, str]
) -> None:
    found = fault(status, body, **headers)
    error = found.error(found.kind())
    assert isinstance(error, TransientError)
    assert (error.retry_after, error.kind) == how


@table(
    "status, body, adaptable",
    (400, "response_format is unknown", True),
    (422, "", True),
    (500, "", False),
    (400, coded("content_filter"), False),
    (400, coded("context_length_exceeded"), False),
    (400, "request (9031 tokens) exceeds the available context size (8192 tokens)", False),
    (400, "This model's maximum context length is 4096 tokens.", False),
)
def test_which_refusals_another_form_may_avoid(status: int, body: object, adaptable: bool) -> None:
    assert (fault(status, body).kind() == "adaptable") is adaptable


# ---- completions


def completion(message: object = None, finish: str | None = "stop", **more: object) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], **more}).encode()


SAID = {"role": "assistant", "content": "Score: 0.7"}


@table(
    "message, finish, reply",
    (SAID, "stop", Reply("Score: 0.7")),
    (SAID, None, Reply("Score: 0.7")),
    (SAID, "length", Reply("Score: 0.7", complete=False)),
    ({"content": None}, "stop", Reply("")),
    ({"content": 1}, "stop", Reply("1")),
    ({"content": [{"type": "text", "text": "Score:"}, " 1", 7]}, "stop", Reply("Score: 1")),
)
def test_completions_are_read(message: object, finish: str | None, reply: Reply) -> None:
    assert read_completion(completion(message, finish))[0] == reply


@table(
    "content, kind, words",
    (completion(SAID, "content_filter"), RefusedError, "content filter"),
    (completion({"refusal": "I can't help with that"}), RefusedError, "I can't help"),
    (completion(SAID, "abort"), TransientError, "stopped early: abort"),
    (completion(None), TransientError, "no chat completion"),
    (b'{"choices": []}', TransientError, "no choice"),
    (b'{"choices": [1]}', TransientError, "no chat completion"),
    (b'{"error": {"message": "asleep"}}', TransientError, "but asleep"),
    *(
        (body, TransientError, "no chat completion")
        for body in (b"", b"<html>", b'"hi"', b"[]", b"null", b"\xff", b"[" * 100_000, b"NaN")
    ),
)
def test_what_is_no_completion_is_an_error(
    content: bytes, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        read_completion(content)


@table(
    "message, finish, thought",
    ({"content": ""}, "length", True),
    ({"content": "<think>so"}, "length", True),
    ({"content": "<think>so</think> Score"}, "length", False),
    ({"content": "Score", "reasoning": "so"}, "length", True),
    ({"content": " " * 200}, "length", False),  # vLLM, stuck in a schema
    ({"content": "<think>so"}, "stop", False),
)
def test_thinking_that_leaves_no_room_is_noticed(
    message: object, finish: str, thought: bool
) -> None:
    assert read_completion(completion(message, finish))[1] is thought


@table(
    "counted, usage",
    ({"prompt_tokens": 10, "completion_tokens": 5}, Usage(10, 5)),
    (
        {
            "prompt_tokens": 10,
            "completion_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 3},
        },
        Usage(10, 5, 3),
    ),
    *(
        ({"prompt_tokens": odd, "completion_tokens": 5}, None)
        for odd in (-1, True, "12", MOST_COUNTED + 1, [1], 1.5, math.inf)
    ),
    *((odd, None) for odd in (None, {}, [], 7, {"prompt_tokens": 0, "completion_tokens": 0})),
)
def test_only_plausible_counts_of_tokens_are_taken(counted: object, usage: Usage | None) -> None:
    assert read_completion(completion(SAID, usage=counted))[0].usage == usage


# ---- one line


@given(st.text(max_size=2000))
def test_a_message_is_one_printable_line(text: str) -> None:
    said = shown(text, "")
    assert said.isprintable()
    assert len(said) <= 500
    assert "  " not in said


def test_a_message_keeps_its_words() -> None:
    said = shown(" It's\n\nbroken:\t\x1bcaf\xe9 评审\u202e\u200b \N{FIRE}\x00", "")
    assert said.replace("\N{REPLACEMENT CHARACTER}", "") == "It's broken: caf\xe9 评审 \N{FIRE}"
