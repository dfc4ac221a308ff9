"""Cache of answers: nothing is requested twice, and no file error ends a run."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
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

from lmms_rpts.base.settings import SettingError
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
    cache,
    client,
    open_engine,
)
from lmms_rpts.judging.cache import AnswerCache, CacheError, open_answers
from tests.judging.conftest import Serve
from tests.judging.questions import Said, ScriptedJudge, in_order, question, questions, values
from tests.support.environment import configure
from tests.support.judge_server import ServerReply, by_prompt
from tests.support.tables import table
from tests.support.waiting import LONGEST, wait_until

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
    with open_answers(tmp_path) as file:
        (row,) = map(dict, file.execute("SELECT * FROM answers").fetchall())
    assert row["request"] == '[{"role": "user", "content": "q"}]', "no reminder"
    assert (row["reply"], row["input_tokens"], row["output_tokens"]) == ("Score: 0.4", 4, 6)


def test_judges_that_cost_nothing_leave_no_answers(tmp_path: Path) -> None:
    with open_engine("lexical", progress=False, cache_dir=tmp_path / "new") as asked:
        asked.run([question("q", evidence=("a",), claim="a")])
    assert not (tmp_path / "new").exists()
    dear, free = (ScriptedJudge(in_order(f"Score: {score}")) for score in (0.1, 0.3))
    members = [Member("dear", dear), Member("free", free, kept=False)]
    with JudgeEngine(members, progress=False, cache_dir=tmp_path) as asked:
        assert values(asked.run([question("q")])) == [pytest.approx(0.2)]
    assert stored(tmp_path) == ["Score: 0.1"]


# ---- cache keys

BASE = question("q", evidence=("a",), claim="b", prompt_version="1")
OTHERS: dict[str, Any] = {
    "kind": "inference",
    "sample": 1,
    "evidence": ("c",),
    "claim": "c",
    "messages": [{"role": "user", "content": "q "}],
}


def test_what_differs_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    server = serve(by_prompt())

    def calls(request: JudgeRequest = BASE, judge: str = "openai:m") -> int:
        before = server.calls
        for _ in range(2):
            with open_engine(judge, progress=False, cache_dir=tmp_path) as asked:
                assert asked.run([request])[0].error is None
        return server.calls - before

    assert calls() == 1
    for name, value in OTHERS.items():
        assert calls(replace(BASE, **{name: value})) == 1, name
    assert calls(replace(BASE, messages=[{"role": "system", "content": "q"}])) == 1
    assert calls(replace(BASE, messages=[*BASE.messages, *BASE.messages])) == 1
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
    judge = Known(in_order("Score: 0.1"))
    with opened(judge, tmp_path) as asked:
        assert values(asked.run([BASE])) == [0.7]
    assert not judge.asked


# ---- unusable files


def filled(folder: Path, count: int = 400) -> Path:
    """A file with answers to other questions."""
    with opened(
        ScriptedJudge(lambda text, call: f"{'because ' * 30}\nScore: 0.9"), folder
    ) as asked:
        asked.run([question(f"old {number}") for number in range(count)])
    return folder / cache.FILE


def text(folder: Path) -> None:
    (folder / cache.FILE).write_text("These are not the answers.\n" * 500)


def a_directory(folder: Path) -> None:
    (folder / cache.FILE).mkdir()


def newer(folder: Path) -> None:
    path = filled(folder, 5)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {cache.VERSION + 1}")
        connection.commit()


def a_file_for_a_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("in the way")


def runs_without(folder: Path, warnings: list[str]) -> ScriptedJudge:
    """Runs without the file: all verdicts come from the judge, after a single warning."""
    judge = ScriptedJudge(last_digit, pause=0.005)
    with opened(judge, folder) as asked:
        for _ in range(2):
            assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert values(asked.run([question("late 5")])) == [0.5]
    assert len(judge.asked) == 41
    assert len(warnings) == 1, warnings
    assert str(folder / cache.FILE) in warnings[0]
    assert "LMMS_RPTS_CACHE" in warnings[0]
    assert not folder.is_dir() or not damaged(folder), "no damage: the file stays"
    return judge


@table("spoil", a_directory, newer, a_file_for_a_folder)
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


def overwritten(folder: Path) -> None:
    """All pages but the first are zeros: the damage is found by the first look at the table."""
    path = filled(folder)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(bytes(path.stat().st_size - 4096))


@table("spoil", text, overwritten)
def test_a_damaged_file_is_renamed_and_a_new_one_begun(
    tmp_path: Path, warnings: list[str], spoil: Callable[[Path], None]
) -> None:
    warnings.clear()
    folder = tmp_path / spoil.__name__
    folder.mkdir()
    spoil(folder)
    size = (folder / cache.FILE).stat().st_size
    said = r"The next run .* renames it"
    with pytest.raises(cache.DamagedError, match=said), open_answers(folder) as file:
        file.execute("SELECT * FROM answers").fetchall()
    for calls in (40, 0):
        judge = ScriptedJudge(last_digit)
        with opened(judge, folder) as asked:
            assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
        assert len(judge.asked) == calls
    (aside,) = damaged(folder)
    assert aside.stat().st_size == size
    assert len(warnings) == 1
    assert str(aside) in warnings[0]


def test_two_that_find_the_damage_rename_one_file(tmp_path: Path, warnings: list[str]) -> None:
    filled(tmp_path, 1)
    first, second = AnswerCache(tmp_path), AnswerCache(tmp_path)
    assert second.find("any") is None  # it has opened the file
    text(tmp_path)
    for key, each in (("a", first), ("b", second)):
        each.store(key, "test", question("q"), f"Score: 0.{key}", None)
    for each in (first, second):
        each.close()
    assert len(damaged(tmp_path)) == len(warnings) == 1
    assert stored(tmp_path) == ["Score: 0.a", "Score: 0.b"]


def test_a_file_that_was_deleted_is_begun_again(tmp_path: Path, warnings: list[str]) -> None:
    path = filled(tmp_path, 5)
    answers = cache.AnswerCache(tmp_path)
    assert answers.reserve("new")
    path.unlink()
    answers.store("new", "test", question("q"), "Score: 0.5", None)
    answers.close()
    assert stored(tmp_path) == ["Score: 0.5"]
    assert not warnings


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


def test_a_file_locked_later_is_waited_for_once(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCKED_FOR", LOCKED_FOR)
    filled(tmp_path, 5)
    judge = ScriptedJudge(last_digit, pause=0.005)
    with opened(judge, tmp_path, concurrency=16) as asked:
        assert values(asked.run([question("old 1")])) == [0.9]
        with held(tmp_path / cache.FILE):
            assert values(asked.run(questions(40))) == [k % 10 / 10 for k in range(40)]
            assert values(asked.run([question("old 2")])) == [0.9], "it can still be read"
    assert len(judge.asked) == 40
    assert len(warnings) == 1
    assert str(tmp_path / cache.FILE) in warnings[0]


def test_a_file_locked_for_a_moment_is_waited_for(
    tmp_path: Path, warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LOCKED_FOR", LONGEST)
    filled(tmp_path, 5)
    with opened(ScriptedJudge(last_digit), tmp_path) as asked, ThreadPoolExecutor(1) as pool:
        with held(tmp_path / cache.FILE):
            run = pool.submit(asked.run, questions(10))
            time.sleep(0.5)
        assert values(run.result(LONGEST)) == [k / 10 for k in range(10)]
    assert len(stored(tmp_path)) == 15
    assert not warnings


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


# ---- the file of ``lmms-rpts cache``


@table("spoil", None, text, a_directory, newer)
def test_a_file_that_can_not_be_read_is_named(
    tmp_path: Path, spoil: Callable[[Path], None] | None
) -> None:
    if spoil:
        spoil(tmp_path)
    with pytest.raises(CacheError) as failure, open_answers(tmp_path):
        pass
    assert str(tmp_path) in str(failure.value)
    assert spoil is not None or sorted(tmp_path.iterdir()) == [], "reading creates no file"


def test_a_file_in_use_is_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``clear`` deletes an unreadable file, but never a healthy file that another process uses."""
    monkeypatch.setattr(cache, "LOCKED_FOR", LOCKED_FOR)
    with held(filled(tmp_path, 5)):
        said = CliRunner().invoke(app, ["cache", "clear", "--yes", "--folder", str(tmp_path)])
    assert said.exit_code == 1
    assert "retry later" in said.output
    assert len(stored(tmp_path)) == 5


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
def test_no_key_is_kept_or_said(
    tmp_path: Path,
    warnings: list[str],
    monkeypatch: pytest.MonkeyPatch,
    short_pauses: None,
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
    reply: ServerReply,
) -> None:
    warnings.clear()
    server = serve(lambda body: reply)
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
    said = capfd.readouterr()
    assert KEY not in f"{verdicts} {fatal} {warnings} {said.out} {said.err}"


def test_an_address_with_a_password_is_refused_and_not_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:pass-word-123@127.0.0.1:9/v1")
    with pytest.raises(SettingError, match=r"OPENAI_BASE_URL.*password") as caught:
        open_engine("openai:m", progress=False, cache_dir=tmp_path)
    assert "pass-word-123" not in str(caught.value)


# ---- closing


def test_closing_leaves_no_thread_and_one_file(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with opened(ScriptedJudge(last_digit), tmp_path) as asked:
        asked.run(questions(5))
    assert set(threading.enumerate()) <= before
    assert {path.name for path in tmp_path.iterdir()} == {cache.FILE}


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
def test_a_lock_that_ends_costs_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Another connection once held a write transaction, and nothing was cached from then on."""
    monkeypatch.setattr(cache, "LOCKED_FOR", 0.0)
    answers = AnswerCache(tmp_path)

    def keep(text: str) -> None:
        answers.store(text, "openai:m", question(text), text, None)

    keep("a")
    with contextlib.closing(sqlite3.connect(answers.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        keep("b")
        keep("c")
        other.execute("ROLLBACK")
    assert stored(tmp_path) == ["a"]
    if ends == "while it is used":
        keep("d")
        assert stored(tmp_path) == ["a", "b", "c", "d"]
    answers.close()
    assert stored(tmp_path)[:3] == ["a", "b", "c"]
