"""Files of reports: what they replace, what they refuse, and what a failed write leaves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.environment import VARIABLES
from tests.support.instances import make_doc
from tests.support.pages import data_in
from tests.support.runs import make_record, write_run


def run_command(*arguments: object) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    docs = [make_doc(id=f"q{at}") for at in range(12)]
    records = {at: make_record([1.0, 1.0], doc=doc) for at, doc in enumerate(docs)}
    return write_run(tmp_path_factory.mktemp("run"), records).parent


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    for name in ("ROME_PATH", "CMMATH_PATH"):
        monkeypatch.setenv(name, str(tmp_path))


def write(run: Path, output: Path) -> Result:
    return run_command("report", run, "-o", output)


def test_one_report_shows_all_that_a_folder_holds(tmp_path: Path, saved: Path) -> None:
    page = tmp_path / "r.html"
    done = run_command("report", saved, "-o", page)
    assert done.exit_code == 0, done.output
    assert "46 instances" in done.output
    assert "40 of 58 images were not found" in done.output
    assert [section["name"] for section in data_in(page)["sections"]] == ["rpts", "rome", "cmmath"]
    # One benchmark alone, with the figure of lmms-rpts summarize.
    run_command("report", saved / "rome", "-o", page)
    (section,) = data_in(page)["sections"]
    accuracy = section["runs"][0]["parts"][0]["figures"]["accuracy"]["value"]
    assert f"{accuracy:.3f}" in run_command("summarize", saved / "rome").stdout
    assert "<title>ROME: rome</title>" in page.read_text("utf-8")


def test_pages_run_nothing_else_and_load_nothing(run: Path, tmp_path: Path) -> None:
    assert write(run, tmp_path / "r.html").exit_code == 0
    html = (tmp_path / "r.html").read_text("utf-8")
    policy = re.search('Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert re.fullmatch(
        "default-src 'none'; img-src data:; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'; "
        "base-uri 'none'; form-action 'none'",
        policy[1],
    )
    assert not re.search(r'(?:src|href)="(?!data:|#)', html.split('<script type="application')[0])


def test_pages_for_raters(run: Path, tmp_path: Path, saved: Path) -> None:
    page = tmp_path / "rate.html"
    done = run_command("report", run, "--rate", "-o", page)
    assert done.exit_code == 0, done.output
    assert "24 steps of 12 responses to rate" in done.output
    assert "these are all judged steps of the run" in done.output
    done = run_command("report", saved / "careful", saved / "lucky", "--rate", "-o", page)
    assert done.exit_code == 1
    assert "Raters see one run, not 2" in done.output


def test_files_of_others_stay(run: Path, saved: Path) -> None:
    samples = next((saved / "rome").rglob("*_samples_*"))
    before = samples.read_bytes()
    done = run_command("report", run, "-o", samples)
    assert done.exit_code == 1
    assert "use a file name that ends in .html" in done.output
    assert samples.read_bytes() == before


def test_a_full_disk_and_places_that_cannot_be_written(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "d.html").mkdir()
    for output in ("file/report.html", "d.html"):
        said = write(run, tmp_path / output)
        assert said.exit_code == 1
        assert said.output.startswith("Cannot write to"), said.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.html", "file"]
