"""``lmms-rpts report`` on graded answers: its output, and the errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.saved_runs import SAVED
from tests.support.tables import table


def report(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ROME_PATH", "CMMATH_PATH"):
        monkeypatch.setenv(name, str(tmp_path))


def test_one_report_shows_all_that_a_folder_holds(tmp_path: Path) -> None:
    done = report(SAVED, "-o", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    assert "50 instances" in done.output
    assert "or set CMMATH_PATH, or set ROME_PATH, or set RPTS_PATH." in done.output
    html = (tmp_path / "r.html").read_text("utf-8")
    for place in ("overview", "instances", "graded-rome", "graded-cmmath"):
        assert html.count(f'<section id="{place}"') == 1


@table("name, title", ("rome", "ROME"), ("cmmath", "CMMaTH"))
def test_one_graded_benchmark_alone(tmp_path: Path, name: str, title: str) -> None:
    done = report(SAVED / name, "-o", tmp_path / "r.html", "--no-images")
    assert done.exit_code == 0, done.output
    assert "not found" not in done.output
    html = (tmp_path / "r.html").read_text("utf-8")
    assert f"<title>{title}: {name}</title>" in html
    assert 'id="overview"' not in html
    # The interval is that of lmms-rpts summarize.
    grades = CliRunner().invoke(app, ["summarize", str(SAVED / name)], env={"COLUMNS": "200"})
    line = next(each for each in grades.stdout.splitlines() if _is_whole(each, name))
    interval = line[line.index("[") : line.index("]") + 1]
    assert interval in html


def _is_whole(line: str, name: str) -> bool:
    return line.strip().startswith("all questions" if name == "rome" else "cmmath ")


def test_rpts_runs_are_shown_as_before(tmp_path: Path) -> None:
    report(SAVED / "careful", SAVED / "cmmath_rpts", "-o", tmp_path / "r.html", "--no-images")
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "graded" not in html


def test_the_samples_are_not_written_over() -> None:
    file = next((SAVED / "rome").glob("*_samples_*"))
    done = report(SAVED / "rome", "-o", file)
    assert done.exit_code == 1
