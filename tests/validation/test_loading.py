"""Sets of labelled steps, loaded from files and folders, valid and broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lmms_rpts.base.rows import ReadError
from lmms_rpts.validation.loading import load_set
from tests.support.labelled_rows import make_row, make_rows, write_rows
from tests.support.ratings import file_with, item_with
from tests.support.tables import table

SEEN = {"image": "", "question": "x", "response": {"steps": ["a"], "process_correctness": [1]}}


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    write_rows(tmp_path / "a" / "gsm8k.json", make_rows(6))
    write_rows(tmp_path / "math.json", [make_row(100 + at) for at in range(3)])
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "other.json").write_text('{"nothing": 1}')
    (tmp_path / ".hidden").mkdir()
    write_rows(tmp_path / ".hidden" / "x.json", [make_row(999)])
    found = load_set(tmp_path)
    assert (found.name, len(found.chains)) == ("processbench", 9)
    assert [chain.stratum for chain in found.chains] == ["gsm8k"] * 6 + ["math"] * 3
    assert [each.name for each in found.files] == ["gsm8k.json", "math.json"]
    assert load_set(tmp_path / "math.json", "mine").name == "mine"


def test_rows_of_parquet_are_those_of_json(tmp_path: Path) -> None:
    """The reader of rows has its own tests."""
    rows = [make_row(0), make_row(1, first_error=0)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    chains = load_set(tmp_path / "x.parquet").chains
    assert [chain.first_error for chain in chains] == [None, 0]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert load_set(tmp_path / "x.jsonl").chains == chains


@table(
    "name, content, said",
    ("x.json", "{", "not valid JSON"),
    ("x.json", "[]", "fields of a known set"),
    ("x.json", '{"a": [], "b": [1]}', "fields of a known set"),
    ("x.json", b"\xff", "line 1 is not UTF-8"),
    ("x.parquet", b"PAR1 no", "Parquet"),
    ("x.csv", "a", "use a file that ends in .json, .jsonl, .parquet"),
    ("nowhere.json", None, "does not exist"),
    ("", None, "No file that ends"),
)
def test_a_path_without_a_set_is_refused(
    name: str, content: str | bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ReadError) as raised:
        load_set(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


def test_of_two_sets_in_a_folder_one_is_chosen_by_its_name(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", make_rows(2))
    (tmp_path / "b.jsonl").write_text(json.dumps(SEEN))
    with pytest.raises(ReadError, match=r"several sets: processbench in a.json; visual"):
        load_set(tmp_path)
    found = load_set(tmp_path, "visualprocessbench")
    assert len(found.chains) == 1
    assert [each.name for each in found.files] == ["b.jsonl"]


BROKEN: Mapping[str, Any] = {
    "label": make_row(0) | {"label": 4},
    "steps": make_row(0) | {"steps": "one text"},
    "problem": {k: v for k, v in make_row(0).items() if k != "problem"},
    "(row)": 17,
}


@table("field", *BROKEN)
def test_up_to_one_percent_of_invalid_rows_are_counted(field: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    found = load_set(write_rows(path, [*make_rows(250), *[BROKEN[field]] * 2]))
    assert (len(found.chains), dict(found.skipped)) == (250, {field: 2})
    for faults, rows in ((3, 250), (1, 50)):
        write_rows(path, [*make_rows(rows), *[BROKEN[field]] * faults])
        with pytest.raises(ReadError) as raised:
            load_set(path)
        said = f"{faults} of {faults + rows} rows do not fit the layout processbench"
        assert said in str(raised.value)
        assert field.strip("()") in str(raised.value)


@table("line", '{"id": "own-', '{"label": 0, "label": 1}')
def test_a_broken_line_is_counted(line: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*map(json.dumps, make_rows(150)), line]))
    assert dict(load_set(path).skipped) == {"(row)": 1}


def test_numbers_from_one_in_place_of_zero_never_give_figures(tmp_path: Path) -> None:
    """Errors at the last step are then beyond it: far more than 1% of the rows."""
    rows = make_rows(200)
    shifted = [row | {"label": row["label"] + (row["label"] >= 0)} for row in rows]
    with pytest.raises(ReadError, match="'label' is"):
        load_set(write_rows(tmp_path / "x.json", shifted))


def test_a_chain_counts_once_and_ids_are_unique(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", [make_row(1), make_row(2)])
    write_rows(tmp_path / "b.json", [make_row(1), make_row(2, steps=7)])
    found = load_set(tmp_path)
    assert [chain.id for chain in found.chains] == ["own-1", "own-2", "own-2#2"]
    assert dict(found.left_out) == {"duplicate chain": 1}
    names = ["a", "a#2", "a", "a#2", "a", "a#3"]
    rows = [make_row(at) | {"id": name} for at, name in enumerate(names)]
    chains = load_set(write_rows(tmp_path / "x" / "x.json", rows)).chains
    assert len({chain.id for chain in chains}) == len(names)


def test_a_chain_without_a_label_costs_no_other_of_its_row(tmp_path: Path) -> None:
    """A file of human ratings is one row: only the response with undecided steps is left out."""
    items = [
        item_with(doc_id=doc, step=step, conclusion=f"conclusion {doc} {step}", score=score)
        for doc, scores in enumerate([(1.0, 0.0), (0.5,), (0.75, 0.25)])
        for step, score in enumerate(scores)
    ]
    path = tmp_path / "ratings-Ann.json"
    path.write_text(json.dumps(file_with(*items)))
    found = load_set(path)
    assert [chain.labels for chain in found.chains] == [(True, False), (True, False)]
    assert dict(found.left_out) == {"no step has a label": 1}
