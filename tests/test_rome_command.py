"""``lmms-rpts summarize`` of runs of ROME: its output, files and errors."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.lmms import forked
from tests.support.rome_runs import make_rome_record as record
from tests.support.rome_runs import write_rome_run
from tests.support.tables import table

Command = Callable[..., Result]
HOSTILE = "[red]No[/] [/] | `x` <b> \x1b[31m\u202e 所以 $x$ :smile:"


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


def test_one_run(command: Command, run: Path) -> None:
    result = command(run)
    assert result.exit_code == 0
    assert "ROME by subtask" in result.output
    assert row(result.output, "academic") == [
        *("academic", "3", "0.667", "[0.09,", "0.99]", "1.000", "[0.29,", "1.00]"),
        *("–", "1,200", "0"),
    ]
    assert row(result.output, "geo")[:3] == ["geo", "2", "0.500"]
    assert row(result.output, "geo")[-2:] == ["1,200", "1"]
    # (1 + 0 + 1 + 0.5) / 4
    assert row(result.output, "all")[2:4] == ["5", "0.625"]
    assert "1 round. Of 5 responses, published and strict rules disagree on 1" in result.output
    assert "Note: model-a: 1 of 5 responses have no score" in result.output


def test_models_and_rounds_side_by_side(command: Command, run: Path, tmp_path: Path) -> None:
    for number, right in enumerate((1.0, 0.0)):
        records = {"academic": [record(right, answer=str(number))] * 3}
        write_rome_run(tmp_path / f"b{number}", records, model_args="pretrained=lab/other")
    output = command(tmp_path).output
    lines = [" ".join(line.split()) for line in output.splitlines()]
    at = next(at for at, line in enumerate(lines) if line.startswith("academic model-a 3 1 0.667"))
    assert lines[at + 1].startswith("other 3 2 0.500 ± 0.707 0.500 ± 0.707 –")
    assert "other: 2 rounds. Of 6 responses" in output
    assert "the models cover different questions" in output


def test_a_narrow_screen_shows_all_numbers(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = command(run).output
    for figure in ("0.667", "[0.09, 0.99]", "1,200", "all questions", "consistency"):
        assert figure in output
    assert "…" not in output


def test_breakdowns_are_asked_for(command: Command, run: Path) -> None:
    output = command(run, "--by", "image_type", "--by", "language").output
    assert "ROME by image_type" in output
    assert row(output, "Expert")[1] == "5"
    assert row(output, "en")[1] == "5"
    result = command(run, "--by", "colour")
    assert result.exit_code == 1
    assert result.stderr.strip().startswith("Unknown breakdown 'colour'; known breakdowns: subtask")


def test_disagreements_are_listed(command: Command, run: Path) -> None:
    assert "question_academic_1" not in command(run).output
    output = command(run, "--disagreements", "5").output
    assert "1 of 1 answers on which graders disagree" in output
    assert row(output, "model-a")[1] == "question_academic_1"
    assert row(output, "model-a")[-3:] == ["0", "1", "–"]


def test_long_answers_are_shown_by_their_ends(command: Command, tmp_path: Path) -> None:
    answer = "because " * 1000 + "Final Answer: E"
    write_rome_run(tmp_path, {"geo": [record(0.0, 1.0, answer=answer)]})
    output = command(tmp_path, "--disagreements", "1").output
    assert "Final Answer: E" in output
    assert len(output) < 5000


def test_hostile_texts_stay_texts(command: Command, tmp_path: Path) -> None:
    hostile = record(
        *(0.0, 1.0),
        failed=HOSTILE,
        answer=HOSTILE,
        reference=HOSTILE,
        evaluator=HOSTILE,
        image_type=HOSTILE,
    )
    write_rome_run(tmp_path, {"geo": [hostile]}, model_args=f"pretrained={HOSTILE}")
    page = tmp_path / "out.md"
    result = command(tmp_path, "--by", "image_type", "--disagreements", "3", "-o", page)
    assert result.exit_code == 0
    assert "[red]No[/]" in result.output
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    text = page.read_text(encoding="utf-8")
    assert "\\[red\\]No" in text
    assert "<b>" not in text
    heads = [line for line in text.splitlines() if line.startswith("| ")]
    unescaped = {line.replace("\\|", "").count("|") for line in heads}
    assert len(unescaped) == 1


def test_files(command: Command, run: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("out.csv", "out.json", "deep/out.md")]
    result = command(run, *(part for file in files for part in ("-o", file)))
    assert result.exit_code == 0
    with files[0].open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [each["group"] for each in rows] == ["", "academic", "geo"]
    assert float(rows[0]["accuracy"]) == 0.625
    assert rows[0]["unscored"] == "1"
    found = json.loads(files[1].read_text(encoding="utf-8"))
    assert found["overall"]["models"][0]["metrics"]["accuracy"]["value"] == 0.625
    assert [each["id"] for each in found["disagreements"]] == ["question_academic_1"]
    assert "| all questions | 5 | 0.625 " in files[2].read_text(encoding="utf-8")


def test_no_file_that_was_read_is_written_over(command: Command, tmp_path: Path) -> None:
    (file,) = write_rome_run(tmp_path, {"geo": [record()]})
    results = tmp_path / "20260102_030405_results.json"
    before = results.read_bytes()
    result = command(tmp_path, "-o", results)
    assert result.exit_code == 1
    assert "is one of the input files" in result.stderr
    assert results.read_bytes() == before
    result = command(tmp_path, "-o", file)
    assert result.exit_code == 1
    assert "use a file name that ends in .csv, .json, .md, .tex" in result.stderr


@table(
    "arguments",
    ["sweep", "RUN"],
    ["export", "RUN", "-o", "out.csv"],
    ["agreement", "RUN", "RUN"],
)
def test_commands_for_rpts_name_this_one(run: Path, arguments: list[str]) -> None:
    result = CliRunner().invoke(app, [str(run) if each == "RUN" else each for each in arguments])
    assert result.exit_code == 1
    assert (
        f"The samples in {run} are of ROME, not of RPTS: lmms-rpts summarize and report read them\n"
        in (result.stderr)
    )
    assert "Traceback" not in result.output


def test_the_real_command(run: Path) -> None:
    program = str(Path(sys.executable).with_name("lmms-rpts"))
    done, told = (
        subprocess.run(
            forked([program, name, str(run)]), capture_output=True, text=True, timeout=600
        )
        for name in ("summarize", "sweep")
    )
    assert done.returncode == 0, done.stderr
    assert "0.625" in done.stdout
    assert told.stderr.strip() == (
        f"The samples in {run} are of ROME, not of RPTS: lmms-rpts summarize and report read them"
    )
