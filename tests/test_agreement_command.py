"""``lmms-rpts agreement``: its output, files and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.ratings import rating, write_ratings
from tests.support.runs import make_record, write_run

Command = Callable[..., Result]
SCORES = {at: [at / 10, 1 - at / 10] for at in range(6)}


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["agreement", *map(str, arguments)])


def folder_of(
    folder: Path, scores: Mapping[int, Sequence[float]] = SCORES, judge: str = "openai:a"
) -> Path:
    records = {
        at: make_record(own, doc=make_doc(id=f"d{at}"), judge=judge) for at, own in scores.items()
    }
    write_run(folder, records)
    return folder


def test_judges_and_people_in_one_table(command: Command, tmp_path: Path) -> None:
    run = folder_of(tmp_path / "run")
    other = folder_of(tmp_path / "b", {at: [0.5, 0.6] for at in range(6)}, "hf:<b>")
    ann = [rating(at, step, own[step]) for at, own in SCORES.items() for step in (0, 1)]
    files = [
        write_ratings(tmp_path / "[red]ann.json", *ann),
        write_ratings(tmp_path / "bob.json", rating(0, 0, 0.2), rater="Bob"),
    ]
    table = tmp_path / "eve.xlsx"
    pd.DataFrame({"doc_id": [1], "step": [0], "human": [0.1]}).to_excel(table, index=False)
    outputs = [tmp_path / f"out.{suffix}" for suffix in ("csv", "json", "md", "tex")]
    written = [argument for path in outputs for argument in ("-o", path)]
    done = command(f"GPT={run}", other, *files, table, *written)
    assert done.exit_code == 0, done.output
    lines = [line.split() for line in done.output.splitlines()]
    assert ["GPT", "openai:a", "12", "6", "0.008"] in [line[:5] for line in lines]
    assert ["hf:<b>", "12", "6"] in [line[1:4] for line in lines]
    rows = json.loads(outputs[1].read_text(encoding="utf-8"))["tables"][0]["rows"]
    assert pd.read_csv(outputs[0])["mae"].tolist() == pytest.approx([row["mae"] for row in rows])
    assert r"hf:&lt;b&gt;" in outputs[2].read_text(encoding="utf-8")


def test_two_judges_without_people_and_what_cannot_be_compared(
    command: Command, tmp_path: Path
) -> None:
    run, other = folder_of(tmp_path / "run"), folder_of(tmp_path / "b", {0: [0.0, 1.0]}, "hf:b")
    done = command(run, other)
    assert done.exit_code == 0, done.output
    assert "Note: steps left out: only in one run: 10." in done.output
    (samples,) = other.rglob("*_samples_*.jsonl")
    assert command(run, samples).output == done.output, "a file of samples is a run"
    ann = write_ratings(tmp_path / "ann.json", rating(0, 0, 1.0))
    done = command(run, ann, "-o", ann)
    assert (done.exit_code, "one of the input files" in done.output) == (1, True)
    assert command(run, tmp_path / "nowhere.csv").exit_code == 1
