"""``lmms-rpts export``: written files are read back unchanged; no formulas in spreadsheets."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from lmms_rpts.analysis.dataframes import (
    STEP_TYPES,
    ExportError,
    read_frame,
    steps_frame,
    typed,
    write_frame,
)
from lmms_rpts.analysis.reading import read_runs
from lmms_rpts.cli import app
from tests.support.runs import make_record, write_run
from tests.support.tables import table

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


def test_the_schema_describes_records() -> None:
    """Each field of a written record is in the schema of its kind."""
    schema = json.loads(export("--schema").stdout)
    fields = {
        each["properties"]["schema"]["const"]: each["properties"].keys()
        for each in schema["$defs"].values()
        if "schema" in each.get("properties", {})
    }
    assert fields.keys() == {f"lmms_rpts.{name}" for name in ("rpts", "rome", "cmmath", "reform")}
    assert make_record([1.0, 0.5]).keys() <= fields["lmms_rpts.rpts"]
    assert export().exit_code == 1


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
    assert table == [f"`{name}`" for name in STEP_TYPES]
