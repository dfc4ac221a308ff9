"""The client of a judge on a virtual clock: retries, pauses, stops, cancellation, sharing.

The real client runs on an event loop that skips waiting times.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from lmms_rpts.judging.client import IN_VAIN
from lmms_rpts.judging.images import JudgeImage
from lmms_rpts.judging.types import (
    FatalJudgeError,
    RefusedError,
    Reply,
    Request,
    TransientError,
    Usage,
    Verdict,
)
from lmms_rpts.scoring.verdicts import parse_yes_no
from lmms_rpts.scoring.work import ordered
from tests.judging.questions import (
    Said,
    ScriptedJudge,
    SkippingLoop,
    client_of,
    in_order,
    now,
    question,
    questions,
    run,
    text_in,
    values,
)
from tests.support.tables import table

# ---- any order of questions, failures, cancellations and restarts

TEXTS = "abcd"
FAILURES: dict[str, Exception | str] = {
    "throttled": TransientError("slow down", kind="throttled"),
    "throttled, with a pause": TransientError("slow down", 3.0, kind="throttled"),
    "failed": TransientError("odd"),
    "lost": TransientError("lost"),
    "refused": RefusedError("no"),
    "broken": KeyError("a bug of the backend"),
    "fatal": FatalJudgeError("wrong key"),
}


class Clients(RuleBasedStateMachine):
    """A process asks a judge; it may be killed and begin again with the same cache.

    No question is asked again after a reply, nor twice at once; no more calls at a time than
    allowed; every question ends, with its own score or an error; after a fatal error no call.
    """

    MOST = 3
    time_limit = 10.0

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
        self.client, self.ended = client_of(self, self.MOST, cache=self.folder), 0

    async def ask(self, request: Request) -> Reply:
        text = text_in(request)
        assert text not in self.answered, "a question was paid for twice"
        assert not self.under_way[text], "a question is asked twice at once"
        assert self.client.stopped is None, "a call was made after the stop"
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
        self.answered.add(text)
        return Reply(f"Score: 0.{TEXTS.index(text)}", Usage(10, 5))

    @rule(
        texts=st.lists(st.sampled_from(TEXTS), max_size=6),
        outcome=st.sampled_from(["answers", "answers", "hangs", *FAILURES]),
        seconds=st.sampled_from((0, 0.1, 1, 5, 40)),
    )
    def some(self, texts: list[str], outcome: str, seconds: float) -> None:
        """Some questions are asked; calls that end from now on end in this way."""
        self.outcome = outcome
        for text in texts:
            self.asked.append((text, self.loop.create_task(self.client.ask(question(text)))))
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
        assert self.client.budget.calls == self.ended

    @rule(text=st.sampled_from(TEXTS))
    def cancel(self, text: str) -> None:
        """All askers of a question leave."""
        self._cancel([each for each in self.asked if each[0] == text])

    @rule()
    def restart(self) -> None:
        self._cancel(self.asked)
        self.loop.run_until_complete(self.client.aclose())
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
            self.outcome = "answers"
            for _ in range(20):
                self.wait(40)
            assert not self.asked, "a request is lost"
            if self.client.stopped:
                self.restart()
            self.some(list(texts), "answers", 0)
        for _ in range(20):
            self.wait(40)
        assert self.answered == set(TEXTS)
        self.loop.run_until_complete(self.client.aclose())
        self.loop.end()
        shutil.rmtree(self.folder)


Clients.TestCase.settings = settings(max_examples=60, stateful_step_count=30)
TestClients = Clients.TestCase


# ---- what a request gets for each series of failures

FAILED, LATE = TransientError("busy"), TransientError("late", kind="timed out")
BUSY = TransientError("slow down", kind="throttled")
QUOTA, NO, FATAL = TransientError("quota", 3600.0), RefusedError("no"), FatalJudgeError("wrong key")
LOST = TransientError("lost")
UNREAD = "the judge's reply cannot be parsed as a score from 0 to 1"
GOOD = Reply("Score: 0.5", Usage(10, 20))


@table(
    "said, calls, tokens, error, stops",
    ([FAILED, BUSY, GOOD], 3, (10, 20), None, False),
    ([FAILED, Reply("hm", Usage(1, 2)), FAILED, FAILED, GOOD], 5, (11, 22), None, False),
    ([FAILED], 5, None, "busy (after 5 calls)", False),
    ([*[FAILED] * 4, "hm", *[FAILED] * 4, GOOD], 10, (10, 20), None, False),
    ([*[BUSY] * 15, GOOD], 16, (10, 20), None, False),
    ([FAILED, LATE, LATE, GOOD], 4, (10, 20), None, False),
    ([QUOTA], 5, None, "the server asks to wait 3,600 s: run the same command again", True),
    ([NO], 1, None, "no", False),
    ([KeyError("odd")], 1, None, "KeyError: 'odd'", False),
    ([FATAL], 1, None, "wrong key", True),
    ([FAILED, FATAL], 2, None, "wrong key", True),
    ([Reply("well", Usage(10, 2)), NO], 2, (10, 2), "no", False),
    *(
        ([Reply(said, Usage(10, 2))], 3, (30, 6), UNREAD, False)
        for said in ("well, well", "Score: 7", "0.2 or 0.9", "")
    ),
)
def test_series_of_failures(
    said: list[Said], calls: int, tokens: tuple[int, int] | None, error: str | None, stops: bool
) -> None:
    judge = ScriptedJudge(in_order(*said))
    client = client_of(judge)
    verdict = run(client.ask(question("q")))
    assert (len(judge.asked), client.budget.calls) == (calls, calls)
    assert (verdict.value, verdict.tokens) == (None if error else 0.5, tokens)
    assert (error or "") in (verdict.error or "")
    assert (client.stopped is not None) == stops


def test_a_judge_without_vision_is_not_shown_images() -> None:
    judge = ScriptedJudge(in_order("Score: 1"))
    client = client_of(judge)
    client.sees = False
    asked = question("q", images=(JudgeImage("Image 0", lambda: None),))
    assert "does not support images" in str(run(client.ask(asked)).error)
    assert not judge.asked


def test_after_an_unreadable_reply_the_reminder_follows() -> None:
    judge = ScriptedJudge(in_order("well, well", "Score: 0.4\n\ud800"))
    verdict = run(client_of(judge).ask(question("q")))
    assert (verdict.value, verdict.reply) == (0.4, "Score: 0.4\n�"), "no file can hold a surrogate"
    assert judge.asked[1].messages[-1]["content"].endswith("and no reason.")


@table(
    "said, kind",
    *(("no idea", "image"), ("no idea", "match"), ("", "transform"), (NO, "image")),
    *((FAILED, "image"), (LOST, "transform"), (KeyError("a bug"), "image")),
)
def test_the_first_requests_in_vain_end_judging(said: Said, kind: str) -> None:
    judge = ScriptedJudge(in_order(said))
    client = client_of(judge, 4)

    async def work() -> list[Verdict]:
        parse = parse_yes_no if kind == "match" else None
        asked = [question(str(number), kind, parse=parse) for number in range(100)]
        return await asyncio.gather(*map(client.ask, asked))

    verdicts = run(work())
    assert client.stopped
    assert {verdict.value for verdict in verdicts} == {None}
    assert len(judge.asked) <= 3 * (IN_VAIN + 4)


def test_requests_that_always_fail_keep_out_no_others() -> None:
    judge = ScriptedJudge(lambda text, call: LOST if "odd" in text else "Score: 0.5")
    client = client_of(judge, 8)
    names = [f"odd {at}" if at < 160 and at % 4 == 0 else f"even {at}" for at in range(400)]

    async def work() -> list[Verdict]:
        return await asyncio.gather(*(client.ask(question(each)) for each in names))

    verdicts = run(work())
    assert client.stopped is None
    assert [each.value for each in verdicts] == [None if "odd" in each else 0.5 for each in names]


@table("failure, said", (LOST, "lost"), (BUSY, "slow down"))
def test_a_server_is_waited_for_up_to_five_minutes_with_a_word(
    messages: list[str], failure: Exception, said: str
) -> None:
    async def work(end: float) -> tuple[set[Any], str | None]:
        judge = ScriptedJudge(lambda text, call: failure if 10 < now() < end else "Score: 0.5")
        client = client_of(judge, 8)
        verdicts = [await client.ask(question("first"))]
        await asyncio.sleep(11)
        verdicts += await asyncio.gather(*map(client.ask, questions(300)))
        assert len(judge.asked) < 1000
        return {verdict.value for verdict in verdicts}, client.stopped

    assert run(work(250)) == ({0.5}, None)
    messages.clear()
    assert re.match(rf"no answer for 3\d\d s: {said}", str(run(work(1e9))[1]))
    (message,) = messages
    assert "waiting up to 300 s" in message


# ---- work: in order, lazily, and cancelled together


@pytest.mark.filterwarnings("error")
def test_work_is_begun_as_it_is_needed_comes_in_order_and_ends_with_an_error() -> None:
    judge = ScriptedJudge(lambda text, call: f"Score: 0.{text[-1]}", pause=1.0)
    client, found, ahead = client_of(judge, 4), list[Verdict](), 0

    async def one(number: int) -> Verdict:
        nonlocal ahead
        ahead = max(ahead, number - len(found))
        verdict = await client.ask(question(f"question {number}"))
        if number == 500:
            raise ValueError("a bug")
        return verdict

    async def work() -> None:
        with suppress(ValueError):
            verdicts = ordered(map(one, range(1000)), client, total=1000, label="", shown=False)
            async for verdict in verdicts:
                found.append(verdict)
        await asyncio.sleep(5)

    run(work())
    assert values(found) == [number % 10 / 10 for number in range(500)]
    assert ahead <= 4 * 4
    assert len(judge.asked) <= 500 + 4 * 4, "the rest is cancelled"
