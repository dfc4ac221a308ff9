"""``lmms-rpts summarize`` of graded answers: one command for all benchmarks."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.lmms import run
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.saved_runs import SAVED
from tests.support.tables import table


def grades(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["summarize", *map(str, arguments)], env={"COLUMNS": "200"})


@table("name, by", ("rome", "language"), ("cmmath", "form"))
def test_it_gives_the_saved_numbers(tmp_path: Path, name: str, by: str) -> None:
    path = tmp_path / "grades.json"
    done = grades(f"it={SAVED / name}", "--by", by, "-o", path)
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text("utf-8")) == json.loads(
        (SAVED / name / "summarize.json").read_text("utf-8")
    )


def test_runs_of_several_benchmarks_in_one_folder(tmp_path: Path) -> None:
    """As written by ``--tasks rpts_eval,rome,cmmath``: tables of each, or of the chosen one."""
    (tmp_path / "all").mkdir()
    for name in ("careful", "rome", "cmmath"):
        for file in (SAVED / name).rglob("*_samples_*.jsonl"):
            stem = file.name.partition("_samples_")[2]
            shutil.copy(file, tmp_path / "all" / f"20260101_000000_samples_{stem}")
    program = str(Path(sys.executable).with_name("lmms-rpts"))
    titles = {
        "rpts": "right_for_wrong_reason",
        "rome": "ROME by subtask",
        "cmmath": "CMMaTH by task",
    }
    for chosen in ((), ("rpts",), ("rome",), ("cmmath",)):
        options = [part for name in chosen for part in ("--benchmark", name)]
        done = run([program, "summarize", f"it={tmp_path / 'all'}", *options])
        assert {name for name, title in titles.items() if title in done.stdout} == set(
            chosen or titles
        ), done.stdout
    done = grades(tmp_path / "all", "-o", tmp_path / "table.md")
    assert done.exit_code == 1
    assert "--benchmark rpts or --benchmark rome or --benchmark cmmath" in done.output


def test_columns_that_are_not_shown_are_not_explained(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "a", {"geo": [make_rome_record(1.0)]})
    for run_of, hidden in ((SAVED / "rome", set()), (tmp_path / "a", {"consistency"})):
        said = grades(run_of).stdout
        for name in ("strict", "consistency", "tokens"):
            assert (f" {name}: " in said) == (name in said.split()), name
            assert name in said.split() or name in {"tokens"} | hidden


@table(
    "arguments, said",
    ([SAVED / "careful", "--by", "colour"], "known breakdowns: task, language, relation, ability"),
    ([SAVED / "rome", "--columns", "rpts"], "Unknown column 'rpts'; columns: n, rounds, accuracy,"),
    ([SAVED / "nowhere"], "does not exist"),
    ([SAVED / "rome", "--benchmark", "roma"], "Did you mean rome?"),
    ([SAVED / "rome", "--benchmark", "rpts"], "No run of RPTS-Eval in"),
    ([SAVED / "rome", "--benchmark", "cmmath"], "there are runs of ROME"),
    ([SAVED / "careful", "--list", "3"], "RPTS-Eval does not support --list"),
    ([SAVED / "rome", "--tree", "2"], "ROME does not support --tree"),
    ([SAVED / "rome", "--by", "colour"], "Unknown breakdown 'colour'; known breakdowns: sub"),
    ([SAVED / "rome", "-o", "x.txt"], "ends in .csv, .json, .md, .tex"),
)
def test_what_can_not_be_shown_is_told(arguments: list[object], said: str) -> None:
    done = grades(*arguments)
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output
