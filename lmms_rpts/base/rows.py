"""The one reader of rows: JSON, CSV, Parquet, Excel; each with its place."""

from __future__ import annotations

import ast
import io
import json
import warnings
import zipfile
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import all_faults, shown

if TYPE_CHECKING:
    from pandas import DataFrame

M = TypeVar("M", bound=BaseModel)

# A file with another suffix is read as JSON.
SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".xlsx", ".parquet")

CUT_SHORT = (
    "is truncated: the file was cut while it was written or copied. Copy it again, or delete this "
    "last line to continue without it"
)
QUOTING = "put a cell that contains the column separator in double quotes, and close each quote"

# Bytes of a cell, or of a part of a spreadsheet; larger ones fill the memory.
LARGEST = 2**30
# Characters of a text that is read as a Python literal, which takes about 1.5 s for a million.
_LONGEST_LITERAL = 4_000_000
# Arguments of pandas: cells are texts, those of the header too.
_TEXTS: dict[str, Any] = {"header": None, "dtype": str, "keep_default_na": False}


class ReadError(UserError):
    """A file, or a row of it, that cannot be read; the message has the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a file, or the reason why there is none.

    Attributes:
        place: its place in the file: ``line 3`` of JSON lines, else ``row 3`` (from 1; of a table
            as spreadsheets count, with the header).
        number: its number in the file, from 0; rows with faults are counted.
        fields: its values by name; empty if the row cannot be read.
        key: for a JSON object that holds the rows by keys, the row's key; else empty.
        fault: why the row cannot be read; else empty.
        cells: for a row of a table, the names of its columns: blank cells are left out of
            ``fields``, and those of CSV, TSV and XLSX are texts.
        offset: for a row of JSON lines in UTF-8, the byte where it begins, for `read_line_at`.
    """

    file: Path
    place: str
    number: int
    fields: Mapping[str, Any]
    key: str = ""
    fault: str = ""
    cells: tuple[str, ...] = ()
    offset: int | None = None

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
    """The rows of a file, in order and lazily; those that cannot be read have a ``fault``.

    JSON is a list of objects, an object of lists of them or of objects by keys, or one object. Text
    is UTF-8 (with or without byte order mark) or UTF-16 with byte order mark. A ReadError is raised
    if nothing, or nothing further, can be read.
    """
    readers = {".csv": _csv, ".tsv": _csv, ".xlsx": _xlsx, ".parquet": _parquet}
    try:
        yield from readers.get(path.suffix.lower(), _json)(path)
    except ReadError:
        raise
    except OSError as error:
        raise ReadError(f"Cannot read {path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        with path.open("rb") as file:
            are_texts = (line.decode(errors="ignore").encode() == line for line in file)
            number = next(at for at, is_text in enumerate(are_texts, 1) if not is_text)
        raise ReadError(f"{path}, line {number} is not UTF-8: save the file as UTF-8") from None
    except (ValueError, zipfile.BadZipFile) as error:  # of JSON, pandas, pyarrow
        said = str(error).strip()
        raise ReadError(f"{path}{' ' if said.startswith('is ') else ': '}{said}") from None


def read_line_at(path: Path, offset: int) -> Row:
    """The row of JSON lines with this ``offset``."""
    with path.open("rb") as file:
        file.seek(offset)
        return _row(path, f"byte {offset}", 0, file.readline(), offset=offset)


def read_objects(path: Path) -> Iterator[Row]:
    """The rows of a file; a ReadError at the first one with a fault."""
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
    found = (each for each in root.rglob("*") if each.suffix.lower() in suffixes)
    hidden = (".", "~$")  # "~$data.xlsx" tells that data.xlsx is open
    names = ((each, each.relative_to(root).parts) for each in found if each.is_file())
    files = sorted(each for each, parts in names if not any(p.startswith(hidden) for p in parts))
    if not files:
        raise ReadError(f"No file that ends in {', '.join(suffixes)} below {root}")
    return files


def parse_json(text: str) -> Any:
    """The value of a JSON text; a ValueError also for a field that occurs twice in an object."""
    try:
        return json.loads(text, object_pairs_hook=unique_fields)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ValueError(
            f"is not valid JSON: {reason.replace('line 1 column', 'column')}"
        ) from None


def unique_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; refuses two fields of one name, of which the second would replace the first."""
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the field {shown(twice)} occurs twice")
    return found


def literal(text: str) -> Any:
    """The value of an untrusted text in JSON or Python, as in cells; a ValueError if it is none."""
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


def _utf8(path: Path) -> BinaryIO:
    """A text file as UTF-8, which may begin with a byte order mark."""
    file = path.open("rb")
    start = file.read(4096)
    file.seek(0)
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        with file:
            return io.BytesIO(file.read().decode("utf-16").encode())
    if b"\0" in start:
        file.close()
        raise ReadError(
            f"{path} is not a text file, or is UTF-16 without a byte order mark: use "
            f"{', '.join(SUFFIXES)} in UTF-8"
        )
    return file


def _json(path: Path) -> Iterator[Row]:
    """JSON lines, or a whole file; lines begin with an object that is not the only one."""
    with _utf8(path) as file:
        texts = filter(None, (line.removeprefix(BOM_UTF8).strip() for line in file))
        first = next(texts, b"")
        is_lines = path.suffix.lower() == ".jsonl" and not first.startswith(b"[")
        with suppress(ValueError, RecursionError):
            is_lines = is_lines or (any(texts) and isinstance(json.loads(first), dict))
        file.seek(0)
        if is_lines:
            number, offset = 0, 0
            # As bytes: text would also be split at U+2028, which lmms-eval writes in its JSON.
            for at, line in enumerate(file, 1):
                if line.removeprefix(BOM_UTF8).strip():
                    place = None if isinstance(file, io.BytesIO) else offset
                    yield _row(path, f"line {at}", number, line, offset=place)
                    number += 1
                offset += len(line)
            return
        content = file.read().removeprefix(BOM_UTF8).decode()
    for number, (key, value) in enumerate(_listed(parse_json(content))):
        yield _row(path, f"row {number + 1}", number, value, key)


def _row(
    path: Path, place: str, number: int, value: Any, key: str = "", offset: int | None = None
) -> Row:
    """A row with this value, or of the line of JSON that holds it."""
    fault = ""
    if isinstance(value, bytes):
        line, text = value, value.removeprefix(BOM_UTF8).strip()
        try:
            value = parse_json(text.decode())
        except ValueError as error:
            fault = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
            is_open = not text.endswith(b"}") or text.count(b"{") > text.count(b"}")
            if text.startswith(b"{") and is_open and not line.endswith(b"\n"):
                fault = CUT_SHORT
    if not fault and not isinstance(value, dict):
        fault = f"should be a JSON object in braces, not {shown(value)}"
    return Row(path, place, number, {} if fault else value, key, fault, offset=offset)


def _listed(value: Any) -> Iterable[tuple[str, Any]]:
    """The objects of a whole JSON file, with their keys."""
    if isinstance(value, list):
        return (("", each) for each in value)
    parts = list(value.values()) if isinstance(value, dict) else []
    if parts and all(isinstance(each, dict) for each in parts):
        return list(value.items())
    if parts and all(isinstance(each, list) for each in parts):
        pairs = [(key, each) for key, part in value.items() for each in part]
        if any(isinstance(each, dict) for _, each in pairs):
            return pairs
    return [("", value)]


def _csv(path: Path) -> Iterator[Row]:
    import pandas as pd

    _check_cells(path)
    with io.TextIOWrapper(_utf8(path), "utf-8-sig", newline="") as file:
        separator = max(",;\t", key=file.readline().count)
        file.seek(0)
        options: dict[str, Any] = {"sep": separator, "skip_blank_lines": False, "chunksize": 1000}
        try:
            yield from _table(path, pd.read_csv(file, **options, **_TEXTS))
        except pd.errors.EmptyDataError:
            return
        except pd.errors.ParserError as error:
            reason = str(error).rpartition("error: ")[2].strip()
            raise ReadError(f"{path} is not valid CSV: {reason}: {QUOTING}") from None


def _check_cells(path: Path) -> None:
    """Refuse text in quotes that would fill the memory, as after a quote that is not closed."""
    quotes, size = 0, 0
    with path.open("rb") as file:
        while path.stat().st_size > LARGEST and (block := file.read(2**20)):
            quotes += block.count(b'"')
            size = 0 if b'"' in block or quotes % 2 == 0 else size + len(block)
            if size > LARGEST:
                raise ReadError(f"{path}: a cell would need more than 1 GB: {QUOTING}")


def _xlsx(path: Path) -> Iterator[Row]:
    """The rows of the first sheet."""
    import pandas as pd

    with zipfile.ZipFile(path) as file:
        large = [part.filename for part in file.infolist() if part.file_size > LARGEST]
    if large:
        raise ReadError(f"{path}: {visible(large[0])} in it would need more than 1 GB")
    try:
        frame = pd.read_excel(path, **_TEXTS)
    except (KeyError, SyntaxError) as error:  # of a zip with other parts; of damaged XML
        raise ReadError(f"{path} is not a readable Excel file: {error}") from None
    yield from _table(path, [frame])


def _table(path: Path, frames: Iterable[DataFrame]) -> Iterator[Row]:
    """The rows below a header."""
    names: list[str] = []
    number = 0
    records = (cells for frame in frames for cells in frame.itertuples(index=False, name=None))
    for at, cells in enumerate(records, 1):
        texts = [cell if isinstance(cell, str) and cell.strip() else "" for cell in cells]
        if not any(texts):
            continue
        if not names:
            names = [text.strip() for text in texts]
            (twice, count), *_ = Counter(filter(None, names)).most_common(1)
            if count > 1:
                raise ReadError(f"{path}: the header names {shown(twice)} twice")
            continue
        fields = {name: text for name, text in zip(names, texts, strict=True) if name and text}
        yield Row(path, f"row {at}", number, fields, cells=tuple(filter(None, names)))
        number += 1


def _parquet(path: Path) -> Iterator[Row]:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        for column in (group.column(at) for group in groups for at in range(group.num_columns)):
            if column.total_uncompressed_size > LARGEST * max(column.num_values, 1):
                name = visible(column.path_in_schema)
                raise ReadError(f"{path}: a cell of {name} would need more than 1 GB")
        rows = (row for part in file.iter_batches(batch_size=256) for row in part.to_pylist())
        for number, row in enumerate(rows):
            # Missing values of some writers are not a number.
            fields = {name: v for name, v in row.items() if v is not None and v == v}
            yield Row(path, f"row {number + 1}", number, fields, cells=tuple(row))
