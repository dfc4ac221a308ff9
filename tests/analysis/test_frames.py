"""Runs as data frames: rows of responses and steps, and files of them."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

import lmms_rpts as lr
from lmms_rpts.cli import app
from lmms_rpts.scoring.metrics import METRICS
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run

HOSTILE = ('=HYPERLINK("http://x.y")', "+1", "＝1", "'@x", "two\nlines", "图片0 -> 结论0")


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_a_row_per_response_with_every_metric(tmp_path: Path) -> None:
    doc = make_doc(ability=["reading", "counting"], relation="guided")
    records = {0: [make_record([0.25, 0.5], doc=doc), make_record([None, None], doc=doc)]}
    write_run(tmp_path / "run", records, tokens={0: 70})
    (run,) = lr.read_runs(tmp_path / "run")
    frame = lr.responses_frame(run)
    assert list(frame.columns[:5]) == ["run", "task", "doc_id", "id", "repeat"]
    assert {*METRICS} <= {*frame.columns}
    first, second = frame.to_dict("records")
    place = ("model-a", "rpts_eval_en", 0, 0)
    assert tuple(first[name] for name in ("run", "task", "doc_id", "repeat")) == place
    assert (first["ability"], first["relation"], first["tokens"]) == (
        *("reading | counting", "guided"),
        70,
    )
    # Heights 1 and 2: (0.25 + 0.9 * 0.5) / 1.9
    assert first["rpts"] == pytest.approx(0.7 / 1.9)
    assert (first["first_error_step"], first["first_error_modality"]) == (0, "visual")
    assert (first["accuracy"], first["answer"], first["gold_answer"]) == (1.0, "agree", "agree")
    assert pd.isna(second["rpts"])
    assert "the judge refused" in second["reason"]


def test_a_row_per_step(tmp_path: Path) -> None:
    write_run(tmp_path / "run", {3: make_record([0.25, 0.5])})
    first, second = lr.steps_frame(lr.read_runs(tmp_path / "run")).to_dict("records")
    assert (first["step"], first["score"], first["first_error"]) == (0, 0.25, True)
    assert (first["premises"], first["modality"], first["question"]) == (
        *("image 0", "visual", "image"),
    )
    assert (second["premises"], second["height"]) == ("conclusion 0 + text 0", 2)
    assert [first["weight"], second["weight"]] == pytest.approx([1 / 1.9, 0.9 / 1.9])
    assert second["reply"] == "Score: 0.5"


def test_runs_of_several_benchmarks_are_in_one_frame(tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: make_record([1.0, 1.0])})
    write_rome_run(tmp_path / "b", {"geo": [make_rome_record(1.0)]})
    frame = lr.responses_frame(lr.read_runs([tmp_path / "a", tmp_path / "b"]))
    assert list(frame["task"]) == ["rpts_eval_en", "rome_geo"]
    assert list(frame["accuracy"]) == [1.0, 1.0]
    assert frame["rpts"].isna().tolist() == [False, True]
    assert len(lr.steps_frame(lr.read_runs(tmp_path / "b"))) == 0


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "csv"])
def test_files_hold_the_frames(tmp_path: Path, suffix: str) -> None:
    records = {
        at: make_record([0.5, 0.5], doc=make_doc(id=at), steps=(f"Image0 -> {text}", "Text0 -> B."))
        for at, text in enumerate(HOSTILE)
    }
    write_run(tmp_path / "run", records)
    file = tmp_path / f"steps.{suffix}"
    done = export(tmp_path / "run", "-o", file)
    assert done.exit_code == 0, done.output
    assert "12 steps written to" in done.output
    readers = {"parquet": pd.read_parquet, "csv": pd.read_csv}
    frame = readers[suffix](file) if suffix in readers else pd.read_json(file, lines=True)
    wanted = lr.steps_frame(lr.read_runs(tmp_path / "run"))
    assert list(frame.columns) == list(wanted.columns)
    assert frame["score"].tolist() == wanted["score"].tolist()
    if suffix == "csv":  # no spreadsheet runs a cell as a formula
        with file.open(encoding="utf-8-sig", newline="") as lines:
            cells = [row["conclusion"] for row in csv.DictReader(lines)]
        assert not any(cell[:1] in tuple("=+-@＝") for cell in cells)
    else:
        assert frame["conclusion"].tolist() == wanted["conclusion"].tolist()


def test_mistakes_of_export(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "rome", {"geo": [make_rome_record(1.0)]})
    done = export(tmp_path / "rome", "-o", tmp_path / "x.parquet")
    assert "use --responses" in done.output
    assert "ends in .parquet, .jsonl, .csv" in export(tmp_path, "-o", "x.txt").output
    file = tmp_path / "responses.csv"
    assert export(tmp_path / "rome", "--responses", "-o", file).exit_code == 0
    assert "1 of the input" not in export(tmp_path / "rome", "--responses", "-o", file).output
    (samples,) = (tmp_path / "rome").rglob("*.jsonl")
    assert "one of the input files" in export(tmp_path / "rome", "-o", samples).output
