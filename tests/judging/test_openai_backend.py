"""The OpenAI backend: its requests, what each reply of a server means, and servers with faults."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import openai as openai_library
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_rpts.judging.backends.server import LONGEST_BODY, Fault, read_fault, shown

from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeConfigurationError,
    JudgeEngine,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    client,
    open_engine,
)
from lmms_rpts.judging.backends import server as server_calls
from lmms_rpts.judging.backends.openai import MOST_COUNTED, OpenAIJudge, read_completion
from tests.judging.conftest import Serve
from tests.judging.questions import REMINDER, in_turn, openai_judge, question, questions, values
from tests.support.environment import configure
from tests.support.judge_server import (
    DROPPED,
    Answer,
    Body,
    JudgeServer,
    ServerReply,
    constant,
    form_of,
    response,
)
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

KEY = "sk-proj-T3BlbkFJ0aZ9yX8wV7uT6sR5qP4"
GOOD = "Score: 0.7"
DONE = Verdict(GOOD, 0.7, usage=Usage(10, 5))


def asked(server: JudgeServer, *requests: JudgeRequest, timeout: float = LONGEST) -> list[Verdict]:
    """The verdicts on ``requests``, or on a single question; one call at a time."""
    judge = openai_judge(server.url, KEY, timeout, headers={"OpenAI-Organization": "org-Qx71c"})
    with JudgeEngine(judge, concurrency=1, progress=False) as engine:
        verdicts = engine.run(requests or [question("q")])
    values(verdicts)
    for error in filter(None, (verdict.error for verdict in verdicts)):
        assert error.isprintable()
        assert len(error) < 800
        assert KEY not in error
    return verdicts


def raised(url: str, timeout: float = LONGEST) -> Exception:
    """The exception of one call."""

    async def once(judge: OpenAIJudge) -> None:
        try:
            await judge.ask(question("q"))
        finally:
            await judge.aclose()

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        asyncio.run(once(openai_judge(url, KEY, timeout)))
    return caught.value


# ---- status x body -> error

ERRORS: dict[str, type[Exception]] = {
    "fatal": FatalJudgeError,
    **dict.fromkeys(("throttled", "starting", "transient"), TransientError),
}


def fault(status: int, body: object, **headers: str) -> Fault:
    content = body if isinstance(body, str) else json.dumps(body)
    return read_fault(status, headers, content.encode(), f"sk-secret-0123456789 {KEY}")


def message(said: str, code: object = None) -> dict[str, Any]:
    return {"error": {"message": said, "type": "x", "code": code}}


@table("row", *Path(__file__).with_name("server_errors.jsonl").read_text("utf-8").splitlines())
def test_what_an_error_means_by_status_and_body(row: str) -> None:
    """``server_errors.jsonl``: errors of many servers; ``images``: of a question with images."""
    case = json.loads(row)
    status, images, kind = case["status"], case.get("images", False), case["kind"]
    found = fault(status, case["body"])
    assert found.kind(images, model="m-vision") == kind
    error = found.error(kind)
    assert type(error) is ERRORS.get(kind, RefusedError)
    assert f"({status})" in str(error)
    assert case["said"] in str(error)
    if isinstance(error, TransientError):
        assert error.kind == {"transient": ""}.get(kind, kind)
    if images:
        assert found.kind() not in ("no vision", "image", "large image")


@table(
    "value, seconds",
    ("7", 7.0),
    ("0.5", 0.5),
    ("-5", 0.0),
    ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ("21 Oct 2015 07:28:00", 0.0),
    ("Wed, 99 Oct 2015 07:28:00 GMT", None),
    ("Wed, 21 Oct 99999 07:28:00 GMT", None),
    *((odd, None) for odd in ("nan", "inf", "1e400", "3,5", "", "soon", "0x10", "\x00")),
)
def test_retry_after(value: str, seconds: float | None) -> None:
    for name in ("Retry-After", "retry-after"):
        error = fault(429, "slow", **{name: value}).error("throttled")
        assert isinstance(error, TransientError)
        assert error.retry_after == seconds


# ---- completions


def completion(message: object = None, finish: str | None = "stop", **more: object) -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}], **more}).encode()


SAID = {"role": "assistant", "content": GOOD}


@table(
    "message, finish, reply, thought_too_long",
    (SAID, "stop", Reply(GOOD), False),
    (SAID, None, Reply(GOOD), False),
    (SAID, "length", Reply(GOOD, complete=False), False),
    ({"content": None}, "stop", Reply(""), False),
    ({"content": 1}, "stop", Reply("1"), False),
    ({"content": [{"type": "text", "text": "Score:"}, " 1", 7]}, "stop", Reply("Score: 1"), False),
    ({"content": ""}, "length", Reply("", complete=False), True),
    ({"content": "<think>so"}, "length", Reply("<think>so", complete=False), True),
    ({"content": "<think>so"}, "stop", Reply("<think>so"), False),
    ({"content": "<think>a</think> b"}, "length", Reply("<think>a</think> b", None, False), False),
    ({"content": "b", "reasoning": "so"}, "length", Reply("b", complete=False), True),
    ({"content": " " * 200}, "length", Reply(" " * 200, None, False), False),  # stuck in a schema
)
def test_completions_are_read(
    message: object, finish: str | None, reply: Reply, thought_too_long: bool
) -> None:
    assert read_completion(completion(message, finish))[:2] == (reply, thought_too_long)


@table(
    "content, kind, said",
    (completion(SAID, "content_filter"), RefusedError, "content filter"),
    (completion({"refusal": "I can't help with that"}), RefusedError, "I can't help"),
    (completion(SAID, "abort"), TransientError, "stopped early: abort"),
    (completion(SAID, "error"), TransientError, "stopped early: error"),
    (completion(None), TransientError, "no chat completion"),
    (b'{"choices": []}', TransientError, "no choice"),
    (b'{"choices": [1]}', TransientError, "no chat completion"),
    (b'{"error": {"message": "asleep"}}', TransientError, "but asleep"),
    *(
        (body, TransientError, "no chat completion")
        for body in (b"", b"<html>", b'"hi"', b"[]", b"null", b"\xff", b"[" * 100_000, b"1e999")
    ),
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_what_is_no_completion_is_an_error(
    content: bytes, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        read_completion(content)


COUNTED = {"prompt_tokens": 10, "completion_tokens": 5}


@table(
    "counted, usage",
    (COUNTED, Usage(10, 5)),
    ({**COUNTED, "completion_tokens_details": {"reasoning_tokens": 3}}, Usage(10, 5, 3)),
    *(
        ({**COUNTED, "prompt_tokens": odd}, None)
        for odd in (-1, True, "12", MOST_COUNTED + 1, [1], 1.5, math.inf)
    ),
    *((odd, None) for odd in (None, {}, [], 7, {"prompt_tokens": 0, "completion_tokens": 0})),
)
def test_only_plausible_counts_of_tokens_are_taken(counted: object, usage: Usage | None) -> None:
    assert read_completion(completion(SAID, usage=counted))[0].usage == usage


@given(st.text(max_size=2000))
def test_a_servers_text_is_shown_as_one_printable_line(text: str) -> None:
    said = shown(text, "")
    assert said.isprintable()
    assert len(said) <= 500
    assert "  " not in said


# ---- requests


def test_a_question_is_sent_unchanged(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(constant(GOOD))
    messages = [
        {"role": "system", "content": "你是评审"},
        {"role": "user", "content": "a \x00 “b” \N{FIRE}\n"},
    ]
    assert asked(server, JudgeRequest("inference", messages)) == [DONE]
    (body,) = server.requests
    assert list(body) == ["model", "messages", "max_tokens", "temperature", "response_format"]
    assert (body["model"], body["messages"], body["temperature"]) == ("m", messages, 0)
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(body)
    for variable in ("OPENAI_API_URL", "OPENAI_BASE_URL"):
        for ending in ("", "/", "/chat/completions", "/chat/completions/"):
            with monkeypatch.context() as patch:
                patch.delenv("OPENAI_BASE_URL")
                patch.setenv(variable, server.url + ending)
                with open_engine("openai:org/m:7b", progress=False) as engine:
                    assert values(engine.run([question("q")])) == [0.7]
    assert server.requests[-1]["model"] == "org/m:7b"


REASON = {"type": "string", "maxLength": 300}
SCORE = {
    "reason": REASON,
    "score": {"type": "number", "enum": [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]},
}
MATCH = {
    "reason": {"type": "string", "maxLength": 800},
    "verdict": {"type": "string", "enum": ["<Yes>", "<No>"]},
}
ANSWERS = ["agree", "disagree", "undetermined", "同意", "不同意", "无法判断"]


@table(
    "kind, most_tokens, properties",
    ("image", 512, SCORE),
    ("match", 512, MATCH),
    ("answer", 64, {"verdict": {"type": "string", "enum": ANSWERS}}),
    ("transform", 4096, None),
    ("question_steps", 4096, None),
)
def test_a_score_or_a_word_is_requested_with_a_schema(
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    most_tokens: int,
    properties: dict[str, Any] | None,
) -> None:
    server = serve(constant(GOOD))
    asked(server, question("q", kind=kind))
    assert server.requests[-1]["max_tokens"] == most_tokens
    sent = server.requests[-1].get("response_format")
    if properties is None:
        assert sent is None
        return
    schema = sent["json_schema"]["schema"]
    assert sent["json_schema"]["strict"] is True
    assert schema == {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    assert list(schema["properties"]) == list(properties), "reason first"
    configure(monkeypatch, structured=False)
    with open_engine("openai:m", progress=False) as engine:
        engine.run([question("q", kind=kind)])
    assert form_of(server.requests[-1]) == "text"


# ---- what the backend learns from complaints

NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. "
    "Only the default (1) value is supported."
)


def test_reasoning_models_get_what_they_take(serve: Serve) -> None:
    def reasoning_model(body: Body) -> str | ServerReply:
        if "max_tokens" in body:
            return ServerReply(NO_MAX_TOKENS, status=400)
        return ServerReply(NO_TEMPERATURE, status=400) if "temperature" in body else GOOD

    server = serve(reasoning_model)
    assert values(asked(server, *questions(5))) == [0.7] * 5
    assert server.calls == 2 + 5, "it learns only once"
    assert not {"max_tokens", "temperature"} & set(server.requests[-1])
    assert server.requests[-1]["max_completion_tokens"] > 4096, "thinking counts, too"


@table("complaint", NO_MAX_TOKENS, NO_TEMPERATURE)
def test_a_server_that_always_complains_is_no_endless_loop(serve: Serve, complaint: str) -> None:
    server = serve(lambda body: ServerReply(complaint, status=400))
    (verdict,) = asked(server)
    assert complaint in str(verdict.error)
    assert server.calls <= 5


FORMS = ("bounded", "enum", "text")
"""What a server may take, strictest first."""


def takes(*forms: str, complaint: str = "Bad Request", status: int = 400) -> Answer:
    """A server that refuses all other forms."""
    refusal = ServerReply(complaint, status=status)
    return lambda body: GOOD if form_of(body) in forms else refusal


@table("form", *FORMS)
@table(
    "complaint, status",
    ("response_format is not supported", 400),
    ("guided decoding is off", 422),
    ("Bad Request", 400),
)
def test_the_strictest_form_that_a_server_takes_is_used(
    serve: Serve, form: str, complaint: str, status: int
) -> None:
    server = serve(takes(form, "text", complaint=complaint, status=status))
    assert values(asked(server, *questions(4))) == [0.7] * 4
    steps = FORMS.index(form)
    found = [form_of(body) for body in server.requests]
    assert found == [*FORMS[:steps], *[form] * 4], "it learns only once"
    together = serve(takes(form, "text"), latency=0.1)
    with open_engine("openai:m", concurrency=8, progress=False) as engine:
        assert values(engine.run(questions(8))) == [0.7] * 8
        engine.run([question("later")])
    assert form_of(together.requests[-1]) == form, "calls refused together change the form once"


# ---- after a reply that cannot be parsed


def fields_of(body: Body) -> list[str]:
    """The fields of the JSON that a call asks for."""
    form = body.get("response_format")
    return list(form["json_schema"]["schema"]["properties"]) if form else []


CUT = ServerReply('{"reason": "' + "1.1" * 300, finish_reason="length", usage=(10, 512))
BLANK = ServerReply("{\n" + " \n" * 500, finish_reason="length", usage=(10, 512))
BRIEF = ServerReply("It is a step of", finish_reason="length", usage=(10, 64))
FIRST = (["reason", "score"], 512, 1)


@table(
    "replies, calls",
    # (fields, maximum tokens, number of messages) of each call
    ((CUT, GOOD), [FIRST, (["score"], 64, 1)]),
    ((CUT, BRIEF, GOOD), [FIRST, (["score"], 64, 1), ([], 64, 3)]),
    ((BLANK, GOOD), [FIRST, ([], 64, 1)]),
    ((ServerReply(" \n" * 500, finish_reason="length"), GOOD), [FIRST, ([], 64, 1)]),
    (("Well.", "Hm.", GOOD), [FIRST, (["score"], 512, 3), ([], 512, 3)]),
    (("no " * 2000, GOOD), [FIRST, (["score"], 512, 1)]),
)
def test_a_question_is_never_repeated_unchanged(
    serve: Serve, replies: Any, calls: list[tuple[list[str], int, int]]
) -> None:
    """After a reply that was cut off, only the score is wanted, in few tokens."""
    server = serve(in_turn(*replies))
    assert values(asked(server)) == [0.7]
    sent = [
        (fields_of(body), body["max_tokens"], len(body["messages"])) for body in server.requests
    ]
    assert sent == calls
    assert all(REMINDER in body["messages"][-1]["content"] for body in server.requests[1:])


def test_steps_that_were_cut_off_are_requested_once_more_in_full(serve: Serve) -> None:
    endless = ServerReply("Image0 -> " * 2000, finish_reason="length", usage=(10, 4096))
    server = serve(lambda body: endless)
    (verdict,) = asked(server, question("q", kind="transform"))
    assert [body["max_tokens"] for body in server.requests] == [4096, 4096]
    assert [message["role"] for message in server.requests[1]["messages"]] == ["user"]
    assert "after 4,096 tokens, the limit for this request" in str(verdict.error)


@table("cut", "<think>Let me see", "", "<think>a</think>")
def test_a_judge_that_thinks_aloud_gets_more_room(serve: Serve, cut: str) -> None:
    too_long = ServerReply(cut, finish_reason="length", usage=(100, 512))
    spoken = "<think>0.1? no.</think>\nScore: 0.6"
    serve(lambda body: too_long if body["max_tokens"] < 4096 else spoken)
    with open_engine("openai:m", concurrency=1, progress=False) as engine:
        first, second = engine.run(questions(2))
        assert engine.budget.usage == Usage(120, 522)
    assert (first.value, first.attempts, second.attempts) == (0.6, 1, 1)
    assert first.usage == Usage(110, 517), "the truncated call used tokens, too"
    endless = serve(lambda body: too_long)
    (verdict,) = asked(endless)
    assert "cut off" in str(verdict.error)
    assert endless.calls == 2 + client.ASKED_AGAIN


# ---- servers with faults; with both HTTP clients that the judge may use

BODY = ServerReply(GOOD).payload("m")
CHUNKED = "Transfer-Encoding: chunked"
PASSING = {
    "status 503": ServerReply("try later", status=503),
    "dropped": DROPPED,
    "truncated JSON": ServerReply(body='{"choices": ['),
    "no choice": ServerReply(body={"choices": []}),
    "redirect, once": ServerReply(status=307, headers={"Location": "/elsewhere"}),
    **{
        name: ServerReply(raw=raw)
        for name, raw in {
            "corrupt gzip": response(b"this is no gzip", "200 OK", "Content-Encoding: gzip"),
            "empty gzip": response(b"", "200 OK", "Content-Encoding: gzip"),
            "invalid chunk": response(b"zzz\r\nabc\r\n0\r\n\r\n", "200 OK", CHUNKED),
            "truncated chunk": response(b"ff\r\n{", "200 OK", CHUNKED),
            "truncated body": response(BODY[:-5], "200 OK", f"Content-Length: {len(BODY)}"),
            "invalid utf-8": response(BODY.replace(b"Score", b"\xff\xfe\x80 Score")),
            "longer than its length": response(BODY, "200 OK", "Content-Length: 5"),
            "nothing": response(b"", "204 No Content"),
            "garbage": bytes(range(256)) * 40,
            "other protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
            "truncated head": b"HTTP/1.1 200 OK\r\nContent-",
            "status in words": b"HTTP/1.1 two hundred\r\n\r\n",
        }.items()
    },
}
ENDLESS = {
    "silence": ServerReply(raw=b"", endless=b""),
    "endless head": ServerReply(raw=b"HTTP/1.1 200 OK\r\nX: ", endless=b"x"),
    "endless body": ServerReply(raw=response(b"", "200 OK", "Content-Length: 99999"), endless=b" "),
    "empty blocks": ServerReply(
        raw=response(b"", "200 OK", "Content-Encoding: gzip", "Content-Length: 99999999")
        + gzip.compress(b"")[:10],
        endless=b"\0\0\0\xff\xff",
    ),
}


@pytest.fixture(params=["aiohttp", "httpx"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "httpx":
        monkeypatch.setattr(openai_library, "DefaultAioHttpClient", None, raising=False)
    return str(request.param)


@table("name", *PASSING)
def test_what_passes_is_retried(
    serve: Serve, short_pauses: None, transport: str, name: str
) -> None:
    server = serve(in_turn(GOOD, PASSING[name], GOOD))
    verdicts = asked(server, *questions(2))
    assert values(verdicts) == [0.7, 0.7]
    assert ([verdict.attempts for verdict in verdicts], server.calls) == ([1, 2], 3)


@table("name", *ENDLESS)
def test_what_never_ends_fails_that_call(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, transport: str, name: str
) -> None:
    monkeypatch.setattr(client, "MOST_CALLS", dict.fromkeys(client.MOST_CALLS, 1))
    server = serve(lambda body: ENDLESS[name])
    (verdict,) = asked(server, timeout=0.5)
    wait_until(lambda: server.calls)  # a slow server reads the request after its time
    assert verdict.attempts == server.calls == 1
    assert "too long" in str(verdict.error)


@table("coding, body", ("gzip", gzip.compress(BODY)), ("identity", BODY), ("", BODY))
def test_packed_replies_are_read(serve: Serve, transport: str, coding: str, body: bytes) -> None:
    packed = ServerReply(raw=response(body, "200 OK", f"Content-Encoding: {coding}"))
    assert values(asked(serve(lambda _: packed))) == [0.7]


@table("status, kind", ("200 OK", RefusedError), ("401 No", FatalJudgeError))
def test_a_reply_without_end_is_cut_off_and_known_by_its_status(
    serve: Serve, transport: str, status: str, kind: type[Exception]
) -> None:
    long = ServerReply(raw=response(b" " * LONGEST_BODY + BODY, status))
    error = raised(serve(lambda body: long).url)
    assert type(error) is kind
    assert ("4 MiB" if status == "200 OK" else "401") in str(error)


@table(
    "place, told",
    ("/v1/chat/completions/", "(307) to /v1/chat/completions/;"),
    (f"https://user:{KEY}@there.example:99/a?key={KEY}#x", "there.example:99/a;"),
    ("http://[::1", "(307) to http://[::1;"),
    ("", "(307)"),
)
def test_redirects_end_the_run_and_are_not_followed(
    serve: Serve, transport: str, place: str, told: str
) -> None:
    """Prompts are not sent to another host, nor is a key shown that stands in the address."""
    server = serve(lambda body: ServerReply(raw=response(b"", "307 x", f"Location: {place}")))
    verdicts = asked(server, *questions(2))
    assert server.calls == 1
    for verdict in verdicts:
        assert told in str(verdict.error)
        assert "OPENAI_BASE_URL" in str(verdict.error)
        assert not any(secret in str(verdict.error) for secret in (KEY[-10:], "user"))


def test_a_proxy_of_the_environment_is_used(
    serve: Serve, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = serve(constant(GOOD))
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
    with JudgeEngine(openai_judge("http://judge.example/v1"), progress=False) as engine:
        assert values(engine.run([question("q")])) == [0.7]
    assert proxy.paths == ["http://judge.example/v1/chat/completions"]


@contextmanager
def deaf_address() -> Iterator[str]:
    """A port that accepts no more connections but does not refuse them."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def test_no_connection_is_unreachable(closed_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own timeout says so, unless the limit of the whole call ends it before."""
    closed = raised(f"http://127.0.0.1:{closed_port}/v1")
    monkeypatch.setattr(server_calls, "GRACE", LONGEST)
    with deaf_address() as address:
        deaf = raised(address, 0.5)
    for error in (closed, deaf):
        assert isinstance(error, TransientError)
        assert error.kind == "unreachable"
    assert "127.0.0.1" in str(closed)


def test_retry_after_is_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    limit = ServerReply("slow down", status=429, headers={"Retry-After": "1"})
    server = serve(in_turn(limit, GOOD))
    started = time.perf_counter()
    assert asked(server) == [Verdict(GOOD, 0.7, attempts=2, usage=Usage(10, 5))]
    assert time.perf_counter() - started >= 1.0


# ---- secrets

ESCAPES = "red \x1b \r\n\n a\u202eb\u200b\u2028c \x9b5mx \x00 \ud800"


@table("status", 200, 400, 500)
def test_an_error_is_one_printable_line(serve: Serve, short_pauses: None, status: int) -> None:
    told = json.dumps({"error": {"message": f"so {ESCAPES} it is {'yy ' * 1700}"}})
    (verdict,) = asked(serve(lambda _: ServerReply(status=status, body=told)))
    assert "so red" in str(verdict.error)
    assert "it is yy" in str(verdict.error)


@table(
    "said, text",
    (f"The {KEY[:15]} of \x1b[31m {KEY[8:20]}\n\nScore: 0.7", None),
    (f"a {KEY} b\nScore: 0.7", "a *** b\nScore: 0.7"),
)
def test_only_the_key_is_masked_in_a_judges_words(
    serve: Serve, said: str, text: str | None
) -> None:
    (verdict,) = asked(serve(constant(said)))
    assert (verdict.text, verdict.value) == (text or said, 0.7)


def test_the_organisation_is_masked(serve: Serve) -> None:
    said = ServerReply("Rate limit of organization org-Qx71c", status=400)
    (verdict,) = asked(serve(lambda _: said))
    assert "organization ***" in str(verdict.error)


@table("key", "sk-“pasted”", "sk-a\nb", "sk a")
def test_a_key_that_cannot_be_sent_is_refused_before_a_run(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(JudgeConfigurationError, match="OPENAI_API_KEY") as caught:
        open_engine("openai:m", progress=False)
    assert key not in str(caught.value)
