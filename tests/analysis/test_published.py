"""Published figures beside own runs: the figures, their marks, and what they must not change."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path

import yaml
from typer.testing import CliRunner

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.analysis.published import FILE, NOT_MEASURED, set_beside
from lmms_rpts.cli import app
from lmms_rpts.tasks.registry import BENCHMARKS
from tests.support.instances import make_doc
from tests.support.reference import reference
from tests.support.runs import judged, make_record, write_run
from tests.support.tables import table

EVERY = ("rpts", "rome", "cmmath", "reform")
CATEGORIES = "Flow Chart|Bar Chart|Scatter Plot|Line Plot|Fan Chart|LiDAR Chart|Visual-Table|"
CATEGORIES += "Three View|Folded Image|Analytic Geometry|Solid Geometry|Plane Geometry|"
CATEGORIES += "Venn diagram|Abtract Analogy diagram"


def tables_of(name: str) -> list[dict[str, str]]:
    """All rows of a benchmark's file as text, with the protocol of their table."""
    content = yaml.safe_load((BENCHMARKS[name].folder / FILE).read_text("utf-8"))
    return [
        {"protocol": each["protocol"], "source": each["source"], **row}
        for each in content["tables"]
        for row in csv.DictReader(each["figures"].splitlines(), skipinitialspace=True)
    ]


def rows_of(file: str) -> Iterator[dict[str, str]]:
    with reference("published", file).open(encoding="utf-8") as lines:
        yield from csv.DictReader(lines)


def test_rome_is_the_leaderboard() -> None:
    own = {row["model"]: row for row in tables_of("rome")}
    rows = list(rows_of("rome_visual_accuracy.csv"))
    assert [row["Model"] for row in rows] == [*own]
    for row in rows:
        assert row.pop("Overall") == own[row["Model"]]["accuracy"]
        model = own[row.pop("Model")]
        assert len(row) == 8
        for subtask, printed in row.items():
            assert model[f"accuracy {subtask.lower().replace(' ', '_')}"] == printed


def test_cmmath_is_the_table_of_the_first_version() -> None:
    own = [row for row in tables_of("cmmath") if "v1, main" in row["source"]]
    inputs = {"Text Only": "text only", "OCR": "text and OCR", "Image": "image", "Human": "people"}
    for row in rows_of("cmmath_models.csv"):
        kind, model, overall, *others = row.values()
        (protocol,) = (there for part, there in inputs.items() if part in kind)
        (found,) = (
            each for each in own if each["model"] == model and each["protocol"].startswith(protocol)
        )
        assert found["accuracy"] == overall
        assert [found[f"accuracy {name}"] for name in CATEGORIES.split("|")] == others
    notes = reference("published", "README.md").read_text("utf-8")
    for name in ("LLaVA-v1.5", "InternLM-XComposer2-VL"):
        prompts = {
            row["protocol"]: row["accuracy"]
            for row in tables_of("cmmath")
            if row["model"].startswith(name) and "prompts" in row["source"]
        }
        en_cot, clp = prompts["image, English CoT; GradeGPT"], prompts["image, CLP; GradeGPT"]
        assert re.search(
            rf"{re.escape(name)} [\d.]+,( with En-CoT)? {en_cot},( with CLP)? {clp}", notes
        )


def test_reform_eval_is_the_readme() -> None:
    names = {"IB-LLM": "ImageBind-LLM", "LA-V2": "LLaMA-Adapter V2"}
    own = {(row["protocol"], row["model"]): row for row in tables_of("reform")}
    rows = list(rows_of("reform_models.csv"))
    assert len(own) == 2 * len(rows) == 32
    for row in rows:
        for method in ("generation", "likelihood"):
            found = own[method, names.get(row["model"], row["model"])]
            assert found["average"] == row[f"{method}_average_score"]
            assert found["rank"] == row[f"{method}_average_rank"]


def test_rpts_eval_agrees_with_the_figures_in_the_reference() -> None:
    notes = reference("published", "README.md").read_text("utf-8")
    printed = re.search(
        r"visual clues ([\d.]+) .*?([\d.]+) \(zh\), from textual clues ([\d.]+) .*?([\d.]+) \(zh\)",
        notes,
    )
    assert printed
    (own,) = (row for row in tables_of("rpts") if row["model"] == "GPT-4o")
    names = (
        f"rpts_{kind} {language}" for kind in ("visual", "textual") for language in ("en", "zh")
    )
    assert [own[name] for name in names] == [*printed.groups()]
    for row in tables_of("rpts"):  # answers with an RPTS of at least 0.5 are part of the right ones
        for language in ("en", "zh"):
            if row[f"accuracy {language}"] != "-":
                assert float(row[f"accuracy_rpts {language}"]) <= float(row[f"accuracy {language}"])


@table("name", *EVERY)
def test_every_row_says_how_it_was_measured(tmp_path: Path, name: str) -> None:
    beside = set_beside(BENCHMARKS[name], [])
    assert beside is not None
    frame, notes = beside
    assert len(frame) == len(tables_of(name))
    assert frame["figures"].str.startswith("as published: ").all()
    assert notes
    assert all(NOT_MEASURED in note and "Here: " in note for note in notes)
    for column in frame.columns[2:]:
        if column.partition(" ")[0] in BENCHMARKS[name].metrics:
            assert all(0 <= (cell.value or 0) <= 1 for cell in frame[column])


def test_own_figures_stand_in_the_same_columns(tmp_path: Path) -> None:
    for task, values in (("rpts_eval_en", (1.0, 0.0)), ("rpts_eval_zh", (0.5, 0.5))):
        doc = make_doc(language=task[-2:])
        records = {at: make_record([each, each], doc=doc) for at, each in enumerate(values)}
        write_run(tmp_path / "a", records, task=task)
    write_run(tmp_path / "a", {0: judged(1.0)}, task="rpts_eval_en_free")
    write_run(tmp_path / "demo", {0: judged(1.0)}, task="rpts_demo")
    beside = set_beside(BENCHMARKS["rpts"], read_runs([tmp_path / "a", tmp_path / "demo"]))
    assert beside is not None
    asked, free, *_ = beside[0].to_dict("records")
    assert asked["figures"].startswith("measured here: rpts_eval_en, rpts_eval_zh; by ")
    assert free["figures"].startswith("measured here: rpts_eval_en_free; by ")
    assert asked["rpts en"].value == 0.5 == asked["rpts zh"].value
    assert asked["rpts en"].n == 2
    assert free["rpts zh"].value is None


def test_files_mark_them_and_own_figures_stay(tmp_path: Path, saved: Path) -> None:
    def run(*options: str) -> tuple[str, str]:
        file = tmp_path / f"out{len(options)}.md"
        done = CliRunner().invoke(
            app, ["summarize", str(saved / "rome"), *options, "-o", str(file)]
        )
        assert done.exit_code == 0, done.output
        return file.read_text("utf-8"), done.output

    without, shown = run(), run("--published")
    for before, after in zip(without, shown, strict=True):
        assert NOT_MEASURED not in before
        assert NOT_MEASURED in " ".join(after.split())
    assert {*without[0].splitlines()} <= {*shown[0].splitlines()}
    assert shown[0].count("as published: ") == len(tables_of("rome"))
