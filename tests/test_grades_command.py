"""``lmms-rpts grades``: one command for the graded answers of all benchmarks."""

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
    return CliRunner().invoke(app, ["grades", *map(str, arguments)], env={"COLUMNS": "200"})


@table("name, by", ("rome", "language"), ("cmmath", "form"))
def test_it_gives_what_the_benchmarks_own_command_gives(tmp_path: Path, name: str, by: str) -> None:
    path = tmp_path / "grades.json"
    done = grades(f"it={SAVED / name}", "--by", by, "-o", path)
    assert done.exit_code == 0, done.output
    assert json.loads(path.read_text("utf-8")) == json.loads(
        (SAVED / name / f"{name}.json").read_text("utf-8")
    )
    own = CliRunner().invoke(app, [name, f"it={SAVED / name}", "--by", by], env={"COLUMNS": "200"})
    assert done.stdout == own.stdout


def test_of_several_benchmarks_one_must_be_chosen(tmp_path: Path) -> None:
    both = (SAVED / "rome", SAVED / "cmmath")
    done = grades(*both)
    assert done.exit_code == 1
    assert "There are graded answers of ROME and CMMaTH: pass the runs of one" in done.output
    assert "choose with --benchmark rome or --benchmark cmmath" in done.output
    assert grades(SAVED / "rome", "--benchmark", "rome").exit_code == 0


def test_runs_of_several_benchmarks_in_one_folder(tmp_path: Path) -> None:
    """As written by ``--tasks rome,cmmath``; the other benchmark causes no message."""
    (tmp_path / "both").mkdir()
    for name in ("rome", "cmmath"):
        for file in (SAVED / name).rglob("*_samples_*.jsonl"):
            stem = file.name.partition("_samples_")[2]
            shutil.copy(file, tmp_path / "both" / f"20260101_000000_samples_{stem}")
    program = str(Path(sys.executable).with_name("lmms-rpts"))
    for arguments, first, other in (
        (["rome"], "ROME by subtask", "cmmath"),
        (["cmmath"], "CMMaTH by task", "rome"),
        (["grades", "--benchmark", "rome"], "ROME by subtask", "cmmath"),
    ):
        done = run([program, *arguments, f"it={tmp_path / 'both'}"])
        assert done.stdout.startswith(first), done.stdout
        assert other not in done.stdout.lower().replace("cmmath by task", "")
    done = run([program, "summarize", str(tmp_path / "both")])
    assert "are of ROME and CMMaTH, not of RPTS: lmms-rpts grades" in done.stdout


def test_columns_that_are_not_shown_are_not_explained(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "a", {"geo": [make_rome_record(1.0)]})
    for run_of, hidden in ((SAVED / "rome", set()), (tmp_path / "a", {"consistency"})):
        said = grades(run_of).stdout
        for name in ("strict", "consistency", "tokens"):
            assert (f" {name}: " in said) == (name in said.split()), name
            assert name in said.split() or name in {"tokens"} | hidden


@table(
    "arguments, said",
    ([SAVED / "careful"], "Pass runs of ROME, CMMaTH"),
    ([SAVED / "nowhere"], "does not exist"),
    ([SAVED / "rome", "--benchmark", "roma"], "Did you mean rome?"),
    ([SAVED / "rome", "--benchmark", "rpts"], "rpts has no graded answers"),
    ([SAVED / "rome", "--benchmark", "cmmath"], "of ROME, not of CMMaTH"),
    ([SAVED / "rome", "--undecided", "3"], "ROME does not support --undecided"),
    ([SAVED / "rome", "--tree"], "ROME does not support --tree"),
    ([SAVED / "rome", "--by", "colour"], "Unknown breakdown 'colour'; known breakdowns: sub"),
    ([SAVED / "rome", "-o", "x.tex"], "ends in .csv, .json, .md"),
)
def test_what_can_not_be_shown_is_told(arguments: list[object], said: str) -> None:
    done = grades(*arguments)
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output
