"""What was measured of judges follows them: kept by judge, prompts and set, told in sentences."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.base.settings import Settings
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import FILE, Validity, store_validity, validity_lines, validity_of
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table

JUDGE = "openai:oracle"  # of `make_record`, with the prompts "1"
LINE = f"judge {JUDGE}: AUC 0.71 [0.65, 0.77] on 127 steps (built-in, 2026-11-29)"


def entry(**changes: Any) -> Validity:
    fields = {"judge": JUDGE, "prompt_version": "1", "set": "built-in", "created": "2026-11-29"}
    numbers = {"steps": 127, "auc": 0.71, "low": 0.65, "high": 0.77, "shortness": 0.6}
    return Validity.model_validate({**fields, **numbers, **changes})


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return Settings(cache=tmp_path / "cache")


def run_of(folder: Path, judge: str = JUDGE, held: object = None) -> Run:
    write_run(folder, {0: make_record([0.9, 1.0], doc=make_doc(id=0), judge=judge)})
    (run,) = read_runs([str(folder)])
    return replace(run, results={"usage": {"validity": held}})


def test_newer_results_replace_older_ones_of_the_same_set(
    settings: Settings, tmp_path: Path
) -> None:
    assert validity_of(JUDGE, "1", settings) == []
    store_validity([entry(auc=0.8), entry(set="other"), entry(judge="hf:x")], settings)
    path = store_validity([entry()], settings)
    assert path == tmp_path / "cache" / FILE
    assert validity_of(JUDGE, "1", settings) == [entry(), entry(set="other")]
    assert validity_of(JUDGE, "2", settings) == [], "other prompts are another judge"
    (tmp_path / "cache" / FILE).write_text("[{]")
    assert validity_of(JUDGE, "1", settings) == [], "a damaged file"
    assert store_validity([entry()], settings.model_copy(update={"cache": None})) is None


def test_runs_are_told_with_what_their_results_hold_or_was_measured_here(
    settings: Settings, tmp_path: Path
) -> None:
    advice = f"judge {JUDGE}: not validated: lmms-rpts validate --judge {JUDGE}"
    assert validity_lines([run_of(tmp_path / "a")]) == [advice]
    elsewhere = [entry(auc=0.9, low=0.8, high=1.0).model_dump(), entry(set="b").model_dump()]
    run = run_of(tmp_path / "a", held=elsewhere)
    store_validity([entry()], settings)
    assert validity_lines([run, run]) == [LINE, LINE.replace("built-in", "b")]


@table(
    "changes, said",
    ({"low": 0.5}, "hardly better than guessing"),
    ({"auc": 0.59}, "hardly better than guessing"),
    ({"shortness": 0.71}, "no better than preferring short steps (0.71)"),
    ({"low": None, "high": None}, "AUC 0.71 on 127 steps"),
    ({"set": "x" * 500 + "\x1b[31m"}, "x…"),
)
def test_judges_to_doubt(changes: dict[str, Any], said: str) -> None:
    line = str(entry(**changes))
    assert said in line
    assert len(line) < 300
    assert bool(entry(**changes).doubt) is ("better" in said)


@table("held", *(None, [], {}, 5, [None], [{"judge": JUDGE}], [entry().model_dump() | {"auc": 7}]))
def test_results_of_others_may_be_wrong(held: object, settings: Settings, tmp_path: Path) -> None:
    (line,) = validity_lines([run_of(tmp_path / "a", held=held)])
    assert "not validated" in line


@table("judge, said", ("lexical", "for testing only"), ("none", None))
def test_judges_that_need_no_validation(
    judge: str, said: str | None, settings: Settings, tmp_path: Path
) -> None:
    lines = validity_lines([run_of(tmp_path / "a", judge)])
    assert len(lines) == (said is not None)
    assert all(str(said) in line for line in lines)
