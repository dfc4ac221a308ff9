"""Export of steps to Parquet, JSON lines and CSV, and to a rating sheet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lmms_rpts.analysis.dataframes import (
    PLACE_TYPES,
    STEP_TYPES,
    Runs,
    cited,
    each_run,
    guarded,
    place_of,
    typed,
)
from lmms_rpts.errors import UserError
from lmms_rpts.escaping import GUARD, escape_formula
from lmms_rpts.files import draft_of
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.reasoning import (
    ImageQuery,
    InferenceQuery,
    ReasoningChain,
    Step,
    StepQuery,
    plan_steps,
)
from lmms_rpts.tasks.rpts_eval.runs import Run

RATING_TYPES: Mapping[str, str] = {
    **PLACE_TYPES,
    "step": "int64",
    "question": "string",
    "context": "string",
    "premises": "string",
    "evidence": "string",
    "conclusion": "string",
    "human": "float64",
}
"""The columns of ``rating_frame`` in their order."""

_TYPES = {**STEP_TYPES, **RATING_TYPES}


class ExportError(UserError):
    """A file that cannot be written or read."""


def rating_frame(runs: Runs) -> pd.DataFrame:
    """One row per step with the evidence of the first judge call, without the judge's reply.

    The columns are those of ``RATING_TYPES``; ``human`` is empty. A second question, or its
    evidence, would reveal that the judge doubted the step. ``question`` and ``evidence`` are
    missing if a rule scores the step.
    """
    rows = [
        row
        for run in each_run(runs)
        for response in run.responses
        for row in _to_rate(run, response)
    ]
    return typed(rows, RATING_TYPES)


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

    Raises:
        ExportError: for an unknown suffix, or a file that cannot be written.
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

    Raises:
        ExportError: for a file that cannot be read.
    """
    suffix = format_of(path)
    try:
        return _READERS[suffix](path)
    except OSError as error:
        raise ExportError(f"Cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ExportError(f"{path} was not written by lmms-rpts export: {error}") from None


def _to_rate(run: Run, response: RptsRecord) -> Iterable[dict[str, Any]]:
    instance = response.instance
    doc = {
        "context": instance.context,
        "textual_clue": instance.textual_clue,
        "visual_clue": instance.visual_clue,
        "reasoning": instance.reasoning,
    }
    steps = tuple(Step(step.premises, step.conclusion) for step in response.steps)
    chain = ReasoningChain(steps, instance.language)
    plan = plan_steps(chain, doc, response.settings.evidence)
    for at, (step, query) in enumerate(zip(response.steps, plan, strict=True)):
        kind, evidence = _question(query)
        yield {
            **place_of(run, response),
            "step": at,
            "question": kind,
            "context": instance.context,
            "premises": cited(step),
            "evidence": evidence,
            "conclusion": step.conclusion,
            "human": None,
        }


def _question(query: StepQuery) -> tuple[str | None, str | None]:
    match query:
        case ImageQuery():
            return "image", "\n".join(text.strip() for text in query.facts)
        case InferenceQuery():
            return "inference", "\n".join(text.strip() for text in query.premises)
    return None, None


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
    return {name: _TYPES[name] for name in names if name in _TYPES}


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
