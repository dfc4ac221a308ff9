"""The fork server of the tests: its runs are those of fresh processes, and it is left by none."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import lmms, oracle
from tests.support.fork_client import AVAILABLE, ROOT
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, clean_environment, run, run_lmms_eval
from tests.support.runs import make_record, write_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="the fork server needs Linux"),
]

LMMS_EVAL = [sys.executable, "-m", "lmms_eval"]
COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
CAREFUL = ROOT / "lmms_rpts" / "demo" / "responses" / "careful.jsonl"
DEMO = ["--model", "replay", "--model_args", f"samples={CAREFUL}", "--tasks", "rpts_demo"]
REPLAY = [*LMMS_EVAL, *DEMO]
# What differs between two runs of the same: dates, times, speeds, folders.
DIFFERS = re.compile(r"\x1b\[\d+m|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}_\d{6}|in [\d.]+s")


def plain(text: str, *names: str) -> list[str]:
    """The lines of an output that two runs share; ``names`` are replaced."""
    for name in names:
        text = text.replace(name, "NAME")
    # Bars: they tell speeds.
    return [DIFFERS.sub("", line) for line in text.splitlines() if "it/s" not in line]


def results(of: Run) -> str:
    """All that a results file says, but for dates, times, folders and addresses."""
    (file,) = of.folder.rglob("*_results.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    for name in ("date", "start_time", "end_time", "total_evaluation_time_seconds"):
        del content[name]
    text = json.dumps(content, sort_keys=True).replace(str(of.folder), "FOLDER")
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def test_a_run_gives_what_a_fresh_process_gives(tmp_path: Path) -> None:
    forked, fresh = (
        run_lmms_eval(tmp_path / name, *DEMO, cold=name == "fresh") for name in ("forked", "fresh")
    )
    assert (forked.code, fresh.code) == (0, 0)
    assert forked.samples("rpts_demo") == fresh.samples("rpts_demo")
    assert results(forked) == results(fresh)
    outputs = [plain(each.output, str(each.folder)) for each in (forked, fresh)]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ([COMMAND, "--no-such-option"], 2),
        ([*LMMS_EVAL, "--config", "/no/such/file.yaml"], 1),  # an exception that nobody catches
        ([COMMAND, "report", "/no/such/run"], 1),
    ],
)
def test_a_failure_is_that_of_a_fresh_process(command: list[str], code: int) -> None:
    forked, fresh = run(command), run(command, cold=True)
    assert forked.returncode == fresh.returncode == code
    assert plain(forked.stdout) == plain(fresh.stdout) != []


def test_nothing_leaks_from_one_run_to_the_next(tmp_path: Path) -> None:
    """Neither a variable nor the working folder."""
    write_run(tmp_path / "here", {0: make_record([1.0, 1.0])})
    command = [COMMAND, "estimate", "rpts_demo"]
    wrong = run(command, env={"LMMS_RPTS_JUDGE": "no-such-judge"}, cwd=tmp_path)
    assert wrong.returncode == 1
    assert "no-such-judge" in wrong.stdout
    right = run(command)
    assert right.returncode == 0, right.stdout
    found = run([COMMAND, "summarize", "here"], cwd=tmp_path)
    assert found.returncode == 0, found.stdout
    lost = run([COMMAND, "summarize", "here"])
    assert lost.returncode == 1
    assert "here does not exist" in lost.stdout


def test_a_variable_that_may_be_read_at_import_needs_a_fresh_start() -> None:
    with pytest.raises(ValueError, match="pass cold=True: HF_HOME may be read at import"):
        run([*LMMS_EVAL, "--help"], env={"HF_HOME": "/tmp/other", "RPTS_PATH": "/tmp/data"})


def test_a_run_that_takes_too_long_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = lmms.the_server().process.pid
    with JudgeServer(oracle.answer, latency=600) as judge:
        env = {"LMMS_RPTS_JUDGE": "openai:m", "OPENAI_BASE_URL": judge.url}
        monkeypatch.setattr(lmms, "_TIME_LIMIT", 1.0)
        with pytest.raises(AssertionError, match=r"over 1\.0 s: .*it said:"):
            run(REPLAY, env=env)
    wait_until(lambda: not children(pid))


def test_server_and_run_end_with_a_client_that_was_killed() -> None:
    code = (
        "import os, sys; from tests.support.fork_client import ForkServer\n"
        "server = ForkServer(os.environ)\n"
        "print(server.process.pid, server.folder, flush=True)\n"
        "server.run(sys.argv[1:], os.environ, None, 600)"
    )
    with JudgeServer(oracle.answer, latency=600) as judge:
        env = {"LMMS_RPTS_JUDGE": "openai:m", "OPENAI_BASE_URL": judge.url}
        with subprocess.Popen(
            [sys.executable, "-c", code, *REPLAY],
            cwd=ROOT,
            env=clean_environment() | env,
            stdout=subprocess.PIPE,
            text=True,
        ) as client:
            assert client.stdout is not None
            server, folder = client.stdout.readline().split()
            wait_until(lambda: judge.calls >= 1 or client.poll() is not None)
            assert client.poll() is None, "it ended before it was killed"
            (forked,) = children(int(server))
            client.kill()
    wait_until(lambda: not is_alive(forked) and not is_alive(int(server)))
    assert not Path(folder).exists()


def children(pid: int) -> list[int]:
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [each for each in found if is_alive(each)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"  # ended, though nobody has asked for its status


def wait_until(happened: Callable[[], bool], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
