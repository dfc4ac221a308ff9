"""The fork server of the tests: its runs equal those of fresh processes, and all of them end."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import lmms, oracle
from tests.support.fork_client import AVAILABLE, ROOT, ForkServer
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, clean_environment, run
from tests.support.readme import TRY_IT
from tests.support.runs import make_record, write_run
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="the fork server needs Linux"),
]

LMMS_EVAL = [sys.executable, "-m", "lmms_eval"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
# Waits for ever if the judge never answers.
WAITING = [COMMAND, "doctor", "--quick", "--judge", "openai:m"]
# Differences between two identical runs: dates, times, speeds, folders.
DIFFERS = re.compile(r"\x1b\[\d+m|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}_\d{6}|in [\d.]+s")


def plain(text: str, *names: str) -> list[str]:
    """The output lines that two identical runs share; replaces ``names``."""
    for name in names:
        text = text.replace(name, "NAME")
    # Without progress bars, which show speeds.
    return [
        DIFFERS.sub("", line)
        for line in text.splitlines()
        if "it/s" not in line and "s/s" not in line
    ]


def results(of: Run) -> str:
    """The content of a results file, without dates, times, folders and addresses."""
    (file,) = of.folder.rglob("*_results.json")
    content = json.loads(file.read_text(encoding="utf-8"))
    for name in ("date", "start_time", "end_time", "total_evaluation_time_seconds"):
        del content[name]
    text = json.dumps(content, sort_keys=True).replace(str(of.folder), "FOLDER")
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def test_a_run_gives_what_a_fresh_process_gives(fresh_demo: Run, tmp_path: Path) -> None:
    name, *words = shlex.split(TRY_IT)
    command = [str(Path(sys.executable).with_name(name)), *words]
    done = run([*command, "--log_samples", "--output_path", str(tmp_path)], cwd=ROOT)
    forked = Run(done.stdout, done.returncode, tmp_path)
    assert forked.code == 0
    assert forked.samples("rpts_demo") == fresh_demo.samples("rpts_demo")
    assert results(forked) == results(fresh_demo)
    outputs = [plain(each.output, str(each.folder)) for each in (forked, fresh_demo)]
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ([COMMAND, "--no-such-option"], 2),
        ([*TORCHRUN, "--nproc_per_node", "some", "x.py"], 1),  # an uncaught exception
        ([COMMAND, "report", "/no/such/run"], 1),
    ],
)
def test_a_failure_is_that_of_a_fresh_process(command: list[str], code: int) -> None:
    forked, fresh = run(command), run(command, cold=True)
    assert forked.returncode == fresh.returncode == code
    assert plain(forked.stdout) == plain(fresh.stdout) != []


def test_nothing_leaks_from_one_run_to_the_next(tmp_path: Path) -> None:
    """Neither environment variables nor the working folder."""
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


def test_an_importing_run_imports_lmms_eval_and_us_itself(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("found = 'here'")
    code = (
        "import sys, beside, torch, transformers\n"
        "early = [name for name in sys.modules if name.startswith('lmms_')]\n"
        "print(beside.found, sys.argv, early)"
    )
    command, folder = [sys.executable, "-c", code, "a", "b"], {"PYTHONPATH": str(tmp_path)}
    forked = run(command, env=folder, importing=True)
    assert forked.returncode == 0
    assert forked.stdout == "here ['-c', 'a', 'b'] []\n"


@pytest.fixture
def judge() -> Iterator[JudgeServer]:
    """A judge that never answers; ``asking`` gives the environment for it."""
    with JudgeServer(oracle.answer, latency=600) as judge:
        yield judge


def asking(judge: JudgeServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "k"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A separate server for one test."""
    server = ForkServer(clean_environment(), bare=True)
    monkeypatch.setattr(lmms, "_server", server)
    yield server
    server.stop()


def test_a_run_that_takes_too_long_is_killed(
    server: ForkServer, judge: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(lmms, "_TIME_LIMIT", 1.0)
        with pytest.raises(AssertionError, match=r"over 1\.0 s: .*it said:"):
            run(WAITING, env=asking(judge))
    # On a slow machine the servers start later. They answer their clients in order.
    assert run([sys.executable, "-c", "print('next')"]).stdout == "next\n"
    (second,) = children(server.process.pid)
    wait_until(lambda: not children(second))


def test_the_folder_of_temporary_files_may_have_a_long_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    server = ForkServer(clean_environment(), bare=True)
    monkeypatch.setattr(lmms, "_server", server)
    try:
        assert run([sys.executable, "-c", "print('fine')"]).stdout == "fine\n"
    finally:
        server.stop()


def test_a_run_is_killed_with_what_stands_for_it(server: ForkServer, judge: JudgeServer) -> None:
    with subprocess.Popen(
        lmms.forked(WAITING), env=clean_environment() | asking(judge), stdout=subprocess.PIPE
    ) as stand_in:
        wait_until(lambda: judge.calls >= 1 or stand_in.poll() is not None)
        (second,) = children(server.process.pid)
        (forked,) = children(second)
        stand_in.kill()
        stand_in.communicate()
        assert stand_in.returncode == -signal.SIGKILL, "it ended before it was killed"
    wait_until(lambda: not is_alive(forked))
    assert is_alive(second)


def test_servers_and_run_end_with_a_client_that_was_killed(judge: JudgeServer) -> None:
    code = (
        "import os, sys; from tests.support.fork_client import ForkServer\n"
        "server = ForkServer(os.environ, bare=True)\n"
        "print(server.process.pid, server.folder, flush=True)\n"
        "server.run(sys.argv[1:], os.environ, None, 600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *WAITING],
        cwd=ROOT,
        env=clean_environment() | asking(judge),
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdout is not None
        first, folder = client.stdout.readline().split()
        wait_until(lambda: judge.calls >= 1 or client.poll() is not None)
        assert client.poll() is None, "it ended before it was killed"
        (second,) = children(int(first))
        (forked,) = children(second)
        client.kill()
    wait_until(lambda: not any(map(is_alive, (forked, second, int(first)))))
    assert not Path(folder).exists()


def children(pid: int) -> list[int]:
    found = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [each for each in found if is_alive(each)]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # it ended before or after the file was opened
        return False
    return state not in "ZX"  # a zombie: nobody has waited for it
