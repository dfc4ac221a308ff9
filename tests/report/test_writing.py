"""Files of reports: what they replace, what they refuse, and what a failed write leaves."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.commands.common import may_overwrite
from tests.support.environment import VARIABLES
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table

GENERATOR = '<!doctype html>\n<meta name="generator" content="{}">\n'
# Ends while the tenth instance is written, as kill -9 does.
KILLED = """
import os, signal
from lmms_rpts.cli import app
from lmms_rpts.report.frame import Frame

whole, written = Frame.body, []

def body(*arguments, **options):
    written.append(1)
    if len(written) == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*arguments, **options)

Frame.body = body
app()
"""


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
    return run_command("report", run, "--no-images", "-o", output)


def test_one_report_shows_all_that_a_folder_holds(tmp_path: Path, saved: Path) -> None:
    done = run_command("report", saved, "-o", tmp_path / "r.html")
    assert done.exit_code == 0, done.output
    assert "46 instances" in done.output
    assert "or set CMMATH_PATH, or set ROME_PATH" in done.output
    html = (tmp_path / "r.html").read_text("utf-8")
    for place in ("overview", "instances", "graded-rome", "graded-cmmath"):
        assert html.count(f'<section id="{place}"') == 1
    # One benchmark alone, with the interval of lmms-rpts summarize.
    done = run_command("report", saved / "rome", "-o", tmp_path / "r.html", "--no-images")
    assert "not found" not in done.output
    html = (tmp_path / "r.html").read_text("utf-8")
    assert "<title>ROME: rome</title>" in html
    assert 'id="overview"' not in html
    lines = run_command("summarize", saved / "rome").stdout.splitlines()
    line = next(each for each in lines if each.strip().startswith("all documents"))
    assert line[line.index("[") : line.index("]") + 1] in html
    write(saved / "careful", tmp_path / "r.html")
    assert "graded" not in (tmp_path / "r.html").read_text("utf-8")


@table(
    "content, may",
    (None, True),
    ("", True),
    (GENERATOR.format("lmms-rpts 0.2.0 report"), True),
    (GENERATOR.format("lmms-rpts 0.2.0.dev1+local report"), True),
    (GENERATOR.format("lmms-rpts 0.1.0"), False),
    (GENERATOR.format("lmms-rpts 0.2.0 rate"), False),
    (GENERATOR.format("lmms-rpts 0.2.0 reports"), False),
    (GENERATOR.format("Hugo 0.1"), False),
    ("<title>Our page</title>", False),
    ("x" * 5_000 + GENERATOR.format("lmms-rpts 0.2.0 report"), False),
)
def test_what_may_be_overwritten(tmp_path: Path, content: str | None, may: bool) -> None:
    page = tmp_path / "page.html"
    if content is not None:
        page.write_text(content, encoding="utf-8")
    assert may_overwrite(page, "report") is may


def test_commands_overwrite_only_their_own_pages(run: Path, tmp_path: Path, saved: Path) -> None:
    """``rate -o report.html`` replaced the report, without a word."""
    commands = {"report": ["report", run, "-o"], "rate": ["rate", run, "-o"]}
    pages = {name: tmp_path / f"{name}.html" for name in commands}
    for name in (*commands, "report"):
        said = run_command(*commands[name], pages[name])
        assert said.exit_code == 0, said.output
    before = {name: page.read_bytes() for name, page in pages.items()}
    for name, command in commands.items():
        for other in {*commands} - {name}:
            said = run_command(*command, pages[other])
            assert said.exit_code == 1, (name, other)
            assert f"{pages[other]} was not written by lmms-rpts {name}: use" in said.output
            assert pages[other].read_bytes() == before[other]
    samples = next((saved / "rome").rglob("*_samples_*"))
    assert run_command("report", saved / "rome", "-o", samples).exit_code == 1


def test_a_killed_report(run: Path, tmp_path: Path) -> None:
    """The page is as before. The same command again writes all of it."""
    file = tmp_path / "report.html"
    assert write(run, file).exit_code == 0
    before = file.read_bytes()
    arguments = ["report", str(run), "--no-images", "-o", str(file)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True)
    assert done.returncode == -signal.SIGKILL
    assert file.read_bytes() == before
    again = write(run, file)
    assert again.exit_code == 0, again.output


def test_a_full_disk_and_places_that_cannot_be_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, saved: Path
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "d.html").mkdir()
    for output in ("file/report.html", "d.html"):
        said = write(run, tmp_path / output)
        assert said.exit_code == 1
        assert said.output.startswith("Cannot write to"), said.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.html", "file"]
