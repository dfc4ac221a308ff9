"""The client of a judge on a virtual clock: limit, retries, pauses, stops, cancellation, cache.

The real JudgeClient runs on an event loop that skips waiting times.
"""

from __future__ import annotations

import asyncio
import random
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from lmms_rpts.judging.concurrency import StopSignal

from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    client,
)
from lmms_rpts.judging.budget import Budget
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.parsers import parse_score
from tests.judging.questions import (
    REMINDER,
    Said,
    ScriptedJudge,
    SkippingLoop,
    client_of,
    in_order,
    now,
    question,
    questions,
    run,
    values,
)
from tests.support.tables import table


def ask_each(
    judge: Any, texts: list[str], stop_signal: StopSignal | None = None, most: int = 1
) -> list[Verdict]:
    """Asks one question after the other."""

    async def work() -> list[Verdict]:
        client = client_of(judge, most, stop_signal)
        return [await client.ask(question(text)) for text in texts]

    return run(work())


# ---- any order of questions, failures, cancellations and restarts

TEXTS = "abcd"
FAILURES: dict[str, Exception | str] = {
    "throttled": TransientError("slow down", kind="throttled"),
    "throttled, with a pause": TransientError("slow down", 3.0, kind="throttled"),
    "failed": TransientError("odd"),
    "lost": TransientError("lost", kind="unreachable"),
    "refused": RefusedError("no"),
    "unreadable": "hm",
    "broken": KeyError("a bug of the backend"),
    "fatal": FatalJudgeError("wrong key"),
}


class Clients(RuleBasedStateMachine):
    """A process asks a judge; it may be killed and begin again with the same cache.

    What must hold: no question is asked again after a readable reply, nor twice at once; no more
    calls at a time than allowed; every question ends, with its own score or an error; after a fatal
    error no call is made; all calls are booked.
    """

    MOST = 3

    def __init__(self) -> None:
        super().__init__()
        self.loop = SkippingLoop()
        self.folder = Path(tempfile.mkdtemp())
        self.outcome = "answers"
        self.under_way: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.asked: list[tuple[str, asyncio.Task[Verdict]]] = []
        self.begin()

    def begin(self) -> None:
        self.stop, self.budget, self.cache = StopSignal(), Budget(), AnswerCache(self.folder)
        self.client = client_of(_Asking(self), self.MOST, self.stop, self.budget, self.cache)
        self.ended = 0

    async def answer(self, text: str) -> str:
        assert text not in self.answered, "a question was paid for twice"
        assert not self.under_way[text], "a question is asked twice at once"
        assert self.stop.reason is None, "a call was made after the stop"
        self.under_way[text] += 1
        assert self.under_way.total() <= self.MOST
        try:
            if self.outcome == "hangs":
                await asyncio.sleep(10)
                raise TransientError("late", kind="timed out")
            await asyncio.sleep(0.7)
            said = FAILURES.get(self.outcome)
            if isinstance(said, Exception):
                raise said
        finally:
            self.under_way[text] -= 1
            self.ended += 1
        if said is None:
            self.answered.add(text)
        return said or f"Score: 0.{TEXTS.index(text)}"

    @rule(
        asks=st.lists(st.tuples(st.sampled_from(TEXTS), st.integers(0, 2)), max_size=6),
        outcome=st.sampled_from(["answers", "answers", "hangs", *FAILURES]),
        seconds=st.sampled_from((0, 0.1, 1, 5, 40)),
    )
    def ask(self, asks: list[tuple[str, int]], outcome: str, seconds: float) -> None:
        """Some questions are asked; calls that end from now on end in this way."""
        self.outcome = outcome
        for text, urgency in asks:
            ask = self.client.ask(question(text), urgency)
            self.asked.append((text, self.loop.create_task(ask)))
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))
        waiting = []
        for text, task in self.asked:
            if not task.done():
                waiting.append((text, task))
                continue
            verdict = task.result()
            assert (verdict.value is None) == (verdict.error is not None)
            assert verdict.value in (None, TEXTS.index(text) / 10)
        self.asked = waiting
        assert self.budget.calls == self.ended

    @rule(text=st.sampled_from(TEXTS))
    def cancel(self, text: str) -> None:
        """All askers of a question leave."""
        self._cancel([each for each in self.asked if each[0] == text])

    @rule()
    def restart(self) -> None:
        self._cancel(self.asked)
        self.cache.close()
        self.begin()

    def _cancel(self, left: list[tuple[str, asyncio.Task[Verdict]]]) -> None:
        for _, task in left:
            task.cancel()
        tasks = [task for _, task in left]
        self.loop.run_until_complete(asyncio.wait(tasks)) if tasks else None
        self.asked = [each for each in self.asked if each not in left]

    def teardown(self) -> None:
        """All that was asked ends, and then each question has an answer."""
        for texts in ("", TEXTS):
            if self.stop.reason:
                self.wait(1)
                assert not self.asked
                self.restart()
            self.ask([(text, 0) for text in texts], "answers", 0)
            for _ in range(20):
                self.wait(40)
            assert not self.asked, "a request is lost"
        assert self.answered == set(TEXTS)
        self.cache.close()
        self.loop.end()
        shutil.rmtree(self.folder)


class _Asking:
    """The judge."""

    time_limit = 10.0

    def __init__(self, machine: Clients) -> None:
        self.machine = machine

    async def ask(self, request: JudgeRequest) -> Reply:
        return Reply(await self.machine.answer(request.messages[0]["content"]), Usage(10, 5))


Clients.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestClients = Clients.TestCase


# ---- the exact times of single calls


class Failing(ScriptedJudge):
    """Fails as ``failure`` says, given the question and time, or answers after ``pause``."""

    def __init__(
        self, failure: Callable[[str, float], BaseException | None], pause: float = 0.0
    ) -> None:
        super().__init__(lambda text, call: "Score: 0.5", pause)
        self.failure = failure
        self.times: list[tuple[str, float]] = []

    async def ask(self, request: JudgeRequest) -> Reply:
        text = request.messages[0]["content"]
        self.times.append((text, round(now(), 1)))
        failure = self.failure(text, now())
        if failure is not None:
            await asyncio.sleep(self.pause)
            raise failure
        return await super().ask(request)

    def asked_at(self, text: str) -> list[float]:
        """The times of the calls with a question, in tenths of a second."""
        return [time for asked, time in self.times if asked == text]


@pytest.fixture
def longest_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses without random jitter."""
    monkeypatch.setattr(random, "uniform", lambda shortest, longest: longest)


BUSY = TransientError("busy", kind="throttled")
LOST = TransientError("lost", kind="unreachable")
ODD = TransientError("odd")


def fails_first(times: int, *failures: TransientError, pause: float = 0.0) -> Failing:
    """A judge where "one" fails ``times`` times, with these failures; others are answered."""
    said = [failures[min(at, len(failures) - 1)] for at in range(times)]
    return Failing(lambda text, time: said.pop(0) if text == "one" and said else None, pause)


@table("wait, held", (None, 0), (0.0, 0), (20.0, 20), (300.0, 300), (301.0, 0), (3601.0, 0))
def test_a_refused_lone_call_holds_up_the_next_as_long_as_the_server_asks(
    wait: float | None, held: float
) -> None:
    judge = fails_first(1, TransientError("busy", wait, kind="throttled"))

    async def work() -> None:
        client = client_of(judge)
        await asyncio.gather(client.ask(question("one")), client.ask(question("two")))

    run(work())
    assert judge.asked_at("two") == [held]


# ---- what a request gets for each series of failures

FAILED, LATE = TransientError("busy"), TransientError("late", kind="timed out")
QUOTA, NO, FATAL = TransientError("quota", 3600.0), RefusedError("no"), FatalJudgeError("wrong key")
UNREAD = "the judge's reply cannot be parsed as a score from 0 to 1"
QUOTA_ENDS = (
    "quota; the server asks to wait 3,600 s: run the same command again after that; replies are "
    "cached"
)
LATE_ENDS = (
    "late, even with inf s (LMMS_RPTS_TIMEOUT), and no other call was answered: check the server"
)
GOOD = Reply("Score: 0.5", Usage(10, 20))


@table(
    "said, attempts, usage, error, stops",
    ([FAILED, BUSY, GOOD], 3, Usage(10, 20), None, False),
    (
        [FAILED, Reply("hm", Usage(1, 2)), FAILED, FAILED, Reply("hm", None), GOOD],
        *(6, Usage(11, 22), None, False),
    ),
    ([FAILED], 5, None, "busy (after 5 calls)", False),
    ([*[FAILED] * 4, "hm", *[FAILED] * 4, GOOD], 10, Usage(10, 20), None, False),
    ([BUSY], 20, None, "busy (after 20 calls)", False),
    ([*[BUSY] * 19, *[FAILED] * 4, GOOD], 24, Usage(10, 20), None, False),
    ([FAILED, LATE, LATE, GOOD], 4, Usage(10, 20), None, False),
    ([FAILED, LATE, LATE, LATE], 4, None, LATE_ENDS, True),
    ([QUOTA], 5, None, QUOTA_ENDS, True),
    ([NO], 1, None, "no", False),
    ([KeyError("odd")], 1, None, "KeyError: 'odd'", False),
    ([FATAL], 1, None, "wrong key", True),
    ([FAILED, FATAL], 2, None, "wrong key", True),
    ([Reply("well", Usage(10, 2)), NO], 2, Usage(10, 2), "no", False),
    *(
        ([Reply(said, Usage(10, 2))], 3, Usage(30, 6), UNREAD, False)
        for said in ("well, well", "Score: 7", "0.2 or 0.9", "")
    ),
)
def test_series_of_failures(
    said: list[Said], attempts: int, usage: Usage | None, error: str | None, stops: bool
) -> None:
    judge, stop_signal, budget = ScriptedJudge(in_order(*said)), StopSignal(), Budget()

    async def work() -> list[Verdict]:
        client = client_of(judge, 1, stop_signal, budget)
        verdicts = [await client.ask(question("q"))]
        judge.answer = in_order("Score: 0.7")
        return verdicts + [await client.ask(question("q")) for _ in range(2)]

    verdict, *later = run(work())
    texts = [each.text for each in said if isinstance(each, Reply)]
    value, text = (0.5 if error is None else None), (texts[-1] if texts else None)
    assert verdict == Verdict(text, value, False, attempts, usage, error)
    assert stop_signal.reason == (error if stops else None)
    expected = [None if stops else 0.7 if error else 0.5] * 2
    assert values(later) == expected, "a failure is not remembered, a verdict is"
    more = int(error is not None and not stops)
    assert len(judge.asked) == budget.calls == attempts + more


def test_after_an_unreadable_reply_the_reminder_follows() -> None:
    judge = ScriptedJudge(in_order("well, well", "Score: 0.4 \ud800"))
    (verdict,) = ask_each(judge, ["q"])
    assert verdict == Verdict("Score: 0.4 ?", 0.4, attempts=2), "what no file can hold is replaced"
    assert [dict(message) for message in judge.asked[1].messages] == [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "well, well"},
        {"role": "user", "content": REMINDER},
    ]


@table(
    "unreadable, otherwise, kind, stops",
    (20, "no idea", "image", True),
    (19, "Score: 0.5", "image", False),
    (25, "no idea", "match", True),
    (25, "no idea", "transform", False),  # rewriting is harder than scoring
)
def test_a_judge_without_a_readable_reply_is_stopped(
    unreadable: int, otherwise: str, kind: str, stops: bool
) -> None:
    """A question that is asked again counts once."""
    judge = ScriptedJudge(
        lambda text, call: "no idea \n" * 100 if int(text) < unreadable else otherwise
    )
    stop_signal = StopSignal()
    asked = [question(str(at), kind=kind, parse=parse_score) for at in range(unreadable + 5)]

    async def work() -> list[Verdict]:
        asking = client_of(judge, 1, stop_signal)
        again = [await asking.ask(asked[0]) for _ in range(client.UNREADABLE)]
        return [again[0], *[await asking.ask(request) for request in asked[1:]]]

    verdicts = run(work())
    assert (stop_signal.reason is not None) == stops
    if stops:
        assert len(set(judge.texts)) == client.UNREADABLE
        ended = verdicts[client.UNREADABLE :]
        assert {verdict.error for verdict in ended} == {stop_signal.reason}
        for said in ("first 20 requests", "'no idea no idea", "larger model", "lmms-rpts doctor"):
            assert said in str(stop_signal.reason)
        assert len(str(stop_signal.reason)) < 500


def test_a_readable_reply_from_the_cache_keeps_a_judge_from_being_stopped(tmp_path: Path) -> None:
    async def ask(said: str, requests: list[JudgeRequest]) -> tuple[list[Verdict], str | None]:
        stop_signal, cache = StopSignal(), AnswerCache(tmp_path)
        asking = client_of(ScriptedJudge(in_order(said)), 8, stop_signal, Budget(), cache)
        verdicts = [await asking.ask(request) for request in requests]
        cache.close()
        return verdicts, stop_signal.reason

    run(ask("Score: 0.5", [question("known")]))
    verdicts, reason = run(ask("no idea", [question("known"), *questions(30)]))
    assert values(verdicts) == [0.5] + [None] * 30
    assert reason is None


# ---- unreachable servers

DOWN = pytest.mark.parametrize(
    ("failure", "said", "given_up"),
    [
        (LOST, "lost", 0),
        (TransientError("loading", kind="starting"), "loading", 0),
        (ODD, "odd", 3),
        pytest.param(
            *(asyncio.CancelledError(), "the judge's client cancelled the call", 3),
            marks=pytest.mark.skipif(
                sys.version_info < (3, 11), reason="Python 3.10 does not know who cancelled a task"
            ),
        ),
    ],
)


@DOWN
def test_a_server_that_answered_is_waited_for_up_to_five_minutes(
    longest_pauses: None, failure: BaseException, said: str, given_up: int
) -> None:
    """Lost connections, and twenty other failures in a row, are not blamed on the requests."""

    async def work() -> list[Verdict]:
        client = client_of(judge, 8, stop_signal)
        await asyncio.sleep(9)
        known = await client.ask(question("known"))
        await asyncio.sleep(1)
        return [known, *[await client.ask(question(text)) for text in "abcdef"]]

    judge = Failing(lambda text, time: failure if 10 <= time < 250 else None)
    stop_signal = StopSignal()
    verdicts = run(work())
    lost = [f"{said} (after 5 calls)"] * given_up
    assert [verdict.error for verdict in verdicts] == [None, *lost, *[None] * (6 - given_up)]
    assert stop_signal.reason is None

    judge, stop_signal = Failing(lambda text, time: failure if time >= 10 else None), StopSignal()
    verdicts = run(work())
    assert verdicts[-1].error == stop_signal.reason
    told = re.fullmatch(rf"no answer for (\d+) s: {said}", stop_signal.reason or "")
    assert told is not None
    assert 300 < int(told[1]) <= 330
    assert judge.times[-1][1] == pytest.approx(9 + int(told[1]), abs=1)


def test_a_server_that_starts_is_waited_for_from_the_beginning(longest_pauses: None) -> None:
    loading = TransientError("loading", kind="starting")
    judge = Failing(lambda text, time: loading if time < 200 else None)
    assert [verdict.error for verdict in ask_each(judge, ["one", "two"])] == [None, None]
    stop_signal = StopSignal()
    ask_each(Failing(lambda text, time: loading), ["one"], stop_signal)
    assert re.fullmatch(r"no answer for 3\d\d s: loading", stop_signal.reason or "")


@table("failure, stops", (LOST, True), (ODD, False))
def test_a_server_that_was_never_reached_ends_the_run_after_twenty_requests(
    failure: TransientError, stops: bool
) -> None:
    judge, stop_signal = Failing(lambda text, time: failure), StopSignal()
    verdicts = ask_each(judge, [str(number) for number in range(21)], stop_signal)
    assert stop_signal.reason == ("cannot reach the judge: lost" if stops else None)
    assert [verdict.attempts for verdict in verdicts] == [5] * 20 + [0 if stops else 5]
