"""The README: its offline commands run, its names and links are correct."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lmms_rpts.base.settings import CONFIG, Settings
from lmms_rpts.commands.doctor.judge import VALID
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.judging import BACKENDS
from lmms_rpts.tasks.rpts_eval.data import CHECKS
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support.judge_server import JudgeServer
from tests.support.lmms import Run, clean_environment, run
from tests.support.ratings import rated_file
from tests.support.readme import BLOCKS, COMMANDS, README, TRY_IT

ROOT = Path(__file__).parents[1]


def test_there_are_commands_to_run() -> None:
    assert any(command.startswith("make demo") for command in COMMANDS)


def test_the_demo_works_as_printed(fresh_demo: Run) -> None:
    """In a fresh process that also saves its samples, and forked exactly as printed."""
    name, *words = shlex.split(TRY_IT)
    printed = run([str(Path(sys.executable).with_name(name)), *words], cwd=ROOT)
    for output in (fresh_demo.output, printed.stdout):
        assert "|rpts_demo|" in output.replace(" ", ""), output
        assert "Error" not in output


def test_the_estimate_works_as_printed() -> None:
    (command,) = [each for each in COMMANDS if "lmms-rpts estimate" in each]
    setting, *words = shlex.split(command)
    name, _, value = setting.partition("=")
    environment = clean_environment() | {name: value}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert "95%" in done.stdout
    assert "cost" in done.stdout


@pytest.fixture(scope="module")
def results(demo: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs for the commands."""
    folder = tmp_path_factory.mktemp("readme")
    for name, model in (("small", "lucky"), ("large", "careful")):
        shutil.copytree(next(demo.folder.rglob(model)), folder / "results" / name)
    return folder


def test_commands_for_runs_work_as_printed(results: Path) -> None:
    """``score`` runs in a fresh process and starts lmms-eval; the others are forked."""
    blocks = [block for _, block in BLOCKS if "lmms-rpts" in block and "results" in block]
    commands = [line for block in blocks for line in block.splitlines()]
    names = {shlex.split(command)[1] for command in commands}
    assert names >= {"report", "score", "sweep", "compare", "summarize", "export", "agreement"}
    with JudgeServer(answer=lambda body: "Score: 0.7") as judge:
        env = {"OPENAI_BASE_URL": judge.url, "OPENAI_API_KEY": "sk-of-the-test"}
        for command in commands:
            name, *words = shlex.split(command)
            program = str(Path(sys.executable).with_name(name))
            done = run([program, *words], env, results, cold=words[0] == "score")
            assert done.returncode == 0, (command, done.stdout)
            assert "Traceback" not in done.stdout, command
            if "-o" in words:
                assert (results / words[words.index("-o") + 1]).exists(), command
            if words[0] == "rate":
                rate(results)
        assert judge.calls > 0


def rate(results: Path) -> None:
    """Saves what the page saves after a score for every step."""
    found = read_run(results / "results" / "small")
    scores = {
        (each.instance.doc_id, at): at % 11 / 10
        for each in found.responses
        for at in range(len(each.steps))
    }
    (results / "ratings.json").write_text(json.dumps(rated_file(found, scores)), encoding="utf-8")


def test_the_doctor_works_as_printed() -> None:
    (command,) = [each for each in COMMANDS if "lmms-rpts doctor" in each]
    with JudgeServer(answer=lambda body: f"Score: {int(VALID in str(body))}") as judge:
        environment = clean_environment() | {
            "OPENAI_BASE_URL": judge.url,
            "OPENAI_API_KEY": "sk-of-the-test",
        }
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
        done = subprocess.run(
            [*shlex.split(command), "--quick"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert judge.calls == 2
    assert "sk-of-the-test" not in done.stdout + done.stderr
    assert re.search(r"^ok +judge", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_targets_exist(target: str) -> None:
    assert f"make {target}" in README
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_linked_files_exist() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link


def test_settings_are_those_that_are_read() -> None:
    """The README has the names of all variables."""
    read = {*Settings.variables(), CONFIG, "LMMS_RPTS_REFERENCE"}
    assert set(re.findall(r"LMMS_RPTS_[A-Z_]+[A-Z]", README)) == read


def test_names_are_those_that_there_are() -> None:
    for name in [*METRICS, *CHECKS, *BACKENDS]:
        assert f"`{name}" in README, name
