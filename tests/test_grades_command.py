"""``lmms-rpts grades``: one command for the graded answers of all benchmarks."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
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
    assert "there are graded answers of ROME and CMMaTH: name the runs of one" in done.output
    assert "choose with --benchmark rome or --benchmark cmmath" in done.output
    assert grades(SAVED / "rome", "--benchmark", "rome").exit_code == 0


@table(
    "arguments, said",
    ([SAVED / "careful"], "Name runs of ROME, CMMaTH"),
    ([SAVED / "nowhere"], "does not exist"),
    ([SAVED / "rome", "--benchmark", "roma"], "Did you mean rome?"),
    ([SAVED / "rome", "--benchmark", "rpts"], "rpts has no graded answers"),
    ([SAVED / "rome", "--benchmark", "cmmath"], "of ROME, not of CMMaTH"),
    ([SAVED / "rome", "--undecided", "3"], "ROME has nothing to show for --undecided"),
    ([SAVED / "rome", "--tree"], "ROME has nothing to show for --tree"),
    ([SAVED / "rome", "--by", "colour"], "unknown breakdown 'colour'; known breakdowns: sub"),
    ([SAVED / "rome", "-o", "x.tex"], "one of .csv, .json, .md"),
)
def test_what_can_not_be_shown_is_told(arguments: list[object], said: str) -> None:
    done = grades(*arguments)
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output
