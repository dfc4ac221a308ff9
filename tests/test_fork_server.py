"""The fork server of the tests: its runs equal those of fresh processes, and all of them end."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.fork_server import AVAILABLE, ROOT
from tests.support.lmms import TRY_IT, Run, run
from tests.support.runs import make_record, write_run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not AVAILABLE, reason="the fork server needs Linux"),
]

COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
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
