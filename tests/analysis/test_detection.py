"""Documents that a difference needs: what saved runs say, and what is assumed without them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from lmms_rpts.analysis import read_runs
from lmms_rpts.analysis.detection import detection
from lmms_rpts.cli import app
from lmms_rpts.runs.samples import RunError
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.saved_runs import SAVED


def rows(documents: int, *runs: Any, task: str = "rpts_eval_en") -> list[Any]:
    ((rows),) = detection(0.1, {task: documents}, runs).tables.values()
    return list(rows)


def write(folder: Path, right: list[bool], copies: int = 1) -> str:
    """A run with these answers; ``copies``: documents of one cluster with the same answer."""
    records = {}
    for at, each in enumerate(right * copies):
        doc = make_doc(id=at % len(right), statement=f"Statement {at}.")
        records[at] = make_record([0.5, 0.5], answer="agree" if each else "disagree", doc=doc)
    write_run(folder, records)
    return str(folder)


def test_without_runs() -> None:
    # 7.849 * 2 * 0.25 / 0.1^2 = 392.4; with a correlation of 0.5 half of it
    assert [(row["needed"], row["deviation"]) for row in rows(100)] == [
        *((393, pytest.approx(0.5**0.5)), (197, 0.5))
    ]
    assert rows(100)[1]["detectable"] == pytest.approx(2.8016 * 0.5 / 10, abs=1e-4)


def test_one_run(tmp_path: Path) -> None:
    right = [True] * 30 + [False] * 10
    run, copied = (read_runs(write(tmp_path / str(copies), right, copies))[0] for copies in (1, 2))
    independent, correlated, *scores = rows(100, run)
    assert independent["deviation"] == pytest.approx((2 * 0.1875 * 40 / 39) ** 0.5)
    assert correlated["deviation"] == pytest.approx((0.1875 * 40 / 39) ** 0.5)
    assert rows(100, copied)[1]["deviation"] == pytest.approx((2 * 0.1875 * 40 / 39) ** 0.5, 0.02)
    (rarely,) = read_runs(write(tmp_path / "rarely", [True] + [False] * 13))
    # Its interval is cut off at 0.
    assert rows(100, rarely)[1]["deviation"] == pytest.approx((13 / 14 / 14 * 14 / 13) ** 0.5)
    assert not scores  # all of RPTS are equal: nothing is known about its spread


def test_two_runs_and_clusters(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    one = [bool(each) for each in generator.random(400) < 0.6]
    other = [
        each if same else not each
        for each, same in zip(one, generator.random(400) < 0.7, strict=True)
    ]
    pairs = [
        read_runs([write(tmp_path / f"{copies}{name}", right, copies) for name, right in sides])
        for copies, sides in ((1, (("a", one), ("b", other))), (2, (("a", one), ("b", other))))
    ]
    difference = np.array(other, float) - np.array(one, float)
    single, double = ({row["score"]: row for row in rows(400, *pair)} for pair in pairs)
    expected = difference.std(ddof=1)
    assert single["accuracy"]["deviation"] == pytest.approx(expected, rel=1e-9)
    assert single["accuracy"]["based on"] == "the difference of the runs"
    # A document and its copy count as one: twice as many documents are needed.
    assert double["accuracy"]["deviation"] == pytest.approx(expected * 2**0.5, rel=2e-3)


def test_what_is_refused(tmp_path: Path) -> None:
    (alike,) = read_runs(write(tmp_path, [True] * 3))
    with pytest.raises(RunError, match="no two documents differ"):
        rows(14, alike)
    (rome,) = read_runs(SAVED / "rome")
    with pytest.raises(RunError, match="Not all of the runs have the task rpts_demo"):
        rows(14, rome, task="rpts_demo")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")

    def printed(*options: str) -> list[list[str]]:
        done = CliRunner().invoke(app, ["estimate", "rpts_demo", "--detect", "0.05", *options])
        assert done.exit_code == 0, done.output
        return [line.split() for line in done.output.splitlines() if " rpts_demo " in line]

    assert [row[-4:] for row in printed()] == [
        *(["0.707", "1,570", "14", "0.529"], ["0.500", "785", "14", "0.374"])
    ]
    assert printed("--limit", "10")[0][-2] == "10"
    saved = [part for name in ("careful", "lucky") for part in ("--from", str(SAVED / name))]
    assert [row[1] for row in printed(*saved)] == ["accuracy", "rpts"]
    assert len(printed(*saved[:2])) == 4
    three = CliRunner().invoke(
        app, ["estimate", "rpts_demo", "--detect", "0.05", *saved, "--from", str(SAVED / "rome")]
    )
    assert three.exit_code == 1
    assert "--from: one run or two, not 3" in three.output
    alone = CliRunner().invoke(app, ["estimate", "rpts_demo", *saved])
    assert alone.exit_code == 1
    assert "--from needs --detect" in alone.output
    monkeypatch.setenv("LMMS_RPTS_PERTURB", "wording=5")
    assert printed()[0][-2] == "14"  # all draws of a document count as one
