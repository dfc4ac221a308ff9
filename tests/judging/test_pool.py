"""Several judge servers, real ones: balance, servers that fail and come back, cache keys."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import JudgeEngine, Member, Verdict, client
from lmms_rpts.judging.backends import pool
from lmms_rpts.judging.backends.openai import OpenAIJudge
from tests.judging.questions import questions, values
from tests.support.judge_server import DROPPED, Body, JudgeServer, ServerReply, form_of, text_of
from tests.support.tables import table

SAID = "Score: 1"
CALLS = 90
AT_ONCE = 12
LATENCY = 0.01


@pytest.fixture(autouse=True)
def _short_rests(monkeypatch: pytest.MonkeyPatch, short_pauses: None) -> None:
    monkeypatch.setattr(pool, "FIRST_REST", 0.02)
    monkeypatch.setattr(pool, "LONGEST_REST", 0.1)


class Fallible:
    """The answer of a server: ``SAID``, or ``fault`` while there is one.

    Attributes:
        answered: how often it said ``SAID`` to each question.
        failed: times at which it failed.
    """

    def __init__(self, fault: ServerReply | None = None, slots: int | None = None) -> None:
        self.fault, self.slots = fault, slots
        self.answered: Counter[str] = Counter()
        self.failed: list[float] = []
        self.active = 0
        self._lock = threading.Lock()

    def __call__(self, body: Body) -> str | ServerReply:
        with self._lock:
            full = self.slots is not None and self.active >= self.slots
            if self.fault is not None and (self.slots is None or full):
                self.failed.append(time.monotonic())
                return self.fault
            self.active += 1
        time.sleep(LATENCY)
        with self._lock:
            self.active -= 1
            self.answered[text_of(body)] += 1
        return SAID


@contextmanager
def serving(*answers: Any, latency: float = 0.0) -> Iterator[list[JudgeServer]]:
    with ExitStack() as stack:
        yield [stack.enter_context(JudgeServer(answer, latency=latency)) for answer in answers]


def judge_at(servers: list[JudgeServer], timeout: float = 20.0, **more: Any) -> OpenAIJudge:
    given = {"openai_urls": tuple(each.url for each in servers), "timeout": timeout, **more}
    return OpenAIJudge("m", Settings().model_copy(update=given))


def ask(
    judge: OpenAIJudge, count: int = CALLS, meanwhile: Callable[[], None] = lambda: None
) -> tuple[list[Verdict], str | None]:
    """The verdicts on ``count`` questions, and why the run stopped."""
    with JudgeEngine([Member("m", judge)], concurrency=AT_ONCE, progress=False) as engine:
        other = threading.Thread(target=meanwhile)
        other.start()
        verdicts = engine.run(questions(count))
        other.join()
        return verdicts, engine.fatal


def check_all_answered_once(verdicts: list[Verdict], answers: list[Fallible]) -> None:
    assert {(each.value, each.attempts, each.error) for each in verdicts} == {(1.0, 1, None)}
    answered = sum((each.answered for each in answers), Counter())
    assert len(answered) == len(verdicts)
    assert set(answered.values()) == {1}


def test_calls_are_balanced() -> None:
    answers = [Fallible() for _ in range(3)]
    with serving(*answers) as servers:
        verdicts, _ = ask(judge_at(servers))
        check_all_answered_once(verdicts, answers)
        assert max(server.most_at_once for server in servers) <= AT_ONCE // 3 + 1
        assert min(server.calls for server in servers) >= CALLS / 5


HANGS = ServerReply(SAID, delay=4.0)


@table(
    "fault, kind",
    (DROPPED, "the connection was lost"),
    (ServerReply("broken", status=500), "broken"),
    (ServerReply("Loading model", status=503), "Loading model"),
    (ServerReply("no such model", status=404), "no such model"),
    (ServerReply("wrong key", status=401), "wrong key"),
    (ServerReply(status=307, headers={"Location": "http://elsewhere"}), "redirects"),
    (ServerReply("slow down", status=429), None),
    (ServerReply("slow down", status=429, headers={"Retry-After": "0.05"}), None),
    (HANGS, "too long"),
)
def test_one_server_fails_and_works_again(
    fault: ServerReply, kind: str | None, messages: list[str]
) -> None:
    """No call counts as failed, the others take over, and later it gets its share again."""
    messages.clear()
    answers = [Fallible(), Fallible(fault), Fallible()]
    with serving(*answers) as servers:
        judge = judge_at(servers, timeout=1.5 if fault is HANGS else 20.0)
        with JudgeEngine([Member("m", judge)], concurrency=AT_ONCE, progress=False) as engine:
            asked = questions(2 * CALLS)
            begun = time.monotonic()
            first = engine.run(asked[:CALLS])
            took = time.monotonic() - begun
            assert 1 <= len(answers[1].failed) <= AT_ONCE + 2 * took / pool.LONGEST_REST
            answers[1].fault = None
            time.sleep(0.1)
            second = engine.run(asked[CALLS:])
        check_all_answered_once(first + second, answers)
        assert len(answers[1].answered) >= CALLS / 5
    warnings = [each for each in messages if "left out" in each]
    assert len(warnings) == (kind is not None)
    assert all(str(kind) in each and servers[1].url in each for each in warnings)


@table("refusal, slots", (ServerReply("busy", status=429), 2), (ServerReply("busy", status=429), 1))
def test_a_server_with_few_slots_gets_few_calls(refusal: ServerReply, slots: int) -> None:
    """The limit on concurrent calls doesn't fall for the others, and few calls are refused."""
    answers = [Fallible(), Fallible(refusal, slots)]
    with serving(*answers) as servers:
        verdicts, _ = ask(judge_at(servers), 3 * CALLS)
        check_all_answered_once(verdicts, answers)
        assert servers[0].most_at_once >= AT_ONCE - slots - 1
        assert len(answers[1].answered) >= 3 * CALLS * slots / AT_ONCE / 2
        assert len(answers[1].failed) <= AT_ONCE + 0.1 * len(answers[1].answered)


def test_a_server_that_asks_to_wait_is_left_alone_for_that_time() -> None:
    wait = ServerReply("slow down", status=429, headers={"Retry-After": "0.3"})
    answers = [Fallible(), Fallible(wait)]
    with serving(*answers) as servers:
        verdicts, _ = ask(judge_at(servers), 3 * CALLS)
        check_all_answered_once(verdicts, answers)
    bursts = [time for time in answers[1].failed if time > answers[1].failed[0] + 0.05]
    assert not bursts or bursts[0] - answers[1].failed[0] >= 0.25
    assert len(answers[1].failed) <= 4 * AT_ONCE


def test_a_slow_server_gets_fewer_calls() -> None:
    quick, slow = Fallible(), Fallible()
    with serving(quick, lambda body: time.sleep(10 * LATENCY) or slow(body)) as servers:
        verdicts, _ = ask(judge_at(servers))
        check_all_answered_once(verdicts, [quick, slow])
        assert 3 * len(slow.answered) < len(quick.answered)


def test_a_server_stops_and_is_started_again() -> None:
    """Nothing listens for a while; connections that were open break."""
    answers = [Fallible(), Fallible()]
    with serving(answers[0]) as (stays,), ExitStack() as stack:
        dies = stack.enter_context(JudgeServer(answers[1]))
        port = int(dies.url.split(":")[2].split("/")[0])
        judge = judge_at([stays, dies])
        with JudgeEngine([Member("m", judge)], concurrency=AT_ONCE, progress=False) as engine:
            asked = questions(2 * CALLS)
            first = engine.run(asked[: CALLS // 2])
            before = len(answers[1].answered)
            answers[1].fault = DROPPED
            stack.close()
            first += engine.run(asked[CALLS // 2 : CALLS])
            assert len(answers[1].answered) == before
            answers[1].fault = None
            time.sleep(0.1)
            with JudgeServer(answers[1], port=port):
                second = engine.run(asked[CALLS:])
        check_all_answered_once(first + second, answers)
        assert len(answers[1].answered) >= before + CALLS / 5


def test_all_servers_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run stops as with one server; what was answered stays, nothing is asked twice."""
    monkeypatch.setattr(client, "PATIENCE", 0.3)
    answers = [Fallible(), Fallible()]

    def kill() -> None:
        while sum(len(each.answered) for each in answers) < CALLS / 3:
            time.sleep(0.005)
        for each in answers:
            each.fault = DROPPED

    with serving(*answers) as servers:
        verdicts, stopped = ask(judge_at(servers), meanwhile=kill)
    assert "no answer for" in str(stopped)
    assert "none of the 2 servers works: the connection was lost to http" in str(stopped)
    said = [verdict for verdict in verdicts if verdict.error is None]
    assert CALLS / 3 <= len(said) < CALLS
    check_all_answered_once(said, answers)


@table(
    "fault, said, calls",
    (ServerReply("wrong key", status=401), "reports (401): wrong key", 2),
    (DROPPED, "none of the 2 servers works: the connection was lost to http", 40),
)
def test_no_server_works_from_the_beginning(fault: ServerReply, said: str, calls: int) -> None:
    answers = [Fallible(fault), Fallible(fault)]
    with serving(*answers) as servers:
        verdicts, stopped = ask(judge_at(servers))
        assert said in str(stopped or verdicts[0].error)
        assert sum(len(each.failed) for each in answers) >= calls
    assert {verdict.value for verdict in verdicts} == {None}


def test_what_one_server_refuses_is_learnt_for_all() -> None:
    """Servers of different versions: slower at first, never wrong."""

    def old(body: Body) -> str | ServerReply:
        if form_of(body) != "text":
            return ServerReply("response_format is not supported", status=400)
        return SAID

    with serving(Fallible(), old) as servers:
        verdicts, _ = ask(judge_at(servers))
        assert values(verdicts) == [1.0] * CALLS
        assert {form_of(body) for body in servers[0].requests[-10:]} == {"text"}


# ---- the cache key

A, B = "http://a:1/v1", "http://b:1/v1"


@table(
    "urls, same_model, endpoint",
    (A, False, A),  # as before there could be several
    (f"{A}/", False, A),
    (f"{A} {B}", False, f"{A} {B}"),
    (f" {B},{A}/chat/completions,{A} ", False, f"{A} {B}"),
    (A, True, None),
    (f"{B} {A}", True, None),
    ("", False, "https://api.openai.com/v1"),
)
def test_what_identifies_a_judge(urls: str, same_model: bool, endpoint: str | None) -> None:
    settings = Settings(openai_urls=urls, same_model=same_model)
    identity = {"model": "m", "temperature": 0.0, "structured": True}
    identity |= {"endpoint": endpoint} if endpoint else {}
    assert OpenAIJudge("m", settings).identity == identity


def test_replies_are_found_again_at_another_address(tmp_path: Path) -> None:
    answers = [Fallible(), Fallible()]
    with serving(*answers) as (old, new):
        for server, same, calls in (
            (old, True, (1, 0)),
            (new, True, (1, 0)),
            (new, False, (1, 1)),  # stored under its address from now on
            (new, False, (1, 1)),
            (old, False, (2, 1)),
        ):
            judge = judge_at([server], same_model=same)
            with JudgeEngine([Member("m", judge)], cache_dir=tmp_path, progress=False) as engine:
                assert values(engine.run(questions(1))) == [1.0]
            assert (old.calls, new.calls) == calls
