"""``lmms-rpts summarize`` and ``compare``: tables, files and errors."""

from __future__ import annotations

import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from lmms_rpts.base.escaping import shorten
from lmms_rpts.cli import app
from lmms_rpts.commands.tables import escape_markdown
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import judged, make_record, write_run
from tests.support.tables import table

HOSTILE = "[red]Is[/] a_b&c$%#{}~^\\ | `x` <b> \x1b[31m\u202e 所以 *x* \ud800"
Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models; ``a`` has two rounds."""
    folder = tmp_path_factory.mktemp("runs")
    for name, model, values, tokens in (
        ("a1", "a", (1.0, 0.5, 0.0), 100),
        ("a2", "a", (1.0, 1.0, 0.0), 140),
        ("b", "b", (0.25, 0.0, 0.25), 90),
    ):
        write_run(
            folder / name,
            {at: judged(value) for at, value in enumerate(values)},
            model_args=f"pretrained=lab/{model}",
            tokens=dict.fromkeys(range(3), tokens),
        )
    return folder


def record(doc_id: int, score: float | None, right: bool = True, **changes: Any) -> dict[str, Any]:
    doc = make_doc(id=100 + doc_id, statement=changes.pop("statement", f"Statement {doc_id}."))
    answer = "agree" if right else "disagree"
    return make_record([score, score], answer=answer, doc=doc, **changes)


@table(
    "arguments, message",
    (["summarize", "careful", "--by", "colour"], "task, language, relation, ability"),
    (["summarize", "rome", "--by", "colour"], "Unknown column 'colour' for --by"),
    (["summarize", "nowhere"], "does not exist"),
    (["summarize", "rome", "-o", "x.txt"], "ends in .csv, .json, .md, .tex, .svg, .pdf"),
    (["summarize", "careful", "--sweep", "decay=1.2"], "between 0 and 1, not 1.2"),
    (["summarize", "careful", "--sweep", "decay=0.5,,0.9"], "--sweep decay=0.5,,0.9: use decay"),
    (["summarize", "careful", "--sweep", "focus_height=1.5"], "whole numbers"),
    (["summarize", "careful", "--sweep", "colour=1"], "use decay=0.5,0.9 or focus_height=1,2"),
    (["compare", "careful"], "Pass two runs, or one run and --by COLUMN"),
    (["compare", "careful", "rome"], "should be of one benchmark, not of: RPTS-Eval, ROME"),
)
def test_mistakes(
    command: Command,
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    message: str,
) -> None:
    monkeypatch.chdir(saved)
    done = command(*arguments)
    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output


def test_files_hold_the_numbers_of_the_table(command: Command, runs: Path, tmp_path: Path) -> None:
    files = [tmp_path / f"new/out.{suffix}" for suffix in ("csv", "json", "md", "tex")]
    done = command("summarize", runs, *(part for file in files for part in ("-o", file)))
    assert done.exit_code == 0, done.output
    a, b = csv.DictReader(files[0].read_text("utf-8").splitlines())
    assert (a["model"], a["rounds"], a["rpts_low"], b["rpts_sd"]) == ("a", "2", "", "")
    assert float(a["rpts"]) == pytest.approx(7 / 12)
    (content,) = json.loads(files[1].read_text("utf-8"))["tables"]
    assert [row["rpts"] for row in content["rows"]] == pytest.approx([7 / 12, 1 / 6])
    for text in (done.output, files[2].read_text("utf-8"), files[3].read_text()):
        assert "0.583" in text
        assert "0.118" in text  # the standard deviation of 1/2 and 2/3


def test_runs_of_several_benchmarks_in_one_folder(
    command: Command, saved: Path, tmp_path: Path
) -> None:
    """As written by ``--tasks rpts_eval,rome``: a table of each, also in one file."""
    for name in ("careful", "rome"):
        for file in (saved / name).rglob("*_samples_*.jsonl"):
            shutil.copy(file, tmp_path)
    done = command("summarize", f"it={tmp_path}", "-o", tmp_path / "table.md")
    assert done.exit_code == 0, done.output
    for text in (done.output, (tmp_path / "table.md").read_text("utf-8")):
        assert "evidence" in text
        assert "ROME" in text


def test_labels_are_joined(command: Command, tmp_path: Path) -> None:
    """By id, for a document and its translation, or by number; a blank cell is no label."""
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        records = {at: judged(at / 2) for at in range(3)}
        for at, own in records.items():
            own["instance"]["id"] = f"q{at}"
        write_run(tmp_path / "run", records, task=task)
    labels = tmp_path / "labels.csv"

    def joined(text: str) -> Result:
        labels.write_text(text, encoding="utf-8")
        options = ("--join", labels, "--by", "relation", "-o", tmp_path / "out.csv")
        return command("summarize", tmp_path / "run", *options)

    for text in (
        "id,relation,rater\nq0,guided,Ann\nq1,independent,Ann\nq2,,Bob\n",
        "task,doc_id,relation\nrpts_eval_en,0,guided\nrpts_eval_zh,1,independent\n",
    ):
        done = joined(text)
        assert done.exit_code == 0, done.output
        rows = csv.DictReader((tmp_path / "out.csv").read_text(encoding="utf-8").splitlines())
        figures = {row["group"]: (row["documents"], row["rpts"]) for row in rows}
        assert figures.pop("all documents") == ("6", "0.5")
        assert figures == {
            "guided": ("2", "0.0"),
            "independent": ("2", "0.5"),
            "(not given)": ("2", "1.0"),
        }
    for wrong, message in {
        "id,relation\nq0,guided\nx,guided\n": "row 3: no run has a document x. Correct or remove",
        "id,relation\nq0,guided\nq0,adversarial\n": "row 3: relation of this document is 'guided'",
        "relation\nguided\n": "id and doc_id are missing",
        "id,relation\nq0,\n": "has no labels",
        "id,language\nq0,English\n": "has language already: rename the column",
    }.items():
        done = joined(wrong)
        assert done.exit_code == 1
        assert message in done.output


def test_sweep_takes_both_settings_in_one_option(command: Command, runs: Path) -> None:
    done = command("summarize", runs / "b", "--sweep", "decay=0.5,0.9", "focus_height=1,3")
    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.output.splitlines()]
    assert rows.count(["decay", "1", "3"]) == 2
    assert rows.count(["0.5", "0.167", "0.167"]) == 1
    assert "b was scored with decay 0.9 and focus height 1." in done.output


@table("width", 80, 97, 200)
@table("name", "summarize", "compare")
def test_no_figure_is_cut_off(
    command: Command, runs: Path, monkeypatch: pytest.MonkeyPatch, name: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    arguments = (runs, "--all") if name == "summarize" else (runs / "a1", runs / "b")
    done = command(name, *arguments)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    # Sentences, which a pipe does not wrap, follow.
    tables = lines[: next(at for at, line in enumerate(lines) if "95%" in line)]
    assert max(map(len, tables)) <= width
    assert "0.167" in done.output
    assert "…" not in done.output


def test_compare_pairs_rounds(command: Command, tmp_path: Path) -> None:
    """Document 0: 1.0 of four rounds with 0.2, 0.4, 0.4 and 1.0 of A is 0.5; B has 0.9."""
    for at, value in enumerate((0.2, 0.4, 0.4, 1.0)):
        write_run(tmp_path / "a" / f"t{at}", {0: record(0, value), 1: record(1, 0.5)})
    for at in range(2):
        write_run(tmp_path / "b" / f"t{at}", {0: record(0, 0.9), 1: record(1, 0.5, right=False)})
    file = tmp_path / "out.json"
    done = command("compare", tmp_path / "a", tmp_path / "b", "-o", file)
    assert done.output.startswith("Written")
    assert "B: b (2 shared documents, 0 only in A, 0 only in B)" in done.output
    (rpts,) = [line.split() for line in done.output.splitlines() if line.split()[:1] == ["rpts"]]
    assert rpts[1:4] == ["0.500", "0.700", "+0.200"]
    (metrics,) = json.loads(file.read_text("utf-8"))["tables"]
    assert {"rpts", "missing_references"} <= {row["metric"] for row in metrics["rows"]}
    write_run(tmp_path / "a" / "other", {0: record(0, 0.5)}, model_args="pretrained=lab/other")
    refused = command("compare", tmp_path / "a", tmp_path / "b")
    assert refused.exit_code == 1
    assert f"{tmp_path / 'a'} contains runs of several models" in refused.stderr


def test_doubts_are_told(command: Command, tmp_path: Path) -> None:
    write_run(tmp_path / "a", {0: record(0, 0.5, judge="lexical")})
    write_run(tmp_path / "b", {0: record(0, None, judge="none")})
    output = command("compare", tmp_path / "a", tmp_path / "b").output
    assert "judge: lexical in A; none in B" in output
    assert "judge lexical: for testing only" in output
    same = command("compare", tmp_path / "a", tmp_path / "a").output
    assert "the run is compared with itself" in same


def test_several_parts_are_compared_with_the_first(command: Command, tmp_path: Path) -> None:
    """Nine of ten right, one, nine; the documents of these tasks are the same, or translations."""
    answers = {
        "rpts_eval_en": [True] * 9 + [False],
        "rpts_eval_zh": [True] + [False] * 9,
        "rpts_eval_en_free": [False] + [True] * 9,
    }
    for task, right in answers.items():
        write_run(tmp_path, {at: record(at, 0.5, it) for at, it in enumerate(right)}, task=task)
    by = "task=rpts_eval_en,rpts_eval_zh,rpts_eval_en_free"
    done = command("compare", tmp_path, "--by", by)
    assert "B: rpts_eval_zh (10 shared instances, 0 only in A" in done.output
    rows = [line.split() for line in done.output.splitlines() if line.split()[:1] == ["accuracy"]]
    # Two-sided permutation of eight equal differences: 2/2**8; of one to each side: 1.
    assert [(row[1], row[2], row[-5]) for row in rows] == [
        ("0.900", "0.100", "0.0078"),
        ("0.900", "0.900", "1.0000"),
    ]
    rome = [make_rome_record(1.0), make_rome_record(0.0, language="zh")]
    write_rome_run(tmp_path / "rome", {"geo": rome})
    assert "share no document" in command("compare", tmp_path / "rome", "--by", "language").output


def test_hostile_texts_do_no_harm(command: Command, tmp_path: Path) -> None:
    hostile = {0: record(0, 0.9, statement=HOSTILE, judge="openai:[bold]x[/]")}
    write_run(tmp_path / "a", hostile)
    write_run(tmp_path / "b", {0: record(0, 0.1, statement=HOSTILE)})
    files = [tmp_path / f"out.{suffix}" for suffix in ("md", "tex", "csv", "json")]
    options = [part for file in files for part in ("-o", file)]
    named = f"{HOSTILE}={tmp_path / 'a'}"
    for arguments in (("compare", named, tmp_path / "b"), ("summarize", named, tmp_path / "b")):
        done = command(*arguments, *options)
        assert done.exit_code == 0, done.output
        assert "[red]Is[/]" in done.output
        for text in (done.output, *(file.read_text("utf-8") for file in files[:2])):
            assert "\x1b" not in text
        assert "\\[red\\]Is" in files[0].read_text("utf-8")
    assert re.search(r"a\\_b\\&c\\\$\\%", files[1].read_text("utf-8"))


@given(st.text())
def test_escaped_labels_are_one_cell(label: str) -> None:
    assert not re.search(r"(?<!\\)(\\\\)*[|]", escape_markdown(label))
    assert len(escape_markdown(label).splitlines()) <= 1
    assert len(shorten(label, 20)) <= 20
