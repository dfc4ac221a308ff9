"""The one reader of rows: JSON, CSV, Parquet, Excel; each with its place."""

from __future__ import annotations

import ast
import csv
import io
import json
import os
import warnings
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import all_faults, shown

M = TypeVar("M", bound=BaseModel)

TABLES = (".csv", ".tsv")
# The suffixes of the files that can be read; a file with another one is read as JSON.
SUFFIXES = (".json", ".jsonl", *TABLES, ".parquet")

# The fault of an incomplete last line of JSON lines, with the remedy.
CUT_SHORT = (
    "is truncated: the file was cut while it was written or copied. Copy it again, or delete this "
    "last line to continue without it"
)

# How cells of CSV are written, for messages.
QUOTING = "put a cell that contains the column separator in double quotes"

# Bytes that tell the encoding of a file: a byte order mark, or zeros of UTF-16
_START = 4096
# Characters of a cell of CSV: images in base64 exceed Python's default of 131,072.
_LARGEST_CELL = 2**27
# Characters of a text that is read as a Python literal, which takes about 1.5 s for a million.
_LONGEST_LITERAL = 4_000_000


class ReadError(UserError):
    """A file, or a row of it, that cannot be read; the message has the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, or the reason why there is none.

    Attributes:
        file: the file.
        place: its place in the file, as in ``line 3`` or, where rows are not lines, ``row 3``
            (from 1).
        number: its number in the file, from 0; rows with faults are counted.
        fields: its values by name; empty if the row cannot be read.
        key: for a JSON object that holds the rows by keys, the row's key; else empty.
        fault: why the row cannot be read; else empty.
        cells: for a row of CSV, the names of the columns: all values are texts, and blank ones are
            left out of ``fields``.
    """

    file: Path
    place: str
    number: int
    fields: Mapping[str, Any]
    key: str = ""
    fault: str = ""
    cells: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """File and place, for messages."""
        return f"{self.file}, {self.place}"

    def error(self, said: str, remedy: str = "") -> ReadError:
        """The error for this row: file, place, what is wrong, and the remedy."""
        line = visible(f"{self.where}: {said}")
        return ReadError(f"{line}. {remedy}" if remedy else line)

    def parse(self, model: type[M], remedy: str = "") -> M:
        """The row as a model; a ReadError names all fields that are wrong, and their values."""
        if self.fault:
            raise self.error(self.fault, remedy)
        try:
            return model.model_validate(self.fields)
        except ValidationError as error:
            raise self.error("; ".join(all_faults(error)), remedy) from None


def read_rows(path: Path) -> Iterator[Row]:
    """The rows of a file, in order; those that cannot be read have a ``fault``.

    JSON is a list of objects, an object of lists of them or of objects by keys, or one object. Text
    is UTF-8 (with or without byte order mark) or UTF-16 with byte order mark. JSON lines, CSV and
    Parquet are read lazily.

    Raises:
        ReadError: if nothing, or nothing further, can be read.
    """
    suffix = path.suffix.lower()
    try:
        if reader := {".parquet": _parquet, ".xlsx": _xlsx}.get(suffix):
            yield from reader(path)
            return
        with _utf8(path) as file:
            yield from _csv(path, file) if suffix in TABLES else _json(path, file)
    except OSError as error:
        raise ReadError(f"Cannot read {path}: {error.strerror or error}") from None


def read_objects(path: Path) -> Iterator[Row]:
    """The rows of a file, none of which may have a fault.

    Raises:
        ReadError: at the first row that cannot be read.
    """
    for row in read_rows(path):
        if row.fault:
            raise row.error(row.fault)
        yield row


def row_files(path: Path, suffixes: Iterable[str] = SUFFIXES) -> list[Path]:
    """The file itself, or the files with these suffixes below a folder; a ReadError if none."""
    root = path.expanduser()
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise ReadError(f"{root} does not exist")
    found: list[Path] = []
    for folder, inner, names in os.walk(root, followlinks=False):
        inner[:] = [each for each in inner if not each.startswith(".")]
        found += (Path(folder, each) for each in names if not each.startswith("."))
    files = sorted(each for each in found if each.suffix.lower() in suffixes)
    if not files:
        raise ReadError(f"No file that ends in {', '.join(suffixes)} below {root}")
    return files


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: with the reason, also for an object that has a field twice and for values that
            are nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column" if "\n" in text.strip() else "column"
        raise ValueError(f"is not valid JSON: {error.msg} ({place} {error.colno})") from error
    except RecursionError:
        raise ValueError("is not valid JSON: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"is not valid JSON: {error}") from None


def literal(text: str) -> Any:
    """The value that a text is in JSON or in Python, as in cells of tables; the text is untrusted.

    Raises:
        ValueError: if it is none, or longer than ``_LONGEST_LITERAL``.
    """
    if len(text) > _LONGEST_LITERAL:
        raise ValueError("is too long")
    try:
        with suppress(ValueError):
            return json.loads(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes such as '\d' in texts
            return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        # A TypeError: ``ast.literal_eval("{[]: 1}")``, a list as a key.
        raise ValueError("is not valid JSON or Python") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refuses two fields of one name, of which the second would replace the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the field {shown(twice)} occurs twice")
    return found


def _utf8(path: Path) -> BinaryIO:
    """The file as UTF-8 without byte order mark."""
    file = path.open("rb")
    start = file.read(_START)
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        with file:
            try:
                return io.BytesIO((start + file.read()).decode("utf-16").encode())
            except UnicodeError:
                raise ReadError(
                    f"{path} is not valid UTF-16: save the file as UTF-8, or copy it again"
                ) from None
    if b"\0" in start:
        file.close()
        raise ReadError(
            f"{path} is not a text file, or is UTF-16 without a byte order mark: use "
            f"{', '.join(SUFFIXES)} in UTF-8"
        )
    file.seek(len(BOM_UTF8) if start.startswith(BOM_UTF8) else 0)
    return file


def _json(path: Path, file: BinaryIO) -> Iterator[Row]:
    """JSON lines are recognised by a first line that is an object, and not the only one."""
    lines = (line for line in file if line.strip())
    is_jsonl = path.suffix.lower() == ".jsonl"
    if _is_object(next(lines, b"")) and (is_jsonl or next(lines, None) is not None):
        file.seek(0)
        yield from _lines(path, file)
        return
    file.seek(0)
    content = file.read().removeprefix(BOM_UTF8)
    try:
        value = parse_json(content.decode())
    except ValueError as error:
        # A damaged first line, not a damaged list.
        several = sum(map(_is_object, islice(content.split(b"\n"), 20))) > 1
        if several or (is_jsonl and not content.lstrip().startswith(b"[")):
            yield from _lines(path, io.BytesIO(content))
            return
        if isinstance(error, UnicodeDecodeError):
            raise _not_utf8(path, content.count(b"\n", 0, error.start) + 1) from None
        raise ReadError(f"{path} {error}") from None
    yield from _listed(path, value)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line.removeprefix(BOM_UTF8)), dict)
    except (ValueError, RecursionError):
        return False


def _lines(path: Path, file: Iterable[bytes]) -> Iterator[Row]:
    # As bytes: text would also be split at U+2028, which lmms-eval writes inside its JSON.
    filled = ((at, line) for at, line in enumerate(file, 1) if line.strip())
    for number, (at, line) in enumerate(filled):
        line = line.removeprefix(BOM_UTF8) if at == 1 else line
        try:
            yield _row(path, f"line {at}", number, parse_json(line.decode().strip()))
        except ValueError as error:
            fault = str(error)
            if line.lstrip().startswith(b"{") and not line.endswith(b"\n") and _is_cut(error):
                fault = CUT_SHORT
            elif isinstance(error, UnicodeDecodeError):
                fault = "is not UTF-8: save the file as UTF-8, or copy it again"
            yield Row(path, f"line {at}", number, {}, fault=fault)


def _is_cut(error: ValueError) -> bool:
    """Whether a text ends where more was expected."""
    if isinstance(error, UnicodeDecodeError):
        return error.end == len(error.object)
    cause = error.__cause__
    if not isinstance(cause, json.JSONDecodeError):
        return False
    if cause.pos >= len(cause.doc) or cause.msg.startswith("Unterminated string"):
        return True
    inside = cause.msg.startswith(("Invalid \\", "Expecting value"))  # an escape, "tru"
    return not cause.doc.endswith("}") and (
        inside or cause.pos >= len(cause.doc) - 2
    )  # "0.", "1e-"


def _listed(path: Path, value: Any) -> Iterator[Row]:
    """The rows of a whole JSON file."""
    pairs: Iterable[tuple[str, Any]] = [("", value)]
    if isinstance(value, list):
        pairs = (("", each) for each in value)
    elif isinstance(value, dict) and value:
        parts = value.values()
        if all(isinstance(each, list) for each in parts) and any(
            isinstance(each, dict) for part in parts for each in part
        ):
            pairs = ((key, each) for key, part in value.items() for each in part)
        elif all(isinstance(each, dict) for each in parts):
            pairs = value.items()
    for number, (key, each) in enumerate(pairs):
        yield _row(path, f"row {number + 1}", number, each, key)


def _row(path: Path, place: str, number: int, value: Any, key: str = "") -> Row:
    if isinstance(value, dict):
        return Row(path, place, number, value, key)
    fault = f"should be a JSON object in braces, not {shown(value)}"
    return Row(path, place, number, {}, key, fault)


def _csv(path: Path, file: Iterable[bytes]) -> Iterator[Row]:
    """The rows below a header; the header's most frequent separator separates the cells."""
    csv.field_size_limit(_LARGEST_CELL)
    lines = _decoded(path, file)
    first = next(lines, "")
    # strict: else a quote that is not closed would swallow the rest of the file
    reader = csv.reader(chain([first], lines), delimiter=max(",;\t", key=first.count), strict=True)
    names: list[str] = []
    number = -1
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = f"is not valid CSV ({error}): is a quote missing?"
            yield Row(path, place, number + 1, {}, fault=fault, cells=tuple(filter(None, names)))
            return
        if not names:
            names = [name.strip() for name in cells]
            (twice, count), *_ = Counter(filter(None, names)).most_common(1) or [("", 0)]
            if count > 1:
                raise ReadError(f"{path}: the header names {shown(twice)} twice")
            continue
        number += any(cell.strip() for cell in cells)
        if any(cell.strip() for cell in cells[len(names) :]):
            fault = f"has {len(cells)} cells, the header {len(names)}: {QUOTING}"
            yield Row(path, place, number, {}, fault=fault, cells=tuple(filter(None, names)))
        elif any(cell.strip() for cell in cells):
            pairs = zip(names, cells, strict=False)
            fields = {name: cell for name, cell in pairs if name and cell.strip()}
            yield Row(path, place, number, fields, cells=tuple(filter(None, names)))


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            rows = (row for part in file.iter_batches(batch_size=256) for row in part.to_pylist())
            for number, fields in enumerate(rows):
                there = {name: value for name, value in fields.items() if value is not None}
                yield Row(path, f"row {number + 1}", number, there)
    except (pyarrow.ArrowException, ValueError) as error:
        raise ReadError(f"{path} is not a readable Parquet file: {error}") from None


def _xlsx(path: Path) -> Iterator[Row]:
    """The rows of the first sheet below its header; all values are texts, as in CSV."""
    import pandas as pd

    try:
        table = pd.read_excel(path, dtype=str, keep_default_na=False)
    except OSError:
        raise
    except Exception as error:  # of zipfile, XML, or openpyxl
        raise ReadError(f"{path} is not a readable Excel file: {error}") from None
    for number, cells in enumerate(table.to_dict("records")):
        there = {str(name): cell for name, cell in cells.items() if cell.strip()}
        yield Row(path, f"row {number + 2}", number, there, cells=tuple(map(str, table.columns)))


def _decoded(path: Path, file: Iterable[bytes]) -> Iterator[str]:
    for at, line in enumerate(file, 1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise _not_utf8(path, at) from None
        # Lines of old spreadsheets end with a carriage return alone.
        yield from io.StringIO(text, newline="") if "\r" in text else (text,)


def _not_utf8(path: Path, line: int) -> ReadError:
    return ReadError(f"{path}, line {line} is not UTF-8: save the file as UTF-8")
