"""Servers as they are: what comes of each reply in ``servers.jsonl``.

``comes`` is the outcome of a question whose first call is answered so: a ``value``; ``unreadable``
(asked in three forms); ``refused`` (this question alone); ``ends`` (judging ends with the server's
words, ``said``); ``retried`` (the second call is answered); ``dropped``, ``needs``, ``lowered``:
the call is repeated without ``field``, with its ``value``, or with tokens that ``fits`` allows.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.judging.questions import judged, question, questions
from tests.support.judge_server import Body, Serve, ServerReply
from tests.support.tables import table

ROWS = [
    json.loads(line)
    for line in Path(__file__).with_name("servers.jsonl").read_text("utf-8").splitlines()
]
GOOD = '{"reason": "r", "score": 0.5}'
EXTRA = {"top_k": 5}


def reply_of(row: dict[str, Any]) -> ServerReply:
    return ServerReply(status=row["status"], headers=row.get("headers", {}), body=row["body"])


def has(body: Body, field: str) -> bool:
    return body["messages"][0]["role"] == "system" if field == "system" else field in body


def answer_of(row: dict[str, Any]) -> Callable[[Body], str | ServerReply]:
    """The server of a row."""
    calls = []

    def answer(body: Body) -> str | ServerReply:
        calls.append(body)
        odd = {
            "retried": len(calls) == 1,
            "dropped": has(body, row.get("field", "")),
            "needs": body.get(row.get("field", "")) is not row.get("value"),
            "lowered": body["max_tokens"] > row.get("fits", 0) if "max_tokens" in body else True,
        }
        return reply_of(row) if odd.get(row["comes"], True) else GOOD

    return answer


@table("row", *ROWS)
def test_what_comes_of_a_reply(serve: Serve, short_pauses: None, row: dict[str, Any]) -> None:
    server = serve(answer_of(row))
    (verdict,), stopped = judged([question("q")], extra_body=EXTRA)
    error = verdict.error or ""
    assert (verdict.value is None) == bool(error)
    comes = row["comes"]
    if comes in ("unreadable", "refused", "ends"):
        assert verdict.value is None
        assert row["said"].lower() in error.lower(), error
        assert server.calls == (3 if comes == "unreadable" else 1)
        assert (stopped is not None) == (comes == "ends")
        return
    assert (verdict.value, stopped) == (0.5, None), error
    changes = {"value": 0, "lowered": 1, "retried": 1, "needs": 1}
    assert server.calls - 1 <= changes.get(comes, 2)
    last = server.requests[-1]
    if comes == "dropped":
        assert not has(last, row["field"])
        assert last["messages"][0]["content"].startswith("You check"), "nothing is lost"
    if comes == "lowered":
        assert 16 <= last["max_tokens"] <= row["fits"]


@table("row", *(row for row in ROWS if row["comes"] in ("dropped", "needs")))
def test_a_refused_field_is_remembered(serve: Serve, row: dict[str, Any]) -> None:
    server = serve(answer_of(row))
    verdicts, _ = judged(questions(40), extra_body=EXTRA, concurrency=4)
    assert {verdict.value for verdict in verdicts} == {0.5}
    assert server.calls <= 40 + 2 * 4


def test_a_judge_that_thinks_gets_more_room(serve: Serve) -> None:
    cut = {"message": {"content": "<think>hm", "role": "assistant"}, "finish_reason": "length"}

    def answer(body: Body) -> str | ServerReply:
        return GOOD if body["max_tokens"] > 4096 else ServerReply(body={"choices": [cut]})

    server = serve(answer)
    verdicts, _ = judged(questions(3), concurrency=1)
    assert ([verdict.value for verdict in verdicts], server.calls) == ([0.5] * 3, 4)


def test_a_request_as_it_is_sent(serve: Serve) -> None:
    server = serve(lambda body: GOOD)
    (verdict,), _ = judged([question("q")], openai_key="sk-verysecret", extra_body=EXTRA)
    judged([question("q")], judge_reason=False)
    (body, alone), (headers, _) = server.requests, server.headers
    assert (verdict.tokens, server.paths[0]) == ((10, 5), "/v1/chat/completions")
    assert headers["authorization"] == "Bearer sk-verysecret"
    values = [body[name] for name in ("model", "temperature", "max_tokens", "top_k")]
    assert values == ["m", 0, 512, 5]
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["reason", "score"]
    # the score alone: about 8 tokens a reply
    assert alone["response_format"]["json_schema"]["schema"]["required"] == ["score"]
    assert alone["max_tokens"] <= 64
    assert "score alone" in alone["messages"][0]["content"]


SAID = "Incorrect API key provided: sk-verysecret0123. Header org-verysecret0456"


@table("reply", ServerReply(SAID, status=401), ServerReply(body=SAID))
def test_no_key_is_shown(serve: Serve, short_pauses: None, reply: ServerReply) -> None:
    serve(lambda body: reply)
    headers = {"OpenAI-Organization": "org-verysecret0456"}
    (verdict,), _ = judged([question("q")], openai_key="sk-verysecret0123", openai_headers=headers)
    assert "Incorrect API key" in str(verdict.error)
    assert "verysecret" not in str(verdict.error)


@table(
    "variable, value, said",
    ("ALL_PROXY", "socks5://127.0.0.1:9", "socks"),
    ("HTTP_PROXY", "http://127.0.0.1:9", "no connection"),
)
def test_a_proxy_is_used_or_named(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    server = serve()
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    monkeypatch.setenv(variable, value)
    (verdict,), _ = judged([question("q")], timeout=5.0)
    assert said in str(verdict.error).lower()
    assert server.calls == 0
