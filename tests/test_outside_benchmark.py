"""Benchmarks of another package, which need no changes to this one."""

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
from tests.support.lmms import Run, run, run_lmms_eval

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent / "fixtures" / "outside_package"
PAGE = (Path(__file__).parents[1] / "docs" / "benchmarks.md").read_text(encoding="utf-8")
ENV = {"PYTHONPATH": str(PACKAGE), "LMMS_RPTS_JUDGE": "lexical"}
COMMAND = str(Path(sys.executable).with_name("lmms-rpts"))
REASONS = """Conclusion 0: from Image 0, a red lamp
Conclusion 1: from Conclusion 0 and Text 0, {}
Final answer: agree"""
SAID = {
    "shapes": ["Final answer: A", "Final answer: C", "B is tempting, but I choose option C."],
    "scenes": ["A red circle.", "a square, I think"],
    "claims": [REASONS.format("the stop lamp is on"), REASONS.format("the cars may go")],
}


def replayed(folder: Path, *tasks: str) -> tuple[str, ...]:
    """The arguments of a run on saved responses."""
    path = folder / "said.jsonl"
    rows = [
        {"task": task, "doc_id": at, "response": text}
        for task in tasks
        for at, text in enumerate(SAID[task])
    ]
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    model = ("--model", "replay", "--model_args", f"samples={path}")
    return (*model, "--tasks", ",".join(tasks))


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("outside")
    return run_lmms_eval(folder / "out", *replayed(folder, *SAID), env=ENV, importing=True)


@pytest.mark.parametrize("name", SAID)
def test_an_example_is_short_and_the_first_is_in_the_documentation(name: str) -> None:
    files = [*(PACKAGE / name).glob("*.py"), *(PACKAGE / name).glob("*.yaml")]
    for file in files:
        assert name != "shapes" or file.read_text(encoding="utf-8") in PAGE, file
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 65


def test_the_documentation_explains_every_field() -> None:
    fields = {each.name for each in dataclasses.fields(Benchmark)}
    table = PAGE[PAGE.index("| field |") : PAGE.index("Functions and classes are named")]
    assert fields - set(re.findall(r"`(\w+)`", table)) == set()


def test_they_are_evaluated(done: Run) -> None:
    graded = done.records("shapes").values()
    assert [(each["score"], each["final"]) for each in graded] == [(1, "A"), (0, "C"), (1, "C")]
    assert done.results["shapes"]["accuracy,none"] == pytest.approx(2 / 3)
    scores = [each["score"] for each in done.records("scenes").values()]
    assert scores == [1.0, pytest.approx(4 / 7)]  # 2 words of 4 are 2 of 3
    assert done.results["scenes"]["words,none"] == 3.5
    assert [each["answer"]["correct"] for each in done.records("claims").values()] == [True, False]
    assert done.results["claims"]["accuracy,none"] == 0.5
    assert 0 < done.results["claims"]["rpts,none"] <= 1


def test_they_are_summarized(tmp_path: Path, done: Run) -> None:
    table = tmp_path / "table.csv"
    command = [COMMAND, "summarize", str(done.folder)]
    said = run(command, env=ENV, importing=True)
    for text in ("Shapes", "Scenes", "0.667", "word_f1: F1 of the words of a caption", "claims"):
        assert text in said.stdout, said.stdout
    options = ["--benchmark", "shapes", "--by", "gold", "-o", str(table)]
    assert run([*command, *options], env=ENV, importing=True).returncode == 0
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    found = {(row["by"], row["group"]): float(row["accuracy"]) for row in rows}
    assert found == {
        ("", ""): pytest.approx(2 / 3),
        ("ability", "round"): 1,
        ("ability", "edges"): 0.5,
        ("gold", "A"): 1,
        ("gold", "B"): 0,
        ("gold", "C"): 1,
    }
    said = run([*command, "--benchmark", "shapes", "--tree", "2"], env=ENV, importing=True)
    assert said.returncode == 1
    assert "Shapes does not support --tree" in said.stdout


def test_a_report_shows_them(tmp_path: Path, done: Run) -> None:
    page = tmp_path / "report.html"
    command = [COMMAND, "report", str(done.folder), "-o", str(page)]
    said = run(command, env=ENV, importing=True)
    assert f"{page}: 7 instances" in said.stdout, said.stdout
    html = page.read_text(encoding="utf-8")
    for text in ("Which shape is this?", "a red disc on white", "The stop lamp is on."):
        assert text in html
    assert html.count("data:image/") >= 3  # equal pictures are embedded once


def test_their_data_are_checked_before_a_model_is_loaded(tmp_path: Path) -> None:
    env = ENV | {"SHAPES_PATH": str(tmp_path)}
    arguments = replayed(tmp_path, "shapes")
    failed = run_lmms_eval(tmp_path / "out", *arguments, env=env, importing=True)
    assert f"Cannot read the file of instances {tmp_path / 'data.jsonl'}" in failed.output
    assert not list((tmp_path / "out").rglob("*_results.json"))


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
    tmp_path: Path, clashing: dict[str, str]
) -> None:
    told = "The benchmarks 'rome' and 'rome_more' both have tasks"
    for command in (["doctor", "--offline", "--quick"], ["summarize", str(tmp_path)]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 1
        assert isinstance(done.exception, SystemExit)
        assert told in done.output
    arguments = (*replayed(tmp_path, "claims")[:-1], "rpts_demo")
    run_once = run_lmms_eval(tmp_path / "out", *arguments, env=clashing, importing=True)
    assert told in run_once.output
