"""Cache of answers: nothing is requested twice, and no file error ends a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.judging import (
    FatalJudgeError,
    JudgeEngine,
    JudgeRequest,
    Member,
    RefusedError,
    Reply,
    TransientError,
    Usage,
    Verdict,
    cache,
    cache_file,
    cache_repair,
    client,
    open_engine,
)
from lmms_rpts.judging.cache import AnswerCache
from lmms_rpts.judging.cache_contents import read_answers, remove_answers
from lmms_rpts.judging.cache_file import CacheError, DamagedError
from lmms_rpts.settings import SettingError
from tests.judging.conftest import Serve
from tests.judging.questions import (
    Said,
    ScriptedJudge,
    in_order,
    in_turn,
    question,
    questions,
    values,
)
from tests.support.environment import configure
from tests.support.judge_server import Answer, Body, ServerReply, by_prompt, constant
from tests.support.lmms import forked
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

ROOT = Path(__file__).parents[2]
KEY = "sk-secret-0123456789abcdef"


def opened(judge: object, folder: Path, concurrency: int = 8) -> JudgeEngine:
    members = [Member("test", judge)]  # type: ignore[arg-type]
    return JudgeEngine(members, concurrency=concurrency, progress=False, cache_dir=folder)


def last_digit(text: str, call: int) -> str:
    return f"Score: 0.{text[-1]}"


def stored(folder: Path) -> list[str]:
    """The replies on disk, read over a read-only connection."""
    with contextlib.closing(
        sqlite3.connect(f"{(folder / cache.FILE).as_uri()}?mode=ro", uri=True)
    ) as connection:
        rows = connection.execute("SELECT reply FROM answers ORDER BY created, key").fetchall()
    return [reply for (reply,) in rows]


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    """Messages logged through loguru, from level WARNING."""
    said: list[str] = []
    number = logger.add(said.append, level="WARNING", format="{message}")
    yield said
    logger.remove(number)


# ---- what is cached


@pytest.mark.skipif(os.name != "posix", reason="other systems have no modes of files")
def test_the_cache_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "cache"
    before = os.umask(0o022)
    try:
        with opened(ScriptedJudge(last_digit), folder) as asked:
            asked.run(questions(1))
            files = {each.name: each.stat().st_mode & 0o777 for each in folder.iterdir()}
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert set(files.values()) == {0o600}
    assert {cache.FILE, f"{cache.FILE}-wal", f"{cache.FILE}-shm"} <= set(files)


def test_a_second_engine_asks_nothing(tmp_path: Path) -> None:
    requests = [
        *questions(5),
        question("steps", kind="transform", parse=str.upper),
        question("an answer", kind="answer"),
        question("an inference", kind="inference", evidence=("a", "b"), claim="c"),
    ]
    judge = ScriptedJudge(lambda text, call: Reply(f"So {text}:\nScore: 0.{call}", Usage(9, 5)))
    with opened(judge, tmp_path) as asked:
        first = asked.run(requests)
    again = ScriptedJudge(in_order(FatalJudgeError("nothing is to be asked")))
    with opened(again, tmp_path) as asked:
        second = asked.run(requests)
    assert len(judge.asked) == len(requests)
    assert not again.asked
    assert values(second) == values(first)
    assert [verdict.text for verdict in second] == [verdict.text for verdict in first]
    assert {(each.cached, each.attempts, each.usage) for each in second} == {(True, 0, None)}
    assert asked.budget.calls == 0


def test_each_of_several_samples_and_judges_is_kept(tmp_path: Path) -> None:
    def ensemble(folder: Path) -> tuple[JudgeEngine, list[ScriptedJudge]]:
        judges = [ScriptedJudge(lambda text, call, k=k: f"Score: 0.{k + call}") for k in (1, 5)]
        members = [Member(f"judge {at}", judge) for at, judge in enumerate(judges)]
        return JudgeEngine(members, progress=False, samples=3, cache_dir=folder), judges

    first_engine, first_judges = ensemble(tmp_path)
    with first_engine as asked:
        (first,) = asked.run([question("q")])
    second_engine, second_judges = ensemble(tmp_path)
    with second_engine as asked:
        (second,) = asked.run([question("q")])
    assert [len(judge.asked) for judge in (*first_judges, *second_judges)] == [3, 3, 0, 0]
    assert second.value == first.value == pytest.approx(0.4)
    assert second.opinions == first.opinions
    assert second.cached


def test_answers_are_there_before_the_run_goes_on(tmp_path: Path) -> None:
    on_disk: list[int] = []

    def dialogue(name: str) -> Iterator[JudgeRequest]:
        for turn in range(4):
            yield question(f"{name} {turn}")
            on_disk.append(sum(f"{name} {turn}" in reply for reply in stored(tmp_path)))

    judge = ScriptedJudge(lambda text, call: f"{text}: Score: 0.5", pause=0.001)
    with opened(judge, tmp_path) as asked:
        asked.converse([dialogue(name) for name in "abcdef"])  # type: ignore[misc]
    assert on_disk == [1] * 24


def test_answers_are_there_while_others_are_under_way(tmp_path: Path) -> None:
    go_on = threading.Event()

    class Waits(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            while request.messages[0]["content"] == "slow" and not go_on.is_set():
                await asyncio.sleep(0.01)
            return await super().ask(request)

    def all_there() -> bool:
        with contextlib.suppress(sqlite3.OperationalError):  # the table does not exist yet
            return len(stored(tmp_path)) == 20
        return False

    with opened(Waits(in_order("Score: 0.5")), tmp_path) as asked, ThreadPoolExecutor(1) as pool:
        run = pool.submit(asked.run, [question("slow"), *questions(20)])
        try:
            wait_until(all_there, run.done)
        finally:
            go_on.set()
        assert values(run.result(LONGEST)) == [0.5] * 21
    assert len(stored(tmp_path)) == 21


@table(
    "failure",
    RefusedError("no"),
    TransientError("busy"),
    FatalJudgeError("wrong key"),
    ValueError("odd"),
    "no score in this",
    "Score: 7",
    "",
    Reply("Score: 0.5", complete=False),
)
def test_failures_are_not_kept(tmp_path: Path, failure: Said, short_pauses: None) -> None:
    with opened(ScriptedJudge(in_order(failure)), tmp_path) as asked:
        assert values(asked.run([question("q")])) == [None]
    assert stored(tmp_path) == []
    healthy = ScriptedJudge(in_order("Score: 0.7"))
    with opened(healthy, tmp_path) as asked:
        assert values(asked.run([question("q")])) == [0.7]
    assert len(healthy.asked) == 1


def test_a_reply_that_was_read_at_last_is_kept(tmp_path: Path) -> None:
    judge = ScriptedJudge(in_order(Reply("hm", Usage(1, 2)), Reply("Score: 0.4", Usage(3, 4))))
    with opened(judge, tmp_path) as asked:
        (first,) = asked.run([question("q")])
    again = ScriptedJudge(in_order(RefusedError("nothing is to be asked")))
    with opened(again, tmp_path) as asked:
        (second,) = asked.run([question("q")])
    assert second == replace(first, cached=True, attempts=0, usage=None)
    (answer,) = read_answers(tmp_path)
    assert answer.messages == [{"role": "user", "content": "q"}], "only the question, no reminder"
    assert answer.reply == "Score: 0.4"
    assert answer.usage == Usage(4, 6)


def test_a_kept_reply_that_is_not_understood_is_asked_again(tmp_path: Path) -> None:
    def picky(reply: str) -> str | None:
        return reply if "new" in reply else None

    with opened(ScriptedJudge(in_order("old")), tmp_path) as asked:
        asked.run([question("q", kind="transform")])
    judge = ScriptedJudge(in_order("new"))
    with opened(judge, tmp_path) as asked:
        assert values(asked.run([question("q", kind="transform", parse=picky)])) == ["new"]
    assert stored(tmp_path) == ["new"]


def test_what_is_kept_is_found_after_a_fatal_error(tmp_path: Path) -> None:
    with opened(ScriptedJudge(last_digit), tmp_path) as asked:
        asked.run(questions(5))
    with opened(ScriptedJudge(in_order(FatalJudgeError("no credit"))), tmp_path, 1) as asked:
        first = asked.run([question("another")])
        verdicts = asked.run(questions(7))
    assert values(first) == [None]
    assert values(verdicts) == [0.0, 0.1, 0.2, 0.3, 0.4, None, None]


def test_judges_that_cost_nothing_leave_no_file(tmp_path: Path) -> None:
    with open_engine("lexical", progress=False, cache_dir=tmp_path / "new") as asked:
        asked.run([question("q", evidence=("a",), claim="a")])
    assert not (tmp_path / "new").exists()


def test_judges_that_cost_nothing_leave_no_answers_beside_those_of_others(tmp_path: Path) -> None:
    dear, free = (ScriptedJudge(in_order(f"Score: {score}")) for score in (0.1, 0.3))
    members = [Member("dear", dear), Member("free", free, kept=False)]
    with JudgeEngine(members, progress=False, cache_dir=tmp_path) as asked:
        (verdict,) = asked.run([question("q")])
    assert verdict.value == pytest.approx(0.2)
    assert stored(tmp_path) == ["Score: 0.1"]


# ---- cache keys

Change = Callable[[pytest.MonkeyPatch], None]


def sets(**settings: Any) -> Change:
    return lambda monkeypatch: configure(monkeypatch, **settings)


BASE = question("q", evidence=("a",), claim="b", prompt_version="1")


@pytest.mark.parametrize(
    ("judge", "change", "request_"),
    [
        pytest.param("openai:other", None, BASE, id="judge"),
        pytest.param("openai:m", sets(temperature=0.5), BASE, id="temperature"),
        pytest.param("openai:m", sets(structured=False), BASE, id="structured"),
        pytest.param(
            "openai:m",
            lambda monkeypatch: monkeypatch.setattr(client, "PARSER_VERSION", "other"),
            BASE,
            id="parser version",
        ),
        pytest.param("openai:m", None, replace(BASE, prompt_version="2"), id="prompt version"),
        pytest.param("openai:m", None, replace(BASE, kind="inference"), id="kind"),
        pytest.param("openai:m", None, replace(BASE, sample=1), id="sample"),
        pytest.param("openai:m", None, replace(BASE, evidence=("c",)), id="evidence"),
        pytest.param("openai:m", None, replace(BASE, claim="c"), id="claim"),
        pytest.param(
            "openai:m", None, replace(BASE, messages=[{"role": "user", "content": "q "}]), id="text"
        ),
        pytest.param(
            "openai:m",
            None,
            replace(BASE, messages=[{"role": "system", "content": "q"}]),
            id="role",
        ),
        pytest.param(
            "openai:m", None, replace(BASE, messages=[*BASE.messages, *BASE.messages]), id="chat"
        ),
    ],
)
def test_what_differs_is_asked_again(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    serve: Serve,
    judge: str,
    change: Change | None,
    request_: JudgeRequest,
) -> None:
    server = serve(in_turn("Score: 0.1", "Score: 0.2"))

    def run(judge: str, asked_for: JudgeRequest) -> object:
        with open_engine(judge, progress=False, cache_dir=tmp_path) as asked:
            return values(asked.run([asked_for]))[0]

    assert [run("openai:m", BASE), run("openai:m", BASE)] == [0.1, 0.1]
    with monkeypatch.context() as changed:
        if change:
            change(changed)
        assert [run(judge, request_), run(judge, request_)] == [0.2, 0.2]
    assert run("openai:m", BASE) == 0.1, "the first answer is still there"
    assert server.calls == 2


def test_answers_of_earlier_releases_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key is the SHA-256 of the judge's name and identity, request and parser version."""

    class Known(ScriptedJudge):
        identity = {"model": "m"}  # noqa: RUF012

    monkeypatch.setattr(client, "PARSER_VERSION", "1")
    key = "51f85a7014c213800424075cfa62277f80f066caf365aee3fff6cbe0ee1cab88"
    with contextlib.closing(AnswerCache(tmp_path)) as ours:
        ours.store(key, "test", BASE, "Score: 0.7", None)
    judge = Known(in_order("Score: 0.1"))
    with opened(judge, tmp_path) as asked:
        assert values(asked.run([BASE])) == [0.7]
    assert not judge.asked


def test_another_server_is_asked_again(tmp_path: Path, serve: Serve) -> None:
    servers = []
    for score in ("0.1", "0.2"):
        servers.append(serve(constant(f"Score: {score}")))
        with open_engine("openai:m", progress=False, cache_dir=tmp_path) as asked:
            assert values(asked.run([BASE])) == [float(score)]
    assert [server.calls for server in servers] == [1, 1]


@table(
    "name, value",
    ("OPENAI_API_KEY", KEY),
    ("LMMS_RPTS_TIMEOUT", "7"),
    ("LMMS_RPTS_CONCURRENCY", "3"),
    ("LMMS_RPTS_PRICE", "1/2"),
    ("LMMS_RPTS_MAX_JUDGE_TOKENS", "1000000"),
    ("WORLD_SIZE", "2"),
)
def test_what_changes_no_answer_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, name: str, value: str
) -> None:
    server = serve(in_turn("Score: 0.1", "Score: 0.2"))
    with open_engine("openai:m", progress=False, cache_dir=tmp_path) as asked:
        asked.run([BASE])
    monkeypatch.setenv(name, value)
    with open_engine("openai:m", progress=False, cache_dir=tmp_path, concurrency=2) as asked:
        assert values(asked.run([BASE])) == [0.1]
    assert server.calls == 1


# ---- several processes

WORKER = """
import asyncio, sys
from pathlib import Path
from lmms_rpts.judging import JudgeEngine, JudgeRequest, Member, Reply, cache_file

cache_file.LOCKED_FOR = 300.0  # on a slow machine, too, each waits for the others' writes

class Judge:
    async def ask(self, request):
        await asyncio.sleep(0.002)
        return Reply("Score: 0." + request.messages[0]["content"][-1])

folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
requests = [
    JudgeRequest("image", [{"role": "user", "content": str(k)}]) for k in range(first, last)
]
print("ready", flush=True)
sys.stdin.readline()
with JudgeEngine([Member("test", Judge())], progress=False, cache_dir=folder) as engine:
    verdicts = engine.run(requests)
assert [verdict.value for verdict in verdicts] == [k % 10 / 10 for k in range(first, last)]
print(engine.budget.calls, flush=True)
"""


def test_processes_share_a_file(tmp_path: Path) -> None:
    ranges = [(0, 400), (200, 600), (100, 500)]
    workers = [
        subprocess.Popen(
            forked([sys.executable, "-c", WORKER, str(tmp_path), str(first), str(last)]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for first, last in ranges
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:  # all at once: none of them finds an existing file
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    ended = [worker.communicate(timeout=LONGEST) for worker in workers]
    assert [
        (worker.returncode, noise) for worker, (_, noise) in zip(workers, ended, strict=True)
    ] == [(0, "")] * 3
    calls = [int(said) for said, _ in ended]
    assert 600 <= sum(calls) <= 1200
    assert len(stored(tmp_path)) == 600
    judge = ScriptedJudge(last_digit)
    with opened(judge, tmp_path) as asked:
        assert values(asked.run([question(str(k)) for k in range(600)])) == [
            k % 10 / 10 for k in range(600)
        ]
    assert not judge.asked, "an answer was lost"


RACE = """
import multiprocessing, sys
from pathlib import Path
from loguru import logger
from lmms_rpts.judging import JudgeRequest, cache_file
from lmms_rpts.judging.cache import AnswerCache

cache_file.LOCKED_FOR = cache_file.REPAIRED_FOR = 300.0  # also on a slow machine
request = JudgeRequest("image", [{"role": "user", "content": "q"}])
fork = multiprocessing.get_context("fork")
start = fork.Barrier(6)

def open_new(folder, racer):
    for time in range(3):
        answers = AnswerCache(folder)
        assert answers.find(f"{racer} {time}") is None
        answers.store(f"{racer} {time}", "test", request, "Score: 0.5", None)
        answers.close()

def open_damaged(folder, racer):
    logger.remove()
    answers = AnswerCache(folder)
    for time in range(5):
        answers.find(f"{racer} {time}")
        answers.store(f"{racer} {time}", "test", request, "Score: 0.5", None)
    answers.close()

def begin(racer):
    for number in range(int(sys.argv[2])):
        start.wait()
        globals()[sys.argv[3]](Path(sys.argv[1], str(number)), racer)

racers = [fork.Process(target=begin, args=[racer]) for racer in range(6)]
for racer in racers:
    racer.start()
for racer in racers:
    racer.join()
sys.exit(max(racer.exitcode for racer in racers))
"""


def race(folder: Path, count: int, work: str) -> None:
    """Six processes run ``work`` at the same time in each of ``count`` folders."""
    command = [sys.executable, "-c", RACE, str(folder), str(count), work]
    ended = subprocess.run(forked(command), capture_output=True, text=True, timeout=LONGEST)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_many_may_make_the_file_at_once(tmp_path: Path) -> None:
    """SQLite doesn't wait when two processes switch a new file to WAL at the same time."""
    race(tmp_path, 60, "open_new")
    assert [len(stored(tmp_path / str(number))) for number in range(60)] == [18] * 60


def test_answers_of_others_are_found_meanwhile(tmp_path: Path) -> None:
    judge = ScriptedJudge(last_digit)
    with opened(judge, tmp_path) as asked:
        asked.run(questions(2))
        with opened(ScriptedJudge(last_digit), tmp_path) as other:
            other.run(questions(6))
        assert values(asked.run(questions(8))) == [k / 10 for k in range(8)]
    assert sorted(judge.texts) == ["question 0", "question 1", "question 6", "question 7"]


# ---- unusable files


def filled(folder: Path, count: int = 400) -> Path:
    """A file with answers to other questions."""
    with opened(
        ScriptedJudge(lambda text, call: f"{'because ' * 30}\nScore: 0.9"), folder
    ) as asked:
        asked.run([question(f"old {number}") for number in range(count)])
    return folder / cache.FILE


def truncated(folder: Path) -> None:
    path = filled(folder)
    content = path.read_bytes()
    assert len(content) > 100_000
    path.write_bytes(content[: len(content) // 2])


def overwritten_inside(folder: Path) -> None:
    path = filled(folder)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x07" * (len(content) - 4096)
    path.write_bytes(content)


def text(folder: Path) -> None:
    (folder / cache.FILE).write_text("These are not the answers.\n" * 500)


def other_tables(folder: Path) -> None:
    with contextlib.closing(sqlite3.connect(folder / cache.FILE)) as connection, connection:
        connection.execute("CREATE TABLE answers (question TEXT, answer TEXT)")


def a_directory(folder: Path) -> None:
    (folder / cache.FILE).mkdir()


def newer(folder: Path) -> None:
    path = filled(folder, 5)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {cache_file.VERSION + 1}")
        connection.commit()


def a_file_for_a_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("in the way")


def a_file_above(folder: Path) -> None:
    folder.rmdir()
    folder.parent.rmdir()
    folder.parent.write_text("in the way")


@contextlib.contextmanager
def waited_for_once() -> Iterator[None]:
    """Checks that the file is waited for once and then given up."""
    faults, give_up = [], cache.AnswerCache._give_up

    def noted(answers: cache.AnswerCache, error: Exception, reading: bool) -> None:
        faults.append(error)
        give_up(answers, error, reading)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cache.AnswerCache, "_give_up", noted)
        patch.setattr(cache, "RESUMED_AFTER", LONGEST)  # a slow test is no reason to retry
        yield
    assert len(faults) <= 2, faults  # once to write, once to read


def runs_without(folder: Path, warnings: list[str]) -> ScriptedJudge:
    """Runs without the file: all verdicts come from the judge, after a single warning."""
    judge = ScriptedJudge(last_digit, pause=0.005)
    with waited_for_once(), opened(judge, folder) as asked:
        for _ in range(2):
            assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert values(asked.run([question("late 5")])) == [0.5]
    assert len(judge.asked) == 41
    assert len(warnings) == 1, warnings
    assert str(folder / cache.FILE) in warnings[0]
    assert "LMMS_RPTS_CACHE" in warnings[0]
    assert not folder.is_dir() or not damaged(folder), "no damage: the file stays"
    return judge


@table("spoil", other_tables, a_directory, newer, a_file_for_a_folder, a_file_above)
def test_a_run_goes_on_without_its_file(
    tmp_path: Path, warnings: list[str], spoil: Callable[[Path], None]
) -> None:
    warnings.clear()
    folder = tmp_path / "above" / "answers"
    folder.mkdir(parents=True)
    spoil(folder)
    assert not warnings
    runs_without(folder, warnings)


def damaged(folder: Path) -> list[Path]:
    """Damaged files that were set aside, without their -wal and -shm files."""
    found = folder.parent.glob(f"{folder.name}/{cache.FILE}.damaged-*")
    return [path for path in found if not path.name.endswith(("-wal", "-shm"))]


def cut_to_a_header(folder: Path) -> None:
    path = filled(folder)
    path.write_bytes(path.read_bytes()[:60])


def zeroed_at_first(folder: Path) -> None:
    spoil_pages(filled(folder), 1, 2)


def zeroed_inside(folder: Path) -> None:
    path = filled(folder)
    last = path.stat().st_size // 4096
    spoil_pages(path, last // 2, last // 2 + 5)


def spoil_pages(path: Path, first: int, end: int) -> None:
    """Overwrites pages of a file with zeros."""
    with path.open("r+b") as file:
        file.seek((first - 1) * 4096)
        file.write(bytes((end - first) * 4096))


def another_column(folder: Path) -> None:
    path = filled(folder)
    content = path.read_bytes()
    assert content.count(b"reply TEXT") == 1
    path.write_bytes(content.replace(b"reply TEXT", b"rexly TEXT"))


@pytest.mark.parametrize(
    ("spoil", "copied"),
    [
        (truncated, 100),
        (cut_to_a_header, 0),
        (overwritten_inside, 0),
        (zeroed_at_first, 0),
        (zeroed_inside, 300),
        (another_column, 400),
        (text, 0),
    ],
)
def test_a_damaged_file_is_replaced(
    tmp_path: Path, warnings: list[str], spoil: Callable[[Path], None], copied: int
) -> None:
    """All readable answers are copied, and runs cache their answers again."""
    spoil(tmp_path)
    size = (tmp_path / cache.FILE).stat().st_size
    old = [question(f"old {number}") for number in range(400)]
    first, second = ScriptedJudge(last_digit), ScriptedJudge(last_digit)
    with opened(first, tmp_path) as asked:
        assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert None not in values(asked.run(old))
        found = asked.budget.found
    with opened(second, tmp_path) as asked:
        assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert None not in values(asked.run(old))
    assert copied <= found <= 400
    assert len(first.asked) == 40 + 400 - found
    assert not second.asked
    (aside,) = damaged(tmp_path)
    assert aside.stat().st_size >= size
    assert len(warnings) == 1, warnings
    for said in (str(aside), "requested again", "Delete"):
        assert said in warnings[0]
    # Answers written before the damage was found are copied as well.
    (told,) = re.findall(r"(\d+) replies that could still be read", warnings[0])
    assert found <= int(told) <= found + 40


DIES = """
import os, sys
from pathlib import Path
from lmms_rpts.judging import JudgeRequest
from lmms_rpts.judging.cache import AnswerCache

answers = AnswerCache(Path(sys.argv[1]))
for k in range(20):
    request = JudgeRequest("image", [{"role": "user", "content": f"late {k}"}])
    answers.store(f"late {k}", "test", request, "Score: 0.5", None)
os._exit(9)
"""


def test_answers_beside_a_damaged_file_are_copied(tmp_path: Path, warnings: list[str]) -> None:
    """The last answers of a killed process are in the -wal file."""
    path = filled(tmp_path)
    subprocess.run([sys.executable, "-c", DIES, str(tmp_path)], check=False)
    assert Path(f"{path}-wal").stat().st_size > 20 * 4096
    last = path.stat().st_size // 4096
    spoil_pages(path, last // 2, last // 2 + 5)
    judge = ScriptedJudge(last_digit)
    with opened(judge, tmp_path) as asked:
        asked.run([question(f"old {k}") for k in range(400)])
        answers = cache.AnswerCache(tmp_path)
        assert [answers.find(f"late {k}") for k in range(20)] == ["Score: 0.5"] * 20
        answers.close()
    assert len(judge.asked) < 100
    assert len(damaged(tmp_path)) == len(warnings) == 1


@table("first", "find", "store", "claim")
def test_damage_is_found_at_any_time(tmp_path: Path, warnings: list[str], first: str) -> None:
    """Also while the file is open."""
    warnings.clear()
    path = filled(tmp_path)
    answers = cache.AnswerCache(tmp_path)
    work: dict[str, Callable[[], object]] = {
        "find": lambda: answers.find("new"),
        "store": lambda: answers.store("new", "test", question("q"), "Score: 0.5", None),
        "claim": lambda: answers.claim("new"),
    }
    answers.is_claimed("new")
    spoil_pages(path, 2, path.stat().st_size // 4096 + 1)
    work[first]()
    for each in ("find", "claim", "store"):
        work[each]()
    assert answers.find("new") == "Score: 0.5"
    answers.close()
    assert len(damaged(tmp_path)) == 1
    assert stored(tmp_path) == ["Score: 0.5"]
    assert len(warnings) == 1


def test_a_file_that_was_set_aside_is_written_no_more(tmp_path: Path, warnings: list[str]) -> None:
    """Other processes that have it open switch to the new file and store their answers there."""
    path = filled(tmp_path)
    first, second = cache.AnswerCache(tmp_path), cache.AnswerCache(tmp_path)
    for answers in (first, second):
        assert answers.claim(f"of {answers}")
    middle = path.stat().st_size // 8192
    spoil_pages(path, middle, middle + 5)  # the second cache reads none of these pages
    done = cache_repair.set_aside(path, None)
    assert done is not None
    (aside,) = damaged(tmp_path)
    second.store("new", "test", question("q"), "Score: 0.5", None)
    assert first.find("new") == "Score: 0.5"
    for answers in (second, first):
        answers.close()
    assert stored(tmp_path).count("Score: 0.5") == 1
    assert damaged(tmp_path) == [aside] == [done.path]
    assert Path(f"{aside}-wal").is_file(), "its -wal file is moved with it"
    assert not warnings, "set_aside leaves the warning to its caller"


def test_a_file_that_was_deleted_is_begun_again(tmp_path: Path, warnings: list[str]) -> None:
    path = filled(tmp_path, 5)
    answers = cache.AnswerCache(tmp_path)
    assert answers.claim("new")
    path.unlink()
    answers.store("new", "test", question("q"), "Score: 0.5", None)
    answers.close()
    assert stored(tmp_path) == ["Score: 0.5"]
    assert not warnings


def test_a_healthy_file_is_never_set_aside(tmp_path: Path) -> None:
    """After any error the file is examined first; it may be a new one by another process."""
    path = filled(tmp_path, 5)
    inode = path.stat().st_ino
    assert cache_repair.set_aside(path, inode) is None
    assert cache_repair.set_aside(path, None) is None
    spoilt = tmp_path / "spoilt" / cache.FILE
    spoilt.parent.mkdir()
    text(spoilt.parent)
    assert cache_repair.set_aside(spoilt, spoilt.stat().st_ino + 1) is None
    assert damaged(tmp_path) == damaged(tmp_path / "spoilt") == []
    assert path.stat().st_ino == inode


def test_copying_ends_in_time_and_says_so(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_repair, "SALVAGED_FOR", 0.0)
    keys = read_keys(filled(tmp_path))  # the index may be damaged as well
    zeroed_inside(tmp_path)
    answers = cache.AnswerCache(tmp_path)
    for key in keys:
        answers.find(key)
    answers.close()
    assert stored(tmp_path) == []
    assert "0 replies" in warnings[0]
    assert "more may be readable" in warnings[0]


def read_keys(path: Path) -> list[str]:
    """All keys, which are in the index as well."""
    with contextlib.closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
        return [key for (key,) in connection.execute("SELECT key FROM answers ORDER BY key")]


@pytest.mark.parametrize("spoil", [text, zeroed_at_first, truncated])
def test_many_may_find_the_damage_at_once(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """One of them replaces the file; no new file is set aside, and no answer is lost."""
    model = tmp_path / "model"
    model.mkdir()
    spoil(model)
    content = (model / cache.FILE).read_bytes()
    for number in range(10):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / cache.FILE).write_bytes(content)
    race(tmp_path, 10, "open_damaged")
    for number in range(10):
        assert len(damaged(tmp_path / str(number))) == 1
        assert stored(tmp_path / str(number)).count("Score: 0.5") == 30


def test_a_newer_file_is_left_alone(tmp_path: Path, warnings: list[str]) -> None:
    newer(tmp_path)
    before = (tmp_path / cache.FILE).read_bytes()
    runs_without(tmp_path, warnings)
    assert (tmp_path / cache.FILE).read_bytes() == before
    assert "another version" in warnings[0]


@table("beside", "", "-wal", "-shm", "-journal")
def test_an_empty_file_is_a_new_one(tmp_path: Path, warnings: list[str], beside: str) -> None:
    warnings.clear()
    (tmp_path / f"{cache.FILE}{beside}").touch()
    for calls in (10, 0):
        judge = ScriptedJudge(last_digit)
        with opened(judge, tmp_path) as asked:
            assert values(asked.run(questions(10))) == [k / 10 for k in range(10)]
        assert len(judge.asked) == calls
    assert not warnings


def test_remains_beside_the_file_do_no_harm(tmp_path: Path, warnings: list[str]) -> None:
    filled(tmp_path, 20)
    (tmp_path / f"{cache.FILE}-wal").write_bytes(b"remains" * 5000)
    (tmp_path / f"{cache.FILE}-shm").write_bytes(b"remains" * 5000)
    with opened(ScriptedJudge(last_digit), tmp_path) as asked:
        assert values(asked.run([question("old 7"), question("new 5")])) == [0.9, 0.5]
    assert not warnings


def test_no_byte_that_changed_raises(tmp_path: Path, warnings: list[str]) -> None:
    good = filled(tmp_path / "good", 60).read_bytes()
    luck = random.Random(7)
    for number in range(40):
        spoilt = bytearray(good)
        for _ in range(luck.choice([1, 5, 200])):
            spoilt[luck.randrange(len(spoilt))] = luck.randrange(256)
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / cache.FILE).write_bytes(spoilt)
        warnings.clear()
        with opened(ScriptedJudge(last_digit), folder) as asked:
            verdicts = asked.run([*questions(20), *(question(f"old {k}") for k in range(60))])
        assert None not in values(verdicts)
        assert values(verdicts)[:20] == [k % 10 / 10 for k in range(20)]
        assert len(warnings) <= 1
        with contextlib.suppress(CacheError):
            list(read_answers(folder))


# ---- a locked file

LOCKED_FOR = 0.4


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program holds a write lock on the file and never releases it."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


@pytest.mark.parametrize("wal", [True, False])
def test_a_file_locked_from_the_start_is_waited_for_once(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch, wal: bool
) -> None:
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LOCKED_FOR)
    path = filled(tmp_path, 5)
    if not wal:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == ("delete",)
    with held(path):
        runs_without(tmp_path, warnings)


def test_a_file_locked_later_is_waited_for_once(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LOCKED_FOR)
    filled(tmp_path, 5)
    judge = ScriptedJudge(last_digit, pause=0.005)
    with opened(judge, tmp_path, concurrency=16) as asked:
        assert values(asked.run([question("old 1")])) == [0.9]
        with held(tmp_path / cache.FILE), waited_for_once():
            assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
            assert values(asked.run([question("old 2")])) == [0.9], "it can still be read"
    assert len(judge.asked) == 40
    assert len(warnings) == 1
    assert str(tmp_path / cache.FILE) in warnings[0]


def test_a_file_locked_for_a_moment_is_waited_for(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LONGEST)
    filled(tmp_path, 5)
    with opened(ScriptedJudge(last_digit), tmp_path) as asked, ThreadPoolExecutor(1) as pool:
        with held(tmp_path / cache.FILE):
            run = pool.submit(asked.run, questions(10))
            time.sleep(0.5)
        assert values(run.result(LONGEST)) == [k / 10 for k in range(10)]
    assert len(stored(tmp_path)) == 15
    assert not warnings


def test_a_file_locked_for_a_moment_costs_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    """Waiting for the file must not make calls in progress exceed their time limit."""
    pauses = in_turn(*(ServerReply("Score: 0.5", delay=tenths / 10) for tenths in (0, 1, 2, 3, 4)))
    server = serve(pauses)
    monkeypatch.setenv("LMMS_RPTS_TIMEOUT", "2")
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LONGEST)
    filled(tmp_path, 5)
    with (
        open_engine("openai:m", concurrency=4, progress=False, cache_dir=tmp_path) as asked,
        ThreadPoolExecutor(1) as pool,
    ):
        asked.run([question("the file is open")])
        with held(tmp_path / cache.FILE):
            run = pool.submit(asked.run, questions(12))
            time.sleep(2.5)
        assert None not in values(run.result(LONGEST))
    assert len(stored(tmp_path)) == 5 + 1 + 12
    assert server.calls == asked.budget.calls == 1 + 12


def test_closing_does_not_wait_for_a_locked_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            if len(self.asked) >= 10:  # the engine is closed before this ends
                await asyncio.sleep(LONGEST)
            return await super().ask(request)

    monkeypatch.setattr(cache_file, "LOCKED_FOR", LOCKED_FOR)
    with waited_for_once(), held(filled(tmp_path, 5)), ThreadPoolExecutor(1) as pool:
        asked = opened(Slow(last_digit), tmp_path)
        run = pool.submit(asked.run, questions(40))
        time.sleep(LOCKED_FOR / 2)
        asked.close()
        with pytest.raises(RuntimeError, match="closed"):
            run.result(LONGEST)


# ---- unwritable places


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    _mount("-t", "tmpfs", "-o", "size=1m", "none", str(place))
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("the command mount is not available")
    if done.returncode:
        pytest.skip(f"no disk can be mounted: {done.stderr.strip()}")


def fill_up(place: Path) -> None:
    """Fills the disk completely."""
    with contextlib.suppress(OSError), (place / "ballast").open("wb", buffering=0) as ballast:
        while ballast.write(b"\0" * 4096):
            pass


def test_a_disk_full_from_the_start(small_disk: Path, warnings: list[str]) -> None:
    fill_up(small_disk)
    runs_without(small_disk, warnings)


def test_a_disk_that_fills_up(small_disk: Path, warnings: list[str]) -> None:
    def long(text: str, call: int) -> str:
        return f"{'because ' * 4000}\nScore: 0.{text[-1]}"

    judge = ScriptedJudge(long)
    with opened(judge, small_disk) as asked:
        assert values(asked.run(questions(80))) == [k % 10 / 10 for k in range(80)]
    assert len(judge.asked) == 80
    assert len(warnings) == 1
    assert str(small_disk / cache.FILE) in warnings[0]
    assert "full" in warnings[0]
    kept = len(stored(small_disk))
    assert 5 < kept < 40
    again = ScriptedJudge(long)
    (small_disk / "ballast").unlink(missing_ok=True)
    with opened(again, small_disk) as asked:
        assert values(asked.run(questions(80))) == [k % 10 / 10 for k in range(80)]
    assert len(again.asked) == 80 - kept, "earlier answers are found"


def test_a_disk_that_is_full_later_can_still_be_read(small_disk: Path, warnings: list[str]) -> None:
    filled(small_disk, 50)
    judge = ScriptedJudge(lambda text, call: f"{'because ' * 4000}\nScore: 0.{text[-1]}")
    with opened(judge, small_disk) as asked:
        assert values(asked.run([question("old 0")])) == [0.9]
        fill_up(small_disk)
        assert values(asked.run(questions(20))) == [k % 10 / 10 for k in range(20)]
        assert values(asked.run([question(f"old {k}") for k in range(50)])) == [0.9] * 50
    assert len(judge.asked) == 20
    assert len(warnings) == 1


def test_a_disk_that_is_full_before_can_still_be_read(
    small_disk: Path, warnings: list[str]
) -> None:
    filled(small_disk, 50)
    fill_up(small_disk)
    judge = ScriptedJudge(last_digit)
    with opened(judge, small_disk) as asked:
        assert values(asked.run(questions(20))) == [k % 10 / 10 for k in range(20)]
        assert values(asked.run([question(f"old {k}") for k in range(50)])) == [0.9] * 50
    assert len(warnings) == 1
    assert len(judge.asked) == 20


def test_a_place_that_is_only_read(small_disk: Path, warnings: list[str]) -> None:
    _mount("-o", "remount,ro", str(small_disk))
    runs_without(small_disk, warnings)


def test_answers_in_a_place_that_is_only_read_are_found(
    small_disk: Path, warnings: list[str]
) -> None:
    filled(small_disk, 50)
    _mount("-o", "remount,ro", str(small_disk))
    judge = ScriptedJudge(last_digit)
    with opened(judge, small_disk) as asked:
        assert values(asked.run(questions(20))) == [k % 10 / 10 for k in range(20)]
        assert values(asked.run([question(f"old {k}") for k in range(50)])) == [0.9] * 50
    assert len(warnings) == 1
    assert len(judge.asked) == 20
    assert len(list(read_answers(small_disk))) == 50


# ---- hostile texts

HOSTILE = {
    "NUL": "before\x00after",
    "quotes": "'; DROP TABLE answers; -- \" ` \\",
    "a megabyte": "x" * 1_000_000,
    "controls": "".join(map(chr, range(32))) + "\x7f\x85\u2028",
    "languages": "结论0：看到 🙂 \u202e العربية e\u0301",
    "noncharacters": "\ufffe\uffff\U0010ffff",
    "a lone surrogate": "before\ud800after",
}


@table("name", *HOSTILE)
def test_hostile_texts_are_kept_and_found(tmp_path: Path, warnings: list[str], name: str) -> None:
    hostile = HOSTILE[name]
    requests = [
        question(hostile),
        question("a claim", evidence=(hostile,), claim=hostile),
        question("steps", kind="transform", prompt_version=hostile),
    ]
    judge = ScriptedJudge(lambda text, call: f"{hostile}\nScore: 0.{call}")
    with opened(judge, tmp_path, 1) as asked:
        first = asked.run(requests)
    again = ScriptedJudge(in_order("Score: 1"))
    with opened(again, tmp_path) as asked:
        second = asked.run(requests)
    assert not again.asked
    assert not warnings
    assert [(v.value, v.text) for v in second] == [(v.value, v.text) for v in first]
    answers = list(read_answers(tmp_path))
    assert {json.dumps(answer.messages) for answer in answers} == {
        json.dumps(list(request.messages)) for request in requests
    }


@table("name", "a\x00b", "'; --", "caf\udce9")
def test_hostile_names_of_judges_end_no_run(tmp_path: Path, warnings: list[str], name: str) -> None:
    warnings.clear()
    for _ in range(2):
        members = [Member(name, ScriptedJudge(last_digit))]
        with JudgeEngine(members, progress=False, cache_dir=tmp_path) as asked:
            assert values(asked.run(questions(3))) == [0.0, 0.1, 0.2]
    assert len(warnings) <= 2


@table("tokens", 2**63 - 1, 2**63, 10**40)
def test_servers_may_count_as_they_like(
    tmp_path: Path, warnings: list[str], serve: Serve, tokens: int
) -> None:
    warnings.clear()
    serve(lambda body: ServerReply("Score: 0.5", usage=(tokens, 5)))
    with open_engine("openai:m", progress=False, cache_dir=tmp_path) as asked:
        assert values(asked.run(questions(3))) == [0.5] * 3
    assert len(warnings) <= 1


# ---- reading and deleting answers


def test_answers_can_be_read(tmp_path: Path) -> None:
    judge = ScriptedJudge(
        lambda text, call: Reply(last_digit(text, call), Usage(10, 5, 2) if call else None)
    )
    before = time.time()
    with opened(judge, tmp_path, 1) as asked:
        asked.run([question(f"question {k}", prompt_version="7") for k in range(3)])
        answers = list(read_answers(tmp_path))  # also while the file is in use
    assert [answer.reply for answer in answers] == ["Score: 0.0", "Score: 0.1", "Score: 0.2"]
    assert [answer.messages[0]["content"] for answer in answers] == judge.texts
    assert {(each.judge, each.kind, each.prompt_version) for each in answers} == {
        ("test", "image", "7")
    }
    assert [answer.usage for answer in answers] == [None, Usage(10, 5, 2), Usage(10, 5, 2)]
    assert all(before <= answer.created <= time.time() for answer in answers)
    assert len({answer.key for answer in answers}) == 3


@table(
    "judge, age, left",
    (None, None, []),
    ("b", None, ["a old", "a new"]),
    ("nobody", None, ["a old", "b old", "a new", "b new"]),
    (None, 50, ["a new", "b new"]),
    ("a", 50, ["b old", "a new", "b new"]),
    ("' OR 1", None, ["a old", "b old", "a new", "b new"]),
)
def test_answers_can_be_removed(
    tmp_path: Path, judge: str | None, age: float | None, left: list[str]
) -> None:
    now = time.time()
    for name in ("a", "b"):
        member = Member(name, ScriptedJudge(lambda text, call: text))
        with JudgeEngine([member], progress=False, cache_dir=tmp_path) as asked:
            asked.run([question(f"{name} {each}", kind="answer") for each in ("old", "new")])
    with contextlib.closing(sqlite3.connect(tmp_path / cache.FILE)) as connection, connection:
        connection.execute("UPDATE answers SET created = ? WHERE reply LIKE '% old'", (now - 100,))
        connection.execute("UPDATE answers SET created = ? WHERE reply LIKE '% new'", (now,))
    removed = remove_answers(tmp_path, judge, None if age is None else now - age)
    assert removed == 4 - len(left)
    assert sorted(answer.reply for answer in read_answers(tmp_path)) == sorted(left)


def test_what_was_removed_is_gone_and_is_asked_again(tmp_path: Path) -> None:
    path = filled(tmp_path)
    size = path.stat().st_size
    assert remove_answers(tmp_path) == 400
    assert b"because" not in path.read_bytes()
    assert path.stat().st_size < size / 4
    judge = ScriptedJudge(last_digit)
    with opened(judge, tmp_path) as asked:
        assert values(asked.run([question("old 7")])) == [0.7]


def test_answers_can_be_removed_from_under_a_run(tmp_path: Path, warnings: list[str]) -> None:
    judge = ScriptedJudge(last_digit)
    with opened(judge, tmp_path) as asked:
        asked.run(questions(5))
        assert remove_answers(tmp_path) == 5
        assert values(asked.run(questions(8))) == [k / 10 for k in range(8)]
    assert len(judge.asked) == 8
    assert len(stored(tmp_path)) == 3
    assert not warnings


@table("look", lambda folder: list(read_answers(folder)), remove_answers)
@table("spoil", None, truncated, text, other_tables, a_directory, newer)
def test_a_file_that_can_not_be_read_is_named(
    tmp_path: Path, spoil: Callable[[Path], None] | None, look: Callable[[Path], object]
) -> None:
    if spoil:
        spoil(tmp_path)
    with pytest.raises(CacheError) as failure:
        look(tmp_path)
    assert str(tmp_path) in str(failure.value)
    assert spoil is not None or sorted(tmp_path.iterdir()) == [], "reading creates no file"


def test_the_next_run_is_said_to_repair_a_damaged_file(tmp_path: Path) -> None:
    text(tmp_path)
    with pytest.raises(DamagedError, match=r"The next run .* renames it"):
        list(read_answers(tmp_path))
    assert (tmp_path / cache.FILE).is_file(), "reading changes nothing"


def test_a_file_in_use_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``clear`` deletes an unreadable file, but never a healthy file that another process uses."""
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LOCKED_FOR)
    with held(filled(tmp_path, 5)):
        said = CliRunner().invoke(app, ["cache", "clear", "--yes", "--folder", str(tmp_path)])
    assert said.exit_code == 1
    assert "retry later" in said.output
    assert len(stored(tmp_path)) == 5


def test_looking_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_file, "LOCKED_FOR", LOCKED_FOR)
    with held(filled(tmp_path, 5)), pytest.raises(CacheError, match="locked"):
        remove_answers(tmp_path)


# ---- secrets


def quoting(body: Body) -> ServerReply:
    return ServerReply(f"Incorrect API key provided: {KEY}. Bearer {KEY} is no key.", status=401)


def refusing(body: Body) -> ServerReply:
    return ServerReply(f"Authorization: Bearer {KEY} is not allowed to ask this", status=400)


def declining(body: Body) -> ServerReply:
    return ServerReply(refusal=f"I can't do that with {KEY}")


def failing(body: Body) -> ServerReply:
    return ServerReply(f"no worker for {KEY}", status=503)


def repeating(body: Body) -> ServerReply:
    return ServerReply(f"You came with {KEY}.\nScore: 0.5")


def repeating_in_vain(body: Body) -> ServerReply:
    return ServerReply(f"You came with {KEY}, that's all.")


@table("answer", by_prompt(), quoting, refusing, declining, failing, repeating, repeating_in_vain)
def test_no_key_is_kept_or_said(
    tmp_path: Path,
    warnings: list[str],
    monkeypatch: pytest.MonkeyPatch,
    short_pauses: None,
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
    answer: Answer,
) -> None:
    warnings.clear()
    server = serve(answer)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with open_engine("openai:m", progress=True, cache_dir=tmp_path) as asked:
        verdicts = asked.run(questions(5))
        files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
        fatal = asked.fatal
    assert f"Bearer {KEY}" in server.headers[0]["authorization"]
    assert f"{cache.FILE}-wal" in files
    files |= {f"{path.name} at the end": path.read_bytes() for path in tmp_path.iterdir()}
    for name, content in files.items():
        assert KEY.encode() not in content, name
        assert b"bearer" not in content.lower(), name
    assert not _holding(KEY, verdicts)
    said = capfd.readouterr()
    assert KEY not in f"{fatal} {warnings} {said.out} {said.err}"


def test_an_address_with_a_password_is_refused_and_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:pass-word-123@127.0.0.1:9/v1")
    with pytest.raises(SettingError, match=r"OPENAI_BASE_URL.*password") as caught:
        open_engine("openai:m", progress=False, cache_dir=tmp_path)
    assert "pass-word-123" not in str(caught.value)


def _holding(secret: str, verdicts: list[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if secret in f"{verdict.text} {verdict.error}"]


# ---- closing


def test_closing_leaves_no_thread_and_one_file(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with opened(ScriptedJudge(last_digit), tmp_path) as asked:
        asked.run(questions(5))
    assert set(threading.enumerate()) <= before
    assert {path.name for path in tmp_path.iterdir()} == {cache.FILE, f"{cache.FILE}.lock"}


def test_a_judge_that_fails_to_close_leaves_the_file_closed(tmp_path: Path) -> None:
    class Uncloseable(ScriptedJudge):
        async def aclose(self) -> None:
            raise OSError("can't close")

    before = set(threading.enumerate())
    asked = opened(Uncloseable(last_digit), tmp_path)
    asked.run(questions(5))
    asked.close()
    assert set(threading.enumerate()) <= before
    assert {path.name for path in tmp_path.iterdir()} == {cache.FILE, f"{cache.FILE}.lock"}


def test_what_arrived_before_the_end_is_kept(tmp_path: Path) -> None:
    given: list[str] = []

    class Counting(ScriptedJudge):
        async def ask(self, request: JudgeRequest) -> Reply:
            if len(given) >= 100:  # the engine is closed before this ends
                await asyncio.sleep(LONGEST)
            reply = await super().ask(request)
            given.append(reply.text)
            return reply

    asked = opened(Counting(last_digit, pause=0.005), tmp_path)
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(asked.run, questions(500))
        wait_until(lambda: len(given) >= 50)
        asked.close()
        with pytest.raises(RuntimeError, match="closed"):
            run.result(LONGEST)
    assert 50 <= len(given) < 500
    assert sorted(stored(tmp_path)) == sorted(given)


@table("ends", "while it is used", "when it is closed")
def test_a_lock_that_ends_costs_no_answer(tmp_path: Path, ends: str) -> None:
    """Another connection once held a write transaction, and nothing was cached from then on."""
    cache = AnswerCache(tmp_path)

    def keep(key: str) -> None:
        request = JudgeRequest("image", [{"role": "user", "content": key}])
        cache.store(key, "openai:m", request, "Score: 1", None)

    keep("a")
    with contextlib.closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(cache_file, "LOCKED_FOR", 0.0)
            cache._disconnect()  # the timeout belongs to the connection
            keep("b")
            keep("c")
        other.execute("ROLLBACK")
    assert {answer.key for answer in read_answers(tmp_path)} == {"a"}
    if ends == "while it is used":
        cache._resume_at = 0.0  # half a minute later
        keep("d")
        assert {answer.key for answer in read_answers(tmp_path)} == {"a", "b", "c", "d"}
    cache.close()
    assert {answer.key for answer in read_answers(tmp_path)} >= {"a", "b", "c"}
