"""Cache of replies: nothing is asked twice, no file error ends a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.settings import SettingError
from lmms_rpts.judging import (
    FatalJudgeError,
    Judge,
    JudgeEngine,
    JudgeRequest,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    cache,
    client,
    open_engine,
)
from lmms_rpts.judging.cache import AnswerCache
from tests.judging.conftest import Serve
from tests.judging.questions import Said, ScriptedJudge, in_order, question, questions, values
from tests.support.environment import configure
from tests.support.judge_server import JudgeServer, Paused, ServerReply, by_prompt
from tests.support.lmms import forked
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

KEY = "sk-secret-0123456789abcdef"


def opened(judge: Judge, folder: Path, concurrency: int = 8) -> JudgeEngine:
    return JudgeEngine(
        judge, name="test", concurrency=concurrency, progress=False, cache_dir=folder
    )


def last_digit(text: str, call: int) -> str:
    return f"Score: 0.{text[-1]}"


def query(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """Rows of the file, read over a read-only connection."""
    uri = f"{(folder / cache.FILE).as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        return connection.execute(sql).fetchall()


def stored(folder: Path) -> list[str]:
    """The replies on disk."""
    return [reply for (reply,) in query(folder, "SELECT reply FROM answers ORDER BY created, key")]


# ---- what is cached


def test_a_second_engine_asks_nothing(tmp_path: Path) -> None:
    requests = [
        *questions(5),
        question("steps", kind="transform", parse=str.upper),
        question("an inference", kind="inference", evidence=("a", "b"), claim="c"),
    ]
    judge = ScriptedJudge(lambda text, call: Reply(f"So {text}:\nScore: 0.{call}", Usage(9, 5)))
    again = ScriptedJudge(in_order(FatalJudgeError("nothing is to be asked")))
    with opened(judge, tmp_path) as engine:
        first = engine.run(requests)
    with opened(again, tmp_path) as engine:
        second = engine.run(requests)
    assert (len(judge.asked), again.asked, engine.budget.calls) == (len(requests), [], 0)
    assert second == [replace(each, cached=True, attempts=0) for each in first]
    assert {path.name for path in tmp_path.iterdir()} == {cache.FILE}, "closing leaves one file"


def test_answers_are_on_disk_before_the_run_goes_on(tmp_path: Path) -> None:
    on_disk: list[int] = []

    def dialogue(name: str) -> Iterator[JudgeRequest]:
        for turn in range(4):
            yield question(f"{name} {turn}")
            on_disk.append(sum(f"{name} {turn}" in reply for reply in stored(tmp_path)))

    judge = ScriptedJudge(lambda text, call: f"{text}: Score: 0.5", pause=0.001)
    with opened(judge, tmp_path) as engine:
        engine.converse([dialogue(name) for name in "abcdef"])  # type: ignore[misc]
    assert on_disk == [1] * 24


@table(
    "failure",
    RefusedError("no"),
    TransientError("busy"),
    FatalJudgeError("wrong key"),
    ValueError("odd"),
    "no score in this",
    "",
    Reply("Score: 0.5", complete=False),
)
def test_failures_are_not_cached(tmp_path: Path, failure: Said, short_pauses: None) -> None:
    healthy = ScriptedJudge(in_order("Score: 0.7"))
    with opened(ScriptedJudge(in_order(failure)), tmp_path) as engine:
        assert values(engine.run(questions(3))) == [None] * 3
        assert stored(tmp_path) == []
        with opened(healthy, tmp_path) as other:
            assert values(other.run(questions(3))) == [0.7] * 3
    assert len(healthy.asked) == 3


def test_a_reply_that_was_readable_at_last_is_cached(tmp_path: Path) -> None:
    judge = ScriptedJudge(in_order(Reply("hm", Usage(1, 2)), Reply("Score: 0.4", Usage(3, 4))))
    with opened(judge, tmp_path) as engine:
        engine.run([question("q")])
    (row,) = query(tmp_path, "SELECT request, reply, input_tokens, output_tokens FROM answers")
    assert row == ('[{"role": "user", "content": "q"}]', "Score: 0.4", 4, 6), "no reminder"


def test_judges_that_cost_nothing_leave_no_answers(tmp_path: Path) -> None:
    dear, free = (ScriptedJudge(in_order(f"Score: {score}")) for score in (0.1, 0.3))
    for judge, score, kept in ((free, 0.3, False), (dear, 0.1, True)):
        with JudgeEngine(judge, kept=kept, progress=False, cache_dir=tmp_path / "new") as engine:
            assert values(engine.run([question("q")])) == [pytest.approx(score)]
        assert (tmp_path / "new").exists() is kept


# ---- cache keys

BASE = question("q", evidence=("a",), claim="b", prompt_version="1")
OTHERS: list[dict[str, Any]] = [
    {"kind": "inference"},
    {"evidence": ("c",)},
    {"claim": "c"},
    {"messages": [{"role": "user", "content": "q "}]},
    {"messages": [{"role": "system", "content": "q"}]},
    {"messages": [*BASE.messages, *BASE.messages]},
]


def test_what_differs_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    server = serve(by_prompt())

    def calls(request: JudgeRequest = BASE, judge: str = "openai:m") -> int:
        before = server.calls
        for _ in range(2):
            with open_engine(judge, progress=False, cache_dir=tmp_path) as engine:
                assert engine.run([request])[0].error is None
        return server.calls - before

    assert calls() == 1
    assert [calls(replace(BASE, **changed)) for changed in OTHERS] == [1] * len(OTHERS)
    assert calls(judge="openai:other") == 1
    for setting, value in (("temperature", 0.5), ("structured", False)):
        with monkeypatch.context() as changed:
            configure(changed, **{setting: value})
            assert calls() == 1, setting
    with monkeypatch.context() as changed:
        changed.setattr(client, "PARSER_VERSION", "other")
        assert calls() == 1
    for name, text in (
        ("OPENAI_API_KEY", KEY),
        ("LMMS_RPTS_TIMEOUT", "7"),
        ("LMMS_RPTS_CONCURRENCY", "3"),
        ("LMMS_RPTS_PRICE", "1/2"),
        ("LMMS_RPTS_MAX_JUDGE_TOKENS", "1000000"),
        ("WORLD_SIZE", "2"),
    ):
        monkeypatch.setenv(name, text)
        assert calls() == 0, name


def test_answers_of_earlier_releases_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is the SHA-256 of the judge's name and identity, request and parser version."""

    class Known(ScriptedJudge):
        identity = {"model": "m"}  # noqa: RUF012

    monkeypatch.setattr(client, "PARSER_VERSION", "1")
    key = "89d104232cb2c8af933d3cae704cbde2b908d19f354d6b2c43a1fe58c7f0f42d"
    with contextlib.closing(AnswerCache(tmp_path)) as ours:
        ours.store(key, "test", BASE, "Score: 0.7", None)
    with opened(Known(in_order(FatalJudgeError("no"))), tmp_path) as engine:
        assert values(engine.run([BASE])) == [0.7]


# ---- unusable files


def filled(folder: Path, count: int = 60) -> Path:
    """A file with answers to other questions."""
    judge = ScriptedJudge(lambda text, call: f"{'because ' * 30}\nScore: 0.9")
    with opened(judge, folder) as engine:
        engine.run([question(f"old {number}") for number in range(count)])
    return folder / cache.FILE


def no_database(folder: Path) -> None:
    (folder / cache.FILE).write_text("These are not the answers.\n" * 500)


def zeros(folder: Path) -> None:
    """All pages but the first are zeros: the damage is found by the first look at the table."""
    path = filled(folder)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(path.stat().st_size - 4096))


def a_directory(folder: Path) -> None:
    (folder / cache.FILE).mkdir()


def a_file_for_a_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("in the way")


@table("spoil", a_directory, a_file_for_a_folder, no_database, zeros)
def test_an_unusable_file_ends_no_run(
    tmp_path: Path, messages: list[str], spoil: Callable[[Path], None]
) -> None:
    """All verdicts come from the judge, after one warning; the file is left as it is."""
    messages.clear()
    folder = tmp_path / "answers"
    folder.mkdir()
    spoil(folder)
    for _ in range(2):
        judge = ScriptedJudge(last_digit)
        with opened(judge, folder) as engine:
            for _ in range(2):
                assert values(engine.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert len(judge.asked) == 40
    (message,) = messages
    assert str(folder / cache.FILE) in message
    assert "LMMS_RPTS_CACHE" in message


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds a write lock on the file."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


def test_a_locked_file_is_waited_for_once_and_loses_no_answer(
    tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCKED_FOR", 1.0)
    path = filled(tmp_path, 5)
    judge = ScriptedJudge(last_digit, pause=0.005)
    with opened(judge, tmp_path, concurrency=16) as engine:
        assert values(engine.run([question("old 1")])) == [0.9]
        with locked(path):
            assert values(engine.run(questions(40))) == [k % 10 / 10 for k in range(40)]
            assert values(engine.run([question("old 2")])) == [0.9], "it can still be read"
        engine.run([question("later 4")])
        assert len(stored(tmp_path)) == 5 + 40 + 1, "answers held in memory are written, too"
        with locked(path):
            engine.run([question("at the end 5")])
    assert len(stored(tmp_path)) == 5 + 40 + 1 + 1
    assert len(judge.asked) == 42
    assert len(messages) == 1
    assert str(path) in messages[0]


def test_a_file_locked_for_a_moment_is_waited_for(
    tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCKED_FOR", LONGEST)
    path = filled(tmp_path, 5)
    with opened(ScriptedJudge(last_digit), tmp_path) as engine, ThreadPoolExecutor(1) as pool:
        with locked(path):
            run = pool.submit(engine.run, questions(10))
            time.sleep(0.5)
        assert values(run.result(LONGEST)) == [k / 10 for k in range(10)]
    assert len(stored(tmp_path)) == 15
    assert not messages


# ---- secrets


@table(
    "reply",
    ServerReply("Score: 0.5"),
    ServerReply(f"Incorrect API key provided: {KEY}. Bearer {KEY} is no key.", status=401),
    ServerReply(f"Authorization: Bearer {KEY} is not allowed to ask this", status=400),
    ServerReply(refusal=f"I can't do that with {KEY}"),
    ServerReply(f"no worker for {KEY}", status=503),
    ServerReply(f"You came with {KEY}.\nScore: 0.5"),
    ServerReply(f"You came with {KEY}, that's all."),
)
def test_no_key_is_stored_or_shown(
    tmp_path: Path,
    messages: list[str],
    monkeypatch: pytest.MonkeyPatch,
    short_pauses: None,
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
    reply: ServerReply,
) -> None:
    messages.clear()
    server = serve(lambda body: reply)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_engine("openai:m", progress=True, cache_dir=tmp_path) as engine:
        verdicts = engine.run(questions(5))
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        told = f"{verdicts} {engine.fatal} {engine!r}"
    assert f"Bearer {KEY}" in server.headers[0]["authorization"]
    assert f"{cache.FILE}-wal" in files
    files |= {f"{path.name} at the end": path.read_bytes() for path in tmp_path.iterdir()}
    for name, content in files.items():
        assert KEY.encode() not in content, name
        assert b"bearer" not in content.lower(), name
    said = capfd.readouterr()
    assert KEY not in f"{told} {messages} {said.out} {said.err}"


@pytest.mark.skipif(os.name != "posix", reason="other systems have no modes of files")
def test_the_cache_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "new" / "cache"
    before = os.umask(0o022)
    try:
        with opened(ScriptedJudge(last_digit), folder) as engine:
            engine.run(questions(1))
            files = {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert files == dict.fromkeys([cache.FILE, f"{cache.FILE}-wal", f"{cache.FILE}-shm"], 0o600)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:pass-word-123@127.0.0.1:9/v1")
    with pytest.raises(SettingError, match=r"OPENAI_BASE_URL.*password") as caught:
        open_engine("openai:m", progress=False, cache_dir=tmp_path)
    assert "pass-word-123" not in str(caught.value)


# ---- several processes; engines that share a cache: test_client.py


def test_closing_keeps_what_arrived(tmp_path: Path) -> None:
    given: list[str] = []

    class Counting(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            if len(given) >= 100:  # the engine is closed before this ends
                await asyncio.sleep(LONGEST)
            reply = await super().ask(request)
            given.append(reply.text)
            return reply

    engine = opened(Counting(last_digit, pause=0.005), tmp_path)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(engine.run, questions(500))
        wait_until(lambda: len(given) >= 100)
        engine.close()
        with pytest.raises(RuntimeError, match="closed"):
            run.result(LONGEST)
    assert sorted(stored(tmp_path)) == sorted(given)


ASKING = """
import json, sys
from pathlib import Path
from lmms_rpts.judging import JudgeRequest, open_engine

def asking(text):
    return JudgeRequest("image", [{"role": "user", "content": text}])

def dialogue(number):
    first = yield asking(f"first {number}")
    second = yield asking(f"second {number}, given {first.value}")
    return [first.value, second.value]

with open_engine("openai:m", cache_dir=Path(sys.argv[1]), concurrency=8, progress=False) as engine:
    print(json.dumps([engine.converse([dialogue(k) for k in range(100)]), engine.budget.calls]))
"""


def begun(server: JudgeServer, folder: Path) -> subprocess.Popen[str]:
    """A process with 100 conversations of two questions."""
    return subprocess.Popen(
        forked([sys.executable, "-c", ASKING, str(folder)]),
        env=os.environ | {"OPENAI_BASE_URL": server.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process: subprocess.Popen[str]) -> tuple[list[Any], int]:
    """The values of a process, and the number of its calls."""
    said, noise = process.communicate(timeout=LONGEST)
    assert (noise, process.returncode) == ("", 0)
    values, calls = json.loads(said)
    return values, calls


@pytest.mark.slow
def test_kills_cost_only_the_calls_under_way(tmp_path: Path) -> None:
    kills, concurrency, luck = 3, 8, random.Random(20261121)
    with JudgeServer(by_prompt(), latency=0.02) as clean:
        expected, total = finished(begun(clean, tmp_path / "clean"))
        assert clean.calls == total == 200
    folder, lost = tmp_path / "killed", 0
    with JudgeServer(by_prompt(), latency=0.02) as server:
        for _ in range(kills):
            after = server.calls + luck.randint(20, total // 5)
            # Later calls are held back: the run cannot end before the kill.
            server.answer = answer = Paused(by_prompt(), after + 20 - server.calls)
            process = begun(server, folder)
            wait_until(lambda after=after: server.calls >= after, process.poll)
            time.sleep(luck.uniform(0, 0.04))
            process.kill()
            process.communicate()
            answer.resume()
            server.settle()
            copy = shutil.copytree(folder, tmp_path / "copy", dirs_exist_ok=True)
            with contextlib.closing(sqlite3.connect(copy / cache.FILE)) as file:
                assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
                kept = file.execute("SELECT count(*) FROM answers").fetchone()[0]
            assert 0 <= server.calls - kept - lost <= concurrency
            lost = server.calls - kept
        before = server.calls
        found, calls = finished(begun(server, folder))
        assert found == expected
        assert calls == server.calls - before == total - kept
        assert len(Counter(json.dumps(body) for body in server.requests)) == total
