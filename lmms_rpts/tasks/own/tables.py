"""Reader of custom tables with any fields: JSON lines, a JSON list, or CSV."""

from __future__ import annotations

import csv
import io
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lmms_rpts.schema import shown
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.own.data import Record, read_records

_CSV = (".csv", ".tsv")
_DELIMITERS = ",;\t"
_LARGEST_CELL = 2**27
_START = 4096
"""Bytes in which binary data are recognised."""
_REMEDY = "Fix the file and retry."
QUOTING = (
    "put a cell that contains the column separator in double quotes, and separate the items of a "
    "list with | (images and options: also ;)"
)
"""How cells of CSV are written, for messages."""


@dataclass(frozen=True, slots=True)
class Table:
    """A file of instances with fields of any names.

    Attributes:
        names: names of all fields, in the order of their first appearance.
        cells: whether all values are texts, some of which represent lists.
        faults: lines that cannot be read.
    """

    path: Path
    records: tuple[Record, ...]
    names: tuple[str, ...]
    cells: bool
    faults: tuple[str, ...] = ()


def read_table(path: Path) -> Table:
    """Read a file; files that end in .csv or .tsv are CSV, others JSON.

    Raises:
        DataError: if no instance can be read, with the file and the reason.
    """
    cells = path.suffix.lower() in _CSV
    header: list[str] = []
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe would block
            raise ValueError("it is not a file")
        if _is_binary(path):
            raise DataError(f"{path} is not a text file: use .jsonl, .json, .csv or .tsv")
        if cells:
            header, records, faults = _read_csv(path)
        else:
            records, faults = read_records(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"Cannot read {path}: {reason}") from None
    if not records:
        raise_faults(path, faults, _REMEDY)
        raise DataError(f"{path} contains no instance")
    found = (name for record in records for name in record.fields)
    names = dict.fromkeys(name for name in (*header, *found) if name)
    return Table(path, tuple(records), tuple(names), cells, tuple(faults))


def _is_binary(path: Path) -> bool:
    """Whether a file begins with binary data, such as an image; UTF-16 is text."""
    with path.open("rb") as file:
        start = file.read(_START)
    return b"\0" in start and not start.startswith((BOM_UTF16_LE, BOM_UTF16_BE))


def _read_csv(path: Path) -> tuple[list[str], list[Record], list[str]]:
    """The header, the rows and their faults."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        return [], [], [f"line {line} is not UTF-8: save the file as UTF-8"]
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    limit = csv.field_size_limit(_LARGEST_CELL)
    try:
        return _rows(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    finally:
        csv.field_size_limit(limit)


def _rows(reader: Iterator[list[str]]) -> tuple[list[str], list[Record], list[str]]:
    """The header and the rows below it; a blank cell is a missing field."""
    names: list[str] = []
    records: list[Record] = []
    faults: list[str] = []
    line = 1
    try:
        names = [name.strip() for name in next(reader, [])]
        (twice, count), *_ = Counter(filter(None, names)).most_common(1) or [("", 0)]
        if count > 1:
            return names, [], [f"the header names {shown(twice)} twice"]
        for row in reader:
            line, start = reader.line_num, line + 1  # type: ignore[attr-defined]
            if len(row) > len(names):
                faults.append(
                    f"line {start} has {len(row)} cells, the header {len(names)}: {QUOTING}"
                )
            elif any(cell.strip() for cell in row):
                pairs = zip(names, row, strict=False)
                fields = {name: cell for name, cell in pairs if name and cell.strip()}
                records.append(Record(f"line {start}", fields))
    except csv.Error as error:
        faults.append(f"line {line + 1} is not valid CSV: {error}")
    return names, records, faults
