"""Batches: the state on disk, results of all kinds, and a server's Batch API with its faults."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from typer.testing import CliRunner

from lmms_rpts.base.settings import load_settings, options_given
from lmms_rpts.commands.cache import app
from lmms_rpts.commands.doctor.judge import check_judges
from lmms_rpts.judging import Budget, Verdict, open_engine
from lmms_rpts.judging.backends import batch
from lmms_rpts.judging.batches import BatchStore, split
from tests.judging.questions import question
from tests.support.batch_server import BatchJudgeServer, Fate, Line, answered, by_vllm, expired
from tests.support.judge_server import Answer, Body, ServerReply, by_prompt, one_token
from tests.support.waiting import LONGEST

QUESTIONS = [question(f"Question {at}?") for at in range(8)]
Start = Callable[..., BatchJudgeServer]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_pauses: None) -> Path:
    """A cache, and a client that waits for nothing."""
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-0123456789")
    quicken()
    return tmp_path / "cache"


def quicken() -> None:
    batch.QUIET, batch.FIRST_LOOK, batch.LONGEST_LOOK = 0.1, 0.005, 0.01


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Iterator[Start]:
    """Starts a server, to which the environment points."""
    servers = []

    def serve(answer: Answer | None = None, **how: Any) -> BatchJudgeServer:
        server = BatchJudgeServer(answer, **how)
        server.__enter__()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    yield serve
    for server in servers:
        server.__exit__(None, None, None)


def fates(*each: Fate) -> Callable[[int], Fate]:
    """The fates of the first batches; later ones have a good one."""
    return lambda number: each[number] if number < len(each) else Fate()


def ask(
    cache: Path, judge: str = "openai-batch:m", asked: list[Any] = QUESTIONS, **options: Any
) -> list[Verdict]:
    with open_engine(judge, cache_dir=cache, progress=False, **options) as engine:
        return engine.run(asked)


def scores(verdicts: list[Verdict]) -> list[Any]:
    return [each.value for each in verdicts]


def directly(cache: Path) -> list[Any]:
    """The scores of the ordinary judge, with another cache."""
    return scores(ask(cache.with_name("other"), "openai:m"))


def test_replies_are_those_of_the_judge_itself(
    start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_PRICE", "10/10")
    server = start()
    budget = Budget()
    by_batch = ask(cache, budget=budget)
    assert len(server.batches) == 1
    assert sorted(server.answered.values()) == [1] * 8
    assert (budget.calls, budget.usage.tokens) == (8, 8 * 15)
    assert budget.cost == pytest.approx(8 * 15 * 10 / 1e6 / 2), "half the price"
    again = ask(cache, "openai:m")
    assert scores(by_batch) == scores(again) == directly(cache)
    assert all(each.cached for each in again)
    # The other way round: nothing is sent.
    assert all(each.cached for each in ask(cache.with_name("other")))
    assert len(server.batches) == 1


def odd_lines(done: list[Line]) -> list[str]:
    """A line twice, unknown ids, and damaged JSON."""
    unknown = ('{"custom_id": "x", "response": {}}', r'{"custom_id": "\ud800", "response": {}}')
    return [json.dumps(done[0]), *unknown, "{nul]"]


@pytest.mark.parametrize(
    "fate",
    [
        Fate("expired", answered=3),
        Fate("expired", answered=0),
        Fate("cancelled", answered=5, reported=False),
        Fate(answered=4),
        Fate(looks=9),
        Fate(more=odd_lines),
    ],
)
def test_what_a_batch_left_open_is_sent_again(start: Start, cache: Path, fate: Fate) -> None:
    server = start(fate=fates(fate))
    assert scores(ask(cache)) == directly(cache)
    assert sorted(server.answered.values()) == [1] * 8


def test_a_request_that_no_batch_answers_is_an_error(start: Start, cache: Path) -> None:
    server = start(fate=lambda number: Fate("expired", answered=0))
    verdicts = ask(cache, asked=QUESTIONS[:2])
    assert "not executed in the completion window" in str(verdicts[0].error)
    sent = Counter(line for each in server.batches for line in ids(server, each.file))
    assert set(sent.values()) == {3}


def ids(server: BatchJudgeServer, file: str) -> list[str]:
    return [json.loads(line)["custom_id"] for line in server.files[file][1].splitlines()]


def test_a_model_with_other_options_is_asked_in_its_form(start: Start, cache: Path) -> None:
    def answer(body: Body) -> str | ServerReply:
        if "max_tokens" in body:
            return ServerReply("max_tokens is not supported: use max_completion_tokens", 400)
        return by_prompt()(body) if "Question 1" not in str(body) else ServerReply("busy", 503)

    start(answer)
    verdicts = ask(cache)
    assert [each.error is None for each in verdicts] == [True, False, *[True] * 6]
    assert "busy" in str(verdicts[1].error)


@pytest.mark.parametrize(
    ("call", "reply", "message"),
    [
        ("upload", ServerReply("Bad key sk-secret-0123456789", 401), "(401): Bad key *"),
        ("create", ServerReply("No credit", 402), "(402): No credit"),
        ("create", ServerReply("no such path", 404), "(404): no such path"),
    ],
)
def test_errors_for_good_stop_the_run(
    start: Start, cache: Path, call: str, reply: ServerReply, message: str
) -> None:
    start(event=lambda name: reply if name == call else None)
    verdicts = ask(cache)
    assert all(message in str(each.error) for each in verdicts)


def test_a_refused_batch_is_an_error_and_sent_again_by_the_next_run(
    start: Start, cache: Path
) -> None:
    server = start(fate=fates(Fate("failed", errors=("line 3: too long", "line 5: too long"))))
    assert {each.error for each in ask(cache)} == {
        "the server refused the batch batch_0: line 3: too long; line 5: too long"
    }
    assert scores(ask(cache)) == directly(cache)
    assert len(server.batches) == 2


@pytest.mark.parametrize("call", ["upload", "create", "look", "content"])
@pytest.mark.parametrize("lost", ["", ":done"])
def test_a_call_whose_answer_is_lost_is_repeated(
    start: Start, cache: Path, call: str, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = ServerReply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{")
    left = [ServerReply(raw=b""), ServerReply("overloaded", 503), half]

    def event(name: str) -> ServerReply | None:
        return left.pop() if name == call + lost and left else None

    server = start(event=event)
    assert scores(ask(cache)) == directly(cache)
    assert len(left) < 3
    assert sorted(server.answered.values()) == [1] * 8
    assert len(server.batches) == 1


def test_lines_of_results_end_at_line_breaks_only(start: Start, cache: Path) -> None:
    server = start(lambda body: "Sound:\u2028as stated.\x85\nScore: 1")
    assert scores(ask(cache)) == [1.0] * 8
    assert len(server.batches) == 1


def test_results_that_came_before_the_end_are_kept(start: Start, cache: Path) -> None:
    """The run is ended between the first file of results and the second."""
    contents, second, working = [0], threading.Event(), threading.Event()

    def event(name: str) -> ServerReply | None:
        contents[0] += name == "content"
        if name != "content" or contents[0] == 1 or working.is_set():
            return None
        second.set()
        return ServerReply("overloaded", 503)

    server = start(event=event, fate=fates(Fate(answered=6)))
    with open_engine("openai-batch:m", cache_dir=cache, progress=False) as engine:
        end = threading.Thread(target=lambda: second.wait(LONGEST) and engine.close())
        end.start()
        with pytest.raises(RuntimeError, match="closed"):
            engine.run(QUESTIONS)
        end.join()
    working.set()
    assert scores(ask(cache)) == directly(cache)
    assert sorted(server.answered.values()) == [1] * 8


def test_a_full_disk_ends_the_run(
    start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    start()
    monkeypatch.setattr(batch, "split", full)
    assert all("No space left" in str(each.error) for each in ask(cache))


def test_no_key_is_logged(start: Start, cache: Path) -> None:
    said: list[str] = []
    sink = logger.add(said.append, level="INFO")
    start(lambda body: ServerReply("Bad key sk-secret-0123456789", 400))
    ask(cache)
    logger.remove(sink)
    assert "Bad key" in "".join(said)
    assert "sk-secret" not in "".join(said)


def test_without_a_cache_of_replies(start: Start, cache: Path) -> None:
    start()
    with open_engine("openai-batch:m", progress=False) as engine:
        assert scores(engine.run(QUESTIONS)) == directly(cache)


def test_files_keep_the_limits(start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = start()
    with options_given(batch_requests=3):
        ask(cache)
    assert sorted(len(ids(server, each.file)) for each in server.batches) == [2, 3, 3]


def test_bytes_of_a_file_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lmms_rpts.judging.batches.MOST_BYTES", 250)
    line = b'{"custom_id": "%064d", "method": 1}\n'
    source = tmp_path / "all.jsonl"
    source.write_bytes(b"".join(line % at for at in range(5)))
    files = split(source, tmp_path / "r.jsonl", 9)
    assert [path.name for path in files] == ["r.jsonl", "r-2.jsonl", "r-3.jsonl"]
    assert b"".join(path.read_bytes() for path in files) == source.read_bytes()


def test_a_budget_bounds_a_batch(start: Start, cache: Path) -> None:
    server = start()
    verdicts = ask(cache, budget=Budget(max_tokens=300))
    sent = len(ids(server, "file-0"))
    assert 0 < sent < 8
    assert [each.error is None for each in verdicts] == [True] * sent + [False] * (8 - sent)


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        (None, "ok"),
        (ServerReply("no such path", 404), "problem"),
        (ServerReply(body="<html>", headers={"Content-Type": "text/html"}), "problem"),
    ],
)
def test_doctor_says_whether_a_server_takes_batches(
    start: Start, cache: Path, reply: ServerReply | None, state: str
) -> None:
    server = start(event=lambda name: reply)
    found = check_judges(load_settings(judge="openai-batch:m"))
    assert {each.name: each.state for each in found} == {
        "judge openai:m: batches": state,
        "judge openai:m": "ok",
    }
    assert server.calls == 2, "the questions are asked directly"
    assert not server.batches


# --- files -------------------------------------------------------------------------------------


def in_round(cache: Path, folder: Path, asked: list[Any] = QUESTIONS, **options: Any) -> Any:
    """The verdicts of a run that writes its requests to files, and these."""
    folder.mkdir()
    with options_given(requests=folder):
        verdicts = ask(cache, "openai:m", asked, **options)
    return verdicts, [json.loads(line) for file in folder.iterdir() for line in file.open()]


def take(cache: Path, results: list[Line | str]) -> Counter[str]:
    store = BatchStore(cache)
    lines = [each if isinstance(each, str) else json.dumps(each) for each in results]
    counts = store.take([line.encode() for line in lines])
    store.close()
    return counts


def reply(line: Line, status: int = 200, text: str = "") -> ServerReply:
    return ServerReply(text or str(by_prompt()(line["body"])), status)


def test_a_file_of_requests_and_its_results(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    verdicts, lines = in_round(cache, tmp_path / "1")
    assert all(each.waiting and "not answered yet" in str(each.error) for each in verdicts)
    assert [*lines[0]] == ["custom_id", "method", "url", "body"]
    assert {len(line["custom_id"]) for line in lines} == {64}
    first, second, third, fourth, fifth, sixth, *rest = every = lines
    assert take(cache, [lines[0]]) == {"request": 1}
    assert take(
        cache,
        [
            answered(second, reply(second)),
            by_vllm(first, reply(first)),
            expired(third),
            by_vllm(fourth, reply(fourth, 400, "over the maximum context length")),
            by_vllm(fifth, reply(fifth, 500, "out of memory")),
            answered({**sixth, "body": {"model": "other"}}, reply(sixth)),
            answered({**sixth, "custom_id": "unknown"}, reply(sixth)),
            answered(second, reply(second)),
            '{"custom_id": ',
            "",
        ],
    ) == {
        "answered": 3,
        "failed: not executed in the completion window": 1,
        "failed: out of memory": 1,
        "refused: over the maximum context length": 1,
        "model: other": 1,
        "unknown": 1,
        "known": 1,
        "damaged": 1,
    }
    # The next rounds have what failed or expired; what was refused is an error.
    for folder in ("2", "3"):
        verdicts, lines = in_round(cache, tmp_path / folder)
        done = [line in (first, second, sixth) for line in every]
        assert [each.value is not None for each in verdicts] == done
        assert "over the maximum context length" in str(verdicts[3].error)
        assert sorted(map(str, lines)) == sorted(map(str, [third, fifth, *rest]))
    results = [answered(line, reply(line)) for line in lines]
    assert take(cache, results) == {"answered": 4}
    verdicts, lines = in_round(cache, tmp_path / "4")
    assert lines == []
    assert [each.value is not None for each in verdicts] == [line is not fourth for line in every]
    assert take(cache, results) == {"known": 4}


def test_results_serve_the_ordinary_judge(start: Start, cache: Path, tmp_path: Path) -> None:
    """Once each, and if they have a reply; the server is asked about the others."""
    server = start()
    _, (first, second, third, *rest) = in_round(cache, tmp_path / "1")
    results = [answered(line, reply(line)) for line in rest]
    results += [answered(first, reply(first, 400, "refused")), expired(second)]
    results.append(answered(third, ServerReply(body={"choices": []})))
    take(cache, results)
    assert scores(ask(cache, "openai:m")) == directly(cache)
    assert server.calls == 3 + 8
    assert all(each.cached for each in ask(cache, "openai:m"))


def test_results_for_batches_under_way_can_still_come(cache: Path, tmp_path: Path) -> None:
    """``cache clear`` deletes no state of what was sent."""
    _, lines = in_round(cache, tmp_path / "1")
    take(cache, [expired(line) for line in lines])
    with closing(BatchStore(cache)) as store:
        store.begin([line["custom_id"] for line in lines[1:]], "token batch_0")
    done = CliRunner().invoke(app, ["clear", "--yes", "--folder", str(cache)])
    assert done.exit_code == 0, done.output
    assert take(cache, [answered(line, reply(line)) for line in lines]) == {
        "answered": 7,
        "unknown": 1,
    }


def test_probabilities_by_files(cache: Path, tmp_path: Path) -> None:
    asked = [question(f"q{at}", scoring="yes") for at in range(3)]
    _, lines = in_round(cache, tmp_path / "1", asked)
    assert {(line["body"]["max_tokens"], line["body"]["top_logprobs"]) for line in lines} == {
        (1, 20)
    }
    sure, off = one_token({"Yes": 0.6, "No": 0.2}), one_token({"The": 0.9})
    replies = [off if "q1" in str(line["body"]) else sure for line in lines]
    results = [by_vllm(line, each) for line, each in zip(lines, replies, strict=True)]
    assert take(cache, results[::-1]) == {"answered": 3}
    verdicts, lines = in_round(cache, tmp_path / "2", asked)
    assert scores(verdicts) == [pytest.approx(0.75), None, pytest.approx(0.75)]
    assert "off format" in str(verdicts[1].error)
    assert lines == []


# --- kills -------------------------------------------------------------------------------------


def in_process(cache: Path, environment: dict[str, str], name: str) -> None:
    os.environ |= environment
    quicken()
    ask(cache, asked=named(name))


def named(name: str) -> list[Any]:
    return [question(f"{name}: question {at}?") for at in range(3)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_nothing_is_sent_or_counted_twice_after_20_kills(
    start: Start, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills a process at each call to the server, before and after its effect; then the next."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["openai.resources.files", "openai.resources.batches", __name__])
    left, kills = [0], 0
    started, ended = threading.Event(), threading.Event()
    children: list[Any] = []

    def event(name: str) -> None:
        left[0] -= 1
        if left[0] == -1 and children:
            assert started.wait(LONGEST)
            children[-1].kill()
            assert ended.wait(LONGEST)  # only one thread can read its exit code

    server = start(event=event)
    variables = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "LMMS_RPTS_CACHE", "NO_PROXY")
    environment = {name: os.environ[name] for name in variables}
    # A batch takes ten: upload, create, look and two contents; after 8 of them, all is there.
    plans = [*((point, point % 4) for point in range(8)), (8,), (9,), (3, 2)]
    for number, plan in enumerate(plans):
        for left[0] in plan:
            started.clear()
            ended.clear()
            child = context.Process(target=in_process, args=(cache, environment, f"{number}"))
            children.append(child)
            child.start()
            started.set()
            child.join(LONGEST)
            ended.set()
            server.settle()  # the call of the killed one has ended, too
            kills += child.exitcode == -signal.SIGKILL
        children.clear()
        assert None not in scores(ask(cache, asked=named(f"{number}")))
    assert kills == 20
    assert sorted(server.answered.values()) == [1] * 33
    assert len([file for file in server.files if file.startswith("file-")]) == 11
    with sqlite3.connect(cache / "answers.sqlite") as file:
        assert file.execute("SELECT COUNT(*), SUM(output_tokens) FROM answers").fetchone() == (
            33,
            165,
        )
        assert file.execute("SELECT COUNT(*) FROM requests").fetchone() == (0,)
