"""The README keeps its word: commands that run offline are run, names and links are checked."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lmms_rpts.judging import BACKENDS
from lmms_rpts.tasks.rpts_eval.checks import CHECKS
from lmms_rpts.tasks.rpts_eval.results import METRICS
from tests.support.lmms import clean_environment

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^ *```(\w*)\n(.*?)^ *```", README, re.DOTALL | re.MULTILINE)
COMMANDS = [
    " ".join(block.replace("\\\n", " ").split()) for kind, block in BLOCKS if kind in ("", "bash")
]
OFFLINE = [command for command in COMMANDS if "--tasks rpts_demo" in command]


def test_there_are_commands_to_run() -> None:
    assert OFFLINE
    assert any(command.startswith("make demo") for command in COMMANDS)


@pytest.mark.parametrize("command", OFFLINE)
def test_commands_that_run_offline_work_as_printed(command: str) -> None:
    environment = clean_environment()
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        shlex.split(command), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert "|rpts_demo|" in done.stdout.replace(" ", ""), done.stdout + done.stderr
    assert "Error" not in done.stdout


def test_the_estimate_works_as_printed() -> None:
    (command,) = [each for each in COMMANDS if "lmms-rpts estimate" in each]
    setting, *words = shlex.split(command)
    name, _, value = setting.partition("=")
    environment = clean_environment() | {name: value}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "at most" in done.stdout
    assert "cost" in done.stdout


@pytest.mark.parametrize("target", ["demo", "test"])
def test_make_targets_exist(target: str) -> None:
    assert f"make {target}" in README
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_linked_files_exist() -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", README):
        assert (ROOT / link).exists(), link


def test_settings_are_those_that_are_read() -> None:
    """In the README and in settings.py the same names stand."""
    read = set(re.findall(r'"(LMMS_RPTS_\w+)"', (ROOT / "lmms_rpts/settings.py").read_text()))
    assert set(re.findall(r"LMMS_RPTS_[A-Z_]+[A-Z]", README)) == read


def test_names_are_those_that_there_are() -> None:
    for name in [*METRICS, *CHECKS, *BACKENDS]:
        assert f"`{name}" in README, name
