"""The reader of rows: formats, encodings, places, and damage."""

from __future__ import annotations

import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.rows import (
    CUT_SHORT,
    ReadError,
    literal,
    read_line_at,
    read_objects,
    read_rows,
    row_files,
)
from tests.support.tables import table

ROWS: list[dict[str, Any]] = [
    {"id": "a", "text": "one, two\u2028three", "n": 1},
    {"id": "b", "text": '„drei“ "vier"\nfünf', "n": 2},
]
LINES = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in ROWS)
LIST = json.dumps(ROWS, indent=1, ensure_ascii=False)
CELLS = 'id,text,n\na,"one, two\u2028three",1\n"b","„drei“ ""vier""\nfünf",2'
SEMICOLONS = 'id;text;n\na;"one, two\u2028three";1\nb;"„drei“ ""vier""\nfünf";2'


def _written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@table(
    "name, content",
    ("rows.jsonl", LINES),
    ("lines.json", f"\n{LINES}"),
    ("list.json", LIST),
    ("list.jsonl", LIST),
    ("objects.json", json.dumps({each["id"]: each for each in ROWS})),
    ("lists.json", json.dumps({"x": ROWS[:1], "y": ROWS[1:]}, indent=1)),
    ("rows.csv", CELLS),
    ("semicolons.csv", SEMICOLONS),
    ("rows.tsv", SEMICOLONS.replace(";", "\t")),
)
@table("encoding", "utf-8", "utf-8-sig", "utf-16")
def test_each_format_in_each_encoding_gives_the_same_rows(
    tmp_path: Path, name: str, content: str, encoding: str
) -> None:
    path = _written(tmp_path, name, content.encode(encoding))
    found = list(read_objects(path))
    texts = [{name: str(value) for name, value in row.items()} for row in ROWS]
    assert [row.fields for row in found] == (texts if found[0].cells else ROWS)
    assert [row.number for row in found] == [0, 1]
    for row in found:
        if row.offset is not None:
            assert read_line_at(path, row.offset).fields == row.fields


def test_parquet_gives_the_same_rows_and_no_missing_numbers(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    rows = [*ROWS, {"id": "c", "x": float("nan")}, {"id": "d", "x": 1.5, "text": ""}]
    columns = {name: [row.get(name) for row in rows] for name in ("id", "text", "n", "x")}
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    found = list(read_objects(tmp_path / "rows.parquet"))
    assert [row.fields for row in found] == [*ROWS, {"id": "c"}, rows[3]]
    assert [row.place for row in found] == ["row 1", "row 2", "row 3", "row 4"]


def test_xlsx_gives_texts_and_rows_as_excel_shows_them(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for cells in (["id", "n", None, "when"], [], ["a", 1, "x", None], ["NA", 2.5, None, True]):
        book.active.append(cells)
    book.save(tmp_path / "rows.xlsx")
    found = list(read_rows(tmp_path / "rows.xlsx"))
    assert [row.fields for row in found] == [
        {"id": "a", "n": "1"},
        {"id": "NA", "n": "2.5", "when": "True"},
    ]
    assert [(row.place, row.number) for row in found] == [("row 3", 0), ("row 4", 1)]
    assert found[0].cells == ("id", "n", "when")


def test_what_would_fill_the_memory_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gigabyte of zeros is a megabyte in a zip; here the limit is a few megabytes."""
    monkeypatch.setattr("lmms_rpts.base.rows.LARGEST", 5_000_000)
    large = tmp_path / "large.xlsx"
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/sheet1.xml", bytes(6_000_000))
    with pytest.raises(ReadError, match=r"large.xlsx: xl/sheet1.xml in it would need more than 1"):
        list(read_rows(large))
    image = "iVBORw0K" * 500_000
    fits = _written(tmp_path, "a.csv", f'id,image\na,"{image}"\nb,"{image}"\n')
    assert [row.fields["image"] for row in read_rows(fits)] == [image, image]
    cut = _written(tmp_path, "b.csv", f'id,image\na,"{image}{image}\n')
    with pytest.raises(ReadError, match=r"b.csv: a cell would need more than 1 GB"):
        list(read_rows(cut))


@table(
    "name, content, expected",
    ("a.jsonl", '\n{"a": 1}\n\n{"a": 2}', [("line 2", ""), ("line 4", "")]),
    ("a.jsonl", '{"a": }\n{"a": 1}\n', [("line 1", "is not valid JSON"), ("line 2", "")]),
    ("a.jsonl", '{"a": 1}\n{"a": "x', [("line 1", ""), ("line 2", CUT_SHORT)]),
    ("a.jsonl", '{"a": 1}\n{"a": {"b": 1}', [("line 1", ""), ("line 2", CUT_SHORT)]),
    ("a.jsonl", '{"a": 1, "a": 2}\n', [("line 1", "the field 'a' occurs twice")]),
    ("a.jsonl", f'{{"a": {"[" * 99999}}}\n', [("line 1", "nested too deeply")]),
    ("a.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', [("line 1", ""), ("line 2", "is not UTF-8")]),
    ("a.jsonl", "\ufeff\n", []),
    (
        "a.json",
        '{"a": 1}\n{"a": \n{"a": 2}\n',
        [("line 1", ""), ("line 2", "JSON"), ("line 3", "")],
    ),
    ("a.json", "[1, {}]", [("row 1", "should be a JSON object"), ("row 2", "")]),
    # rows as spreadsheets count them
    ("a.csv", 'a,b\n"x\ny",1\n\nz,2\n', [("row 2", ""), ("row 4", "")]),
    ("a.csv", 'a,b\r"x\ry",1\rz,2\r', [("row 2", ""), ("row 3", "")]),
    ("a.csv", "a,b\n1\n", [("row 2", "")]),
)
def test_rows_have_places_and_faults(
    tmp_path: Path, name: str, content: str | bytes, expected: list[tuple[str, str]]
) -> None:
    found = list(read_rows(_written(tmp_path, name, content)))
    assert [row.place for row in found] == [place for place, _ in expected]
    for row, (_, fault) in zip(found, expected, strict=True):
        assert fault in row.fault if fault else not row.fault


@table(
    "name, content, message",
    ("a.json", '[{"a": 1},\n{"a": 2', "{} is not valid JSON: Expecting"),
    ("a.json", b'[{"a": 1},\n{"a": "\xff"}]', "{}, line 2 is not UTF-8"),
    ("a.json", '[{"a": 1}]'.encode("utf-16-le"), "{} is not a text file, or is UTF-16"),
    ("a.json", b"\xff\xfe[\0\n", "{}, line 1 is not UTF-8"),
    ("a.csv", b"a,b\n1,\xff\n", "{}, line 2 is not UTF-8"),
    ("a.csv", "a,a\n", "{}: the header names 'a' twice"),
    ("a.csv", "a,b\n1,2,3\n4,5\n", "{} is not valid CSV: Expected 2 fields in line 2, saw 3"),
    ("a.csv", 'a,b\n1,2\n"x,3\n', "{} is not valid CSV: EOF inside string starting at row 2"),
    ("a.parquet", "PAR1", "{}: Parquet"),
    ("a.xlsx", "PK", "{}: File is not a zip file"),
)
def test_files_that_cannot_be_read(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = _written(tmp_path, name, content)
    with pytest.raises(ReadError) as caught:
        list(read_rows(path))
    assert str(caught.value).startswith(message.format(path))


def test_lines_are_read_lazily_and_a_missing_file_is_named(tmp_path: Path) -> None:
    rows = read_objects(_written(tmp_path, "a.jsonl", '{"a": 1}\n{"a": 2}\n{'))
    assert [next(rows).fields, next(rows).fields] == [{"a": 1}, {"a": 2}]
    with pytest.raises(ReadError, match="line 3: is truncated"):
        next(rows)
    with pytest.raises(ReadError, match=r"Cannot read .*none.jsonl: No such file"):
        next(read_rows(tmp_path / "none.jsonl"))


def test_files_of_a_folder(tmp_path: Path) -> None:
    for name in ["b.jsonl", "a.csv", "x/c.xlsx", "x/d.txt", ".git/e.json", ".f.json", "~$c.xlsx"]:
        _written(tmp_path, name, "")
    found = [each.relative_to(tmp_path).as_posix() for each in row_files(tmp_path)]
    assert found == ["a.csv", "b.jsonl", "x/c.xlsx"]
    assert row_files(tmp_path / "x/d.txt") == [tmp_path / "x/d.txt"]
    with pytest.raises(ReadError, match="does not exist"):
        row_files(tmp_path / "y")
    with pytest.raises(ReadError, match=r"No file that ends in \.jsonl below"):
        row_files(tmp_path / "x", [".jsonl"])


@table(
    "text, value",
    ('["a", null]', ["a", None]),
    ("['a', None]", ["a", None]),
    (r"['\(x\)']", [r"\(x\)"]),  # LaTeX: no SyntaxWarning of Python 3.12
    *((text, ValueError) for text in ("[" * 100_000, "[" + "-" * 100_000 + "1]", "['\0']")),
    *((text, ValueError) for text in ("[1" + "+1" * 100_000 + "]", "{[]: 1}", "print(1)")),
    *((text, ValueError) for text in ("[" + "9" * 5_000 + "]", "[" + "1," * 2_000_001 + "]")),
)
def test_literals_are_bounded(text: str, value: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if value is not ValueError:
            assert literal(text) == value
            return
        with pytest.raises(ValueError, match=r"is not valid JSON or Python|is too long"):
            literal(text)
