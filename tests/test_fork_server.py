"""The fork server of the tests: its runs equal those of fresh processes, and all of them end."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import lmms, oracle
from tests.support.fork_server import AVAILABLE, ROOT, ForkServer
from tests.support.judge_server import JudgeServer
from tests.support.lmms import TRY_IT, Run, clean_environment, run
from tests.support.runs import make_record, write_run
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="the fork server needs Linux"),
]

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
# Waits for ever if the judge never answers.
OWN = str(ROOT / "examples" / "own_benchmark")
WAITING = [COMMAND, "doctor", "--include_path", OWN, "--judge", "openai:m"]
# Differences between two identical runs: colours, dates, times.
DIFFERS = re.compile(r"\x1b\[\d+m|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{8}_\d{6}|in [\d.]+s")


def plain(text: str, folder: str = "-") -> list[str]:
    """The output lines that two identical runs share; without progress bars, which show speeds."""
    lines = text.replace(folder, "FOLDER").splitlines()
    return [DIFFERS.sub("", each) for each in lines if each and not re.search("(it|s)/s", each)]


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
        ([sys.executable, "-c", "raise KeyError('x')"], 1),
        ([sys.executable, "-c", "import atexit; atexit.register(print, 'end'); exit('words')"], 1),
        ([sys.executable, "-c", "import os; print(os.getcwd()); os.kill(os.getpid(), 15)"], -15),
    ],
)
def test_an_ending_is_that_of_a_fresh_process(command: list[str], code: int) -> None:
    forked, fresh = run(command), run(command, cold=True)
    assert forked.returncode == fresh.returncode == code
    assert plain(forked.stdout) == plain(fresh.stdout)


def test_nothing_leaks_from_one_run_to_the_next(tmp_path: Path) -> None:
    """Neither environment variables nor the working folder."""
    write_run(tmp_path / "here", {0: make_record([1.0, 1.0])})
    estimate, summarize = [COMMAND, "estimate", "rpts_demo"], [COMMAND, "summarize", "here"]
    wrong = run(estimate, env={"LMMS_RPTS_JUDGE": "no-such-judge"}, cwd=tmp_path)
    assert (wrong.returncode, "no-such-judge" in wrong.stdout) == (1, True)
    assert run(estimate).returncode == 0
    assert run(summarize, cwd=tmp_path).returncode == 0
    assert "here does not exist" in run(summarize).stdout


def test_a_variable_that_may_be_read_at_import_needs_a_fresh_start() -> None:
    with pytest.raises(ValueError, match="pass cold=True: HF_HOME may be read at import"):
        run([COMMAND, "--help"], env={"HF_HOME": "/tmp/other", "RPTS_PATH": "/tmp/data"})


def test_an_importing_run_imports_lmms_eval_and_us_itself(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("found = 'here'")
    code = (
        "import sys, beside, torch, transformers\n"
        "early = [name for name in sys.modules if name.startswith('lmms_')]\n"
        "print(beside.found, sys.argv, early)"
    )
    command, folder = [sys.executable, "-c", code, "a", "b"], {"PYTHONPATH": str(tmp_path)}
    assert run(command, env=folder, importing=True).stdout == "here ['-c', 'a', 'b'] []\n"


@pytest.fixture
def asking() -> Iterator[tuple[JudgeServer, dict[str, str]]]:
    """A judge that never answers, and the environment for it."""
    with JudgeServer(oracle.answer, latency=600) as judge:
        yield judge, {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "k"}


def test_a_run_that_takes_too_long_is_killed(
    asking: tuple[JudgeServer, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ForkServer(clean_environment(), bare=True)
    monkeypatch.setattr(lmms, "_server", server)
    with monkeypatch.context() as patch:
        patch.setattr(lmms, "_TIME_LIMIT", 1.0)
        with pytest.raises(AssertionError, match=r"over 1\.0 s: .*it said:"):
            run(WAITING, env=asking[1])
    # On a slow machine the servers start later. They answer their clients in order.
    assert run([sys.executable, "-c", "print('next')"]).stdout == "next\n"
    assert server.process is not None
    wait_until(lambda: len(below(server.process.pid)) == 1)
    server.stop()


def test_servers_and_run_end_with_a_client_that_was_killed(
    asking: tuple[JudgeServer, dict[str, str]],
) -> None:
    code = (
        "import os, sys; from tests.support import lmms\n"
        "lmms._server = lmms.ForkServer(os.environ, bare=True)\n"
        "print(lmms._server.process.pid, lmms._server.folder, flush=True)\n"
        "judge = {name: os.environ[name] for name in ('OPENAI_BASE_URL', 'OPENAI_API_KEY')}\n"
        "lmms.run(sys.argv[1:], judge)"
    )
    judge, environment = asking
    with subprocess.Popen(
        [sys.executable, "-c", code, *WAITING],
        cwd=ROOT,
        env=clean_environment() | environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdout is not None
        server, folder = client.stdout.readline().split()
        wait_until(lambda: judge.calls >= 1 or client.poll() is not None)
        assert client.poll() is None, "it ended before it was killed"
        processes = [int(server), *below(int(server))]
        assert len(processes) >= 4, "two servers, a supervisor and the run"
        client.kill()
    wait_until(lambda: not any(Path(f"/proc/{each}").exists() for each in processes))
    assert not Path(folder).exists()


def below(pid: int) -> list[int]:
    """The processes that a process has started, and theirs."""
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has just ended
        return []
    return [each for child in map(int, found) for each in (child, *below(child))]
