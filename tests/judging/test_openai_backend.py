"""The OpenAI backend against a real server: its requests, and how it handles every reply."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lmms_rpts.judging import (
    JudgeConfigurationError,
    JudgeEngine,
    JudgeRequest,
    TransientError,
    Usage,
    Verdict,
    client,
    open_engine,
)
from lmms_rpts.judging.backends import openai
from lmms_rpts.judging.backends.openai import OpenAIJudge
from lmms_rpts.judging.concurrency import StopSignal
from tests.judging.conftest import Serve
from tests.judging.questions import (
    REMINDER,
    Held,
    in_turn,
    openai_judge,
    question,
    questions,
    values,
)
from tests.support.environment import configure
from tests.support.judge_server import (
    Answer,
    Body,
    JudgeServer,
    ServerReply,
    constant,
    form_of,
    text_of,
)
from tests.support.tables import table
from tests.support.waiting import LONGEST

KEY = "sk-very-secret-0123456789"
GOOD = "Score: 0.7"


def asked(server: JudgeServer, *requests: JudgeRequest, timeout: float = LONGEST) -> list[Verdict]:
    """The verdicts on ``requests``, or on a single question."""
    judge = openai_judge(server.url, KEY, timeout)
    with JudgeEngine(judge, progress=False) as engine:
        return engine.run(requests or [question("q")])


# ---- requests, and a valid answer


def test_a_question_is_sent_as_it_is(serve: Serve) -> None:
    server = serve(constant(GOOD))
    messages = [
        {"role": "system", "content": "你是评审"},
        {"role": "user", "content": "a \x00 “b” \N{FIRE}\n"},
    ]
    (verdict,) = asked(server, JudgeRequest("inference", messages))
    assert verdict == Verdict(GOOD, 0.7, usage=Usage(10, 5))
    (body,) = server.requests
    assert body["model"] == "m"
    assert body["messages"] == messages
    assert body["temperature"] == 0
    assert body["max_tokens"] >= 256
    assert body.get("stream") in (None, False)
    assert set(body) <= {"model", "messages", "temperature", "max_tokens", "response_format"}


@table("kind", "image", "inference", "transform", "answer")
def test_each_kind_has_room_for_its_reply(serve: Serve, kind: str) -> None:
    server = serve(constant(GOOD))
    asked(server, question("q", kind=kind))
    assert server.requests[0]["max_tokens"] >= {"transform": 2048, "answer": 16}.get(kind, 256)


def test_connections_are_reused_and_answers_belong_to_questions(serve: Serve) -> None:
    server = serve(lambda body: f"Score: 0.{int(body['messages'][0]['content'][-2:]):02}")
    verdicts = asked(server, *(question(f"number {number:02}") for number in range(100)))
    assert values(verdicts) == [number / 100 for number in range(100)]
    assert server.calls == 100


def test_a_server_need_not_count_tokens(serve: Serve) -> None:
    (verdict,) = asked(serve(constant_reply(ServerReply(GOOD, usage=None))))
    assert verdict == Verdict(GOOD, 0.7)


def constant_reply(reply: ServerReply) -> Any:
    return lambda body: reply


# ---- transient failures


def test_rate_limit_is_waited_out(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.001)
    limit = ServerReply("slow down", status=429, headers={"Retry-After": "1"})
    server = serve(in_turn(limit, GOOD))
    started = time.perf_counter()
    (verdict,) = asked(server)
    assert time.perf_counter() - started >= 1.0
    assert verdict == Verdict(GOOD, 0.7, attempts=2, usage=Usage(10, 5))
    assert server.calls == 2


@table("wait", "86400", "1e9", "inf", "nan", "-5", "soon", "")
def test_no_server_makes_us_wait_for_ever(
    serve: Serve, short_pauses: None, monkeypatch: pytest.MonkeyPatch, wait: str
) -> None:
    limit = ServerReply("slow down", status=429, headers={"Retry-After": wait})
    pauses, pause = [], StopSignal.pause

    async def short(stop_signal: StopSignal, seconds: float) -> None:
        pauses.append(seconds)
        await pause(stop_signal, min(seconds, 0.1))

    monkeypatch.setattr(StopSignal, "pause", short)
    assert values(asked(serve(in_turn(limit, GOOD)))) == [0.7]
    assert len(pauses) == 1
    assert pauses[0] <= client.LONGEST_PAUSE


EMPTY = ServerReply(body={"id": "1", "object": "chat.completion", "choices": []})


@table(
    "trouble",
    ServerReply("try later", status=503),  # the other statuses: test_server_replies.py
    ServerReply(drop=True),
    ServerReply(body='{"choices": ['),
    EMPTY,
    ServerReply("Score: 0.", finish_reason="abort"),
    ServerReply("Score: 0.", finish_reason="error"),
)
def test_what_passes_is_retried(serve: Serve, short_pauses: None, trouble: ServerReply) -> None:
    server = serve(in_turn(trouble, trouble, GOOD))
    (verdict,) = asked(server)
    assert verdict == Verdict(GOOD, 0.7, attempts=3, usage=Usage(10, 5))
    assert server.calls == 3


def test_a_slow_server_times_out(serve: Serve, short_pauses: None) -> None:
    with Held(GOOD) as late:
        first = iter([late])
        server = serve(lambda body: next(first, constant("Score: 0.6"))(body))
        (verdict,) = asked(server, timeout=1.0)
        assert late.answered == 0
    assert verdict.value == 0.6
    assert verdict.attempts >= 2


def test_a_server_that_keeps_the_line_open_times_out(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_CALLS", dict.fromkeys(client.MOST_CALLS, 1))
    server = serve(constant_reply(ServerReply(GOOD, drip=2.5)))
    (verdict,) = asked(server, timeout=0.5)  # the reply comes after 2.5 s
    assert "too long" in str(verdict.error)


@contextlib.contextmanager
def deaf_address() -> Iterator[str]:
    """A port that accepts no more connections but does not refuse them."""
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


def raised_by(judge: OpenAIJudge) -> BaseException:
    """The exception of one call; closes the judge, so that no later test is told about it."""

    async def once() -> None:
        try:
            await judge.ask(question("q"))
        finally:
            await judge.aclose()

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        asyncio.run(once())
    return caught.value


def test_no_server_at_all_is_unreachable(closed_port: int) -> None:
    error = raised_by(openai_judge(f"http://127.0.0.1:{closed_port}/v1", KEY, LONGEST))
    assert isinstance(error, TransientError)
    assert error.kind == "unreachable"
    assert "127.0.0.1" in str(error)


def test_a_host_that_never_connects_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own timeout says so, unless the limit of the whole call ends it before."""
    monkeypatch.setattr(openai, "GRACE", LONGEST)
    with deaf_address() as address:
        error = raised_by(openai_judge(address, KEY, 0.5))
    assert isinstance(error, TransientError)
    assert error.kind == "unreachable"


# ---- permanent failures


@table("text", "", "I will not say.")
def test_a_reply_without_a_score_is_no_score(serve: Serve, text: str) -> None:
    server = serve(constant(text))
    (verdict,) = asked(server)
    assert verdict.value is None
    assert verdict.text == text
    assert verdict.attempts == server.calls == 1 + client.ASKED_AGAIN


def test_a_schema_that_others_got_through_with_is_kept(serve: Serve) -> None:
    """A request is refused while another call with a schema is in progress."""

    def answer(body: Body) -> str | ServerReply:
        bad = body["messages"][0]["content"].startswith("bad")
        return ServerReply("no", status=400) if bad else ServerReply(GOOD, delay=0.2)

    server = serve(answer)
    with open_engine("openai:m", concurrency=4, progress=False) as judge:
        assert values(judge.run([question("good"), question("bad")])) == [0.7, None]
        judge.run([question("later")])
    assert "response_format" in server.requests[-1]


# ---- models with other parameters

NO_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. "
    "Only the default (1) value is supported."
)


def reasoning_model(body: Body) -> str | ServerReply:
    if "max_tokens" in body:
        return ServerReply(NO_MAX_TOKENS, status=400)
    if "temperature" in body:
        return ServerReply(NO_TEMPERATURE, status=400)
    return GOOD


def test_reasoning_models_get_what_they_take(serve: Serve) -> None:
    server = serve(reasoning_model)
    with open_engine("openai:m", concurrency=1, progress=False) as judge:
        verdicts = judge.run(questions(5))
    assert values(verdicts) == [0.7] * 5
    assert server.calls == 2 + 5  # it learns only once
    last = server.requests[-1]
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert last["max_completion_tokens"] > 4096, "thinking counts against this limit"


@table("complaint", NO_MAX_TOKENS, NO_TEMPERATURE)
def test_a_server_that_always_complains_is_no_endless_loop(serve: Serve, complaint: str) -> None:
    server = serve(constant_reply(ServerReply(complaint, status=400)))
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
def test_a_server_is_asked_in_the_strictest_form_that_it_takes(
    serve: Serve, form: str, complaint: str, status: int
) -> None:
    server = serve(takes(form, "text", complaint=complaint, status=status))
    with open_engine("openai:m", concurrency=1, progress=False) as judge:
        assert values(judge.run(questions(4))) == [0.7] * 4
    steps = FORMS.index(form)
    found = [form_of(body) for body in server.requests]
    assert found == [*FORMS[:steps], *[form] * 4], "it learns only once"


@table("form", *FORMS)
def test_calls_that_are_refused_together_change_the_form_once(serve: Serve, form: str) -> None:
    server = serve(takes(form, "text"), latency=0.1)
    with open_engine("openai:m", concurrency=8, progress=False) as judge:
        assert values(judge.run(questions(8))) == [0.7] * 8
        judge.run([question("later")])
    assert form_of(server.requests[-1]) == form


def test_a_refusal_is_not_laid_on_a_schema_that_was_taken_before(serve: Serve) -> None:
    refusal = ServerReply("content management policy", status=400)
    server = serve(lambda body: refusal if text_of(body).startswith("bad") else GOOD)
    with open_engine("openai:m", concurrency=1, progress=False) as judge:
        judge.run([question("one")])
        (verdict,) = judge.run([question("bad")])
        judge.run([question("two")])
    assert verdict.attempts == 1
    assert all("response_format" in body for body in server.requests)


@table(
    "complaint",
    "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "This model's maximum context length is 4096 tokens. However, your prompt contains more.",
)
def test_a_question_beyond_the_context_is_not_asked_in_other_forms(
    serve: Serve, complaint: str
) -> None:
    server = serve(constant_reply(ServerReply(complaint, status=400)))
    (verdict,) = asked(server)
    assert complaint in str(verdict.error)
    assert server.calls == 1


SCORES = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
REASON = {"type": "string", "maxLength": 300}


@table(
    "kind, properties",
    ("image", {"reason": REASON, "score": {"type": "number", "enum": SCORES}}),
    ("root", {"reason": REASON, "score": {"type": "number", "enum": SCORES}}),
    (
        "match",
        {
            "reason": {"type": "string", "maxLength": 800},
            "verdict": {"type": "string", "enum": ["<Yes>", "<No>"]},
        },
    ),
    (
        "answer",
        {
            "verdict": {
                "type": "string",
                "enum": ["agree", "disagree", "undetermined", "同意", "不同意", "无法判断"],
            }
        },
    ),
    ("transform", None),
    ("question_steps", None),
)
def test_a_score_or_a_word_is_asked_for_with_a_schema(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, kind: str, properties: dict[str, Any] | None
) -> None:
    server = serve(constant(GOOD))
    asked(server, question("q", kind=kind))
    sent = server.requests[-1].get("response_format")
    if properties is None:
        assert sent is None
        return
    assert sent["json_schema"]["strict"] is True
    assert sent["json_schema"]["schema"] == {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    assert list(sent["json_schema"]["schema"]["properties"]) == list(properties), "reason first"
    configure(monkeypatch, structured=False)
    with open_engine("openai:m", progress=False) as judge:
        judge.run([question("q", kind=kind)])
    assert form_of(server.requests[-1]) == "text"


# ---- after a reply that cannot be parsed


def fields_of(body: Body) -> list[str]:
    """The fields of the JSON that a call asks for."""
    form = body.get("response_format")
    return list(form["json_schema"]["schema"]["properties"]) if form else []


CUT = ServerReply('{"reason": "' + "1.1" * 300, finish_reason="length", usage=(10, 512))
BLANK = ServerReply("{\n" + " \n" * 500, finish_reason="length", usage=(10, 512))
BRIEF = ServerReply("It is a step of", finish_reason="length", usage=(10, 64))


@table(
    "replies, calls",
    # (fields, maximum tokens, number of messages) of each call
    ((CUT, GOOD), [(["reason", "score"], 512, 1), (["score"], 64, 1)]),
    ((CUT, BRIEF, GOOD), [(["reason", "score"], 512, 1), (["score"], 64, 1), ([], 64, 3)]),
    ((BLANK, GOOD), [(["reason", "score"], 512, 1), ([], 64, 1)]),
    (("Well.", "Hm.", GOOD), [(["reason", "score"], 512, 1), (["score"], 512, 3), ([], 512, 3)]),
    (("no " * 2000, GOOD), [(["reason", "score"], 512, 1), (["score"], 512, 1)]),
)
def test_a_question_is_never_repeated_unchanged(
    serve: Serve, replies: Any, calls: list[tuple[list[str], int, int]]
) -> None:
    """After a reply that was cut off, only the score is wanted, in few tokens."""
    server = serve(in_turn(*replies))
    (verdict,) = asked(server)
    assert verdict.value == 0.7
    assert [
        (fields_of(body), body["max_tokens"], len(body["messages"])) for body in server.requests
    ] == calls
    assert all(REMINDER in body["messages"][-1]["content"] for body in server.requests[1:])


def test_steps_that_were_cut_off_are_asked_for_once_more_in_full(serve: Serve) -> None:
    endless = ServerReply("Image0 -> " * 2000, finish_reason="length", usage=(10, 4096))
    server = serve(constant_reply(endless))
    (verdict,) = asked(server, question("q", kind="transform"))
    assert [body["max_tokens"] for body in server.requests] == [4096, 4096]
    assert [message["role"] for message in server.requests[1]["messages"]] == ["user"]
    assert "after 4,096 tokens, the limit for this request" in str(verdict.error)


def test_white_space_without_end_is_not_taken_for_thinking(serve: Serve) -> None:
    server = serve(in_turn(ServerReply(" \n" * 500, finish_reason="length"), GOOD))
    assert values(asked(server)) == [0.7]
    assert [body["max_tokens"] for body in server.requests] == [512, 64]


THOUGHT = ServerReply("<think>Let me see", finish_reason="length", usage=(100, 512))


@table(
    "cut",
    THOUGHT,
    ServerReply("", finish_reason="length", usage=(100, 512)),
    ServerReply("<think>a</think>", finish_reason="length", usage=(100, 512)),
)
def test_a_judge_that_thinks_aloud_gets_more_room(serve: Serve, cut: ServerReply) -> None:
    def answer(body: Body) -> str | ServerReply:
        return cut if body["max_tokens"] < 4096 else "<think>0.1? no.</think>\nScore: 0.6"

    serve(answer)
    with open_engine("openai:m", concurrency=1, progress=False) as judge:
        first, second = judge.run(questions(2))
    assert (first.value, first.attempts, second.attempts) == (0.6, 1, 1)
    assert first.usage == Usage(110, 517), "the truncated call used tokens, too"
    assert judge.budget.usage == Usage(120, 522)


def test_a_judge_that_thinks_for_ever_is_an_error(serve: Serve) -> None:
    server = serve(constant_reply(THOUGHT))
    (verdict,) = asked(server)
    assert verdict.value is None
    assert "cut off" in str(verdict.error)
    assert server.calls == 2 + client.ASKED_AGAIN


# ---- the key


def test_the_key_is_sent_as_a_bearer(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve(constant(GOOD))
    with open_engine("openai:m", progress=False) as judge:
        judge.run([question("q")])
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(server.requests)


TROUBLE = [ServerReply("trouble", status=status) for status in (400, 401, 404, 429, 500)]


@table("reply", *TROUBLE, ServerReply(drop=True), ServerReply("no score"))
def test_the_key_is_in_no_error(
    serve: Serve, short_pauses: None, monkeypatch: pytest.MonkeyPatch, reply: ServerReply
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    serve(constant_reply(reply))
    with open_engine("openai:m", progress=False) as judge:
        (verdict,) = judge.run([question("q")])
        shown = [verdict, verdict.error, judge, judge.fatal, judge.name]
    assert verdict.error
    assert KEY not in "".join(f"{one!r} {one}" for one in shown)


@table("key", "sk-“pasted”", "sk-a\nb", "sk a")
def test_a_key_that_can_not_be_sent_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(JudgeConfigurationError, match="OPENAI_API_KEY") as caught:
        open_engine("openai:m", progress=False)
    assert key not in str(caught.value)


# ---- addresses


@table("name", "OPENAI_API_URL", "OPENAI_BASE_URL")
@table("ending", "", "/", "/chat/completions", "/chat/completions/")
def test_addresses(monkeypatch: pytest.MonkeyPatch, name: str, ending: str) -> None:
    with JudgeServer(constant(GOOD)) as server:
        monkeypatch.setenv(name, server.url + ending)
        with open_engine("openai:m", progress=False) as judge:
            assert values(judge.run([question("q")])) == [0.7]
        assert server.calls == 1


# ---- the test server as a process
