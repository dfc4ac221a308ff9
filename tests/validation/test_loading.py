"""Sets of labelled steps: from files and folders, samples of them, and those of the package."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.rows import ReadError
from lmms_rpts.validation.chains import LabelledChain, draw
from lmms_rpts.validation.loading import OWN, load_set
from tests.support.labelled_rows import make_row, make_rows, write_rows
from tests.support.tables import table

SEEN = {"image": "", "question": "x", "response": {"steps": ["a"], "process_correctness": [1]}}


def test_a_folder_is_read_whole(tmp_path: Path) -> None:
    write_rows(tmp_path / "a" / "gsm8k.json", make_rows(6))
    write_rows(tmp_path / "math.json", [make_row(100 + at) for at in range(3)])
    (tmp_path / "README.md").write_text("not data")
    (tmp_path / "other.json").write_text('{"nothing": 1}')
    (tmp_path / ".hidden").mkdir()
    write_rows(tmp_path / ".hidden" / "x.json", [make_row(999)])
    labelled = load_set(tmp_path)
    assert (labelled.name, len(labelled.chains)) == ("processbench", 9)
    assert [chain.stratum for chain in labelled.chains] == ["gsm8k"] * 6 + ["math"] * 3
    assert [path.name for path in labelled.files] == ["gsm8k.json", "math.json"]
    assert load_set(tmp_path / "math.json", "mine").name == "mine"
    (tmp_path / "b.jsonl").write_text(json.dumps(SEEN))
    with pytest.raises(ReadError, match=r"several sets \(processbench, visualprocessbench\)"):
        load_set(tmp_path)


def test_rows_of_tables_are_those_of_json(tmp_path: Path) -> None:
    """Nulls of Parquet, which may say "no error", are kept; fields are renamed."""
    rows = [make_row(0), make_row(1, first_error=0)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chains = load_set(tmp_path / "x.jsonl").chains
    assert load_set(tmp_path / "x.parquet").chains == chains
    assert [False in chain.labels for chain in chains] == [False, True]
    (tmp_path / "a.csv").write_text("q,reference,response,label\nx,7,It is 7,yes\n")
    answer = load_set(tmp_path / "a.csv", "", {"q": "question"}, answers=True).chains[0]
    assert (answer.context, answer.labels) == ("x", (True,))


@table(
    "name, content, said",
    ("x.json", b"{", "not valid JSON"),
    ("x.json", b"[]", "fields of a known set"),
    ("x.json", b"\xff", "line 1 is not UTF-8"),
    ("x.parquet", b"PAR1 no", "Parquet"),
    ("nowhere.json", None, "does not exist"),
    ("", None, "No file that ends"),
)
def test_a_path_without_a_set_is_refused(
    name: str, content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReadError, match=said) as raised:
        load_set(path)
    assert str(path) in str(raised.value)


@table(
    "field, row",
    ("label", make_row(0) | {"label": 4}),  # as if steps were counted from 1
    ("steps", make_row(0) | {"steps": "one text"}),
    ("problem", {name: value for name, value in make_row(0).items() if name != "problem"}),
    ("row", 17),
)
def test_up_to_one_percent_of_invalid_rows_are_counted(
    field: str, row: Any, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    labelled = load_set(write_rows(path, [*make_rows(250), row, row]))
    assert (len(labelled.chains), labelled.left_out) == (250, {f"invalid {field}": 2})
    write_rows(path, [*make_rows(250), row, row, row])
    with pytest.raises(ReadError, match="3 of 253 rows do not fit"):
        load_set(path)


def test_a_chain_counts_once(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.json", [make_row(1), make_row(2)])
    write_rows(tmp_path / "b.json", [make_row(1), make_row(2, steps=7)])
    labelled = load_set(tmp_path)
    assert len(labelled.chains) == 3
    assert labelled.left_out == {"duplicate chain": 1}


def chain(number: int, stratum: str, is_sound: bool) -> LabelledChain:
    return LabelledChain(f"{number}", f"q{number}", stratum, "c", ("x",), (is_sound,))


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=60),
    st.integers(1, 70),
)
def test_a_sample_keeps_the_shares_of_strata(kinds: list[tuple[str, bool]], limit: int) -> None:
    chains = [chain(at, *kind) for at, kind in enumerate(kinds)]
    drawn, size = draw(chains, limit), min(limit, len(chains))
    assert len(drawn) == size
    assert drawn == [each for each in chains if each in drawn], "in order, each once"
    assert set(draw(chains[::-1], limit)) == set(drawn), "whatever the order of the files"
    counts = Counter((each.stratum, each.labels) for each in drawn)
    for kind, count in Counter((each.stratum, each.labels) for each in chains).items():
        assert abs(counts[kind] - count * size / len(chains)) <= 1


# --- the sets of the package

CHAINS = load_set(OWN["built-in"], "built-in").chains


def test_counts() -> None:
    assert Counter(chain.language for chain in CHAINS) == {"en": 64, "zh": 63}
    assert len({chain.id for chain in CHAINS}) == 127
    assert Counter(chain.labels[at] for chain in CHAINS for at in chain.asked)[False] == 84
    drawings = load_set(OWN["drawings"]).chains
    assert len(drawings) == 2 * len({chain.question for chain in drawings}) == 20
    assert all(chain.files for chain in drawings)
    assert Counter(label for chain in drawings for label in chain.labels)[False] == 15
