"""Cache of replies: nothing is asked twice, no file error ends a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.judging import cache
from lmms_rpts.judging.request_kinds import KINDS
from lmms_rpts.judging.types import RefusedError, Reply, Request, TransientError, Verdict
from tests.judging.questions import (
    PROMPTS,
    ScriptedJudge,
    client_of,
    in_order,
    question,
    questions,
    values,
)
from tests.support.judge_server import JudgeServer, by_prompt
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until


def last_digit(text: str, call: int) -> str:
    return f"Score: 0.{text[-1]}"


def judged(judge: Any, requests: list[Request], folder: Path | None) -> list[Verdict]:
    async def work() -> list[Verdict]:
        async with aclosing(client_of(judge, 8, cache=folder)) as client:
            return await asyncio.gather(*map(client.ask, requests))

    return asyncio.run(work())


def stored(folder: Path) -> int:
    """The number of replies on disk, read over a read-only connection."""
    uri = f"{(folder / cache.FILE).as_uri()}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


# ---- what is cached


@table(
    "said, calls, again",
    # what was paid for is never asked again, readable or not
    (["hm", "Score: 0.5"], 2, 0),
    (["hm", Reply("and so", None, False), "well"], 3, 0),
    # failures are not cached
    ([RefusedError("no")], 1, 1),
    (["hm", TransientError("busy")], 6, 5),
)
def test_replies_are_kept_and_failures_are_not(
    tmp_path: Path, short_pauses: None, said: list[Any], calls: int, again: int
) -> None:
    judge = ScriptedJudge(in_order(*said))
    (first,) = judged(judge, [question("q")], tmp_path)
    assert len(judge.asked) == calls
    (second,) = judged(judge, [question("q")], tmp_path)
    assert len(judge.asked) == calls + again
    assert second.value == first.value


def test_the_keys_of_20_requests() -> None:
    """Other keys would have users pay again: they change with the texts of requests alone."""
    kinds = ("image", "image_seen", "inference", "inference_seen", "transform", "match")
    identity = {"judge": "openai:m", "model": "m", "temperature": 0.0}
    requests = {}
    for language in ("en", "zh"):
        for kind in kinds:
            name, fields = f"{language} {kind}", KINDS[kind].fields
            requests[name] = request = Request(kind, language, fields, PROMPTS)
            if kind in ("image", "inference"):
                requests[f"{name} again"] = request.again(1)
                bare = Request(kind, language, fields, PROMPTS, reasoned=False)
                requests[f"{name} alone"] = bare
    keys = {name: request.key(identity)[:8] for name, request in requests.items()}
    path = Path(__file__).with_name("cache_keys.json")
    assert keys == json.loads(path.read_text("utf-8"))


# ---- files that cannot be used


@table("content", None, "no database, but long enough to be taken for one" * 50)
def test_an_unusable_file_is_named_and_ends_no_run(
    tmp_path: Path, messages: list[str], content: str | None
) -> None:
    messages.clear()
    file = tmp_path / cache.FILE
    file.write_text(content) if content else file.mkdir()
    judge = ScriptedJudge(last_digit)
    found = values(judged(judge, [*questions(20), *questions(20)], tmp_path))
    assert found == [number % 10 / 10 for number in range(20)] * 2
    assert len(judge.asked) == 20
    (message,) = messages
    assert str(file) in message
    assert "LMMS_RPTS_CACHE" in message


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another program holds a write lock on the file."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield


def test_a_locked_file_loses_no_answer(
    tmp_path: Path, messages: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCKED_FOR", 0.2)
    judge = ScriptedJudge(last_digit)
    judged(judge, [question("old 1")], tmp_path)

    async def work() -> None:
        async with aclosing(client_of(judge, 8, cache=tmp_path)) as client:
            with locked(tmp_path / cache.FILE):
                await asyncio.gather(*map(client.ask, [question("old 1"), *questions(20)]))
                await client.ask(question("question 3"))

    asyncio.run(work())
    assert (len(judge.asked), stored(tmp_path)) == (21, 21)
    assert len(messages) == 1


@pytest.mark.skipif(os.name != "posix", reason="other systems have no modes of files")
def test_the_cache_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    judged(ScriptedJudge(last_digit), questions(1), folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}


# ---- kills

ASKING = """
import json, sys
from pathlib import Path
from lmms_rpts.judging.client import open_client
from lmms_rpts.scoring.work import ordered, run_async
from tests.judging.questions import question, settings_of

async def unit(client, number):
    first = await client.ask(question(f"first {number}"))
    second = await client.ask(question(f"second {number}, given {first.value}"))
    return [first.value, second.value]

async def main():
    settings = settings_of(cache=Path(sys.argv[1]), concurrency=8)
    async with open_client("openai:m", settings) as judge:
        units = (unit(judge, number) for number in range(150))
        found = [pair async for pair in ordered(units, judge, total=150, label="", shown=False)]
        print(json.dumps([found, judge.budget.calls]))

run_async(main())
"""


def begun(server: JudgeServer, folder: Path) -> subprocess.Popen[str]:
    """A process with 150 units of two questions."""
    command = [sys.executable, "-c", ASKING, str(folder)]
    env, pipe = os.environ | {"OPENAI_BASE_URL": server.url}, subprocess.PIPE
    return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe, text=True)


@pytest.mark.slow
def test_a_kill_costs_only_the_calls_under_way(tmp_path: Path) -> None:
    with JudgeServer(by_prompt(), latency=0.02) as server:
        process = begun(server, tmp_path)
        wait_until(lambda: server.calls >= 60, process.poll)
        process.kill()
        process.communicate()
        server.settle()
        before, kept = server.calls, stored(tmp_path)
        assert before - kept <= 8
        said, noise = begun(server, tmp_path).communicate(timeout=LONGEST)
        found, calls = json.loads(said)
        assert noise == ""
        assert calls == server.calls - before == 300 - kept
        assert len(Counter(json.dumps(body) for body in server.requests)) == 300
        assert all(None not in pair for pair in found)
