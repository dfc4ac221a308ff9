"""``lmms-rpts agreement``: its output, files and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.reading import read_run
from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.ratings import rated_file, write_ratings
from tests.support.runs import STEPS, make_record, write_run

Command = Callable[..., Result]
SCORES = {at: [at / 10, 1 - at / 10] for at in range(6)}
RATED = "doc_id,step,score,rater\n" + "".join(
    f"{at},{step},{min(1, score + 0.1 * step):.1f},ann\n"
    for at, scores in SCORES.items()
    for step, score in enumerate(scores)
)
HOSTILE = "[bold red]x[/bold red] | a|b <script>alert(1)</script> `c` \x1b[31mred\u202e [/] end"


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "220")
    return lambda *arguments: CliRunner().invoke(app, ["agreement", *map(str, arguments)])


def folder_of(
    folder: Path,
    scores: Mapping[int, Sequence[float | None]] = SCORES,
    steps: Sequence[str] = STEPS,
    judge: str = "openai:oracle",
    reply: str = "Score: {}",
) -> Path:
    records = {
        at: make_record(each, doc=make_doc(id=at), steps=steps, judge=judge, reply=reply)
        for at, each in scores.items()
    }
    write_run(folder, records)
    return folder


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return folder_of(tmp_path / "run")


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    file = tmp_path / "steps.csv"
    file.write_text(RATED, encoding="utf-8")
    return file


def line_of(output: str, start: str) -> list[str]:
    (line,) = [line for line in output.splitlines() if line.strip().startswith(start)]
    return line.split()


def test_there_is_no_negative_zero(command: Command, run: Path, rated: Path) -> None:
    rated.write_text("doc_id,step,score\n0,0,0.0001\n1,0,0.1001\n", encoding="utf-8")
    output = command(run, rated).output
    assert line_of(output, "all")[-1] == "+0.000"
    assert "-0.00" not in output


def test_raters_and_blanks_are_told(command: Command, run: Path, rated: Path) -> None:
    rated.write_text(RATED.replace("0,0,0.0,ann", "0,0,,ann") + "1,0,0.3,bob\n", encoding="utf-8")
    output = command(run, rated).output
    assert "Agreement between the 2 raters on 1 shared step: mean pairwise MAE 0.200" in output
    assert "1 blank score" in output
    assert "Steps left out (1): not rated (1)." in output


@pytest.mark.parametrize("columns", ["40", "80", "220"])
def test_texts_of_a_run_stay_texts(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    steps = (f"Image0 -> {HOSTILE}", STEPS[1])
    reply = "[link=http://x]{}[/link] | \x1b]0;title\x07"
    run = folder_of(tmp_path / "run", {0: [0.2, 0.2], 1: [0.3, 0.3]}, steps, reply=reply)
    rated = tmp_path / "[red]steps[bold].csv"
    rated.write_text("doc_id,step,score\n0,0,1\n1,0,1\n", encoding="utf-8")
    report = tmp_path / "report.md"
    result = command(run, rated, "-o", report)
    assert result.exit_code == 0, result.output
    assert not set("\x1b\u202e\x07") & set(result.output)
    if columns == "220":
        assert "[red]steps[bold].csv" in result.output
        assert "[bold red]x[/bold red] | a|b <script>" in result.output
        assert "[link=http://x]0.2[/link]" in result.output
    written = report.read_text(encoding="utf-8")
    assert "<script" not in written
    assert r"a\|b" in written
    rows = [line for line in written.splitlines() if line.startswith("| ")]
    widths = {line.replace(r"\|", "").count("|") for line in rows}
    assert widths == {7, 8}
    assert not set("\x1b\u202e\x07") & set(written)


def test_the_table_fits_a_narrow_terminal(
    command: Command, run: Path, rated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    # The human ratings are the opposite: both ends of intervals are negative, the widest case.
    lines = [
        f"{at},{1 - step},{abs(each - 0.1 * (at % 2)):.2f}"
        for at in SCORES
        for step, each in enumerate(SCORES[at])
    ]
    rated.write_text("\n".join(["doc_id,step,score", *lines]), encoding="utf-8")
    table = command(run, rated).output.split("MAE:")[0]
    intervals = " ".join(re.findall(r"all .*\n(.*)", table))
    found = re.findall(r"\[[-+]?\d\.\d\d, [-+]?\d\.\d\d\]", intervals)
    assert len(found) == 4
    assert [each.count("-") for each in found] == [0, 2, 2, 0]
    assert "…" not in table


def test_errors_are_one_message(command: Command, run: Path, rated: Path, tmp_path: Path) -> None:
    rated.write_text("doc_id,step,score\n0,0,2\n", encoding="utf-8")
    strange = folder_of(tmp_path / "b", {9: [0.1, 0.1]}, judge="hf:b")
    for arguments, message in [
        ((run, rated), "steps.csv, row 2: score should be less than or equal to 1, not '2'"),
        ((run, tmp_path / "no.csv"), "Cannot read"),
        ((run, tmp_path / "no"), "does not exist"),
        ((tmp_path / "no", rated), "does not exist"),
        ((run, run), "passed twice"),
        ((run, strange), "Nothing to compare"),
        ((run, rated, "-o", "out.xlsx"), "ends in .csv, .json, .md"),
    ]:
        result = command(*arguments)
        assert result.exit_code == 1, arguments
        assert message in result.stderr
        assert result.stdout == ""
        assert isinstance(result.exception, SystemExit)


# --- files of a rating page


@pytest.fixture
def pages(run: Path, tmp_path: Path) -> list[Path]:
    """Files of two raters: both steps of six documents."""
    found = read_run(run)
    ann = {(at, step): score for at, each in SCORES.items() for step, score in enumerate(each)}
    bob = {key: min(1.0, score + 0.25) for key, score in ann.items()}
    return [
        write_ratings(tmp_path / "ann.json", rated_file(found, ann)),
        write_ratings(tmp_path / "bob.json", rated_file(found, bob, rater="Bob")),
    ]


def test_pages_of_raters(command: Command, run: Path, pages: list[Path]) -> None:
    alone = command(run, pages[0])
    assert alone.exit_code == 0
    assert line_of(alone.output, "all")[:4] == ["all", "12", "6", "0.000"]
    both = command(run, *pages).output
    assert "bob.json (2 raters)" in both
    assert "Agreement between the 2 raters on 12 shared steps" in both
    assert "Krippendorff" in both


def test_a_page_is_not_overwritten(command: Command, run: Path, pages: list[Path]) -> None:
    before = pages[1].read_bytes()
    done = command(run, *pages, "-o", pages[1])
    assert done.exit_code == 1
    assert "one of the input files" in done.output
    assert pages[1].read_bytes() == before


def test_a_json_file_of_another_kind(command: Command, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "validity.json"
    path.write_text(json.dumps({"schema": "other", "sets": []}, indent=2), encoding="utf-8")
    failed = command(run, path)
    assert failed.exit_code == 1
    assert "contains neither human scores nor a run: pass a rating sheet (.csv)" in failed.output
