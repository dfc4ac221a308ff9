"""``--use_cache`` of lmms-eval: what a second run finds, also after a killed run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.foreign_task import (
    SeeingJudge,
    records_of,
    response_to,
    settings,
    write_foreign_task,
)
from tests.support.judge_server import JudgeServer, Paused
from tests.support.lmms import clean_environment, forked, run_lmms_eval
from tests.support.waiting import wait_until


def test_a_second_run_generates_nothing(tmp_path: Path, tiny_llava: str) -> None:
    """``llava_hf`` removes ``until`` from its requests, and adds defaults."""
    task = write_foreign_task(tmp_path)
    arguments = [
        *("--model", "llava_hf", "--model_args", tiny_llava, "--limit", "2"),
        *("--tasks", "colours_rpts,rpts_demo", "--include_path", task.include_path),
        *("--gen_kwargs", "max_new_tokens=8", "--use_cache", str(tmp_path / "cache")),
    ]
    with SeeingJudge().server() as server:
        first, second = (
            run_lmms_eval(tmp_path / turn, *arguments, env=settings(server)) for turn in "ab"
        )
    assert "0 hits, 4 misses" in first.output, first.output
    assert "4 hits" in second.output, second.output
    assert "4 hits, 0 misses" in re.sub(r" from shared DB|, \d+ from shared DB", "", second.output)
    assert records_of(first) == records_of(second)
    assert first.records("rpts_demo") == second.records("rpts_demo")


def test_a_failed_request_is_sent_again(tmp_path: Path) -> None:
    """lmms-eval caches the failure as if it were a response."""
    task = write_foreign_task(tmp_path)
    texts = [response_to(doc) for doc in task.documents]
    arguments = [
        *("--model", "replay", "--model_args", f"samples={tmp_path / 'said.jsonl'}"),
        *("--tasks", "colours_rpts", "--include_path", task.include_path),
        *("--use_cache", str(tmp_path / "cache")),
    ]
    failed = ["[LMMS_EVAL_REQUEST_FAILED after 5 retries] busy", *texts[1:]]
    outcomes, said = [], []
    with SeeingJudge().server() as server:
        for turn, answers in enumerate((failed, texts)):
            task.responses(tmp_path / "said.jsonl", "colours_rpts", answers)
            done = run_lmms_eval(tmp_path / str(turn), *arguments, env=settings(server))
            outcomes.append([each["outcome"] for _, each in sorted(records_of(done).items())])
            said.append(done.output)
    assert outcomes == [["unscored", *["scored"] * 5], ["scored"] * 6], said
    assert "5/6 cache hits" in said[1], said[1]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_run_of_any_task_that_was_ended_goes_on(tmp_path: Path, ending: signal.Signals) -> None:
    """lmms-eval caches the model's responses, and we cache the judge's answers."""
    task = write_foreign_task(tmp_path)
    said = task.responses(tmp_path / "said.jsonl", "colours_rpts")
    arguments = [
        *("--model", "replay", "--model_args", f"samples={said}"),
        *("--tasks", "colours_rpts", "--include_path", task.include_path),
        *("--use_cache", str(tmp_path / "responses")),
    ]
    answer = Paused(SeeingJudge().answer, 8)
    with JudgeServer(answer) as server:
        env = settings(server, LMMS_RPTS_CACHE=str(tmp_path / "cache"), LMMS_RPTS_CONCURRENCY="2")
        process = subprocess.Popen(
            forked([sys.executable, "-m", "lmms_eval", *arguments]),
            env=clean_environment() | env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        wait_until(lambda: server.calls >= 6, process.poll)
        os.killpg(process.pid, ending)
        process.communicate()
        answer.resume()
        ended = server.calls
        resumed = run_lmms_eval(tmp_path / "resumed", *arguments, env=env)
        asked = server.calls - ended
        clean = run_lmms_eval(
            tmp_path / "clean", *arguments, env=env | {"LMMS_RPTS_CACHE": str(tmp_path / "none")}
        )
        whole = server.calls - ended - asked
    assert 0 < asked < whole
    assert whole <= ended + asked <= whole + 2, "only calls in progress may be lost"
    assert "6/6 cache hits" in resumed.output, "the model was asked again"
    assert records_of(resumed) == records_of(clean)
