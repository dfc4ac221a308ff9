"""Processes that share a cache share calls: each question is asked once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import gethostname

import pytest

from lmms_rpts.judging import (
    JudgeEngine,
    JudgeRequest,
    Member,
    RefusedError,
    Reply,
    cache,
    open_engine,
)
from lmms_rpts.judging.cache import AnswerCache
from tests.judging.conftest import Serve
from tests.judging.questions import ScriptedJudge, in_order, question, questions, values
from tests.support.judge_server import ServerReply
from tests.support.lmms import forked
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

WORKER = """
import json, sys
from pathlib import Path
from lmms_rpts.judging import JudgeRequest, cache, open_engine

cache.PENDING_FOR = 1e6
cache.LOCKED_FOR = 300.0  # on a slow machine, too, each waits for the others' writes
folder, count = Path(sys.argv[1]), int(sys.argv[2])
def ask(*texts):
    requests = [JudgeRequest("image", [{"role": "user", "content": text}]) for text in texts]
    return [verdict.value for verdict in engine.run(requests)]

with open_engine("openai:m", cache_dir=folder, concurrency=8, progress=False) as engine:
    ask(f"warm up {sys.argv[3]}")  # imports would let one process end before the others begin
    print("ready", flush=True)
    sys.stdin.readline()
    values = ask(*(f"question {k}" for k in range(count)))
print(json.dumps([values, engine.budget.calls]), flush=True)
"""


def test_three_processes_ask_each_question_once(tmp_path: Path, serve: Serve) -> None:
    server, questions = serve(latency=0.05), 200
    processes = [
        subprocess.Popen(
            forked([sys.executable, "-c", WORKER, str(tmp_path), str(questions), str(number)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:  # all start at the same time
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        ended = [process.communicate(timeout=LONGEST) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert [noise for _, noise in ended] == [""] * 3
    found, calls = zip(*(json.loads(said) for said, _ in ended), strict=True)
    assert None not in found[0]
    assert found[0] == found[1] == found[2]
    assert server.calls - 3 <= 1.05 * questions
    assert sum(calls) == server.calls, "a process that waits books no call"


# ---- reservations


@contextlib.contextmanager
def caches(folder: Path, count: int = 2) -> Iterator[list[AnswerCache]]:
    """Several caches that share a file."""
    opened = [AnswerCache(folder) for _ in range(count)]
    try:
        yield opened
    finally:
        for each in opened:
            each.close()


def test_a_reservation_ends_with_the_answer_or_without(tmp_path: Path) -> None:
    with caches(tmp_path) as (first, second):
        assert [first.reserve("a"), second.reserve("a"), first.reserve("b")] == [True, False, True]
        assert first.reserve("a", again=True)
        first.release("a")
        assert [second.reserve("a"), first.reserve("a")] == [True, False]
        second.store("a", "test", question("q"), "Score: 0.5", None)
        assert not first.is_pending("a")
        assert first.find("a") == "Score: 0.5"


@table("until, free", (50, False), (-1, True))
def test_a_reservation_ends_by_its_age(tmp_path: Path, until: float, free: bool) -> None:
    """Another machine that died holds a question up for two minutes."""
    with caches(tmp_path, 1) as (ours,):
        assert ours.reserve("another")
        with contextlib.closing(sqlite3.connect(tmp_path / cache.FILE)) as connection, connection:
            row = ("key", time.time() + until, "elsewhere", 1)
            connection.execute("INSERT OR REPLACE INTO asking VALUES (?, ?, ?, ?)", row)
        assert ours.is_pending("key") is not free
        assert ours.reserve("key") is free


def test_a_killed_process_of_this_machine_holds_nothing_up(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with caches(tmp_path, 1) as (ours,):
        assert ours.reserve("of ours")
    owners = {"killed": (gethostname(), ended.pid), "remote": ("elsewhere", ended.pid)}
    with contextlib.closing(sqlite3.connect(tmp_path / cache.FILE)) as connection, connection:
        rows = [(key, time.time() + 50, *owner) for key, owner in owners.items()]
        connection.executemany("INSERT INTO asking VALUES (?, ?, ?, ?)", rows)
    with caches(tmp_path, 1) as (ours,):
        pending = {key for key in ("of ours", *owners) if ours.is_pending(key)}
    assert pending == {"of ours", "remote"}


# ---- engines


def opened(judge: object, folder: Path, **options: object) -> JudgeEngine:
    members = [Member("test", judge)]  # type: ignore[arg-type]
    return JudgeEngine(members, progress=False, cache_dir=folder, **options)  # type: ignore[arg-type]


def reserved(folder: Path) -> int:
    """The number of reserved questions."""
    with contextlib.closing(
        sqlite3.connect(f"{(folder / cache.FILE).as_uri()}?mode=ro", uri=True)
    ) as connection:
        found: int = connection.execute("SELECT COUNT(*) FROM asking").fetchone()[0]
        return found


@table("failure", RefusedError("no"), "no score in this", ValueError("odd"))
def test_a_call_that_fails_ends_its_reservation(tmp_path: Path, failure: str | Exception) -> None:
    with opened(ScriptedJudge(in_order(failure)), tmp_path) as first:
        assert values(first.run(questions(3))) == [None] * 3
        assert reserved(tmp_path) == 0
        second = ScriptedJudge(in_order("Score: 0.5"))
        with opened(second, tmp_path) as other:
            assert values(other.run(questions(3))) == [0.5] * 3
    assert len(second.asked) == 3


class Held(ScriptedJudge):
    """A judge that answers once ``go_on`` is set."""

    def __init__(self, said: str) -> None:
        super().__init__(in_order(said))
        self.go_on = threading.Event()

    async def ask(self, request: JudgeRequest) -> Reply:
        reply = await super().ask(request)
        while not self.go_on.is_set():
            await asyncio.sleep(0.005)
        return reply


def test_an_engine_that_is_closed_ends_its_reservations(tmp_path: Path) -> None:
    judge = Held("Score: 0.1")
    first = opened(judge, tmp_path)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(first.run, questions(3))
        wait_until(lambda: len(judge.asked) == 3)
        assert reserved(tmp_path) == 3
        first.close()
        with pytest.raises(RuntimeError, match="closed"):
            run.result(LONGEST)
    assert reserved(tmp_path) == 0


def test_engines_of_one_process_share_calls(tmp_path: Path) -> None:
    judges = [Held("Score: 0.1"), Held("Score: 0.2")]
    with (
        opened(judges[0], tmp_path) as first,
        opened(judges[1], tmp_path) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        one = pool.submit(first.run, questions(3))
        wait_until(lambda: len(judges[0].asked) == 3)
        other = pool.submit(second.run, questions(5))
        wait_until(lambda: len(judges[1].asked) == 2)  # those that are not reserved
        for judge in judges:
            judge.go_on.set()
        assert values(one.result(LONGEST)) == [0.1] * 3
        verdicts = other.result(LONGEST)
    assert values(verdicts) == [0.1] * 3 + [0.2] * 2
    assert [(each.cached, each.attempts) for each in verdicts] == [(True, 0)] * 3 + [(False, 1)] * 2
    assert (second.budget.calls, second.budget.found) == (2, 3)


def test_a_server_that_throttles_is_asked_by_one(
    tmp_path: Path, serve: Serve, short_pauses: None
) -> None:
    """A reservation is kept between the calls for one question."""
    replies = iter([ServerReply("slow down", status=429)] * 3)
    server = serve(lambda body: next(replies, ServerReply("Score: 0.5")))
    with (
        open_engine("openai:m", progress=False, cache_dir=tmp_path) as first,
        open_engine("openai:m", progress=False, cache_dir=tmp_path) as second,
        ThreadPoolExecutor(2) as pool,
    ):
        runs = [pool.submit(engine.run, [question("q")]) for engine in (first, second)]
        assert [values(run.result(LONGEST)) for run in runs] == [[0.5], [0.5]]
    assert server.calls == 4
