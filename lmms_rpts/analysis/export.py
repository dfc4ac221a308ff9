"""Export of steps to Parquet, JSON lines and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from lmms_rpts.analysis.dataframes import STEP_TYPES, guarded, typed
from lmms_rpts.errors import UserError
from lmms_rpts.escaping import GUARD, escape_formula
from lmms_rpts.files import draft_of


class ExportError(UserError):
    """A file that cannot be written or read."""


def format_of(path: Path) -> str:
    """The suffix of an output file, in lower case.

    Raises:
        ExportError: if there is no format with this suffix.
    """
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise ExportError(f"{path}: unknown suffix; use one of {', '.join(_WRITERS)}")
    return suffix


def write_frame(frame: pd.DataFrame, path: Path) -> int:
    """Write a frame atomically in the format of the suffix; returns the size in bytes.

    An existing file is replaced. In CSV, texts that a spreadsheet would read as formulas start
    with an apostrophe, and NUL is replaced.
    """
    suffix = format_of(path)
    try:
        with draft_of(path) as draft:
            _WRITERS[suffix](frame, draft)
            return draft.stat().st_size
    except OSError as error:
        raise ExportError(f"Cannot write to {path}: {error.strerror or error}") from None


def read_frame(path: Path) -> pd.DataFrame:
    """Read a file written by ``write_frame``, with the same columns and types.

    CSV does not distinguish an empty text from a missing one: both are read as missing. An empty
    JSON Lines file gets the columns of ``STEP_TYPES``.
    """
    suffix = format_of(path)
    try:
        return _READERS[suffix](path)
    except OSError as error:
        raise ExportError(f"Cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ExportError(f"{path} was not written by lmms-rpts export: {error}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    frame = pd.read_parquet(path, engine="pyarrow")
    columns: pd.DataFrame = frame.astype(_types(frame.columns))
    return columns


def _write_jsonl(frame: pd.DataFrame, path: Path) -> None:
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    with path.open("w", encoding="utf-8", newline="\n") as out:
        for row in rows:
            text = json.dumps(row, ensure_ascii=False, allow_nan=False)
            # Some readers treat these as line ends.
            for mark in "\x85\u2028\u2029":
                text = text.replace(mark, f"\\u{ord(mark):04x}")
            out.write(text + "\n")


def _read_jsonl(path: Path) -> pd.DataFrame:
    with path.open(encoding="utf-8", newline="\n") as lines:
        rows = [json.loads(line) for line in lines]
    return typed(rows, _types(rows[0]) if rows else STEP_TYPES)


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    # Without a byte order mark, Excel assumes another encoding. All texts are in quotes: for some
    # readers, a bare carriage return ends a row.
    guarded(frame).to_csv(
        path, index=False, encoding="utf-8-sig", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )


def _read_csv(path: Path) -> pd.DataFrame:
    header = pd.read_csv(path, encoding="utf-8-sig", nrows=0).columns
    frame = pd.read_csv(
        path,
        encoding="utf-8-sig",
        dtype=_types(header),
        # A conclusion may be "None" or "NA".
        keep_default_na=False,
        na_values=[""],
    )
    for name in frame.columns[frame.dtypes == "string"]:
        frame[name] = frame[name].map(_unguard, na_action="ignore").astype("string")
    return frame


def _types(names: Iterable[str]) -> dict[str, Any]:
    return {name: STEP_TYPES[name] for name in names if name in STEP_TYPES}


def _unguard(text: str) -> str:
    return text[1:] if text[:1] == GUARD and text == escape_formula(text[1:]) else text


_WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    ".parquet": lambda frame, path: frame.to_parquet(path, engine="pyarrow", index=False),
    ".jsonl": _write_jsonl,
    ".csv": _write_csv,
}
_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
    ".csv": _read_csv,
}
