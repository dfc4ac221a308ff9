"""``lmms-rpts compare``: its output, files and errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, scoring_with, write_run
from tests.support.tables import table

Command = Callable[..., Result]
HOSTILE = "[red]Is[/] [/] it | `x` <b> \x1b[31m\u202e 所以 \\[ :smile:?"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["compare", *map(str, arguments)])


def record(doc_id: int, score: float | None, right: bool = True, **changes: Any) -> dict[str, Any]:
    doc = make_doc(id=100 + doc_id, statement=changes.pop("statement", f"Statement {doc_id}."))
    answer = "agree" if right else "disagree"
    return make_record([score, score], answer=answer, doc=doc, **changes)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    a = {0: record(0, 0.2), 1: record(1, 0.8), 2: record(2, 0.1, right=False), 3: record(3, 0.4)}
    b = {0: record(0, 0.8), 1: record(1, 0.4, right=False), 2: record(2, 0.3)}
    write_run(tmp_path / "one", a, model_args="pretrained=lab/model-a")
    write_run(tmp_path / "two", b, model_args="pretrained=lab/model-b")
    return tmp_path / "one", tmp_path / "two"


def row(output: str, name: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.split()[:1] == [name]]
    return line.split()


def test_how_many_flips_are_shown(command: Command, pair: tuple[Path, Path]) -> None:
    output = command(*pair, "--flips", 1).output
    assert "1 of 3:" in output
    assert "Statement 1." in output
    assert "Statement 2." not in output
    assert "Statement" not in command(*pair, "--flips", 0).output
    assert command(*pair, "--flips", -1).exit_code == 2
    assert "None of the 3 documents flipped." in command(pair[1], pair[1]).output


def test_no_figure_is_cut_off_on_a_narrow_screen(
    command: Command, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = row(command(*pair).output, "missing_references")
    monkeypatch.setenv("COLUMNS", "80")
    assert row(command(*pair).output, "missing_references") == wide


def test_several_responses_are_counted(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: [record(0, 0.9), record(0, 0.9), record(0, 0.9, right=False)]})
    write_run(tmp_path / "b", {0: [record(0, None, right=False)] * 2 + [record(0, None)]})
    output = command(tmp_path / "a", tmp_path / "b").output
    assert "2 agree, 1 disagree" in output
    assert "2 disagree, 1 agree" in output
    assert "wrong, unscored" in output


def test_a_hostile_run_can_neither_style_nor_break_the_screen(
    command: Command, tmp_path: Path
) -> None:
    hostile = {0: record(0, 0.9, statement=HOSTILE, judge="openai:[bold]x[/]")}
    write_run(tmp_path / "a", hostile)
    write_run(tmp_path / "b", {0: record(0, 0.1, statement=HOSTILE)})
    out = tmp_path / "out.md"
    result = command(f"[/][red]x|\x1b[2J={tmp_path / 'a'}", tmp_path / "b", "-o", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("A: [/][red]x|")
    assert "[red]Is[/] [/] it | `x` <b> �[31m� 所以 \\[ :smile:?" in result.output
    assert "judge: openai:[bold]x[/] in A; openai:oracle in B" in result.output
    assert "\x1b" not in result.output
    written = out.read_text(encoding="utf-8")
    assert written.startswith("A: \\[/\\]\\[red\\]x\\|")
    assert "\x1b" not in written


@table(
    "changes, said",
    ({"judge": "openai:other"}, "judge: openai:oracle in A{}; openai:other in B"),
    ({"scoring": scoring_with(decay=0.5)}, "decay: 0.9 in A{}; 0.5 in B"),
    ({"scoring": scoring_with(focus_height=2)}, "focus height: 1 in A{}; 2 in B"),
    ({"scoring": scoring_with(prompt_version="x")}, "prompt version: 1 in A{}; x in B"),
)
def test_other_settings_are_warned_of(
    command: Command, tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    write_run(tmp_path / "a", {0: record(0, 0.5), 1: record(1, 0.5)})
    write_run(tmp_path / "b", {0: record(0, 0.5), 1: record(1, 0.5, **changes)})
    write_run(tmp_path / "c", {at: record(at, 0.5, **changes) for at in range(2)})
    for other, where in (("b", ", B"), ("c", "")):
        output = command(tmp_path / "a", tmp_path / other).output
        told = f"scored in different ways, not comparable side by side. {said.format(where)}"
        assert told in output
    assert "different ways" not in command(tmp_path / "c", tmp_path / "c").output


def test_judges_to_doubt_are_warned_of(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: record(0, 0.5, judge="lexical")})
    write_run(tmp_path / "b", {0: record(0, None, judge="none")})
    output = command(tmp_path / "a", tmp_path / "b").output
    assert "Warning: the judge 'lexical' of A is for testing only" in output
    assert "Warning: B: not judged (judge 'none')" in output
    assert "of A and B is for testing" in command(tmp_path / "a", tmp_path / "a").output


def test_changed_data_are_warned_of(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: make_record([1, 1])})
    write_run(tmp_path / "b", {0: make_record([1, 1], doc=make_doc(answer="disagree"))})
    output = command(tmp_path / "a", tmp_path / "b").output
    assert "the data changed between the runs: 1 of 1 shared documents" in output


@table(
    "places, names",
    (("x/model", "y/model"), ("x/model", "y/model")),
    (("model", "model/later"), ("model", "later")),
    (("one", "two"), ("one", "two")),
)
def test_runs_of_one_model_go_by_their_folders(
    command: Command, tmp_path: Path, places: tuple[str, str], names: tuple[str, str]
) -> None:
    files = [write_run(tmp_path / place, {0: record(0, 0.5)}) for place in places]
    assert command(*files).output.startswith(f"A: {names[0]}\nB: {names[1]}\n")


def test_rounds_in_one_folder_are_numbered(command: Command, tmp_path: Path) -> None:
    files = [
        write_run(tmp_path, {0: record(0, score)}, date=date)
        for date, score in (("20260102_030405", 0.2), ("20260103_030405", 0.8))
    ]
    output = command(*files).output
    assert "A: model-a (1)\nB: model-a (2)\n" in output


def test_rounds_of_a_model_are_one_side(command: Command, tmp_path: Path) -> None:
    """Document 0: 1.0 of four rounds with 0.2, 0.4, 0.4 and 1.0 of A is 0.5; B has 0.9."""
    for at, value in enumerate((0.2, 0.4, 0.4, 1.0)):
        write_run(tmp_path / "a" / f"t{at}", {0: record(0, value), 1: record(1, 0.5)})
    for at in range(2):
        write_run(tmp_path / "b" / f"t{at}", {0: record(0, 0.9), 1: record(1, 0.5)})
    output = command(tmp_path / "a", tmp_path / "b").output
    assert output.startswith("A: a (4 rounds: t0, t1, t2, t3)\nB: b (2 rounds: t0, t1)\n")
    assert "2 shared documents, 0 only in A" in output
    assert row(output, "rpts")[1:4] == ["0.500", "0.700", "+0.200"]
    assert "4 agree" in output
    write_run(tmp_path / "a" / "other", {0: record(0, 0.5)}, model_args="pretrained=lab/other")
    refused = command(tmp_path / "a", tmp_path / "b")
    assert refused.exit_code == 1
    assert f"{tmp_path / 'a'} contains runs of several models" in refused.stderr
    assert ". Pass one of:\n" in refused.stderr


def test_parts_of_one_run_are_not_joined_but_refused(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: record(0, 0.5)})
    write_run(tmp_path / "b", {1: record(1, 0.5)})
    result = command(tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 1
    assert "'a' (rpts_eval_en) and 'b' (rpts_eval_en) share no document" in result.stderr
    assert result.stdout == ""


def test_a_run_compared_with_itself_is_told(command: Command, pair: tuple[Path, Path]) -> None:
    result = command(pair[0], pair[0])
    assert result.exit_code == 0, result.output
    assert "the run is compared with itself" in " ".join(result.output.split())


def test_graded_runs_are_compared(command: Command, tmp_path: Path, pair: Any) -> None:
    for name, scores in (("one", (1.0, 0.0)), ("two", (0.0, 0.0)), ("rome", (1.0,))):
        write_rome_run(tmp_path / name, {"geo": [make_rome_record(each) for each in scores]})
    one, two = pair
    output = command(one, two, "--benchmark", "rome", "--task", "rome_geo").output
    assert "2 shared documents" in output
    assert row(output, "accuracy")[1:4] == ["0.500", "0.000", "-0.500"]
    assert "1 of 2 documents flipped: 1 from right to wrong" in output
    assert "choose one with --benchmark rpts or --benchmark rome" in command(one, two).output
    lacking = command(one, tmp_path / "rome", "--benchmark", "rpts").output
    assert f"no benchmark in common: {one} has rpts, rome, {tmp_path / 'rome'} has rome" in lacking
    assert "no task x in common" in command(one, two, "--benchmark", "rome", "--task", "x").output


def test_several_parts_are_compared_with_the_first(command: Command, tmp_path: Path) -> None:
    """Nine of ten right, one, nine; the documents of these tasks are the same, or translations."""
    right = {
        "rpts_eval_en": [True] * 9 + [False],
        "rpts_eval_zh": [True] + [False] * 9,
        "rpts_eval_en_free": [False] + [True] * 9,
    }
    for task, answers in right.items():
        write_run(
            tmp_path, {at: record(at, 0.5, each) for at, each in enumerate(answers)}, task=task
        )
    by = "task=rpts_eval_en,rpts_eval_zh,rpts_eval_en_free"
    files = [tmp_path / f"out.{suffix}" for suffix in ("json", "csv")]
    done = command(tmp_path, "--by", by, "-o", files[0], "-o", files[1])
    assert done.exit_code == 0, done.output
    assert "B: rpts_eval_zh (10 shared instances, 0 only in A" in done.output
    rows = [line.split() for line in done.output.splitlines() if " accuracy " in line]
    # Two-sided permutation of eight equal differences: 2/2**8; of one to each side: 1.
    assert [(row[0], row[2], row[3], row[-3]) for row in rows] == [
        ("rpts_eval_zh", "0.900", "0.100", "0.0078"),
        ("rpts_eval_en_free", "0.900", "0.900", "1.0000"),
    ]
    assert "missing_references" not in done.output  # it is not tested
    whole = json.loads(files[0].read_text())
    assert [each["label_b"] for each in whole["comparisons"]] == [row[0] for row in rows]
    assert {*pd.read_csv(files[1])["run_b"]} == {"rpts_eval_zh", "rpts_eval_en_free"}
    for odd in ("task=rpts_eval_en,rpts_eval_en", "task=rpts_eval_en,x", "task"):
        assert "does not give two parts" in command(tmp_path, "--by", odd).output
