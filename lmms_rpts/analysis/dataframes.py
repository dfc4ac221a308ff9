"""Runs as pandas data frames: one row per document, response or step; and files of frames.

Column types do not depend on the data, also in an empty frame. Missing texts and truth values are
``pandas.NA``, missing numbers NaN (``Int64``: ``pandas.NA``).
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.comparison import document_values, response_metrics
from lmms_rpts.analysis.reading import sort_runs
from lmms_rpts.analysis.summary import breakdowns
from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import storable
from lmms_rpts.judging.types import Usage
from lmms_rpts.reasoning import Clue
from lmms_rpts.reasoning.tree import step_weights
from lmms_rpts.runs.files import draft_of
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import JudgedStep, RptsRecord
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.registry import BENCHMARKS

if TYPE_CHECKING:
    import pandas as pd

# Characters that make a spreadsheet run a cell as a formula, with full-width forms (OWASP).
_FORMULA = frozenset("=+-@\t\r\n＝＋－＠")
_GUARD = "'"
_MOST = 2**63 - 1
"""Largest integer in a column; a step may be used more often."""

PLACE_TYPES: Mapping[str, str] = {
    "run": "string",
    "task": "string",
    "doc_id": "int64",
    "id": "string",
    "repeat": "int64",
    "language": "string",
}
"""The first columns of every frame: the response and its document."""

SPENT_TYPES: Mapping[str, str] = {"tokens_in": "Int64", "tokens_out": "Int64", "cost": "float64"}
"""The columns with what the judge's replies took, see `spent_on`."""

STEP_TYPES: Mapping[str, str] = {
    **PLACE_TYPES,
    "relation": "string",
    "step": "int64",
    "premises": "string",
    "conclusion": "string",
    "height": "int64",
    "modality": "string",
    "counts": "bool",
    "uses": "int64",
    "weight": "float64",
    "restates": "bool",
    "score": "float64",
    "first_error": "bool",
    "note": "string",
    "question": "string",
    "evidence": "string",
    "reply": "string",
    "error": "string",
    "judge": "string",
    "rpts": "float64",
    "answer": "string",
    "correct": "boolean",
    **SPENT_TYPES,
}
"""The columns of ``steps_frame`` in order; ``docs/export.md`` describes them."""

RESPONSE_TYPES: Mapping[str, str] = {
    **PLACE_TYPES,
    "ability": "object",
    "relation": "string",
    "answer": "string",
    "gold_answer": "string",
    "correct": "boolean",
    "steps": "Int64",
    "first_error_step": "Int64",
    "first_error_height": "Int64",
    "first_error_modality": "string",
    "tokens": "Int64",
    **SPENT_TYPES,
    "judge": "string",
    "reason": "string",
    "restating": "Int64",
    "missing_evidence": "string",
    # ``steps`` is above, as an integer.
    **{name: "float64" for name in METRICS if name != "steps"},
}
"""The columns of ``responses_frame`` in order; ``docs/export.md`` describes them."""


GRADED_TYPES: dict[str, str] = {
    **{name: kind for name, kind in PLACE_TYPES.items() if name != "language"},
    "answer": "string",
    "gold_answer": "string",
    "tokens": "Int64",
    **SPENT_TYPES,
    "judge": "string",
    "reason": "string",
}
"""The columns of ``responses_frame`` for graded answers, before its breakdowns and metrics."""

Cost = Callable[[Usage], float | None]
"""As `cost_function` returns it."""

Runs = Run | Iterable[Run]
"""One run, or several."""


def documents_frame(runs: Runs) -> pd.DataFrame:
    """The metrics of each document, one column per metric.

    The index is ``task``, ``doc_id`` for one run, and ``run``, ``task``, ``doc_id`` for a list of
    runs. A document's value is the mean over its responses, NaN if there is none; the means of the
    columns of one run are the numbers in lmms-eval's table.
    """
    import pandas as pd

    first = 1 if isinstance(runs, Run) else 0
    names = ["run", "task", "doc_id"][first:]
    frames = []
    for benchmark, of_benchmark in _by_benchmark(runs):
        metrics = response_metrics(benchmark)
        rows = [
            ((run.label, *document)[first:], values)
            for run in of_benchmark
            for document, values in document_values(run, metrics).items()
        ]
        index = pd.MultiIndex.from_tuples([key for key, _ in rows], names=names)
        values = [values for _, values in rows]
        frames.append(pd.DataFrame(values, index=index, columns=[*metrics], dtype=float))
    frame: pd.DataFrame = pd.concat(frames)
    return frame


def responses_frame(runs: Runs) -> pd.DataFrame:
    """One row per response of runs of any benchmark.

    The columns of runs that RPTS scored are those of ``RESPONSE_TYPES``. Graded answers have those
    of ``GRADED_TYPES``, a text for each breakdown and a number for each metric. Runs of several
    benchmarks have the columns of all.
    """
    rows: list[Mapping[str, Any]] = []
    types: dict[str, str] = {}
    cost = cost_function()
    for benchmark, of_benchmark in _by_benchmark(runs):
        pairs = ((run, each) for run in of_benchmark for each in run.responses)
        rows += [cells_of(*pair, benchmark, cost) for pair in pairs]
        if benchmark.record is RptsRecord:
            types |= RESPONSE_TYPES
        else:
            metrics = dict.fromkeys(response_metrics(benchmark), "float64")
            types |= GRADED_TYPES | dict.fromkeys(benchmark.by, "string") | metrics
    return typed(rows, types)


def steps_frame(runs: Runs) -> pd.DataFrame:
    """One row per step of runs that RPTS scored; the columns are those of ``STEP_TYPES``."""
    cost = cost_function()
    rows = [
        row
        for run in ([runs] if isinstance(runs, Run) else runs)
        for each in run.responses
        if isinstance(each, RptsRecord)
        for row in _of_steps(run, each, cost)
    ]
    return typed(rows, STEP_TYPES)


def _by_benchmark(runs: Runs) -> list[tuple[Benchmark, Sequence[Run]]]:
    """The runs of each benchmark; without any, of RPTS."""
    listed = [runs] if isinstance(runs, Run) else runs
    found = sort_runs(run for run in listed if run.responses)
    return [(BENCHMARKS[name], of) for name, of in found.items()] or [(BENCHMARKS["rpts"], ())]


def typed(rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> pd.DataFrame:
    """Rows as a frame with the columns and types of ``types``.

    Lone surrogates, which cannot be encoded, are replaced.
    """
    import pandas as pd

    clean = [
        {name: storable(cell) if isinstance(cell, str) else cell for name, cell in row.items()}
        for row in rows
    ]
    # As objects first: pandas would guess a type, and a different one if all values are missing.
    frame = pd.DataFrame(clean, columns=list(types), dtype=object)
    columns: pd.DataFrame = frame.astype(dict(types))
    return columns


def for_spreadsheets(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy for CSV: texts that a spreadsheet would read as formulas start with an apostrophe."""
    clean: pd.DataFrame = frame.copy()
    for name in [name for name in frame if frame[name].dtype in (object, "string")]:
        lines = frame[name].map(lambda cell: " | ".join(cell) if isinstance(cell, list) else cell)
        texts = lines.map(lambda cell: _escape_formula(cell) if isinstance(cell, str) else cell)
        clean[name] = texts.astype(frame[name].dtype)  # also if no cell contains text
    return clean


def _named(clues: Iterable[Clue]) -> str:
    return " + ".join(
        f"{clue.kind} {clue.index}" if clue.index is not None else clue.kind for clue in clues
    )


def response_cells(run: Run, response: RptsRecord) -> dict[str, Any]:
    """The cells that both frames have: ``PLACE_TYPES``, and those of the whole response."""
    instance = response.instance
    return {
        "run": run.label,
        "task": instance.task,
        "doc_id": instance.doc_id,
        "id": instance.id,
        "repeat": response.repeat,
        "language": instance.language,
        "relation": instance.relation,
        "answer": response.answer.value,
        "correct": response.answer.correct,
        "judge": response.settings.judge,
    }


def cells_of(run: Run, record: Any, benchmark: Benchmark, cost: Cost) -> dict[str, Any]:
    """The row of a response in ``responses_frame``."""
    of = _of_response if isinstance(record, RptsRecord) else partial(_graded, benchmark)
    return of(run, record) | spent_on(record, cost)


def _graded(benchmark: Benchmark, run: Run, record: Any) -> dict[str, Any]:
    instance = record.instance
    return {
        **{
            name: " | ".join(filter(None, values_of(record))) or None
            for name, values_of in breakdowns(benchmark).items()
        },
        "run": run.label,
        "task": instance.task,
        "doc_id": instance.doc_id,
        "id": str(instance.id),
        "repeat": record.repeat,
        "answer": record.final,
        "gold_answer": instance.shown.right_answer or None,
        "tokens": record.tokens,
        "judge": record.scoring.judge,
        "reason": record.reason,
        **{name: each.of(record) for name, each in response_metrics(benchmark).items()},
    }


def _of_response(run: Run, response: RptsRecord) -> dict[str, Any]:
    instance, error, found = response.instance, response.first_error, response.diagnosis
    return {
        **response_cells(run, response),
        "ability": [storable(each) for each in instance.ability],
        "gold_answer": instance.gold,
        "first_error_step": error and error.step,
        "first_error_height": error and error.height,
        "first_error_modality": error and error.modality,
        "tokens": response.tokens,
        "reason": response.reason,
        "restating": len(found.restating),
        "missing_evidence": _named(clue for clue in found.needed if clue not in found.used),
        **response.metrics,
        "steps": len(response.steps),
    }


def _of_steps(run: Run, response: RptsRecord, cost: Cost) -> Iterable[dict[str, Any]]:
    if not response.steps:
        return
    tree, settings, error = response.tree(), response.settings, response.first_error
    weights = step_weights(tree, settings.decay, settings.focus_height)
    restating = response.diagnosis.restating
    for at, step in enumerate(response.steps):
        last = step.verdicts[-1] if step.verdicts else None
        yield {
            **response_cells(run, response),
            **spent_on(step, cost),
            "step": at,
            "premises": _named(step.premises),
            "conclusion": step.conclusion,
            "height": step.height,
            "modality": step.modality,
            "counts": step.counts,
            "uses": min(tree.uses[at], _MOST),
            "weight": weights[at],
            "restates": at in restating,
            "score": step.score,
            "first_error": error is not None and error.step == at,
            "note": step.note,
            "question": _question(step),
            "evidence": "\n".join(last.evidence) if last else None,
            "reply": last and last.reply,
            "error": step.error,
            "rpts": response.rpts,
        }


def _question(step: JudgedStep) -> str | None:
    """The last question to the judge about a step: ``image``, ``inference`` or ``second``."""
    if len(step.verdicts) > 1:
        return "second"
    return step.verdicts[0].kind.removesuffix("_seen") if step.verdicts else None


# --- files: Parquet, JSON lines and CSV


class ExportError(UserError):
    """A file that cannot be written or read."""


def format_of(path: Path) -> str:
    """The suffix of an output file, in lower case."""
    suffix = path.suffix.lower()
    if suffix not in _WRITERS:
        raise ExportError(f"{path}: unknown suffix; use one of {', '.join(_WRITERS)}")
    return suffix


def write_frame(frame: pd.DataFrame, path: str | Path) -> int:
    """Write a frame atomically in the format of the suffix; returns the size in bytes.

    An existing file is replaced. In CSV, texts that a spreadsheet would read as formulas start
    with an apostrophe, and NUL is replaced.
    """
    path = Path(path)
    suffix = format_of(path)
    try:
        with draft_of(path) as draft:
            _WRITERS[suffix](frame, draft)
            return draft.stat().st_size
    except OSError as error:
        raise ExportError(f"Cannot write to {path}: {error.strerror or error}") from None


def read_frame(path: str | Path) -> pd.DataFrame:
    """Read a file written by ``write_frame``, with the same columns and types.

    CSV does not distinguish an empty text from a missing one: both are read as missing. An empty
    JSON Lines file gets the columns of ``STEP_TYPES``.
    """
    path = Path(path)
    suffix = format_of(path)
    try:
        return _READERS[suffix](path)
    except OSError as error:
        raise ExportError(f"Cannot read {path}: {error.strerror or error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ExportError(f"{path} was not written by lmms-rpts export: {error}") from None


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

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
    if not rows:
        return typed([], STEP_TYPES)
    # Breakdowns and metrics of graded answers are in no table: their types are inferred.
    types = dict.fromkeys(rows[0], "object") | _types(rows[0])
    frame: pd.DataFrame = typed(rows, types).infer_objects()
    return frame


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    # Without a byte order mark, Excel assumes another encoding. All texts are in quotes: for some
    # readers, a bare carriage return ends a row.
    for_spreadsheets(frame).to_csv(
        path, index=False, encoding="utf-8-sig", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n"
    )


def _read_csv(path: Path) -> pd.DataFrame:
    import pandas as pd

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
    known = {**RESPONSE_TYPES, **STEP_TYPES}
    return {name: known[name] for name in names if name in known}


def _unguard(text: str) -> str:
    return text[1:] if text[:1] == _GUARD and text == _escape_formula(text[1:]) else text


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


def _escape_formula(text: str) -> str:
    """A CSV cell that no spreadsheet runs as a formula: a risky one gets an apostrophe in front."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return _GUARD + text if text.lstrip(_GUARD)[:1] in _FORMULA else text
