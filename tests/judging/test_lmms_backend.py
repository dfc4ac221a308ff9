"""The providers of lmms-eval as judges, against a real server, including their errors."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest
from lmms_eval.llm_judge import ProviderFactory, Request, Response, ServerConfig, ServerInterface
from lmms_eval.llm_judge.base import AsyncServerInterface
from lmms_eval.llm_judge.providers import BedrockProvider, OpenAIProvider
from lmms_eval.models.model_utils import usage_metrics
from loguru import logger

from lmms_rpts.judging import JudgeEngine, JudgeRequest, RefusedError, Reply, TransientError, Usage
from lmms_rpts.judging.backends.lmms import LmmsJudge, check_lmms
from lmms_rpts.judging.types import AdaptedError, FatalJudgeError, JudgeConfigurationError
from tests.judging.questions import Held, in_turn, question, questions, values
from tests.support.judge_server import PATH, Answer, Body, JudgeServer, ServerReply, constant
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

KEY = "sk-very-secret-0123456789"
GOOD = "Score: 0.7"
OPENAI = ["openai", "async_openai"]
AZURE = ["azure", "async_azure"]
ALL = [*OPENAI, *AZURE, "local"]

Open = Callable[..., LmmsJudge]


class Server(JudgeServer):
    """A judge server that also answers under Azure's paths."""

    def reply_to(self, path: str, body: Body, headers: Mapping[str, str]) -> ServerReply:
        azure = path.startswith("/openai/deployments/") and "api-version=" in path
        return super().reply_to(PATH if azure else path, body, headers)


@pytest.fixture(autouse=True)
def _no_providers_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["AZURE_API_KEY", "AZURE_ENDPOINT", "API_VERSION", "LLM_JUDGE_URL", "OPENAI_ADMIN_KEY"]
    for name in [*names, "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"]:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the providers that a test registers."""
    monkeypatch.setattr(
        ProviderFactory, "_provider_classes", dict(ProviderFactory._provider_classes)
    )


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:

        def start(answer: Answer | ServerReply, latency: float = 0.0) -> Server:
            said = answer if callable(answer) else lambda body: answer
            server = Server(said, latency=latency)
            stack.enter_context(server)
            return server

        yield start


Serve = Callable[..., Server]


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Opens a judge that sends requests to a base URL."""
    judges: list[LmmsJudge] = []

    def start(api_type: str, url: str = "", key: str | None = KEY, **options: Any) -> LmmsJudge:
        if url and key:  # rows of a table share the environment
            for name in ("AZURE_API_KEY", "AZURE_ENDPOINT", "LLM_JUDGE_URL", "OPENAI_API_KEY"):
                monkeypatch.delenv(name, raising=False)
        if url and api_type == "local":
            monkeypatch.setenv("LLM_JUDGE_URL", f"{url}/chat/completions")
        if url and api_type in AZURE:
            monkeypatch.setenv("AZURE_ENDPOINT", url.removesuffix("/v1"))
            monkeypatch.setenv("AZURE_API_KEY", KEY)
            monkeypatch.setenv("OPENAI_API_KEY", "unused")
        if api_type in OPENAI and key:
            monkeypatch.setenv("OPENAI_API_KEY", key)
        base = url if url and api_type in OPENAI else None
        given = {"timeout": 60.0, "concurrency": 8, "openai_url": base, "openai_key": key}
        judges.append(LmmsJudge(api_type, options.pop("model", "m"), **{**given, **options}))
        return judges[-1]

    yield start
    for opened in judges:
        asyncio.run(opened.aclose())


def engine_for(judge: LmmsJudge, concurrency: int = 8) -> JudgeEngine:
    """Builds the engine; the only place in these tests that does."""
    return JudgeEngine(judge, concurrency=concurrency, progress=False)


def ask(judge: LmmsJudge, request: JudgeRequest | None = None) -> Reply:
    """One reply; closes the judge afterwards."""

    async def once() -> Reply:
        try:
            return await judge.ask(request or question("q"))
        finally:
            await judge.aclose()

    return asyncio.run(once())


def raised(judge: LmmsJudge, request: JudgeRequest | None = None) -> Exception:
    """The exception of ``ask``; checks that it hides the key."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        ask(judge, request)
    assert KEY not in f"{caught.value!r} {caught.value}"
    return caught.value


def completion(message: object, finish: str = "stop", **more: object) -> ServerReply:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return ServerReply(body={"id": "1", "choices": [choice], "usage": usage, **more})


# ---- requests, and a valid answer


@table("api_type", *ALL)
def test_a_question_is_sent_as_it_is(serve: Serve, judge: Open, api_type: str) -> None:
    server = serve(constant(GOOD))
    messages = [
        {"role": "system", "content": "你是评审"},
        {"role": "user", "content": "a “b” \N{FIRE}\n"},
    ]
    reply = ask(judge(api_type, server.url), JudgeRequest("inference", messages))
    assert reply == Reply(GOOD, Usage(10, 5))
    (body,) = server.requests
    assert body == {"model": "m", "messages": messages, "temperature": 0, "max_tokens": 512}


@table("api_type", *ALL)
def test_each_kind_has_room_for_its_reply(serve: Serve, judge: Open, api_type: str) -> None:
    server = serve(constant(GOOD))
    for kind in ("image", "inference", "transform", "answer"):
        ask(judge(api_type, server.url), question("q", kind=kind))
    assert [body["max_tokens"] for body in server.requests] == [512, 512, 4096, 64]


@table("api_type", *OPENAI)
@table("model", "gpt-5-mini", "o1", "o3-mini", "o4-mini")
def test_models_that_think_have_room_to(
    serve: Serve, judge: Open, api_type: str, model: str
) -> None:
    server = serve(constant(GOOD))
    ask(judge(api_type, server.url, model=model))
    (body,) = server.requests
    assert body["max_completion_tokens"] == 512 + 8192
    assert not {"max_tokens", "temperature"} & set(body)


@table("api_type", *ALL)
def test_temperature(serve: Serve, judge: Open, api_type: str) -> None:
    server = serve(constant(GOOD))
    warm = judge(api_type, server.url, temperature=0.7)
    assert warm.identity["temperature"] == 0.7
    ask(warm)
    assert server.requests[0]["temperature"] == 0.7


def test_dummy_has_nothing_to_say_of_tokens(judge: Open) -> None:
    assert ask(judge("dummy")) == Reply("dummy")


# ---- one call per ``ask``, without blocking the others


@table("api_type", *ALL)
@table("status", 429, 500, 503)
def test_a_failure_is_one_call(
    serve: Serve, judge: Open, monkeypatch: pytest.MonkeyPatch, api_type: str, status: int
) -> None:
    server = serve(ServerReply("trouble", status=status))
    pauses, sleep = [], time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: [pauses.append(seconds), sleep(seconds)])
    assert isinstance(raised(judge(api_type, server.url)), TransientError)
    assert server.calls == 1
    assert max(pauses) < 1, "lmms-eval pauses for 10 seconds"


@table("api_type", *ALL)
def test_the_engine_is_what_retries(
    serve: Serve, judge: Open, short_pauses: None, api_type: str
) -> None:
    trouble = ServerReply("try later", status=500)
    server = serve(in_turn(trouble, trouble, GOOD))
    with engine_for(judge(api_type, server.url)) as engine:
        (verdict,) = engine.run([question("q")])
    assert (verdict.value, verdict.attempts, verdict.usage) == (0.7, 3, Usage(10, 5))
    assert server.calls == 3


@table("api_type", *ALL)
def test_calls_are_made_side_by_side(serve: Serve, judge: Open, api_type: str) -> None:
    def answer(body: Body) -> str:
        wait_until(lambda: server.most_at_once >= 4)
        return GOOD

    server = serve(answer)
    with engine_for(judge(api_type, server.url)) as engine:
        assert values(engine.run(questions(8))) == [0.7] * 8
    assert server.calls == 8


def test_answers_belong_to_their_questions(serve: Serve, judge: Open) -> None:
    server = serve(lambda body: f"Score: 0.{int(body['messages'][0]['content'][-2:]):02}")
    for api_type in ALL:
        with engine_for(judge(api_type, server.url)) as engine:
            verdicts = engine.run([question(f"number {number:02}") for number in range(40)])
        assert values(verdicts) == [number / 100 for number in range(40)]


# ---- time


@pytest.mark.parametrize("api_type", ALL)
@pytest.mark.parametrize("slow", ["silent", "dripping"])
def test_a_slow_server_times_out(serve: Serve, judge: Open, api_type: str, slow: str) -> None:
    with Held(GOOD) as late:
        server = serve(late if slow == "silent" else ServerReply(GOOD, drip=4))
        started = time.perf_counter()
        error = raised(judge(api_type, server.url, timeout=0.5))
        assert time.perf_counter() - started > 0.4
        assert late.answered == 0, "closing must not wait either"
        wait_until(lambda: server.calls)  # a slow server reads the request after its time
    assert isinstance(error, TransientError)
    assert not error.unreachable
    assert "too long" in str(error)
    assert server.calls == 1


def test_stuck_calls_take_no_place_from_others(judge: Open) -> None:
    stuck = threading.Event()

    class Sticky(ServerInterface):  # type: ignore[misc]
        def is_available(self) -> bool:
            return True

        def evaluate(self, request: Request) -> Response:
            if request.messages[0]["content"] == "stuck":
                stuck.wait(LONGEST)
            return Response(GOOD, "m")

    ProviderFactory.register_provider("sticky", Sticky)
    sticky = judge("sticky", timeout=2.0, concurrency=2)

    async def several() -> Reply:
        calls = [sticky.ask(question("stuck")) for _ in range(4)]
        failures = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(failure, TransientError) for failure in failures)
        reply = await sticky.ask(question("q"))
        await sticky.aclose()
        return reply

    try:
        assert asyncio.run(several()) == Reply(GOOD)
    finally:
        stuck.set()


def test_a_stuck_call_does_not_keep_the_process_alive() -> None:
    script = """
        import time
        from lmms_eval.llm_judge import ProviderFactory, ServerInterface
        from lmms_rpts.judging import JudgeEngine, JudgeRequest
        from lmms_rpts.judging.backends.lmms import LmmsJudge

        class Stuck(ServerInterface):  # type: ignore[misc]
            def is_available(self): return True
            def evaluate(self, request): time.sleep(3600)

        ProviderFactory.register_provider("stuck", Stuck)
        judge = LmmsJudge(
            "stuck", "m", timeout=0.2, concurrency=1, openai_url=None, openai_key=None
        )
        with JudgeEngine(judge, progress=False) as engine:
            (verdict,) = engine.run([JudgeRequest("image", [{"role": "user", "content": "q"}])])
        print(verdict.error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST, check=True)
    assert "too long" in done.stdout


# ---- failures


@table("api_type", *ALL)
def test_rate_limits_say_how_long_to_wait(serve: Serve, judge: Open, api_type: str) -> None:
    limit = ServerReply("slow down", status=429, headers={"Retry-After": "7"})
    error = raised(judge(api_type, serve(limit).url))
    assert isinstance(error, TransientError)
    assert (error.retry_after, error.throttled, error.unreachable) == (7.0, True, False)


@table("api_type", *ALL)
def test_no_server_is_unreachable(judge: Open, closed_port: int, api_type: str) -> None:
    error = raised(judge(api_type, f"http://127.0.0.1:{closed_port}/v1"))
    assert isinstance(error, TransientError)
    assert error.unreachable
    assert "127.0.0.1" in str(error)


ODD = ["<html>Welcome</html>", '{"choices": [', '"hello"', "[]", "null", "", {"hello": "there"}]
ODD += [{"choices": []}, {"choices": [{"index": 0, "finish_reason": "stop"}]}]
ODD += [{"choices": [{"index": 0, "message": None}]}, {"choices": None}, {"choices": "none"}]


REFUSAL = {"role": "assistant", "refusal": f"Not with {KEY}"}
DONE = {"message": "You are done.", "type": "x"}
FAILURES: list[tuple[ServerReply, type[Exception], list[str]]] = [
    *(
        (ServerReply("so it is", status=status), kind, [str(status), "so it is"])
        for kind, statuses in {
            RefusedError: (400, 413, 422),
            FatalJudgeError: (401, 402, 404),
            TransientError: (408, 529),
        }.items()
        for status in statuses
    ),
    # Codes of fatal errors.
    *(
        (
            ServerReply(status=429, body={"error": DONE | {"code": code}}),
            FatalJudgeError,
            ["You are done."],
        )
        for code in ("insufficient_quota", "model_not_found", "invalid_api_key")
    ),
    # Refusals with other wording.
    (ServerReply(status=502, body="<html>Bad gateway</html>"), TransientError, ["502", "Bad gate"]),
    (ServerReply(status=502, body={"detail": "Bad gateway"}), TransientError, ["502", "Bad gate"]),
    (ServerReply(status=502, body=""), TransientError, ["502"]),
    (ServerReply(drop=True), TransientError, ["connection"]),
    (ServerReply("Score: 0.5", finish_reason="content_filter"), RefusedError, ["content filter"]),
    *(
        (completion(REFUSAL | {"content": content}), RefusedError, [r"Not with \[key\]"])
        for content in ("", "Score: 0.5", None)
    ),
    # Replies that are not completions.
    *((ServerReply(body=body), TransientError, ["judge's (server|reply)"]) for body in ODD),
]


@table("api_type", *ALL)
@table("reply, kind, words", *FAILURES)
def test_failures_are_one_call_and_told(
    serve: Serve,
    judge: Open,
    api_type: str,
    reply: ServerReply,
    kind: type[Exception],
    words: list[str],
) -> None:
    server = serve(reply)
    error = raised(judge(api_type, server.url))
    assert type(error) is kind
    assert not getattr(error, "unreachable", False), "the server was reached"
    assert [word for word in words if not re.search(word, str(error))] == []
    assert server.calls == 1


# ---- unusable replies


PARTS = [{"type": "text", "text": "Score: "}, {"type": "text", "text": "0.5"}]
COUNTED = {"prompt_tokens": 10, "completion_tokens": 5}
THOUGHT = COUNTED | {"completion_tokens_details": {"reasoning_tokens": 3}}
SAID = {"role": "assistant", "content": GOOD}
HALF = "Both speak of do"


@table("api_type", *ALL)
@table(
    "answer, reply",
    (completion(SAID, usage=None), Reply(GOOD)),
    (completion(SAID, usage={}), Reply(GOOD)),
    (completion(SAID, usage=dict.fromkeys(COUNTED)), Reply(GOOD)),
    (completion(SAID, usage=COUNTED), Reply(GOOD, Usage(10, 5))),
    (completion(SAID, usage=THOUGHT), Reply(GOOD, Usage(10, 5, 3))),
    (completion(SAID | {"content": None}), Reply("", Usage(10, 5))),
    (completion(SAID | {"content": PARTS}), Reply("Score: 0.5", Usage(10, 5))),
    (ServerReply(HALF, finish_reason="length"), Reply(HALF, Usage(10, 5), False)),
    (ServerReply(f"a {KEY} b\nScore: 0.5"), Reply("a [key] b\nScore: 0.5", Usage(10, 5))),
)
def test_replies_are_read(
    serve: Serve, judge: Open, api_type: str, answer: ServerReply, reply: Reply
) -> None:
    assert ask(judge(api_type, serve(answer).url)) == reply


@table("api_type", *ALL)
def test_no_content_is_asked_again(serve: Serve, judge: Open, api_type: str) -> None:
    nothing = completion({"role": "assistant", "content": None})
    with engine_for(judge(api_type, serve(in_turn(nothing, GOOD)).url)) as engine:
        (verdict,) = engine.run([question("q")])
    assert (verdict.value, verdict.attempts, verdict.usage) == (0.7, 2, Usage(20, 10))


@table("api_type", *ALL)
def test_a_model_that_only_thought_gets_more_room(serve: Serve, judge: Open, api_type: str) -> None:
    silent = completion({"role": "assistant", "content": None}, finish="length")
    server = serve(in_turn(silent, GOOD))
    thinker = judge(api_type, server.url)

    async def twice() -> Reply:
        with pytest.raises(AdaptedError) as caught:
            await thinker.ask(question("q"))
        assert caught.value.usage == Usage(10, 5)
        return await thinker.ask(question("q"))

    assert asyncio.run(twice()) == Reply(GOOD, Usage(10, 5))
    assert [body["max_tokens"] for body in server.requests] == [512, 512 + 8192]


# ---- addresses and keys


@table("api_type", *OPENAI)
@table("ending", "", "/", "/chat/completions")
@table("name", "OPENAI_API_URL", "OPENAI_BASE_URL")
def test_addresses_in_the_environment(
    serve: Serve,
    judge: Open,
    monkeypatch: pytest.MonkeyPatch,
    api_type: str,
    ending: str,
    name: str,
) -> None:
    server = serve(constant(GOOD))
    monkeypatch.setenv(name, server.url + ending)
    assert check_lmms(f"{api_type}:m") is None
    assert ask(judge(api_type)) == Reply(GOOD, Usage(10, 5))
    assert ask(judge(api_type, server.url)) == Reply(GOOD, Usage(10, 5))
    assert server.calls == 2


@table("api_type", *OPENAI)
def test_the_given_address_counts(
    serve: Serve, judge: Open, monkeypatch: pytest.MonkeyPatch, api_type: str
) -> None:
    server, other = serve(constant(GOOD)), serve(constant("Score: 0.1"))
    monkeypatch.setenv("OPENAI_API_URL", other.url)
    given = judge(api_type, server.url)
    assert given.identity["endpoint"] == server.url
    assert ask(given).text == GOOD
    assert other.calls == 0


@table("api_type", *OPENAI)
def test_servers_of_ones_own_need_no_key(serve: Serve, judge: Open, api_type: str) -> None:
    server = serve(constant(GOOD))
    assert ask(judge(api_type, server.url, key=None)) == Reply(GOOD, Usage(10, 5))
    assert server.headers[0]["authorization"] == "Bearer none"


@table("api_type", *OPENAI)
def test_the_given_key_is_sent(
    serve: Serve, judge: Open, monkeypatch: pytest.MonkeyPatch, api_type: str
) -> None:
    server = serve(constant(GOOD))
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")  # normalised like our settings
    ask(judge(api_type, server.url, key=None, openai_key=KEY))
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"


@table("api_type", *AZURE)
def test_azure_is_sent_its_own_key(serve: Serve, judge: Open, api_type: str) -> None:
    server = serve(constant(GOOD))
    azure = judge(api_type, server.url)
    assert azure.identity["endpoint"] == server.url.replace("/v1", "/openai")
    ask(azure)
    assert server.headers[0]["api-key"] == KEY
    assert "unused" not in str(server.headers)


def test_without_an_address_openai_is_asked(judge: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    for api_type in OPENAI:
        assert judge(api_type).identity["endpoint"] == "https://api.openai.com/v1"
        monkeypatch.setenv("OPENAI_API_URL", "")
        assert judge(api_type).identity["endpoint"] == "https://api.openai.com/v1"


ECHO = [ServerReply(f"Wrong: {KEY}", status=status) for status in (400, 401, 404, 429, 500)]
ECHO += [ServerReply(body=f"{KEY} {{"), ServerReply(body=json.dumps(KEY)), ServerReply(drop=True)]


@table("api_type", *ALL)
@table("reply", *ECHO)
def test_the_key_is_told_to_nobody(
    serve: Serve,
    judge: Open,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    short_pauses: None,
    api_type: str,
    reply: ServerReply,
) -> None:
    server = serve(reply)
    said: list[str] = []
    sink = logger.add(said.append, level=0, diagnose=True)
    caplog.set_level("INFO")
    try:
        opened = judge(api_type, server.url)
        with engine_for(opened) as engine:
            (verdict,) = engine.run([question("q")])
    finally:
        logger.remove(sink)
    assert server.calls
    assert verdict.error
    for text in (repr(verdict), repr(opened), str(opened.identity), *said, caplog.text):
        assert KEY not in text
    assert not [line for line in said if "attempt" in line.lower()]


def test_credentials_in_an_address_are_hidden(
    serve: Serve, judge: Open, monkeypatch: pytest.MonkeyPatch, closed_port: int
) -> None:
    server = serve(lambda body: ServerReply("user pa%24s-word pa$s-word q-secret", status=400))
    address = server.url.replace("://", "://someone:pa%24s-word@") + "/chat/completions"
    monkeypatch.setenv("LLM_JUDGE_URL", address)
    secretive = judge("local")
    assert secretive.identity["endpoint"] == f"{server.url}/chat/completions"
    error = str(raised(secretive))
    assert "pa%24s-word" not in error
    assert "pa$s-word" not in error
    nobody = f"http://someone:pass-word@127.0.0.1:{closed_port}/chat/completions?key=q-secret"
    monkeypatch.setenv("LLM_JUDGE_URL", nobody)
    secretive = judge("local")
    assert secretive.identity["endpoint"] == nobody.replace("someone:pass-word@", "").split("?")[0]
    assert not {"pass-word", "q-secret"} & set(str(raised(secretive)).replace("=", " ").split())


def test_credentials_in_openais_address(serve: Serve, judge: Open) -> None:
    for api_type in OPENAI:
        server = serve(ServerReply("pass-word", status=400))
        opened = judge(api_type, server.url.replace("://", "://someone:pass-word@"))
        assert opened.identity["endpoint"] == server.url
        assert "pass-word" not in str(raised(opened))
        assert server.calls == 1


@table("api_type", *ALL)
@table("status", 200, 400, 401, 429)
def test_errors_are_one_line_without_pieces_of_the_key(
    serve: Serve, judge: Open, api_type: str, status: int
) -> None:
    told = f"so \x1b[31mred\x1b[0m\r\n{KEY[:14]}*** {KEY[-10:].upper()} \u202e {'y' * 5000}"
    said = completion({"role": "assistant", "content": None, "refusal": told})
    server = serve(said if status == 200 else ServerReply(told, status=status))
    error = str(raised(judge(api_type, server.url)))
    assert "so red [key]*** [key] yyy" in error
    assert error.isprintable()
    assert len(error) < 700


@table("api_type", *OPENAI, *AZURE)
@table("status", 301, 302, 303, 307, 308)
def test_prompts_are_not_carried_to_another_host(
    serve: Serve, judge: Open, api_type: str, status: int
) -> None:
    target = serve(constant(GOOD))
    headers = {"Location": f"{target.url}/chat/completions?key={KEY}"}
    error = raised(judge(api_type, serve(ServerReply("x", status, headers=headers)).url))
    assert isinstance(error, FatalJudgeError)
    assert f"({status}) to {target.url}/chat/completions;" in str(error)
    assert "OPENAI_BASE_URL" in str(error)
    assert target.calls == 0


HOSTILE = [
    {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": 2**70}},
    {"choices": [{"message": {"content": "x"}}], "usage": {"completion_tokens": -1}},
    {"choices": [{"message": {"content": "x"}}], "usage": [1]},
    {"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "12"}},
    {"output": {"content": "x"}, "stopReason": [], "usage": [1]},
    "[" * 100_000,
    '{"error":' * 900 + "1" + "}" * 900,
]


@table("api_type", *ALL)
@table("status", 200, 413)
@table("body", *HOSTILE)
@pytest.mark.usefixtures("no_garbage_collection")
def test_hostile_json_is_an_outcome(
    serve: Serve, judge: Open, api_type: str, body: object, status: int
) -> None:
    opened = judge(api_type, serve(ServerReply(status=status, body=body)).url)
    told, reply = "", Reply("x")
    try:
        reply = ask(opened)
    except (TransientError, RefusedError) as error:
        told = str(error)
    assert len(told) < 700
    assert reply == Reply("x")


# ---- logs


@pytest.fixture
def calls_ended() -> None:
    """Waits for calls left by earlier tests, which keep the providers silent."""
    for thread in threading.enumerate():
        if "_work" in thread.name:
            thread.join(LONGEST)


def provider_logs(url: str) -> bool:
    """Whether a provider's failure is logged now."""
    said: list[str] = []
    sink = logger.add(said.append, level=0)
    provider = ProviderFactory.create_provider("local", ServerConfig("m", num_retries=1))
    provider.api_url = url
    with pytest.raises(Exception):  # noqa: B017, PT011 - requests'
        provider.evaluate(Request(messages=[]))
    logger.remove(sink)
    return bool(said)


def test_providers_are_silent_while_a_judge_is_open(
    judge: Open, calls_ended: None, closed_port: int
) -> None:
    url = f"http://127.0.0.1:{closed_port}/"
    assert provider_logs(url)
    first, second = judge("dummy"), judge("dummy")
    assert not provider_logs(url)
    asyncio.run(first.aclose())
    asyncio.run(first.aclose())
    assert not provider_logs(url), "the second judge is open"
    asyncio.run(second.aclose())
    assert provider_logs(url)


def test_a_judge_that_can_not_be_opened_silences_nobody(
    judge: Open, calls_ended: None, closed_port: int
) -> None:
    with pytest.raises(JudgeConfigurationError):
        judge("openai", key=None)
    assert provider_logs(f"http://127.0.0.1:{closed_port}/")


def test_calls_that_were_given_up_stay_silent(serve: Serve, judge: Open) -> None:
    """Abandoned calls fail later and would log their failure."""
    server = serve(ServerReply(f"Wrong: {KEY}", status=500, drip=1.0))
    said: list[str] = []
    sink = logger.add(said.append, level=0)
    before = set(threading.enumerate())
    raised(judge("local", server.url, timeout=0.3))
    left = [each for each in set(threading.enumerate()) - before if "_work" in each.name]
    for thread in left:
        thread.join(LONGEST)
        assert not thread.is_alive()
    logger.remove(sink)
    assert not said


# ---- token counts


@table("api_type", *ALL, "dummy")
def test_whether_the_provider_logs_usage(serve: Serve, judge: Open, api_type: str) -> None:
    opened = judge(api_type, serve(constant(GOOD)).url)
    before = len(usage_metrics._USAGE_HISTORY)
    ask(opened)
    assert opened.logs_usage is (len(usage_metrics._USAGE_HISTORY) > before)
    assert opened.logs_usage is (api_type not in ("local", "dummy"))


def test_whether_an_heir_logs_usage(judge: Open) -> None:
    class Counting(OpenAIProvider):  # type: ignore[misc]
        def evaluate(self, request: Request) -> Response:
            return super().evaluate(request)

    class Silent(OpenAIProvider):  # type: ignore[misc]
        def evaluate(self, request: Request) -> Response:
            return Response(GOOD, "m")

    for kind, logs in ((Counting, True), (Silent, False), (BedrockProvider, False)):
        ProviderFactory.register_provider("openai", kind)
        assert judge("openai").logs_usage is logs


# ---- providers of other packages


class Polite(ServerInterface):  # type: ignore[misc]
    """A provider that modifies its request."""

    def is_available(self) -> bool:
        raise AssertionError("it might send a request")

    def evaluate(self, request: Request) -> Response:
        request.messages[0]["content"] += " please"
        said = f"{request.messages[0]['content']} {request.config.model_name}"
        return Response(said, "m", usage={"prompt_tokens": 3, "completion_tokens": 2})


class PoliteToo(AsyncServerInterface):  # type: ignore[misc]
    def is_available(self) -> bool:
        return True

    async def evaluate_async(self, request: Request) -> Response:
        async with self.semaphore:
            await asyncio.sleep(0)
            return Polite.evaluate(self, request)


@table("kind", Polite, PoliteToo)
def test_a_provider_that_was_registered(judge: Open, kind: type) -> None:
    ProviderFactory.register_provider("polite", kind)
    assert check_lmms("polite:m") is None
    request = question("Score")
    opened = judge("polite", model="2")
    assert opened.identity == {
        "backend": "lmms",
        "api_type": "polite",
        "model": "2",
        "endpoint": None,
        "temperature": 0.0,
    }
    assert ask(opened, request) == Reply("Score please 2", Usage(3, 2))
    assert request.messages == [{"role": "user", "content": "Score"}]


def test_what_a_provider_makes_of_a_reply_counts(serve: Serve, judge: Open) -> None:
    class Tidy(OpenAIProvider):  # type: ignore[misc]
        def evaluate(self, request: Request) -> Response:
            response = super().evaluate(request)
            response.content = response.content.removeprefix("Well. ")
            return response

    ProviderFactory.register_provider("openai", Tidy)
    server = serve(constant(f"Well. {GOOD}"))
    assert ask(judge("openai", server.url)) == Reply(GOOD, Usage(10, 5))


class NoCredentialsError(Exception):
    """Has the name of an exception of botocore."""


@table(
    "failure, kind",
    (ValueError(f"no {KEY}"), RefusedError),
    (RuntimeError(f"no {KEY}"), RefusedError),
    (TimeoutError(), TransientError),
    (ConnectionResetError(f"by {KEY}"), TransientError),
    (ImportError(f"no {KEY}"), FatalJudgeError),
    (NoCredentialsError("none"), FatalJudgeError),
    (KeyError(KEY), TransientError),
    (RecursionError(KEY), RefusedError),
)
@table("base", Polite, PoliteToo)
def test_failures_of_others(judge: Open, base: type, failure: Exception, kind: type) -> None:
    class Failing(base):  # type: ignore[misc]
        api_key = KEY

        def evaluate(self, request: Request) -> Response:
            raise failure

        if base is PoliteToo:

            async def evaluate_async(self, request: Request) -> Response:
                raise failure

    ProviderFactory.register_provider("failing", Failing)
    error = raised(judge("failing"))
    assert type(error) is kind


def test_a_provider_that_wants_to_exit(judge: Open) -> None:
    class Leaving(Polite):
        def evaluate(self, request: Request) -> Response:
            sys.exit(1)

    ProviderFactory.register_provider("leaving", Leaving)
    with engine_for(judge("leaving")) as engine:
        verdicts = engine.run(questions(2))
    assert all("SystemExit" in str(verdict.error) for verdict in verdicts)


@table("answer", None, "text", Response(None, "m"), Response(5, "m"))
def test_odd_answers_of_others(judge: Open, answer: Any) -> None:
    class Odd(Polite):
        def evaluate(self, request: Request) -> Response:
            return answer

    ProviderFactory.register_provider("odd", Odd)
    if isinstance(answer, Response):
        assert ask(judge("odd")) == Reply("" if answer.content is None else "5")
    else:
        assert isinstance(raised(judge("odd")), TransientError)


# ---- Bedrock


class ClientError(Exception):
    """Has the shape of an exception of botocore."""

    def __init__(self, code: str, status: int, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"An error occurred ({code})")
        meta = {"HTTPStatusCode": status, "HTTPHeaders": dict(headers or {})}
        self.response = {"Error": {"Code": code, "Message": "So it is."}, "ResponseMetadata": meta}


class Converse:
    """A Bedrock client with one reply or exception."""

    def __init__(self, said: Any) -> None:
        self.said = said
        self.asked: list[dict[str, Any]] = []

    def converse(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self.said, Exception):
            raise self.said
        return self.said


def bedrock(judge: Open, said: Any) -> tuple[LmmsJudge, Converse]:
    client = Converse(said)

    class Fake(BedrockProvider):  # type: ignore[misc]
        def __init__(self, config: ServerConfig | None = None) -> None:
            super().__init__(config)
            self._client = client

    ProviderFactory.register_provider("bedrock", Fake)
    return judge("bedrock", model="vendor.model-v1:0"), client


def converse(*blocks: Mapping[str, Any], stop: str = "end_turn") -> dict[str, Any]:
    return {
        "output": {"message": {"role": "assistant", "content": list(blocks)}},
        "stopReason": stop,
        "usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
    }


def test_bedrock_takes_no_system_and_alternating_roles(judge: Open) -> None:
    opened, client = bedrock(judge, converse({"text": GOOD}))
    roles = ["system", "user", "user", "assistant", "user"]
    messages = [{"role": role, "content": f"{n}"} for n, role in enumerate(roles)]
    kept = [dict(message) for message in messages]
    assert ask(opened, JudgeRequest("inference", messages)) == Reply(GOOD, Usage(10, 5))
    assert messages == kept
    (asked,) = client.asked
    assert asked == {
        "modelId": "vendor.model-v1:0",
        "messages": [
            {"role": "user", "content": [{"text": "0\n\n1\n\n2"}]},
            {"role": "assistant", "content": [{"text": "3"}]},
            {"role": "user", "content": [{"text": "4"}]},
        ],
        "inferenceConfig": {"maxTokens": 512, "temperature": 0},
    }


def test_bedrocks_ends(judge: Open) -> None:
    half, _ = bedrock(judge, converse({"text": "Both"}, stop="max_tokens"))
    assert ask(half) == Reply("Both", Usage(10, 5), complete=False)
    for stop in ("content_filtered", "guardrail_intervened"):
        assert isinstance(
            raised(bedrock(judge, converse({"text": GOOD}, stop=stop))[0]), RefusedError
        )


def test_bedrocks_thoughts_are_no_reply(judge: Open) -> None:
    thought = {"reasoningContent": {"reasoningText": {"text": "Score: 0.1"}}}
    opened, client = bedrock(judge, converse(thought, {"text": GOOD}))
    assert ask(opened) == Reply(GOOD, Usage(10, 5))
    assert ask(bedrock(judge, converse())[0]) == Reply("", Usage(10, 5))
    assert len(client.asked) == 1


@table(
    "code, status, kind, throttled",
    ("ThrottlingException", 429, TransientError, True),
    ("ThrottlingException", 400, TransientError, True),
    ("TooManyRequestsException", 400, TransientError, True),
    ("ServiceQuotaExceededException", 400, TransientError, True),
    ("ServiceUnavailableException", 503, TransientError, False),
    ("ModelTimeoutException", 408, TransientError, False),
    ("AccessDeniedException", 403, FatalJudgeError, False),
    ("ResourceNotFoundException", 404, FatalJudgeError, False),
    ("ValidationException", 400, RefusedError, False),
)
def test_bedrocks_failures(
    judge: Open, code: str, status: int, kind: type[Exception], throttled: bool
) -> None:
    opened, client = bedrock(judge, ClientError(code, status, {"retry-after": "3"}))
    error = raised(opened)
    assert type(error) is kind
    assert code in str(error)
    assert "So it is." in str(error)
    assert len(client.asked) == 1
    if isinstance(error, TransientError):
        assert (error.throttled, error.retry_after) == (throttled, 3.0)


class EndpointConnectionError(Exception):
    """Has the name of an exception of botocore."""


class ReadTimeoutError(Exception):
    """Has the name of an exception of botocore."""


def test_bedrock_without_a_network(judge: Open) -> None:
    gone = raised(bedrock(judge, EndpointConnectionError("no such host"))[0])
    assert isinstance(gone, TransientError)
    assert gone.unreachable
    late = raised(bedrock(judge, ReadTimeoutError("late"))[0])
    assert isinstance(late, TransientError)
    assert not late.unreachable


@pytest.fixture
def no_boto3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


def test_bedrock_without_boto3(judge: Open, no_boto3: None) -> None:
    assert "boto3" in str(check_lmms("bedrock:vendor.model-v1:0"))
    error = raised(judge("bedrock"))
    assert isinstance(error, FatalJudgeError)
    assert "boto3" in str(error)


# ---- checks before a run


@table(
    "judge_name, environment, words",
    ("", {}, ["API type", "lmms:openai:"]),
    ("openai", {}, ["a model"]),
    ("openai:", {}, ["a model"]),
    (":m", {}, ["API type"]),
    ("opnai:m", {}, ["'opnai'", "Did you mean openai?", "bedrock", "local", "dummy"]),
    ("xyz:m", {}, ["'xyz'", "Known types:", "async_azure"]),
    ("openai:m", {}, ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
    ("async_openai:m", {}, ["OPENAI_API_KEY", "OPENAI_BASE_URL"]),
    ("openai:m", {"OPENAI_API_KEY": "  "}, ["key"]),
    ("openai:m", {"OPENAI_API_KEY": "sk-“x”"}, ["character"]),
    ("async_openai:m", {"OPENAI_API_KEY": "sk-a\nb"}, ["character"]),
    ("azure:m", {}, ["AZURE_API_KEY", "AZURE_ENDPOINT"]),
    ("azure:m", {"OPENAI_API_KEY": "x"}, ["AZURE_API_KEY", "AZURE_ENDPOINT"]),
    (
        "azure:m",
        {"AZURE_API_KEY": KEY, "AZURE_ENDPOINT": "https://x.test"},
        ["OPENAI_API_KEY", "async_azure"],
    ),
    ("async_azure:m", {"AZURE_API_KEY": KEY}, ["AZURE_ENDPOINT"]),
    ("async_azure:m", {"AZURE_ENDPOINT": "https://x.test"}, ["AZURE_API_KEY"]),
    ("async_azure:m", {"AZURE_API_KEY": KEY, "AZURE_ENDPOINT": "x.test"}, ["https://"]),
    ("local:m", {"LLM_JUDGE_URL": "http://localhost:8000/v1"}, ["LLM_JUDGE_URL", "endpoint"]),
    ("local:m", {"LLM_JUDGE_URL": ""}, ["LLM_JUDGE_URL"]),
    ("local:m", {"LLM_JUDGE_URL": "h/chat/completions"}, ["LLM_JUDGE_URL", "http://"]),
)
def test_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, judge_name: str, environment: dict[str, str], words: list[str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    said = check_lmms(judge_name)
    assert said is not None
    assert [word for word in words if word not in said] == []
    assert not [value for value in (KEY, "sk-") if value in said]


@table(
    "judge_name, environment",
    ("dummy:m", {}),
    ("local:m", {}),
    ("local:m", {"LLM_JUDGE_URL": "https://x.test/v1/chat/completions"}),
    ("openai:m", {"OPENAI_API_KEY": KEY}),
    ("openai:m", {"OPENAI_BASE_URL": "http://x.test/v1"}),
    ("async_openai:m", {"OPENAI_API_URL": "http://x.test/v1/chat/completions"}),
    ("async_azure:m", {"AZURE_API_KEY": KEY, "AZURE_ENDPOINT": "https://x.test"}),
)
def test_what_is_usable(
    monkeypatch: pytest.MonkeyPatch, judge_name: str, environment: dict[str, str]
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("socket.socket.connect", None)
    assert check_lmms(judge_name) is None


def test_the_environment_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_lmms("openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert check_lmms("openai:m") is None


def test_providers_that_can_not_be_made(judge: Open) -> None:
    class Broken(Polite):
        def __init__(self, config: ServerConfig | None = None) -> None:
            raise RuntimeError("set MY_KEY")

    ProviderFactory.register_provider("broken", Broken)
    assert "set MY_KEY" in str(check_lmms("broken:m"))
    with pytest.raises(JudgeConfigurationError, match="set MY_KEY"):
        judge("broken")


@table("api_type", *ALL)
def test_a_judge_may_be_closed_unused_and_twice(serve: Serve, judge: Open, api_type: str) -> None:
    opened = judge(api_type, serve(constant(GOOD)).url)
    asyncio.run(opened.aclose())
    asyncio.run(opened.aclose())
    assert KEY not in repr(opened)
