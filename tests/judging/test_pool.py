"""Several judge servers: balance, servers that fail and come back, cache keys.

What depends on time is tested with scripted servers on a virtual clock.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import Settings
from lmms_rpts.judging import FatalJudgeError, JudgeEngine, Member, TransientError, Verdict
from lmms_rpts.judging.backends import pool
from lmms_rpts.judging.backends.openai import OpenAIJudge
from lmms_rpts.judging.backends.pool import LONGEST_REST, Pool
from lmms_rpts.judging.backends.server import Answer
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import START, StopSignal
from tests.judging.questions import client_of, now, questions, run, values
from tests.support.judge_server import DROPPED, JudgeServer, ServerReply
from tests.support.tables import table

SAID = "Score: 1"
CALLS = 120
AT_ONCE = 12
LATENCY = 1.0
TIMEOUT = 20.0


class Place:
    """A server in virtual time: it says ``SAID`` after a while, or has a ``fault``.

    Attributes:
        answered: how often it said ``SAID`` to each question.
        failed: times at which it failed.
        most: most calls at a time.
    """

    secrets = "sk-x"

    def __init__(
        self, fault: Answer | Exception | None = None, slots: int = 0, latency: float = LATENCY
    ) -> None:
        self.url = f"http://server-{id(self)}/v1"
        self.fault, self.slots, self.latency = fault, slots, latency
        self.answered: Counter[str] = Counter()
        self.failed: list[float] = []
        self.active = self.most = 0

    async def post(self, request: Any, content: bytes, limit: float) -> Answer:
        if self.fault is not None and self.active >= self.slots:
            self.failed.append(now())
            if getattr(self.fault, "kind", "") == "timed out":
                await asyncio.sleep(limit)
            if isinstance(self.fault, Exception):
                raise self.fault
            return self.fault
        self.active += 1
        self.most = max(self.most, self.active)
        await asyncio.sleep(self.latency)
        self.active -= 1
        self.answered[json.loads(content)["messages"][0]["content"]] += 1
        return Answer(200, ServerReply(SAID).payload("m"))

    async def aclose(self) -> None: ...


def refusing(message: str, status: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, ServerReply(message, status).payload("m"), named)


def client_at(places: list[Any], stop: StopSignal | None = None) -> JudgeClient:
    settings = Settings().model_copy(update={"timeout": TIMEOUT})
    return client_of(OpenAIJudge("m", settings, Pool(places)), AT_ONCE, stop)


async def ask(client: JudgeClient, first: int = 0) -> list[Verdict]:
    asked = questions(first + CALLS)[first:]
    return await asyncio.gather(*map(client.ask, asked))


def check_all_answered_once(verdicts: list[Verdict], places: list[Place]) -> None:
    assert {(each.value, each.attempts, each.error) for each in verdicts} == {(1.0, 1, None)}
    answered = sum((each.answered for each in places), Counter())
    assert len(answered) == len(verdicts)
    assert set(answered.values()) == {1}


def test_calls_are_balanced() -> None:
    places = [Place() for _ in range(3)]
    check_all_answered_once(run(ask(client_at(places))), places)
    assert {each.most for each in places} == {AT_ONCE // 3}
    assert min(len(each.answered) for each in places) >= CALLS / 4


@table(
    "fault, kind",
    (TransientError("the connection was lost"), "the connection was lost"),
    (TransientError("no connection", kind="unreachable"), "no connection"),
    (FatalJudgeError("the judge's server redirects"), "redirects"),
    (refusing("broken", 500), "broken"),
    (refusing("Loading model", 503), "Loading model"),
    (refusing("no such model", 404), "no such model"),
    (refusing("wrong key", 401), "wrong key"),
    (refusing("slow down", 429), None),
    (refusing("slow down", 429, Retry_After="5"), None),
    (TransientError("too long", kind="timed out"), "too long"),
)
def test_one_server_fails_and_works_again(
    fault: Answer | Exception, kind: str | None, messages: list[str]
) -> None:
    """No call counts as failed, the others take over, and later it gets its share again."""
    messages.clear()
    places = [Place(), Place(fault), Place()]

    async def work() -> list[Verdict]:
        client = client_at(places)
        first = await ask(client)
        assert 1 <= len(places[1].failed) <= AT_ONCE + now() / LATENCY / 2
        places[1].fault = None
        await asyncio.sleep(LONGEST_REST)
        return first + await ask(client, CALLS)

    check_all_answered_once(run(work()), places)
    assert len(places[1].answered) >= CALLS / 4
    warnings = [each for each in messages if "left out" in each]
    assert len(warnings) == (kind is not None)
    assert all(str(kind) in each and places[1].url in each for each in warnings)


def test_a_server_with_few_slots_loses_no_call() -> None:
    places = [Place(), Place(refusing("busy", 429), slots=2)]
    check_all_answered_once(run(ask(client_at(places))), places)
    assert places[0].most >= AT_ONCE - 2, "the common limit does not fall"
    assert len(places[1].answered) >= CALLS / AT_ONCE


def test_a_server_that_asks_to_wait_is_left_alone_for_that_time() -> None:
    places = [Place(), Place(refusing("slow down", 429, Retry_After="6"))]
    check_all_answered_once(run(ask(client_at(places))), places)
    first, *later = places[1].failed
    assert len([each for each in later if each < first + 6]) < START
    assert max(later) >= first + 6


def test_a_slow_server_gets_fewer_calls() -> None:
    quick, slow = places = [Place(), Place(latency=10 * LATENCY)]
    check_all_answered_once(run(ask(client_at(places))), places)
    assert 3 * len(slow.answered) < len(quick.answered)


def test_all_servers_stop() -> None:
    """The run stops as with one server; what was answered stays, nothing is asked twice."""
    places, stop = [Place(), Place()], []

    async def work() -> list[Verdict]:
        stop.append(StopSignal())
        asking = asyncio.ensure_future(ask(client_at(places, stop[0])))
        await asyncio.sleep(3.5 * LATENCY)
        for each in places:
            each.fault = TransientError("the connection was lost")
        return await asking

    verdicts = run(work())
    assert "no answer for" in stop[0].reason
    assert "none of the 2 servers works: the connection was lost" in stop[0].reason
    said = [verdict for verdict in verdicts if verdict.error is None]
    assert 0 < len(said) < CALLS
    check_all_answered_once(said, places)


@table(
    "fault, said, calls",
    (refusing("wrong key", 401), "reports (401): wrong key", 2),
    (TransientError("lost"), "none of the 2 servers works: lost", 40),
)
def test_no_server_works_from_the_beginning(
    fault: Answer | Exception, said: str, calls: int
) -> None:
    places = [Place(fault), Place(fault)]
    verdicts = run(ask(client_at(places)))
    assert said in str(verdicts[0].error)
    assert sum(len(each.failed) for each in places) >= calls
    assert {verdict.value for verdict in verdicts} == {None}


def test_what_one_server_refuses_is_learnt_for_all() -> None:
    """Servers of different versions: slower at first, never wrong."""
    forms = []

    class Old(Place):
        async def post(self, request: Any, content: bytes, limit: float) -> Answer:
            forms.append("response_format" in json.loads(content))
            if forms[-1]:
                return refusing("response_format is not supported", 400)
            return await super().post(request, content, limit)

    assert values(run(ask(client_at([Place(), Old()])))) == [1.0] * CALLS
    assert forms[0]
    assert not any(forms[-10:])


def test_a_real_server_stops_and_is_started_again(
    monkeypatch: pytest.MonkeyPatch, short_pauses: None
) -> None:
    """Nothing listens for a while; connections that were open break."""
    monkeypatch.setattr(pool, "LONGEST_REST", 0.01)
    asked = questions(120)
    with JudgeServer(lambda body: SAID) as stays, ExitStack() as stack:
        said: list[Any] = [SAID]
        dies = stack.enter_context(JudgeServer(lambda body: said[0]))
        port = int(dies.url.split(":")[2].split("/")[0])
        with JudgeEngine([Member("m", judge_at([stays, dies]))], progress=False) as engine:
            verdicts = engine.run(asked[:40])
            assert dies.calls > 0
            said[0] = DROPPED
            stack.close()
            verdicts += engine.run(asked[40:80])
            time.sleep(0.05)  # longer than its rest
            with JudgeServer(lambda body: SAID, port=port) as again:
                verdicts += engine.run(asked[80:])
                assert again.calls > 0
    assert {(each.value, each.attempts) for each in verdicts} == {(1.0, 1)}


def judge_at(servers: list[JudgeServer], **more: Any) -> OpenAIJudge:
    given = {"openai_urls": tuple(each.url for each in servers), **more}
    return OpenAIJudge("m", Settings().model_copy(update=given))


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
    with JudgeServer(lambda body: SAID) as old, JudgeServer(lambda body: SAID) as new:
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
