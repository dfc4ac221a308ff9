"""Broken and hostile servers: each bad reply affects its own call only."""

from __future__ import annotations

import asyncio
import gzip
import json

import openai
import pytest

from lmms_rpts.judging import FatalJudgeError, JudgeEngine, RefusedError, Verdict, client
from lmms_rpts.judging.backends.openai import LONGEST_BODY
from tests.judging.conftest import Serve
from tests.judging.questions import openai_judge, question, questions, values
from tests.support.judge_server import JudgeServer, ServerReply, constant
from tests.support.raw_server import RawServer, Script, repeated, response, silent
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

KEY = "sk-proj-T3BlbkFJ0aZ9yX8wV7uT6sR5qP4"
SAID = ServerReply("Score: 0.7").payload("m")
GOOD = response(SAID)


@pytest.fixture(params=["aiohttp", "httpx"], autouse=True)
def _transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both HTTP clients that the judge may use."""
    if request.param == "httpx":
        monkeypatch.setattr(openai, "DefaultAioHttpClient", None, raising=False)


def asked(
    server: RawServer | JudgeServer, timeout: float = LONGEST, key: str = KEY, number: int = 1
) -> list[Verdict]:
    """The verdicts on some questions, after checks of their error messages."""
    judge = openai_judge(server.url, key, timeout, headers={"OpenAI-Organization": "org-Qx71c"})
    with JudgeEngine(judge, progress=False) as engine:
        verdicts = engine.run(questions(number))
    values(verdicts)
    for error in (verdict.error for verdict in verdicts if verdict.error):
        assert error.isprintable()
        assert len(error) < 800
        assert KEY not in error
    return verdicts


def raised(server: RawServer | JudgeServer, timeout: float = LONGEST) -> Exception:
    """The exception of one call."""

    async def once() -> None:
        judge = openai_judge(server.url, KEY, timeout)
        try:
            await judge.ask(question("q"))
        finally:
            await judge.aclose()

    with pytest.raises(Exception) as caught:  # noqa: PT011 - the caller looks at it
        asyncio.run(once())
    return caught.value


# ---- huge replies


LONG = b" " * LONGEST_BODY + SAID


@table(
    "status, kind", ("200 OK", RefusedError), ("401 No", FatalJudgeError), ("413 No", RefusedError)
)
def test_a_reply_without_end_is_cut_off_and_known_by_its_status(
    status: str, kind: type[Exception]
) -> None:
    with RawServer(response(LONG, status)) as server:
        error = raised(server)
        assert server.calls == 1
    assert type(error) is kind
    assert ("4 MiB" if status == "200 OK" else status[:3]) in str(error)


@table("coding, body", ("gzip", gzip.compress(SAID)), ("identity", SAID), ("", SAID))
def test_packed_replies_are_read(coding: str, body: bytes) -> None:
    with RawServer(response(body, "200 OK", f"Content-Encoding: {coding}")) as server:
        assert values(asked(server)) == [0.7]


@table("status", "200 OK", "400 No")
@table("body", "[" * 100_000, '{"error":' * 100_000, '{"choices": ' + "9" * 100_000 + "}", "1e999")
@pytest.mark.usefixtures("no_garbage_collection")
def test_odd_json_is_no_answer(body: str, status: str, short_pauses: None) -> None:
    with RawServer(response(body.encode(), status)) as server:
        (verdict,) = asked(server)
    assert verdict.value is None
    assert ("400" if status[0] == "4" else "no chat completion") in str(verdict.error)


# ---- redirects


@table("status", 301, 302, 303, 307, 308)
def test_prompts_are_not_carried_to_another_host(status: int) -> None:
    def answer(_: object) -> ServerReply:
        return ServerReply(status=status, body="moved", headers={"Location": target.url + "/x"})

    with JudgeServer(constant("Score: 0.9")) as target, JudgeServer(answer) as server:
        verdicts = asked(server, number=20)
        assert target.calls == 0
        assert server.calls <= 20
    assert values(verdicts) == [None] * 20
    for verdict in verdicts:
        assert f"({status})" in str(verdict.error)
        assert target.url.removesuffix("/v1") in str(verdict.error)
        assert "OPENAI_BASE_URL" in str(verdict.error)
    assert isinstance(raised_by(answer), FatalJudgeError)


def raised_by(answer: object) -> Exception:
    with JudgeServer(answer) as server:  # type: ignore[arg-type]
        return raised(server)


@table(
    "place, told",
    ("/v1/chat/completions/", "(307) to /v1/chat/completions/;"),
    (f"https://user:{KEY}@there.example:99/a?key={KEY}#x", "there.example:99/a;"),
    ("http://[::1", "(307) to http://[::1;"),
    ("", "(307)"),
)
def test_where_a_redirect_points_to_is_told(place: str, told: str) -> None:
    with RawServer(response(b"", "307 Moved", f"Location: {place}")) as server:
        (verdict,) = asked(server)
    assert server.calls == 1
    assert told in str(verdict.error)
    assert "OPENAI_BASE_URL" in str(verdict.error)
    for secret in (KEY[-10:], "user"):
        assert secret not in str(verdict.error)


def test_one_stray_redirect_among_good_replies_is_retried(short_pauses: None) -> None:
    moved = response(b"", "307 Moved", "Location: /elsewhere")
    with RawServer(GOOD, moved, GOOD) as server:
        judge = openai_judge(server.url, KEY, LONGEST)
        with JudgeEngine(judge, concurrency=1, progress=False) as engine:
            verdicts = engine.run(questions(3))
            assert engine.fatal is None
    assert values(verdicts) == [0.7] * 3
    assert [verdict.attempts for verdict in verdicts] == [1, 2, 1]


def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy")
    with RawServer(GOOD) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removesuffix("/v1"))
        judge = openai_judge("http://judge.example/v1", KEY, LONGEST)
        with JudgeEngine(judge, progress=False) as engine:
            assert values(engine.run([question("q")])) == [0.7]
    assert proxy.requests[0].startswith(b"POST http://judge.example/v1/chat/completions ")


# ---- broken bodies

CHUNKED = "Transfer-Encoding: chunked"
BROKEN = {
    "corrupt gzip": response(b"this is no gzip", "200 OK", "Content-Encoding: gzip"),
    "empty gzip": response(b"", "200 OK", "Content-Encoding: gzip"),
    "invalid chunk": response(b"zzz\r\nabc\r\n0\r\n\r\n", "200 OK", CHUNKED),
    "truncated chunk": response(b"ff\r\n{", "200 OK", CHUNKED),
    "truncated body": response(SAID[:-5], "200 OK", f"Content-Length: {len(SAID)}"),
    "invalid utf-8": response(SAID.replace(b"Score", b"\xff\xfe\x80 Score")),
    "longer than its length": response(SAID, "200 OK", "Content-Length: 5"),
    "nothing": response(b"", "204 No Content"),
    "silence": b"",
    "garbage": bytes(range(256)) * 40,
    "other protocol": b"SSH-2.0-OpenSSH_9.6\r\n",
    "truncated head": b"HTTP/1.1 200 OK\r\nContent-",
    "status in words": b"HTTP/1.1 two hundred\r\n\r\n",
}


@table("name", *BROKEN)
def test_what_breaks_on_the_way_is_retried(name: str, short_pauses: None) -> None:
    with RawServer(BROKEN[name], GOOD) as server:
        (verdict,) = asked(server)
        assert (verdict.value, verdict.attempts, server.calls) == (0.7, 2, 2), verdict
    with RawServer(BROKEN[name]) as server:
        (verdict,) = asked(server)
        assert verdict.attempts == client.CALLS


ENDLESS: dict[str, Script] = {
    "silence": silent,
    "dripping head": repeated(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.05),
    "dripping body": repeated(response(b"", "200 OK", "Content-Length: 99999"), b" ", 0.05),
    "empty blocks": repeated(
        response(b"", "200 OK", "Content-Encoding: gzip", "Content-Length: 99999999")
        + gzip.compress(b"")[:10],
        b"\0\0\0\xff\xff",
    ),
}


@pytest.mark.parametrize("script", ENDLESS.values(), ids=ENDLESS)
def test_what_never_ends_is_a_failure_of_that_call(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_CALLS", dict.fromkeys(client.MOST_CALLS, 1))
    with RawServer(script) as server:
        (verdict,) = asked(server, timeout=0.5)
        wait_until(lambda: server.calls)  # a slow server reads the request after its time
    assert verdict.attempts == server.calls == 1
    assert verdict.error


# ---- error messages

ESCAPES = "red \x1b \r\n\n a\u202eb\u200b\u2028c \x9b5mx \x00 \ud800"


@table("status", 200, 400, 500)
def test_an_error_is_one_printable_line(serve: Serve, status: int, short_pauses: None) -> None:
    told = json.dumps({"error": {"message": f"so {ESCAPES} it is {'yy ' * 1700}"}})
    (verdict,) = asked(serve(lambda _: ServerReply(status=status, body=told)))
    assert "so red" in str(verdict.error)
    assert "it is yy" in str(verdict.error)


def test_the_organisation_is_told_to_nobody(serve: Serve) -> None:
    said = ServerReply("Rate limit of organization org-Qx71c", status=400)
    (verdict,) = asked(serve(lambda _: said))
    assert "organization ***" in str(verdict.error)


def test_the_words_of_a_judge_stay_as_they_are(serve: Serve) -> None:
    said = f"The {KEY[:15]} of \x1b[31m {KEY[8:20]}\n\nScore: 0.7"
    (verdict,) = asked(serve(constant(said)))
    assert (verdict.text, verdict.value) == (said, 0.7)


def test_a_judge_that_says_the_key(serve: Serve) -> None:
    (verdict,) = asked(serve(constant(f"a {KEY} b\nScore: 0.7")))
    assert verdict.text == "a *** b\nScore: 0.7"
