"""The judge engine: order, deduplication, retries, limits, threads, and permanent failures."""

from __future__ import annotations

import asyncio
import gc
import io
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tqdm import tqdm

from lmms_rpts.judging import (
    Budget,
    Dialogue,
    FatalJudgeError,
    JudgeEngine,
    JudgeRequest,
    Member,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    client,
    open_engine,
)
from lmms_rpts.judging.client import JudgeClient
from lmms_rpts.judging.concurrency import START, StopSignal
from lmms_rpts.judging.parsers import parse_score
from tests.judging.conftest import Serve
from tests.judging.questions import (
    REMINDER,
    Gathering,
    Said,
    ScriptedJudge,
    in_order,
    question,
    questions,
    values,
)
from tests.judging.test_concurrency import run
from tests.support.judge_server import by_prompt, constant
from tests.support.tables import table
from tests.support.waiting import LONGEST, restore_sigint, wait_until


def opened(judge: object, concurrency: int = 4) -> JudgeEngine:
    return JudgeEngine(judge, concurrency=concurrency, progress=False)  # type: ignore[arg-type]


def last_digit(text: str, call: int) -> str:
    return f"Score: 0.{text[-1]}"


# ---- order and deduplication


def test_verdicts_come_in_the_order_of_requests() -> None:
    class Backwards(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            while len(self.asked) < START - 1 - int(request.messages[0]["content"][-1]):
                await asyncio.sleep(0.001)
            return await super().ask(request)

    judge = Backwards(last_digit)
    with opened(judge, concurrency=START) as asked:
        verdicts = asked.run(questions(START))
    assert values(verdicts) == [number / 10 for number in range(START)]
    assert judge.texts == [f"question {number}" for number in reversed(range(START))]


def test_duplicates_are_asked_once_and_marked() -> None:
    judge = ScriptedJudge(lambda text, call: Reply(last_digit(text, call), Usage(10, 5)), 0.01)
    with opened(judge) as asked:
        verdicts = asked.run([question(f"question {number % 3}") for number in range(12)])
        later = asked.run(questions(4))
    assert values(verdicts) == [0.0, 0.1, 0.2] * 4
    assert [verdict.cached for verdict in verdicts] == [False] * 3 + [True] * 9
    assert [verdict.attempts for verdict in verdicts] == [1] * 3 + [0] * 9
    assert [verdict.usage for verdict in verdicts] == [Usage(10, 5)] * 3 + [None] * 9
    assert [verdict.cached for verdict in later] == [True] * 3 + [False]
    assert sorted(judge.texts) == [f"question {number}" for number in range(4)]


def test_request_keys_distinguish_fields_that_join_alike() -> None:
    assert question("a", evidence=("b", "c")).key != question("a", evidence=("b c",)).key
    assert question("a", evidence=("b",)).key == question("a", evidence=("b",)).key
    assert len(question("\ud800").key) == 64


def test_request_keys_are_stable() -> None:
    """Cached answers are found by these keys, also by later releases."""
    asked = question("a", kind="inference", evidence=("b", "c"), claim="d", sample=1)
    assert asked.key == "30cd186894a133047eb40bd1a5e051cc1d8aefe32eac2ebc7eac58ab4312b6b0"


# ---- one client


def client_of(judge: ScriptedJudge) -> JudgeClient:
    """A client without an engine; it sends one request at a time."""
    return JudgeClient(Member("j", judge, kept=False), 1, Budget(), StopSignal(), None)


def test_a_call_that_nobody_waits_for_is_given_up_and_not_remembered() -> None:
    judge = ScriptedJudge(last_digit, pause=10.0)

    async def work() -> Verdict:
        client = client_of(judge)
        waiting = asyncio.ensure_future(client.ask(question("q 5")))
        await asyncio.sleep(1.0)
        assert judge.active == 1
        waiting.cancel()
        await asyncio.sleep(1.0)
        assert judge.active == 0
        return await client.ask(question("q 5"))

    assert run(work()) == Verdict("Score: 0.5", 0.5)
    assert len(judge.asked) == 2


# ---- unreadable replies


def test_an_unreadable_reply_is_asked_again_with_the_reminder() -> None:
    judge = ScriptedJudge(
        in_order(Reply("well, well", Usage(10, 2)), Reply("Score: 0.4", Usage(20, 3)))
    )
    with opened(judge) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict == Verdict("Score: 0.4", 0.4, attempts=2, usage=Usage(30, 5))
    assert [dict(message) for message in judge.asked[1].messages] == [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "well, well"},
        {"role": "user", "content": REMINDER},
    ]


def test_a_question_that_is_asked_again_goes_before_those_that_wait() -> None:
    judge = ScriptedJudge(lambda text, call: "hm" if call == 0 else last_digit(text, call), 10.0)

    async def work() -> None:
        client = client_of(judge)
        await asyncio.gather(*(client.ask(question(text)) for text in ("a 1", "b 2", "c 3")))

    run(work())
    assert judge.texts == ["a 1", "b 2", "a 1", "c 3"]


def test_what_no_file_can_hold_is_replaced_in_the_verdict() -> None:
    with opened(ScriptedJudge(in_order("Score: 0.4 \ud800"))) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict == Verdict("Score: 0.4 ?", 0.4)


# ---- retries


BUSY, THROTTLED = TransientError("busy"), TransientError("busy", kind="throttled")
LATE, QUOTA = TransientError("late", kind="timed out"), TransientError("quota", 3600.0)
NO, FATAL = RefusedError("no"), FatalJudgeError("wrong key")
UNREAD = "the judge's reply cannot be parsed as a score from 0 to 1"
TOLD = (
    "; the server asks to wait 3,600 s: run the same command again after that; replies are cached"
)
GOOD = Reply("Score: 0.5", Usage(10, 20))


@table(
    "said, attempts, usage, error",
    ([BUSY, THROTTLED, GOOD], 3, Usage(10, 20), None),
    (
        [BUSY, Reply("hm", Usage(1, 2)), BUSY, BUSY, Reply("hm", None), GOOD],
        *(6, Usage(11, 22), None),
    ),
    ([BUSY], 5, None, "busy (after 5 calls)"),
    ([THROTTLED], 20, None, "busy (after 20 calls)"),
    ([*[THROTTLED] * 19, *[BUSY] * 4, GOOD], 24, Usage(10, 20), None),
    ([BUSY, LATE, LATE, GOOD], 4, Usage(10, 20), None),
    (
        [BUSY, LATE, LATE, LATE],
        4,
        None,
        "late, even with inf s (LMMS_RPTS_TIMEOUT), and no other "
        "call was answered: check the server",
    ),
    ([QUOTA], 5, None, f"quota{TOLD}"),
    ([NO], 1, None, "no"),
    ([KeyError("odd")], 1, None, "KeyError: 'odd'"),
    ([FATAL], 1, None, "wrong key"),
    ([BUSY, FATAL], 2, None, "wrong key"),
    ([Reply("well", Usage(10, 2)), NO], 2, Usage(10, 2), "no"),
    *(
        ([Reply(said, Usage(10, 2))], 3, Usage(30, 6), UNREAD)
        for said in ("well, well", "Score: 7", "Score: -1", "0.2 or 0.9", "")
    ),
)
def test_what_a_request_gets_for_each_series_of_failures(
    said: list[Said], attempts: int, usage: Usage | None, error: str | None, short_pauses: None
) -> None:
    judge = ScriptedJudge(in_order(*said))
    asked = opened(judge)
    (verdict,) = asked.run([question("q")])
    assert (verdict.attempts, verdict.usage, verdict.error) == (attempts, usage, error)
    assert verdict.value == (0.5 if error is None else None)
    replies = [each for each in said if isinstance(each, Reply)]
    assert verdict.text == (replies[-1].text if replies else None)
    assert len(judge.asked) == asked.budget.calls == attempts
    assert asked.budget.usage.tokens >= (usage or Usage()).tokens
    stops = ("late", "quota", "wrong key")
    assert asked.fatal == (error if error and error.startswith(stops) else None)
    if error and not asked.fatal:
        judge.answer = in_order("Score: 0.7")
        assert values(asked.run([question("q"), question("q")])) == [0.7, 0.7]
        assert len(judge.asked) == attempts + 1, "a failure is not remembered, a verdict is"
    asked.close()


# ---- limits


@table("concurrency", 1, 3, 16)
def test_concurrency_is_bounded_and_used(concurrency: int) -> None:
    judge = Gathering(last_digit, concurrency, alone=START)
    with opened(judge, concurrency) as asked:
        assert None not in values(asked.run(questions(40)))
    assert judge.most_at_once == concurrency


# ---- dialogues


def twice(first: str) -> Dialogue[tuple[float | str | None, str]]:
    opening = yield question(first)
    follow_up = yield question(f"{first}, given {opening.value}")
    return opening.value, str(follow_up.value)


def test_dialogues_ask_more_than_once() -> None:
    judge = ScriptedJudge(lambda text, call: "Score: 0.2" if "given" in text else "Score: 0.9")
    with opened(judge) as asked:
        assert asked.converse([twice("a"), twice("b")]) == [(0.9, "0.2"), (0.9, "0.2")]
    assert sorted(judge.texts) == ["a", "a, given 0.9", "b", "b, given 0.9"]


def test_dialogues_may_ask_nothing_and_see_failures() -> None:
    def silent() -> Dialogue[str]:
        return "nothing to ask"
        yield question("never")

    def careful() -> Dialogue[str]:
        verdict = yield question("bad")
        return f"failed: {verdict.error}"

    with opened(ScriptedJudge(in_order(RefusedError("no")))) as asked:
        assert asked.converse([silent(), careful()]) == ["nothing to ask", "failed: no"]


def broken() -> Dialogue[str]:
    yield question("first")
    raise LookupError("a bug in the dialogue")


def test_a_bug_in_a_dialogue_is_raised_and_the_engine_lives_on() -> None:
    with opened(ScriptedJudge(in_order("Score: 0.5"))) as asked:
        with pytest.raises(LookupError, match="a bug in the dialogue"):
            asked.converse([broken()])
        assert values(asked.run([question("next")])) == [0.5]


def test_a_bug_in_a_dialogue_stops_the_others() -> None:
    judge = ScriptedJudge(in_order("Score: 0.5"), pause=0.05)
    with opened(judge, concurrency=2) as asked:
        with pytest.raises(LookupError):
            asked.converse([broken(), *(twice(str(number)) for number in range(30))])
        calls = len(judge.asked)
        time.sleep(0.4)
        assert len(judge.asked) <= calls + 2


# ---- loops and threads


def test_works_under_a_running_event_loop() -> None:
    async def inside() -> list[Verdict]:
        with opened(ScriptedJudge(last_digit)) as asked:
            return asked.run(questions(5))

    assert values(asyncio.run(inside())) == [0.0, 0.1, 0.2, 0.3, 0.4]


# ---- fatal failures


def test_a_fatal_error_stops_the_asking() -> None:
    judge = ScriptedJudge(in_order(FatalJudgeError("wrong key")), pause=0.01)
    with opened(judge, concurrency=4) as asked:
        verdicts = asked.run(questions(500))
        later = asked.run([question("later")])
    assert len(judge.asked) <= 8
    assert values(verdicts) == [None] * 500
    assert {verdict.error for verdict in [*verdicts, *later]} == {"wrong key"}
    assert sum(verdict.attempts for verdict in verdicts) == len(judge.asked)
    assert later[0].attempts == 0
    assert asked.fatal == "wrong key"


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
    judge = ScriptedJudge(
        lambda text, call: "no idea \n" * 100 if int(text) < unreadable else otherwise
    )
    with opened(judge, 1) as asked:
        verdicts = asked.run([unread(number, kind) for number in range(unreadable + 5)])
    assert (asked.fatal is not None) == stops
    if stops:
        assert len(set(judge.texts)) <= client.UNREADABLE + 1  # one was under way
        assert {verdict.error for verdict in verdicts[client.UNREADABLE :]} == {asked.fatal}
        for said in ("first 20 requests", "'no idea no idea", "larger model", "lmms-rpts doctor"):
            assert said in str(asked.fatal)
        assert len(str(asked.fatal)) < 500


def unread(number: int, kind: str) -> JudgeRequest:
    """A request whose reply is unreadable without a score."""
    return question(str(number), kind=kind, parse=parse_score)


def test_a_readable_reply_from_the_cache_keeps_a_judge_from_being_stopped(tmp_path: Path) -> None:
    def judge(said: str) -> JudgeEngine:
        member = Member("m", ScriptedJudge(in_order(said)))
        return JudgeEngine([member], progress=False, cache_dir=tmp_path)

    with judge("Score: 0.5") as asked:
        asked.run([question("known")])
    with judge("no idea") as asked:
        verdicts = asked.run([question("known"), *questions(30)])
        assert asked.fatal is None
    assert values(verdicts) == [0.5] + [None] * 30


@table(
    "scores, kind, warned",
    ([0.4] * 30, "inference", True),
    ([0.4] * 29, "inference", False),
    ([0.4] * 30 + [0.5], "inference", False),
    ([1.0] * 40, "image", True),
    ([1.0] * 40, "root", False),
)
def test_one_score_for_all_steps_is_warned_of(
    scores: list[float], kind: str, warned: bool, messages: list[str]
) -> None:
    messages.clear()
    judge = ScriptedJudge(lambda text, call: f"Score: {scores[int(text)]}")
    asking = [question(str(number), kind=kind) for number in range(len(scores))]
    with JudgeEngine([Member("m", judge)], name="m", progress=False) as asked:
        asked.run(asking)
        asked.run(asking)  # the same steps again
        asked.warn_of_one_score()
    assert len(messages) == warned
    for message in messages:
        assert f"judge m gave all {len(scores)} different steps the same score, " in message
        assert f", {scores[0]:g}: measure" in message


def test_a_late_fatal_error_keeps_what_was_answered() -> None:
    judge = ScriptedJudge(
        lambda text, call: FatalJudgeError("no credit") if call >= 10 else "Score: 0.5"
    )
    with opened(judge, concurrency=1) as asked:
        verdicts = asked.run(questions(100))
        assert values(asked.run(questions(1))) == [0.5]
    assert values(verdicts) == [0.5] * 10 + [None] * 90
    assert len(judge.asked) == 11


# ---- closing


class Uncloseable(ScriptedJudge):
    async def aclose(self) -> None:
        await super().aclose()
        raise OSError("can't close")


@pytest.mark.filterwarnings("ignore:coroutine")
@table("kind", ScriptedJudge, Uncloseable)
def test_closing_ends_the_thread_and_the_judge_once(kind: type[ScriptedJudge]) -> None:
    judge, before = kind(last_digit), set(threading.enumerate())
    asked = opened(judge)
    assert len(set(threading.enumerate()) - before) == 1
    with asked:
        assert values(asked.run(questions(2))) == [0.0, 0.1]
    asked.close()
    asked.close()
    assert judge.closed == 1
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match="closed"):
        asked.run(questions(1))


HANGS = """
import asyncio, threading, time
from lmms_rpts.judging import JudgeEngine, JudgeRequest

asked = threading.Event()

class Slow:
    async def ask(self, request):
        asked.set()
        await asyncio.sleep(3600)

engine = JudgeEngine(Slow(), progress=False)
request = JudgeRequest("image", [{"role": "user", "content": "q"}])

def run():
    try:
        engine.run([request])
    except BaseException as error:
        print("ended", type(error).__name__, flush=True)

thread = threading.Thread(target=run, daemon=True)
thread.start()
asked.wait()
engine.close()
thread.join(200)
print("hangs" if thread.is_alive() else "done", flush=True)
"""


def test_close_ends_runs_of_other_threads() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=LONGEST, check=True
    )
    assert ended.stdout.splitlines()[-1] == "done"
    assert "Task was destroyed" not in ended.stderr


INTERRUPTED = """
import time
from lmms_rpts.judging import JudgeRequest, open_engine

requests = [JudgeRequest("image", [{"role": "user", "content": str(k)}]) for k in range(60)]
with open_engine("openai:m", concurrency=2, progress=False) as engine:
    try:
        engine.run(requests)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        time.sleep(1)
"""


def test_ctrl_c_stops_the_asking_quietly(serve: Serve) -> None:
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


# ---- user interface


def test_importing_opens_nothing_and_is_quick(serve: Serve) -> None:
    serve(constant("Score: 1"))
    code = (
        "import sys, threading, lmms_rpts.judging;"
        "slow = {'torch', 'transformers', 'openai'} & set(sys.modules);"
        "print(sorted(slow), threading.active_count())"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.stdout.split("\n")[0] == "[] 1", ended.stderr


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
def test_a_bar_that_nobody_sees_ends_no_run_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    """A model may be loading in another thread, with its own progress bar."""
    monkeypatch.setattr(sys, "stderr", stream)
    with JudgeEngine(ScriptedJudge(last_digit), progress=True) as asked:
        assert values(asked.run(questions(3))) == [0.0, 0.1, 0.2]
    free = []

    def another_bar() -> None:
        with tqdm.get_lock():
            free.append(True)

    other = threading.Thread(target=another_bar, daemon=True)
    other.start()
    other.join(LONGEST)
    assert free


def test_what_others_excluded_from_garbage_collection_stays_so() -> None:
    """As vLLM does in the process of a run."""
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with open_engine("lexical", cache_dir=None, progress=False):
            pass
        assert gc.get_freeze_count() == frozen > 0
    finally:
        gc.unfreeze()
