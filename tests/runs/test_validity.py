"""What was measured of judges follows them: kept by judge, prompts and set, told in sentences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import lmms_rpts
from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.base.settings import Settings
from lmms_rpts.cli import app
from lmms_rpts.runs.run import Run
from lmms_rpts.runs.validity import Validity, store_validity, stored_validity, validity_lines
from tests.support.instances import make_doc
from tests.support.judge_server import JudgeServer, by_prompt
from tests.support.lmms import run_lmms_eval
from tests.support.runs import make_record, write_run
from tests.support.tables import table

JUDGE = "openai:oracle"  # of `make_record`, with the prompts "1"
LINE = f"judge {JUDGE}: AUC 0.71 [0.65, 0.77] on 127 steps (built-in, 2026-11-29)"
SAID = Path(lmms_rpts.__file__).parent / "demo" / "responses" / "lucky.jsonl"


def entry(**changes: Any) -> Validity:
    fields = {"judge": JUDGE, "prompt_version": "1", "set": "built-in", "created": "2026-11-29"}
    numbers = {"steps": 127, "auc": 0.71, "low": 0.65, "high": 0.77, "shortness": 0.6}
    return Validity.model_validate({**fields, **numbers, **changes})


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Settings:
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return Settings()


def run_of(folder: Path, judge: str = JUDGE, held: object = None) -> Run:
    write_run(folder, {0: make_record([0.9, 1.0], doc=make_doc(id=0), judge=judge)})
    (run,) = read_runs([str(folder)])
    return replace(run, results={"usage": {"validity": held}})


def test_newer_results_replace_older_ones_of_the_same_set(
    settings: Settings, tmp_path: Path
) -> None:
    assert stored_validity(settings) == ()
    others = [entry(set="other"), entry(judge="hf:x"), entry(prompt_version="2")]
    store_validity([entry(auc=0.8), *others], settings)
    path = store_validity([entry()], settings)
    assert path is not None
    assert stored_validity(settings) == (entry(), *others)
    # Those of this machine count before those in the results of a run.
    elsewhere = [entry(auc=0.9, low=0.8, high=1.0).model_dump(), entry(set="b").model_dump()]
    run = run_of(tmp_path / "a", held=elsewhere)
    assert validity_lines([run, run])[:2] == [LINE, LINE.replace("built-in", "b")]
    path.write_text("damaged")
    assert stored_validity(settings) == ()
    assert store_validity([entry()], settings.model_copy(update={"cache": None})) is None


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


@table(
    "judge, held, said",
    ("lexical", None, ["for testing only"]),
    ("none", None, []),
    *(
        (JUDGE, held, [f"judge {JUDGE}: not validated: lmms-rpts validate --judge {JUDGE}"])
        for held in (None, [], {}, 5, [None], [{"judge": JUDGE}], [{**dict(entry()), "auc": 7}])
    ),
)
def test_runs_without_a_measurement(
    judge: str, held: object, said: list[str], settings: Settings, tmp_path: Path
) -> None:
    """Results may be those of others: wrong ones are passed over."""
    lines = validity_lines([run_of(tmp_path / "a", judge, held)])
    assert [part in line for part, line in zip(said, lines, strict=True)] == [True] * len(said)


@pytest.mark.slow
def test_a_judge_at_chance_is_warned_of_everywhere(tmp_path: Path) -> None:
    arguments = ("--model", "replay", "--model_args", f"samples={SAID}", "--tasks", "rpts_demo")
    with JudgeServer(by_prompt()) as server:
        env = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none"}
        env |= {"LMMS_RPTS_JUDGE": "openai:m", "LMMS_RPTS_CACHE": str(tmp_path / "cache")}
        measured = CliRunner().invoke(app, ["validate", "--limit", "40"], env=env)
        assert measured.exit_code == 0, measured.output
        (line,) = (each for each in measured.output.splitlines() if "judge openai:m: AUC" in each)
        line = line.removeprefix("Warning: ")
        assert "hardly better than guessing" in line
        assert run_lmms_eval(tmp_path / "b", *arguments, env=env).output.count(line) == 1
        scored = ["score", str(SAID), "-o", str(tmp_path / "c")]
        assert CliRunner().invoke(app, scored, env=env).exit_code == 0
    for folder in ("b", "c"):
        (file,) = (tmp_path / folder).rglob("*_results.json")
        (held,) = json.loads(file.read_text())["usage"]["validity"]
        assert (held["judge"], held["set"]) == ("openai:m", "built-in")
        words = ["summarize", str(tmp_path / folder)]  # on another machine, too
        shown = CliRunner().invoke(app, words, env={"LMMS_RPTS_CACHE": str(tmp_path / "elsewhere")})
        assert line in shown.output
