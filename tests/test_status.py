"""The status of a run that is going on: written by real runs, shown by ``lmms-rpts view``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from tqdm import tqdm

from lmms_rpts.base import status
from lmms_rpts.base.status import STATUS, Status, followed
from tests.support import oracle
from tests.support.judge_server import JudgeServer
from tests.support.lmms import clean_environment, forked
from tests.support.waiting import LONGEST, wait_until

CAREFUL = Path(__file__).parents[1] / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
SECRET = "sk-verysecret12345678"


def statuses(folder: Path) -> list[Status]:
    return [Status.model_validate_json(each.read_bytes()) for each in folder.glob(f"{STATUS}*")]


def test_a_run_is_followed_killed_and_resumed(tmp_path: Path) -> None:
    """The judge answers 12 requests, then none until the run was killed."""
    out, asked, go_on = tmp_path / "out", count(), threading.Event()

    def answer(body: Any) -> str:
        if next(asked) >= 12:
            go_on.wait(LONGEST)
        return oracle.answer(body)

    words = ["--model", "replay", "--model_args", f"samples={CAREFUL}", "--tasks", "rpts_demo"]
    command = [sys.executable, "-m", "lmms_eval", *words, "--log_samples", "--output_path", out]

    def start(server: JudgeServer) -> subprocess.Popen[bytes]:
        mine = {"LMMS_RPTS_JUDGE": "openai:m", "LMMS_RPTS_CACHE": str(tmp_path / "a cache")}
        mine |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": SECRET}
        with (tmp_path / "log").open("w") as log:
            env = clean_environment() | mine | {"LMMS_RPTS_PRICE": "100/200"}
            return subprocess.Popen(
                forked(list(map(str, command))), env=env, stdout=log, stderr=log
            )

    with JudgeServer(answer) as server:
        process = start(server)
        wait_until(lambda: any(each.done >= 5 for each in statuses(out)), process.poll)
        (found,) = statuses(out)
        assert (found.stage, found.tasks, found.model) == ("Judging steps", "rpts_demo", "careful")
        assert 5 <= found.done < found.total
        assert f"LMMS_RPTS_CACHE='{tmp_path}/a cache' LMMS_RPTS_PRICE=100/200" in found.command
        assert found.coverage == 1
        assert 0 < found.calls <= 12  # type: ignore[operator]
        assert found.cost
        os.kill(found.pid, signal.SIGKILL)
        process.wait(LONGEST)
        go_on.set()
        calls = server.calls
        assert start(server).wait(LONGEST) == 0, (tmp_path / "log").read_text()
        assert server.calls - calls > 0
    assert statuses(out) == []
    assert not any(SECRET in each.read_text("utf-8") for each in out.iterdir())


def test_bars_warnings_and_errors_are_in_the_status_and_keys_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status, "INTERVAL", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", "ordinary-words")
    words = f"lmms-eval --model_args api_key={SECRET},base=x"

    @followed(tmp_path / "new", words, "m", "t")
    def fail() -> None:
        with tqdm(total=8, desc="Model Responding", file=sys.stderr) as bar:
            logger.warning("{} and ordinary-words were refused", SECRET)
            bar.update(3)
            wait_until(lambda: any(each.done == 3 for each in statuses(tmp_path / "new")))
            (found,) = statuses(tmp_path / "new")
            assert (found.stage, found.total, found.stopped) == ("Generating", 8, False)
            assert found.warning == "*** and *** were refused"
            raise ValueError(f"mine {SECRET}")

    with pytest.raises(ValueError, match="mine"):
        fail()
    (found,) = statuses(tmp_path / "new")
    assert (found.stopped, found.ended) == (True, "ValueError: mine ***")
    assert found.command == "lmms-eval --model_args api_key=***,base=x"
    with followed(tmp_path / "new", words, "m", "t"):  # it is resumed
        wait_until(lambda: not statuses(tmp_path / "new")[0].stopped)
    assert statuses(tmp_path / "new") == []


@pytest.mark.filterwarnings("error")  # of an exception in the thread
def test_a_folder_that_cannot_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with followed(tmp_path / "file" / "out", "", "", ""):
        pass
    assert (tmp_path / "file").read_bytes() == b""


def test_a_silent_or_remote_run_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(**given: Any) -> bool:
        own = {"command": "", "model": "", "tasks": "", "begun": 0, "time": 1000.0}
        return Status(**{**own, "host": "here", "pid": os.getpid(), **given}).stopped

    monkeypatch.setattr(status, "gethostname", lambda: "here")
    monkeypatch.setattr(status.time, "time", lambda: 1030.0)
    assert [stopped(), stopped(time=900.0), stopped(ended="x")] == [False, True, True]
    assert [stopped(pid=2**22 + 1), stopped(pid=2**22 + 1, host="other")] == [True, False]
    assert stopped(pid=2**62)
