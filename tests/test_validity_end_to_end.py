"""LMMS_RPTS_VALIDITY with the real lmms-eval: checked before the run, noted in its results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lmms_rpts
from lmms_rpts.cli import app
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.runs.validity import Validity
from tests.support.lmms import Run, run_lmms_eval
from tests.support.validity import make_set, make_validity, write_validity

pytestmark = pytest.mark.slow

SAID = Path(lmms_rpts.__file__).parent / "demo" / "responses" / "lucky.jsonl"


def demo(folder: Path, *more: str, validity: Path | None = None) -> Run:
    """The demo, scored by the judge ``lexical`` unless another one is set."""
    env = {} if validity is None else {"LMMS_RPTS_VALIDITY": str(validity)}
    arguments = ("--model", "replay", "--model_args", f"samples={SAID}", "--tasks", "rpts_demo")
    return run_lmms_eval(folder, *arguments, *more, env=env)


def usage_of(run: Run) -> dict[str, Any]:
    (file,) = run.folder.rglob("*_results.json")
    usage: dict[str, Any] = json.loads(file.read_text())["usage"]
    return usage


def of_lexical(**changes: Any) -> Validity:
    return make_validity(
        make_set(), **{"judge": "lexical", "prompt_version": Prompts().version()} | changes
    )


def test_the_results_hold_what_is_known_of_the_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report shows it, too; the records and metrics are the same as without the file."""
    path = write_validity(tmp_path / "validity.json", of_lexical())
    plain, done = demo(tmp_path / "plain"), demo(tmp_path / "out", validity=path)
    assert done.code == 0, done.output
    assert "LMMS_RPTS_VALIDITY" not in done.output
    assert done.records("rpts_demo") == plain.records("rpts_demo")
    assert str(done.results) == str(plain.results)
    usage, before = usage_of(done), usage_of(plain)
    held = usage.pop("validity")
    assert "validity" not in before
    assert usage.keys() == before.keys()
    assert held["file"] == str(path)
    assert (held["judge"], held["prompt_version"]) == ("lexical", Prompts().version())
    (found,) = held["sets"]
    assert found["metrics"]["sensitivity"] == {"value": 0.8, "low": 0.7, "high": 0.9}

    words = ["score", str(SAID), "--judge", "lexical", "-o", str(tmp_path / "scored")]
    CliRunner().invoke(app, words, env={"LMMS_RPTS_VALIDITY": str(path)})
    assert usage_of(Run("", 0, tmp_path / "scored"))["validity"] == held

    monkeypatch.delenv("LMMS_RPTS_VALIDITY", raising=False)
    arguments = ["report", str(done.folder), "--no-images", "-o", str(tmp_path / "r.html")]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "sensitivity 0.80 [0.70, 0.90]" in page


def test_a_file_of_another_judge_is_said_once_and_breaks_nothing(tmp_path: Path) -> None:
    path = write_validity(tmp_path / "validity.json", of_lexical(judge="openai:m"))
    done = demo(tmp_path / "out", "--limit", "1", validity=path)
    assert done.records("rpts_demo")
    version = f"with prompts {Prompts().version()}"
    said = f"{path} is about the judge 'openai:m' {version}, not 'lexical' {version}"
    assert done.output.count(said) == 1


def test_a_file_that_cannot_be_used_ends_the_run_before_the_model_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "validity.json"
    path.write_text('{"format": "other"}')
    for named in (path, tmp_path / "nowhere.json"):
        done = demo(tmp_path / named.stem, validity=named)
        assert str(named) in done.output
        assert "lmms-rpts validate -o" in done.output
        assert not list((tmp_path / named.stem).rglob("*_results.json"))
        assert "Loaded" not in done.output
        assert "Running generate_until" not in done.output
