"""``lmms-rpts summarize`` of runs of CMMaTH: its output, files and errors."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.cmmath_runs import JUDGE, write_cmmath_run
from tests.support.cmmath_runs import make_cmmath_record as record

Command = Callable[..., Result]
HOSTILE = "[red]No[/] [/] | `x` <b> \x1b[31m\u202e 所以 $x$ :smile:"
SETTINGS = {"grader": "judge", "judge": JUDGE}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "160")
    return lambda *arguments: CliRunner().invoke(app, ["summarize", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = {
        "cmmath": [
            record("correct", knowledge_point="几何(圆(弧长))"),
            record("incorrect", knowledge_point="几何(三角形)", category="Table"),
            record("undecided", knowledge_point="代数", why="nothing to compare", answer="见图"),
        ],
        "cmmath_ocr": [record("correct"), record("correct"), record("incorrect")],
    }
    write_cmmath_run(tmp_path / "a", records, tokens=1200)
    return tmp_path / "a"


def lines(output: str) -> list[list[str]]:
    return [line.split() for line in output.splitlines()]


def row(output: str, *start: str) -> list[str]:
    """The first line that begins with these cells."""
    return next(cells for cells in lines(output) if cells[: len(start)] == list(start))


def test_what_no_model_has_is_not_shown(command: Command, tmp_path: Path) -> None:
    write_cmmath_run(tmp_path, {"cmmath": [record(knowledge_point=None)] * 2})
    output = command(tmp_path).output
    assert row(output, "task") == ["task", "n", "accuracy", "undecided", "coverage"]
    assert "mastered" not in output


def test_models_and_rounds_side_by_side(command: Command, run: Path, tmp_path: Path) -> None:
    for number, rule in enumerate(("correct", "incorrect")):
        records = {"cmmath": [record(rule, answer=str(number))] * 3}
        write_cmmath_run(tmp_path / f"b{number}", records, model_args="pretrained=lab/other")
    output = command(tmp_path, "--by", "form").output
    found = lines(output)
    at = found.index(row(output, "cmmath", "model-a", "3", "1"))
    assert found[at + 1][:6] == ["other", "3", "2", "0.500", "±", "0.707"]
    assert row(output, "cmmath", "other")[2:6] == ["1", "0.500", "±", "0.707"]  # SSR
    assert row(output, "form")[:3] == ["form", "task", "model"]
    assert row(output, "blank")[:4] == ["blank", "cmmath", "model-a", "3"]
    assert "other, cmmath: 2 rounds. Of 6 responses" in output


def test_rules_beside_a_judge(command: Command, tmp_path: Path) -> None:
    records = [
        record("correct", 1.0, settings=SETTINGS),
        record("incorrect", 0.0, mistake="calculation", settings=SETTINGS),
        record("correct", 0.0, mistake="perception", settings=SETTINGS),
        record("incorrect", 0.0, mistake="calculation", settings=SETTINGS),
    ]
    write_cmmath_run(tmp_path, {"cmmath": records})
    result = command(tmp_path, "--list", "5")
    assert "rules and judge agree on 3 of the 4 that both graded (0.750)." in result.output
    assert row(result.output, "cmmath", "model-a", "3", "0.333") == [
        *("cmmath", "model-a", "3", "0.333", "(1)", "0.000", "(0)", "0.667", "(2)", "0.000", "(0)")
    ]
    assert "1 of 1 answers on which rules and judge disagree" in result.output
    assert row(result.output, "model-a", "3", "number")[-2:] == ["1", "0"]
    assert "that the rules left undecided\n" not in result.output


def test_a_narrow_screen_shows_all_numbers(
    command: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = command(run, "--tree", "2", "--list", "1").output
    for figure in ("0.500", "[0.01, 0.99]", "0.333–0.667", "1,200", "unscored", "> 0.6"):
        assert figure in output
    assert "…" not in output
    assert "Accuracy by knowledge points: cmmath_ocr\n" in output


def test_the_tree_as_deep_as_asked_for(command: Command, run: Path) -> None:
    assert "圆" not in command(run).output
    output = command(run, "--tree", "2").output
    assert row(output, "几何") == ["几何", "0.500", "(2)"]
    assert row(output, "·", "圆") == ["·", "圆", "1.000", "(1)"]
    assert row(output, "代数") == ["代数", "–"]
    assert "弧长" not in output
    assert row(command(run, "--tree", "3").output, "·", "·", "弧长")[3:] == [*("1.000", "(1)")]
    assert "圆" not in command(run, "--tree", "1").output
    assert command(run, "--tree", "-1").exit_code == 2


def test_models_share_a_tree(command: Command, run: Path, tmp_path: Path) -> None:
    records = [record("incorrect", knowledge_point="几何(球)")]
    write_cmmath_run(tmp_path / "b", {"cmmath": records}, model_args="pretrained=lab/other")
    output = command(tmp_path, "--tree", "2").output
    assert row(output, "knowledge") == ["knowledge", "model-a", "other"]
    assert row(output, "几何") == ["几何", "0.500", "(2)", "0.000", "(1)"]
    assert row(output, "·", "圆")[2:] == ["1.000", "(1)", "–"]
    assert row(output, "·", "球")[2:] == ["–", "0.000", "(1)"]


def test_undecided_answers_are_listed(command: Command, run: Path) -> None:
    assert "见图" not in command(run).output
    output = command(run, "--list", "5").output
    assert "1 of 1 answers that the rules left undecided" in output
    assert row(output, "model-a", "3") == [
        *("model-a", "3", "number", "$$12$$", "见图", "nothing", "to", "compare", "–", "–")
    ]


@pytest.mark.parametrize("width", ["160", "80"])
def test_hostile_texts_stay_texts(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    hostile = {
        "answer": HOSTILE,
        "answer_type": HOSTILE,
        "why": HOSTILE,
        "category": HOSTILE,
        "form": HOSTILE,
        "reference": HOSTILE,
        "knowledge_point": f"{HOSTILE}({HOSTILE})",
    }
    records = [record("undecided", **hostile), record("correct", 0.0, **hostile)]
    task = "[red]No[/] | <b> `x`".replace("/", "\\")
    write_cmmath_run(tmp_path, {task: records}, model_args=f"pretrained={HOSTILE}")
    page, table = tmp_path / "out.md", tmp_path / "out.csv"
    options = [
        part for name in ("category", "form", "answer_type", "area") for part in ("--by", name)
    ]
    options += ["--tree", "2", "--list", "3", "-o", page, "-o", table]
    result = command(tmp_path, *options)
    assert result.exit_code == 0, result.output
    assert "[red]No[" in result.output
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    text = page.read_text(encoding="utf-8")
    assert "\\[red\\]No" in text
    assert "<b>" not in text
    for block in text.split("### ")[1:]:
        rows = [line for line in block.splitlines() if line.startswith("| ")]
        assert len({line.replace("\\|", "").count("|") for line in rows}) == 1
    with table.open(encoding="utf-8", newline="") as opened:
        assert HOSTILE in [each["group"] for each in csv.DictReader(opened)]


def test_files(command: Command, run: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("out.csv", "out.json", "deep/out.md")]
    parts = [part for file in files for part in ("-o", file)]
    result = command(run, "--by", "category", "--tree", "1", *parts)
    assert result.exit_code == 0
    with files[0].open(encoding="utf-8", newline="") as opened:
        found = list(csv.DictReader(opened))
    assert [(each["by"], each["group"], each["task"]) for each in found] == [
        ("task", "cmmath", "cmmath"),
        ("task", "cmmath_ocr", "cmmath_ocr"),
        ("category", "Plane Geometry", "cmmath"),
        ("category", "Plane Geometry", "cmmath_ocr"),
        ("category", "Table", "cmmath"),
    ]
    assert [float(found[0][f"accuracy{end}"]) for end in ("", "_if_wrong", "_if_right")] == [
        *(0.5, pytest.approx(1 / 3), pytest.approx(2 / 3))
    ]
    assert (found[0]["ssr_0.1"], found[0]["unscored"], found[0]["points"]) == ("0.5", "1", "2")
    summary = json.loads(files[1].read_text(encoding="utf-8"))
    (figures,) = summary["tables"][0]["groups"][0]["models"]
    assert figures["metrics"]["accuracy"]["value"] == 0.5
    # All levels and answers, regardless of what is displayed.
    assert summary["trees"][0]["nodes"][0]["children"][0]["children"][0]["name"] == "弧长"
    assert [each["id"] for each in summary["undecided"]] == ["3"]
    text = files[2].read_text(encoding="utf-8")
    assert "| cmmath | 3 | 0.500 " in text
    assert "| 几何 | 0.500 (2) |" in text
    assert "圆" not in text


def test_no_file_that_was_read_is_written_over(command: Command, tmp_path: Path) -> None:
    (file,) = write_cmmath_run(tmp_path, {"cmmath": [record()]})
    results = file.with_name("20260102_030405_results.json")
    before = results.read_bytes()
    result = command(tmp_path, "-o", results)
    assert result.exit_code == 1
    assert "is one of the input files" in result.stderr
    assert results.read_bytes() == before
    result = command(tmp_path, "-o", file)
    assert result.exit_code == 1
    assert "use a file name that ends in .csv, .json, .md, .tex" in result.stderr
