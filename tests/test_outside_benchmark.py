"""A benchmark of another package, which needs no changes to this one."""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.tasks.benchmark import Benchmark, registry
from tests.support.lmms import run, run_lmms_eval

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent / "fixtures" / "outside_package"
ENV = {"PYTHONPATH": str(PACKAGE)}
COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
SAID = {"sky": "It is Blue.", "grass": "Green, I think.", "snow": "black"}


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "said.jsonl"
    lines = [{"task": "colours", "id": name, "response": said} for name, said in SAID.items()]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_the_documentation_shows_what_is_tested() -> None:
    page = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    for name in ("benchmark.py", "record.py", "grading.py", "colours.yaml"):
        assert (PACKAGE / "colours" / name).read_text(encoding="utf-8") in page, name
    fields = {each.name for each in dataclasses.fields(Benchmark)}
    table = page[page.index("| field |") : page.index("Functions and classes are named")]
    assert fields - set(re.findall(r"`(\w+)`", table)) == set()


def test_it_is_evaluated(tmp_path: Path, samples: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours")
    done = run_lmms_eval(tmp_path / "out", *arguments, env=ENV, importing=True)
    scores = {each["instance"]["id"]: each["score"] for each in done.records("colours").values()}
    assert scores == {"sky": 1.0, "grass": 1.0, "snow": 0.0}, done.output
    assert done.results["colours"]["accuracy,none"] == pytest.approx(2 / 3)
    table = tmp_path / "table.csv"
    command = [COMMAND, "summarize", str(tmp_path / "out"), "--by", "initial", "-o", str(table)]
    told = run(command, env=ENV, importing=True)
    assert "0.667" in told.stdout, told.stdout
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    found = {(row["by"], row["group"]): float(row["accuracy"]) for row in rows}
    each = {("initial", "s"): 0.5, ("initial", "g"): 1.0}
    assert found == {("", ""): pytest.approx(2 / 3), **each}
    told = run(
        [COMMAND, "summarize", str(tmp_path / "out"), "--tree", "2"], env=ENV, importing=True
    )
    assert told.returncode == 1
    assert "Colours does not support --tree" in told.stdout


def test_a_report_shows_it(tmp_path: Path, samples: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours")
    run_lmms_eval(tmp_path / "out", *arguments, env=ENV, importing=True)
    page = tmp_path / "report.html"
    told = run([COMMAND, "report", str(tmp_path / "out"), "-o", str(page)], env=ENV, importing=True)
    assert told.returncode == 0, told.stdout
    assert f"{page}: 3 instances, 0 images" in told.stdout
    html = page.read_text(encoding="utf-8")
    assert "Colours: said" in html
    assert 'id="graded-colours"' in html
    # The record does not hold the question, so it comes from the samples.
    questions = (PACKAGE / "colours" / "questions.jsonl").read_text(encoding="utf-8")
    for line in questions.splitlines():
        question = json.loads(line)
        at = list(SAID).index(question["id"])
        article = html[html.index(f'id="colours-{at}"') :].partition("Response")[0]
        assert question["question"] in article
        assert f'<b dir="auto">{question["answer"]}</b>' in article
    assert "The samples do not contain" not in html


def test_its_data_are_checked_before_a_model_is_loaded(tmp_path: Path, samples: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "colours")
    env = ENV | {"COLOURS_PATH": str(tmp_path)}
    done = run_lmms_eval(tmp_path / "out", *arguments, env=env, importing=True)
    assert "questions.jsonl is missing: set COLOURS_PATH" in done.output
    assert not list((tmp_path / "out").rglob("*_results.json"))


def test_doctor_examines_it() -> None:
    quick = [COMMAND, "doctor", "--offline", "--quick"]
    lines = run(quick, env=ENV, importing=True).stdout.splitlines()
    assert any(line.split()[:3] == ["ok", "Colours", "3"] for line in lines), lines
    done = run(quick, env=ENV | {"COLOURS_CASE": "x"}, importing=True)
    assert "COLOURS_CASE" in done.stdout


@pytest.fixture
def clashing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment with a package whose benchmark claims the tasks of ROME."""
    (tmp_path / "clash.py").write_text(
        "import dataclasses\n"
        "from lmms_rpts.tasks.rome.benchmark import BENCHMARK as rome\n"
        "BENCHMARK = dataclasses.replace(rome, name='rome_more')\n"
    )
    info = tmp_path / "clash-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clash\nVersion: 1.0\n")
    points = "[lmms_rpts.benchmarks]\nmore = clash:BENCHMARK\n"
    (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(tmp_path)
    registry.cache_clear()
    yield {"PYTHONPATH": str(tmp_path)}
    registry.cache_clear()


def test_a_clash_is_told_and_ends_no_run_of_others(
    tmp_path: Path, clashing: dict[str, str], samples: Path
) -> None:
    told = "The benchmarks 'rome' and 'rome_more' both have tasks"
    for command in (["doctor", "--offline", "--quick"], ["summarize", str(tmp_path)]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 1
        assert isinstance(done.exception, SystemExit)
        assert told in done.output
    arguments = ("--model", "replay", "--model_args", f"samples={samples}", "--tasks", "rpts_demo")
    run_once = run_lmms_eval(tmp_path / "out", *arguments, env=clashing, importing=True)
    assert told in run_once.output
