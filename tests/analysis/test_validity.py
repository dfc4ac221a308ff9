"""What was measured of a judge follows it to tables and reports."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lmms_rpts.analysis.reading import read_run
from lmms_rpts.analysis.validity import validity_lines
from lmms_rpts.cli import app
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import ValidityError, ValidityFile, read_validity_file, validity_in
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table
from tests.support.validity import make_set, make_validity, write_validity

LINE = (
    "openai:oracle on processbench (210 labelled steps; validity.json, 2026-11-22): "
    "AUC 0.71 [0.65, 0.77]; sensitivity 0.80 [0.70, 0.90]; specificity 0.90 [0.85, 0.95]"
)


@pytest.fixture(autouse=True)
def _unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMMS_RPTS_VALIDITY", raising=False)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    records = {at: make_record([0.9, at % 2], doc=make_doc(id=at)) for at in range(4)}
    write_run(tmp_path / "run", records)
    return read_run(tmp_path / "run")


def results_of(file: ValidityFile) -> dict[str, Any]:
    """The results file that lmms-eval would have written."""
    found: dict[str, Any] = json.loads(json.dumps({"usage": {"validity": file.extract()}}))
    return found


def test_figures_come_from_the_setting_or_from_the_results(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert validity_lines([run]) == []
    path = write_validity(tmp_path / "validity.json")
    held = replace(run, results=results_of(read_validity_file(path)))
    assert validity_lines([held, replace(held, label="b")]) == [LINE]
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(path))
    assert validity_lines([run]) == [LINE]
    blind = make_set("visual", blind=True, baselines={"place": {"auc": make_set().metrics["auc"]}})
    write_validity(path, make_validity(blind))
    (line,) = validity_lines([run])
    assert line.startswith("openai:oracle on visual without its images (210 ")
    assert line.endswith("; no better than its place in the chain (0.71)")


@table(
    "changes, said",
    ({"judge": "openai:other"}, "the judge 'openai:other' with prompts 1, not 'openai:oracle'"),
    ({"prompt_version": "1+abc"}, "the judge 'openai:oracle' with prompts 1+abc, not "),
    ({"prompt_version": ""}, "the judge 'openai:oracle' with prompts unknown, not "),
)
def test_figures_of_another_judge_are_not_shown(run: Run, changes: Any, said: str) -> None:
    other = ValidityFile(Path("validity.json"), make_validity(**changes))
    (line,) = validity_lines([replace(run, results=results_of(other))])
    assert said in line
    assert line.endswith(": the error rates of the judge of model-a are unknown")


@table("judge", "none")
def test_a_run_that_was_not_judged_says_nothing(tmp_path: Path, judge: str) -> None:
    write_run(tmp_path / "none", {0: make_record([None, None], judge=judge)})
    held = results_of(ValidityFile(Path("v.json"), make_validity()))
    assert validity_lines([replace(read_run(tmp_path / "none"), results=held)]) == []


@table(
    "usage",
    None,
    [],
    {},
    {"validity": None},
    {"validity": []},
    {"validity": {"file": "x"}},
    {"validity": {**make_validity().model_dump(mode="json"), "file": 5}},
    {"validity": {**make_validity().model_dump(mode="json"), "file": "x", "sets": 5}},
    {"validity": {**make_validity().model_dump(mode="json"), "file": "x", "format": "other"}},
    {"validity": {**make_validity().model_dump(mode="json"), "file": "x", "version": 99}},
)
def test_results_that_have_none(usage: Any) -> None:
    assert validity_in({"usage": usage}) is None


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("nowhere.json", "broken.json", "."):
        with pytest.raises(ValidityError, match="lmms-rpts validate"):
            read_validity_file(tmp_path / name)


def test_commands_and_report_show_them_escaped(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "<script>window.hacked=1</script> [red]x[/] \x1b[31m\u202e"
    path = write_validity(tmp_path / "validity.json", make_validity(make_set(hostile)))
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(path))
    monkeypatch.setenv("COLUMNS", "200")
    page, folder = tmp_path / "r.html", str(tmp_path / "run")
    for command in (
        ["summarize", folder],
        ["compare", folder, folder],
        ["report", folder, "--no-images", "-o", str(page)],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
        assert "\x1b" not in done.output
        if command[0] != "report":
            assert "Judge: openai:oracle on <script>" in done.output
    text = page.read_text(encoding="utf-8")
    assert "<script>window" not in text
    assert "AUC 0.71 [0.65, 0.77]" in text
    monkeypatch.setenv("LMMS_RPTS_VALIDITY", str(tmp_path / "nowhere.json"))
    done = CliRunner().invoke(app, ["summarize", folder])
    assert (done.exit_code, "nowhere.json" in done.output) == (1, True)
