"""README and quickstart: their commands run, print what is shown; names and links are correct."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from itertools import chain
from pathlib import Path

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.base.settings import CONFIG, Settings
from lmms_rpts.commands.doctor import VALID
from lmms_rpts.judging.registry import BACKENDS
from lmms_rpts.scoring.metrics import METRICS
from tests.support.fork_server import ROOT
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, run
from tests.support.ratings import rating, write_ratings

README = (ROOT / "README.md").read_text(encoding="utf-8")
QUICKSTART = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
_BLOCK = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
BLOCKS = _BLOCK.findall(README)
_NOT_RUN = ("python3 -m venv", ". .venv", "pip install")


def perform(command: str, folder: Path, **env: str) -> str:
    """The output of a printed command, which must succeed."""
    words = shlex.split(command, comments=True)
    while "=" in words[0]:  # a variable before the command
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    program = str(Path(sys.executable).with_name(words[0]))
    done = run([program, *words[1:]], env, folder)
    # The doctor reports missing data of RPTS-Eval, which the demo doesn't need.
    assert done.returncode == 0 or words[1] == "doctor", (command, done.stdout)
    assert "Traceback" not in done.stdout, command
    return done.stdout


def copy_runs(demo: Run, folder: Path, **names: str) -> Path:
    """Copies the runs of the demo to ``results`` in a folder, under new names."""
    for name, model in names.items():
        shutil.copytree(next(demo.folder.rglob(model)), folder / "results" / name)
    return folder


def test_the_first_command_works_as_printed(fresh_demo: Run) -> None:
    assert "|rpts_demo|" in fresh_demo.output.replace(" ", ""), fresh_demo.output
    assert "Error" not in fresh_demo.output


def test_commands_for_runs_work_as_printed(demo: Run, tmp_path: Path) -> None:
    results = copy_runs(demo, tmp_path, small="lucky", large="careful")
    blocks = [text.replace("\\\n", " ") for _, text in BLOCKS if "lmms-rpts" in text]
    commands = [each.strip() for text in blocks for each in text.splitlines()]
    chosen = [each for each in commands if re.search("results|estimate|doctor", each)]
    assert {re.search(r"lmms-rpts (\w+)", each)[1] for each in chosen} >= {  # type: ignore[index]
        *("report", "score", "sweep", "compare", "summarize", "export", "agreement"),
        *("doctor", "estimate"),
    }
    with JudgeServer(answer=lambda body: f"Score: {int(VALID in str(body))}") as judge:
        env = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-of-the-test"}
        for command in chosen:
            said = perform(command, results, **env)
            assert "sk-of-the-test" not in said
            if written := re.search(r" -o (\S+)", command):
                assert (results / written[1]).exists(), command
            if "lmms-rpts rate" in command:
                rate(results)
            if "lmms-rpts doctor" in command:
                assert re.search(r"^ok +judge", said, re.MULTILINE), said
            if "lmms-rpts estimate" in command:
                assert "95%" in said
        assert judge.calls > 2


def rate(results: Path) -> None:
    """Saves what the page saves after a score for every step."""
    (found,) = read_runs([results / "results" / "small"])
    ratings = [
        rating(each.instance.doc_id, at, at % 11 / 10, task=each.instance.task)
        for each in found.responses
        for at in range(len(each.steps))
    ]
    write_ratings(results / "ratings.json", *ratings)


def test_names_and_links_are_those_that_there_are() -> None:
    read = {*chain(*Settings.SETTINGS.values()), CONFIG, "LMMS_RPTS_REFERENCE"}
    assert set(re.findall(r"LMMS_RPTS_[A-Z_]+[A-Z]", README)) <= read
    assert not [name for name in BACKENDS if f"`{name}" not in README]
    results = (ROOT / "docs" / "read-results.md").read_text(encoding="utf-8")
    assert not [name for name in METRICS if f"`{name}`" not in results]
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README)
    assert not [link for link in links if not (ROOT / link).exists()]
    for target in ("demo", "test"):
        assert f"make {target}" in README
        subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


# ---- the quickstart


def test_the_commands_of_the_quickstart_run(tmp_path: Path) -> None:
    questions = Path("examples", "ten_questions")  # what the page has as a zip file
    shutil.copytree(ROOT / questions, tmp_path / questions.name)
    for kind, text in _BLOCK.findall(QUICKSTART):
        lines = text.replace("\\\n", " ").splitlines()
        for command in lines if kind == "bash" else ():
            if not command.startswith(_NOT_RUN):
                perform(command, tmp_path, COLUMNS="100")
    assert (tmp_path / "report.html").is_file()
