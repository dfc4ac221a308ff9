"""``lmms-rpts summarize`` of runs of ROME: its output, files and errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.rome_runs import make_rome_record as record
from tests.support.rome_runs import write_rome_run
from tests.support.tables import table

Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(app, ["summarize", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = {
        "academic": [record(1.0), record(0.0, 1.0), record(1.0)],
        "geo": [record(0.5, consistent=True), record(1.0, failed="refused")],
    }
    write_rome_run(tmp_path / "a", records, tokens=1200)
    return tmp_path / "a"


def row(output: str, name: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.split()[:1] == [name]]
    return line.split()


def test_disagreements_are_listed(command: Command, run: Path) -> None:
    assert "question_academic_1" not in command(run).output
    output = command(run, "--list", "5").output
    assert "1 of 1 answers on which graders disagree" in output
    assert row(output, "model-a")[1] == "question_academic_1"
    assert row(output, "model-a")[-3:] == ["0", "1", "–"]


@table("arguments", ["sweep", "RUN"], ["agreement", "RUN", "RUN"])
def test_commands_for_rpts_name_those_for_all_benchmarks(run: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, [str(run) if each == "RUN" else each for each in arguments])
    assert result.exit_code == 1
    assert f"The samples in {run} are of other tasks, not scored by rpts_aggregate" in result.stderr
    assert "lmms-rpts summarize, report and compare read those of all benchmarks" in result.stderr
    assert "Traceback" not in result.output
