"""Cost, interruptions and failures of judges, with the real lmms-eval."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.judge_server import JudgeServer, Paused, ServerReply, by_prompt
from tests.support.lmms import Run, clean_environment, forked, run_lmms_eval
from tests.support.waiting import wait_until
from tests.test_end_to_end import KEY, replay, settings

pytestmark = pytest.mark.slow


def usage_of(run: Run) -> dict[str, Any]:
    (file,) = run.folder.rglob("*_results.json")
    usage: dict[str, Any] = json.loads(file.read_text())["usage"]
    return usage


@dataclass(frozen=True)
class First:
    """A run of two processes with an empty cache, and its calls."""

    run: Run
    server: JudgeServer
    calls: int
    cache: Path


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, gold: Path, subset: Path) -> Iterator[First]:
    folder = tmp_path_factory.mktemp("first")
    with JudgeServer(by_prompt()) as server:
        env = {"LMMS_RPTS_CACHE": str(folder / "cache"), "LMMS_RPTS_PRICE": "1000/2000"}
        run = replay(folder / "first", gold, server, subset, processes=2, **env)
        yield First(run, server, server.calls, folder / "cache")


def test_the_calls_of_all_processes_are_summed_up_and_none_is_made_twice(
    tmp_path: Path, gold: Path, subset: Path, first: First
) -> None:
    env = {"LMMS_RPTS_CACHE": str(first.cache), "LMMS_RPTS_PRICE": "1000/2000"}
    before = first.server.calls
    again = replay(tmp_path / "again", gold, first.server, subset, **env)
    assert first.server.calls == before, "an answer was requested twice"
    usage, calls = usage_of(first.run), first.calls
    assert "cost=" in first.run.output
    total = f"Judges in total: {calls:,} calls, {10 * calls:,} tokens in, {5 * calls:,} out; cost "
    assert total in first.run.output
    paid = usage["judges"]
    assert paid["calls"] == calls
    assert paid["cost"] == pytest.approx(calls * (10 * 1000 + 5 * 2000) / 1e6)
    free = usage_of(again)["judges"]
    assert (free["calls"], free["cost"]) == (0, 0)
    assert 0 < free["found"] <= calls
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        assert again.records(task) == first.run.records(task)
    assert_hidden(first.cache.parent, first.run)
    assert_hidden(tmp_path, again)


def test_a_budget_stops_the_calls_and_a_higher_one_goes_on(
    tmp_path: Path, gold: Path, subset: Path, first: First
) -> None:
    server, before, budget = first.server, first.server.calls, 15 * (first.calls // 2)
    env = {"LMMS_RPTS_CACHE": str(tmp_path / "cache")}
    limit = {"LMMS_RPTS_MAX_JUDGE_TOKENS": str(budget)}
    poor = replay(tmp_path / "poor", gold, server, subset, **env, **limit)
    assert 0 < 15 * (server.calls - before) <= budget
    rich = replay(tmp_path / "rich", gold, server, subset, **env)
    asked = [json.dumps(body, sort_keys=True) for body in server.requests[before:]]
    assert len(asked) == len({*asked}), "an answer was paid for twice"
    assert f"budget of {budget:,} (judge tokens)" in poor.output
    records = poor.records("rpts_eval_zh").values()
    assert any("budget" in record["reason"] for record in records if record["reason"])
    assert poor.results["rpts_eval"]["judge_coverage,none"] < 1
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        assert rich.records(task) == first.run.records(task)


def test_a_killed_run_goes_on_where_it_stopped(
    tmp_path: Path, gold: Path, subset: Path, first: First
) -> None:
    """lmms-eval caches the model's responses, and we cache the judge's answers."""
    arguments = [
        *("--model", "replay", "--model_args", f"samples={gold}"),
        *("--tasks", "rpts_eval_en", "--limit", "8", "--use_cache", str(tmp_path / "responses")),
    ]
    answer = Paused(by_prompt(), 10)
    with JudgeServer(answer) as server:
        env = settings(server, subset, LMMS_RPTS_CACHE=str(tmp_path / "cache"))
        env |= {"LMMS_RPTS_CONCURRENCY": "2"}
        env["LMMS_CACHE_RUN_ID"] = "night"  # else lmms-eval keeps no response of a killed run
        process = subprocess.Popen(
            forked([sys.executable, "-m", "lmms_eval", *arguments]),
            env=clean_environment() | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        wait_until(lambda: server.calls >= 8, process.poll)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        answer.resume()
        killed = server.calls
        done = run_lmms_eval(tmp_path / "done", *arguments, env=env)
        asked = {json.dumps(body) for body in server.requests}
    assert killed < server.calls <= len(asked) + 2, "only calls in progress may be lost"
    records, expected = done.records("rpts_eval_en"), first.run.records("rpts_eval_en")
    assert len(records) == 8
    assert records == {key: expected[key] for key in records}
    assert "8/8 cache hits" in done.output, "the model was asked again"


def test_a_key_that_the_server_repeats_is_nowhere(tmp_path: Path, gold: Path, subset: Path) -> None:
    refusal = ServerReply(f"Incorrect API key provided: {KEY}", status=401)
    with JudgeServer(lambda body: refusal) as server:
        done = replay(tmp_path / "out", gold, server, subset)
    assert "Incorrect API key provided" in done.output
    assert_hidden(tmp_path, done)


def assert_hidden(folder: Path, *runs: Run) -> None:
    """Checks that the key is in no output and in no file."""
    for run in runs:
        assert KEY not in run.output
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 3
    for path in files:
        content = path.read_bytes()
        assert KEY.encode() not in content, path
        assert b"Bearer" not in content, path
