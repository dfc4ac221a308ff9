"""The judge engine: conversations, threads, the end of a run, and its bar."""

from __future__ import annotations

import asyncio
import gc
import io
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from lmms_rpts.judging.concurrency import START
from lmms_rpts.judging.progress import Board, Progress
from tqdm import tqdm

from lmms_rpts.base.settings import Price
from lmms_rpts.judging import (
    Budget,
    Dialogue,
    FatalJudgeError,
    JudgeEngine,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    open_engine,
)
from lmms_rpts.judging import progress as bars
from tests.judging.conftest import Serve
from tests.judging.questions import Said, ScriptedJudge, in_order, question, questions, values
from tests.support.judge_server import by_prompt
from tests.support.tables import table
from tests.support.waiting import LONGEST, restore_sigint, wait_until


def says(*said: Said, pause: float = 0.0) -> ScriptedJudge:
    return ScriptedJudge(in_order(*said), pause)


def scores(*score: float) -> ScriptedJudge:
    return says(*(f"Score: {each}" for each in score))


def opened(judge: ScriptedJudge, concurrency: int = 4, **options: Any) -> JudgeEngine:
    return JudgeEngine(judge, progress=False, concurrency=concurrency, **options)


def last_digit(text: str, call: int) -> str:
    return f"Score: 0.{text[-1]}"


# ---- requests


def test_verdicts_come_in_the_order_of_requests() -> None:
    class Backwards(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            while len(self.asked) < START - 1 - int(request.messages[0]["content"][-1]):
                await asyncio.sleep(0.001)
            return await super().ask(request)

    judge = Backwards(last_digit)
    with opened(judge, concurrency=START) as engine:
        verdicts = engine.run(questions(START))
    assert values(verdicts) == [number / 10 for number in range(START)]
    assert judge.texts == [f"question {number}" for number in reversed(range(START))]


def test_duplicates_are_asked_once_and_marked() -> None:
    judge = ScriptedJudge(lambda text, call: Reply(last_digit(text, call), Usage(10, 5)), 0.01)
    with opened(judge) as engine:
        verdicts = engine.run([question(f"question {number % 3}") for number in range(12)])
        later = engine.run(questions(4))
    first, same = (False, 1, Usage(10, 5), False), (True, 0, Usage(10, 5), True)
    for found, expected in ((verdicts, [first] * 3 + [same] * 9), (later, [same] * 3 + [first])):
        told = [(each.cached, each.attempts, each.usage, each.identical) for each in found]
        assert told == expected
    assert values(verdicts) == [0.0, 0.1, 0.2] * 4
    assert sorted(judge.texts) == [f"question {number}" for number in range(4)]


def test_request_keys_are_stable_and_distinguish_fields() -> None:
    """Cached answers are found by these keys, also by later releases."""
    asked = question("a", kind="inference", evidence=("b", "c"), claim="d")
    assert asked.key == "8787016d00565a6d4965c4d4488472153f04accc9bab3af8c72c10ed009fe3bb"
    assert question("a", evidence=("b", "c")).key != question("a", evidence=("b c",)).key
    assert len(question("\ud800").key) == 64


# ---- dialogues


def twice(first: str) -> Dialogue[tuple[float | str | None, str]]:
    opening = yield question(first)
    follow_up = yield question(f"{first}, given {opening.value}")
    return opening.value, str(follow_up.value)


def silent() -> Dialogue[str]:
    return "nothing to ask"
    yield question("never")


def careful() -> Dialogue[str]:
    verdict = yield question("bad")
    return f"failed: {verdict.error}"


def broken() -> Dialogue[str]:
    yield question("first")
    raise LookupError("a bug in the dialogue")


def test_dialogues_ask_any_number_of_times_and_see_failures() -> None:
    def answer(text: str, call: int) -> Said:
        if text == "bad":
            return RefusedError("no")
        return "Score: 0.2" if "given" in text else "Score: 0.9"

    judge = ScriptedJudge(answer)

    async def inside() -> list[Any]:  # also under a running event loop
        with opened(judge) as engine:
            return engine.converse([twice("a"), silent(), careful(), twice("b")])

    told = [(0.9, "0.2"), "nothing to ask", "failed: no", (0.9, "0.2")]
    assert asyncio.run(inside()) == told
    assert sorted(judge.texts) == ["a", "a, given 0.9", "b", "b, given 0.9", "bad"]


def test_a_bug_in_a_dialogue_stops_the_others_and_the_engine_lives_on() -> None:
    judge = says("Score: 0.5", pause=0.05)
    with opened(judge, concurrency=2) as engine:
        with pytest.raises(LookupError, match="a bug in the dialogue"):
            engine.converse([broken(), *(twice(str(number)) for number in range(30))])
        assert len(judge.asked) < 10, "the others went on"
        assert values(engine.run([question("next")])) == [0.5]


@table(
    "scores_, kind, warned",
    ([0.4] * 30, "inference", True),
    ([0.4] * 29, "inference", False),
    ([0.4] * 30 + [0.5], "inference", False),
    ([1.0] * 40, "image", True),
)
def test_one_score_for_all_steps_is_warned_of(
    scores_: list[float], kind: str, warned: bool, messages: list[str]
) -> None:
    messages.clear()
    judge = ScriptedJudge(lambda text, call: f"Score: {scores_[int(text)]}")
    steps = [question(str(number), kind=kind) for number in range(len(scores_))]
    with opened(judge, name="m") as engine:
        engine.run([*steps, *steps])
        engine.warn_of_one_score()
    told = (
        f"judge m gave all {len(scores_)} different steps the same score, {scores_[0]:g}: measure"
    )
    assert [told in message for message in messages] == [True] * warned


def test_attempts_usage_and_cost_add_up(short_pauses: None) -> None:
    judge = says(
        Reply("well", Usage(10, 2)), TransientError("busy"), Reply("Score: 0.2", Usage(20, 3))
    )
    with opened(judge, price=Price(1.0, 10.0)) as engine:
        (verdict,) = engine.run([question("q")])
    assert verdict.value == pytest.approx(0.2)
    assert verdict.attempts == engine.budget.calls == 3
    assert verdict.usage == Usage(30, 5)
    assert engine.budget.cost == pytest.approx(80 / 1e6)


# ---- fatal failures


def test_a_fatal_failure_ends_the_run_and_keeps_the_answers() -> None:
    broken = ScriptedJudge(
        lambda text, call: "Score: 0.7" if call < 3 else FatalJudgeError("wrong key"), pause=0.01
    )
    with opened(broken, concurrency=1) as engine:
        verdicts = engine.run(questions(200))
        (later,) = engine.run([question("later")])
        (known,) = engine.run([question("question 0")])
    assert values(verdicts) == [0.7] * 3 + [None] * 197
    assert len(broken.asked) == 4
    assert engine.fatal == "wrong key"
    assert all("wrong key" in str(verdict.error) for verdict in [*verdicts[3:], later])
    assert (later.attempts, known.value) == (0, 0.7)


# ---- the end


class Uncloseable(ScriptedJudge):
    async def aclose(self) -> None:
        await super().aclose()
        raise OSError("can't close")


@pytest.mark.filterwarnings("ignore:coroutine")
@table("kind", ScriptedJudge, Uncloseable)
def test_closing_ends_the_thread_and_the_judge_once(kind: type[ScriptedJudge]) -> None:
    judge, before = kind(last_digit), set(threading.enumerate())
    engine = opened(judge)
    assert len(set(threading.enumerate()) - before) == 1
    with engine:
        assert values(engine.run(questions(2))) == [0.0, 0.1]
    engine.close()
    assert judge.closed == 1
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        engine.run(questions(1))


INTERRUPTED = """
import sys, threading, time
from lmms_rpts.judging import JudgeRequest, open_engine

assert not {'torch', 'transformers', 'openai'} & set(sys.modules), "slow to import"
assert threading.active_count() == 1
requests = [JudgeRequest("image", [{"role": "user", "content": str(k)}]) for k in range(60)]
with open_engine("openai:m", concurrency=2, progress=False) as engine:
    try:
        engine.run(requests)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        time.sleep(1)
"""


def test_ctrl_c_stops_the_calls_quietly(serve: Serve) -> None:
    server = serve(by_prompt(), latency=0.1)
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_sigint,
    )
    wait_until(lambda: server.calls >= 2, process.poll)
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "interrupted\n"
    calls = server.calls
    _, noise = process.communicate(timeout=LONGEST)
    assert server.calls <= calls + 2
    assert "Task was destroyed" not in noise


def test_what_others_excluded_from_garbage_collection_stays_so() -> None:
    """As vLLM does in the process of a run."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with open_engine("lexical", cache_dir=None, progress=False):
            pass
        assert 0.9 * frozen < gc.get_freeze_count() <= frozen, "some were freed meanwhile"
    finally:
        gc.unfreeze()


# ---- the progress bar


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    stream = io.StringIO()
    monkeypatch.setattr(bars, "bar_stream", lambda: stream)
    return stream


def last_line(stream: io.StringIO) -> tuple[str, dict[str, int]]:
    """The last line of a bar, and its counts."""
    line = re.split(r"[\r\n]+", stream.getvalue().strip())[-1]
    return line, {name: int(count) for name, count in re.findall(r"([a-z][a-z ]*)=(\d+)", line)}


SAME = Verdict("1", 1.0, cached=True, identical=True)
ASKED, CACHED, FAILED = Verdict("1", 1.0), Verdict("1", 1.0, cached=True), Verdict(None, error="x")


@table(
    "units, counts",
    ([[ASKED, ASKED], [ASKED]], {"asked": 2}),
    ([[CACHED, CACHED], [CACHED, ASKED], [ASKED, FAILED]], {"asked": 1, "cached": 1, "failed": 1}),
    ([[], [ASKED]], {"asked": 1, "no call": 1}),
    ([[SAME, SAME], [SAME, CACHED], [SAME, ASKED]], {"identical": 1, "cached": 1, "asked": 1}),
)
def test_each_unit_has_one_outcome(
    shown: io.StringIO, units: Sequence[Sequence[Verdict]], counts: dict[str, int]
) -> None:
    shown.truncate(0)
    with Progress(len(units), "Judging", True, Budget(), unit="steps") as progress:
        for verdicts in units:
            progress.done(verdicts)
    line, counted = last_line(shown)
    assert f"{len(units)}/{len(units)}" in line
    assert "steps/s" in line
    assert counted == counts


def test_the_bar_covers_all_processes(shown: io.StringIO) -> None:
    class Others(Board):
        def read(self) -> list[dict[str, float]]:
            return [{"asked": 1, "cached": 1, "failed": 1, "total": 3, "cost": 0}]

    with Progress(2, "Judging", True, Budget(), Others()) as progress:
        progress.done([ASKED, ASKED])
        progress.done([CACHED])
    line, counted = last_line(shown)
    assert "5/5" in line
    assert counted == {"asked": 2, "cached": 2, "failed": 1}


class ClosedPipe(io.StringIO):
    """A standard error that is closed by its reader after some writes."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self.left = writes

    def write(self, text: str) -> int:
        self.left -= 1
        if self.left < 0:
            raise BrokenPipeError
        return len(text)


CLOSED = io.StringIO()
CLOSED.close()


@table("stream", None, CLOSED, ClosedPipe(0), ClosedPipe(1), ClosedPipe(3))
def test_a_bar_without_a_stream_ends_no_run_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    """A model may be loading in another thread, with its own progress bar."""
    monkeypatch.setattr(sys, "stderr", stream)
    with JudgeEngine(ScriptedJudge(last_digit), progress=True) as engine:
        assert values(engine.run(questions(3))) == [0.0, 0.1, 0.2]

    def another_bar() -> None:
        with tqdm.get_lock():
            free.append(True)

    free: list[bool] = []
    other = threading.Thread(target=another_bar, daemon=True)
    other.start()
    other.join(LONGEST)
    assert free
