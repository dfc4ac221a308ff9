"""Sets of labelled steps, loaded from files and folders, valid and broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import find_layout
from lmms_rpts.validation.loading import LoadError, checked, load_set
from lmms_rpts.validation.rows import LeftOut, RowError
from tests.support.labelled_rows import make_row, make_rows, write_rows
from tests.support.tables import table


def load(path: Path, name: str | None = None) -> Any:
    return load_set(path, name, find_layout)


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    write_rows(tmp_path / "a" / "gsm8k.json", make_rows(6))
    write_rows(tmp_path / "math.json", [make_row(100 + at) for at in range(3)])
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "other.json").write_text('{"nothing": 1}')
    (tmp_path / ".hidden").mkdir()
    write_rows(tmp_path / ".hidden" / "x.json", [make_row(999)])
    found = load(tmp_path)
    assert (found.name, len(found.chains), found.rows) == ("processbench", 9, 9)
    assert [chain.stratum for chain in found.chains] == ["gsm8k"] * 6 + ["math"] * 3
    assert list(found.sha256) == ["a/gsm8k.json", "math.json"]
    assert found.others == ("other.json",)
    assert load(tmp_path / "math.json", "mine").name == "mine"


@table("write", "list", "lines", "lines_as_json", "bom", "parquet", "separator")
def test_every_form_of_a_file_gives_the_same(write: str, tmp_path: Path) -> None:
    rows = [*make_rows(5), make_row(77) | {"problem": "odd\u2028line"}]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path = tmp_path / ("x.parquet" if write == "parquet" else "x.json")
    if write == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif write == "lines":
        path = tmp_path / "x.jsonl"
        path.write_text(text, encoding="utf-8")
    elif write in ("lines_as_json", "separator"):
        path.write_text(text + "\n\n", encoding="utf-8")
    else:
        write_rows(path, rows)
        if write == "bom":
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    chains = load(path).chains
    assert [chain.id for chain in chains] == [row["id"] for row in rows]
    assert [chain.steps for chain in chains] == [tuple(row["steps"]) for row in rows]


@table(
    "content, said",
    ("", "not valid JSON"),
    ("{", "not valid JSON"),
    ("[" * 100_000, "nested too deeply"),
    ("[]", "fields of a known set"),
    ("5", "fields of a known set"),
    ('[{"id": 1}]', "fields of a known set"),
    ('{"a": [], "b": [1]}', "fields of a known set"),
    ('[{"label": 0, "steps":', "not valid JSON"),
    (b"\xff\xfe", "line 1 is not UTF-8"),
    ("9" * 5000, "not valid JSON"),
)
def test_a_file_that_is_no_set_is_refused(content: str | bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(LoadError) as raised:
        load(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


@table("name", "nowhere.json", "empty", "x.parquet")
def test_a_path_that_holds_nothing_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(LoadError, match=r"no such file|contains no file|not a readable parquet"):
        load(tmp_path / name)


def test_two_sets_in_a_folder_are_told_apart(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", make_rows(2))
    row = {"input": "x", "steps": ["a"], "target": "b", "answer": "b", "mistake_index": None}
    (tmp_path / "b.jsonl").write_text(json.dumps(row))
    with pytest.raises(LoadError, match=r"several sets: processbench in a.json; bigbench_mistake"):
        load(tmp_path)


BROKEN: Mapping[str, Any] = {
    "label": make_row(0) | {"label": 4},
    "steps": make_row(0) | {"steps": "one text"},
    "problem": {k: v for k, v in make_row(0).items() if k != "problem"},
    "(row)": 17,
}


@table("field", *BROKEN)
def test_a_row_that_does_not_fit_is_counted(field: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.json", [*make_rows(150), BROKEN[field]])
    found = load(path)
    assert (found.rows, len(found.chains), dict(found.skipped)) == (151, 150, {field: 1})


@table("field", *BROKEN)
def test_over_one_percent_stops(field: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "x.json", [*make_rows(150), *[BROKEN[field]] * 2])
    with pytest.raises(LoadError) as raised:
        load(path)
    assert "2 of 152 rows do not fit the layout processbench" in str(raised.value)
    assert repr(field) in str(raised.value)


@table("name", "x.json", "x.jsonl")
def test_a_row_that_names_a_field_twice_is_counted(name: str, tmp_path: Path) -> None:
    rows = [json.dumps(row) for row in make_rows(200)]
    rows[3] = rows[3].replace('"label":', '"label": 0, "label":')
    text = "\n".join(rows) if name == "x.jsonl" else f"[{','.join(rows)}]"
    (tmp_path / name).write_text(text)
    found = load(tmp_path / name)
    assert (len(found.chains), dict(found.skipped)) == (199, {"(row)": 1})


def test_a_broken_line_is_counted(tmp_path: Path) -> None:
    lines = [json.dumps(row) for row in make_rows(150)]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join([*lines, lines[0][:30]]))
    assert dict(load(path).skipped) == {"(line)": 1}


def test_numbers_from_one_in_place_of_zero_never_give_figures(tmp_path: Path) -> None:
    """Errors at the last step are then beyond it: far more than 1% of the rows."""
    rows = make_rows(200)
    shifted = [row | {"label": row["label"] + (row["label"] >= 0)} for row in rows]
    with pytest.raises(LoadError, match="'label' is"):
        load(write_rows(tmp_path / "x.json", shifted))


def test_a_chain_counts_once_and_ids_are_unique(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", [make_row(1), make_row(2)])
    write_rows(tmp_path / "b.json", [make_row(1), make_row(2, steps=7)])
    found = load(tmp_path)
    assert [chain.id for chain in found.chains] == ["own-1", "own-2", "own-2#2"]
    assert dict(found.left_out) == {"duplicate chain": 1}


def test_no_two_chains_have_one_id_whatever_ids_look_like(tmp_path: Path) -> None:
    names = ["a", "a#2", "a", "a#2", "a", "a#3"]
    rows = [make_row(at) | {"id": name} for at, name in enumerate(names)]
    found = load(write_rows(tmp_path / "x.json", rows))
    assert len({chain.id for chain in found.chains}) == len(names)


def test_the_same_conclusion_of_other_premises_is_another_chain(tmp_path: Path) -> None:
    for folder, premise in (("a", "Cats purr."), ("b", "Dogs bark.")):
        row = {"premises": [premise], "conclusion": "It purrs.", "label": "Uncertain"}
        write_rows(tmp_path / folder / "train.json", [row])
    assert len(load(tmp_path).chains) == 2


CHAIN = LabelledChain("i", "q", "s", "en", "c", ("a", "b"), (True, None))


@table(
    "change, error",
    ({}, None),
    ({"labels": (True,)}, RowError),
    ({"labels": (None, None)}, LeftOut),
    ({"premises": ((),)}, RowError),
    ({"places": (0,)}, RowError),
    ({"path": (0, 2)}, RowError),
    ({"first_error": 2}, RowError),
    ({"inherited": frozenset({5})}, RowError),
)
def test_the_parts_of_a_chain_fit(change: dict[str, Any], error: type[Exception] | None) -> None:
    from dataclasses import replace

    chain = replace(CHAIN, **change)
    if error is None:
        assert checked(chain) is chain
        return
    with pytest.raises(error):
        checked(chain)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4), st.lists(st.sampled_from(sorted(make_row(0))), max_size=3), JSON)
def test_nothing_that_stands_in_a_file_is_an_exception(
    tmp_path_factory: pytest.TempPathFactory, odd: list[Any], fields: list[str], value: Any
) -> None:
    path = tmp_path_factory.mktemp("f") / "x.json"
    row = make_row(3) | dict.fromkeys(fields, value)
    path.write_text(json.dumps([*odd, row, make_row(4)]), encoding="utf-8")
    try:
        found = load(path)
    except LoadError:
        return
    assert all(checked(chain) for chain in found.chains)


def test_a_chain_without_a_label_costs_no_other_of_its_row(tmp_path: Path) -> None:
    """A file of human ratings is one row: only the response with undecided steps is left out."""
    items = [
        {
            "task": "t",
            "doc_id": doc,
            "id": str(doc),
            "repeat": 0,
            "step": step,
            "kind": "inference",
            "language": "en",
            "context": "c",
            "premises": ["p"],
            "conclusion": f"conclusion {doc} {step}",
            "score": score,
            "comment": "",
        }
        for doc, scores in enumerate([(1.0, 0.0), (0.5,), (0.75, 0.25)])
        for step, score in enumerate(scores)
    ]
    made = {"format": "lmms-rpts-ratings", "version": 1, "rater": "Ann", "sample": "s" * 32}
    path = tmp_path / "ratings-Ann.json"
    path.write_text(json.dumps(made | {"created": "2026-11-22", "items": items}))
    found = load(path)
    assert [chain.labels for chain in found.chains] == [(True, False), (True, False)]
    assert dict(found.left_out) == {"no step has a label": 1}


def test_a_name_of_a_layout_chooses_among_several(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", make_rows(2))
    row = {"input": "x", "steps": ["a"], "target": "b", "answer": "b", "mistake_index": None}
    (tmp_path / "b.jsonl").write_text(json.dumps(row))
    found = load(tmp_path, "bigbench_mistake")
    assert (len(found.chains), found.others) == (1, ("a.json",))
    assert list(found.sha256) == ["b.jsonl"]
