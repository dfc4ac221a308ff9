"""Runs as data frames: one row per response, or per step; metrics are columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.escaping import storable
from lmms_rpts.reasoning import Clue
from lmms_rpts.reasoning.tree import step_weights
from lmms_rpts.runs import reading
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.record import JudgedStep, RptsRecord
from lmms_rpts.stats.figures import Interval
from lmms_rpts.stats.metrics import Metric
from lmms_rpts.tasks.benchmark import Benchmark
from lmms_rpts.tasks.registry import BENCHMARKS

if TYPE_CHECKING:
    import pandas as pd

PLACE = ("run", "task", "doc_id", "id", "repeat")
"""The first columns of both frames: the response."""

_SPENT = ("tokens_in", "tokens_out", "cost")
_MOST = 2**63 - 1
"""Largest integer in a column; a step may be used more often."""


def read_runs(paths: str | Path | Iterable[str | Path]) -> list[Run]:
    """Read the runs of all benchmarks in folders that lmms-eval wrote, or in samples files.

    ``LABEL=PATH`` names a run. Parts of one run are joined, rounds of a model are numbered.

    Raises:
        RunError: with the file, the line and the remedy, if something cannot be read.
    """
    benchmarks = BENCHMARKS.values()
    records = {each.record.SCHEMA: each.record for each in benchmarks}
    return reading.read_runs(paths, records, [each.foreign for each in benchmarks if each.foreign])


def by_benchmark(runs: Iterable[Run]) -> list[tuple[Benchmark, list[Run]]]:
    """The runs of each benchmark, those of RPTS first.

    Raises:
        RunError: for records of an unknown type.
    """
    runs = [run for run in runs if run.responses]
    kinds = {type(run.responses[0]) for run in runs}
    if unknown := kinds - {benchmark.record for benchmark in BENCHMARKS.values()}:
        raise RunError(f"Records of an unknown type: {', '.join(map(str, unknown))}")
    return [
        (benchmark, [run for run in runs if type(run.responses[0]) is benchmark.record])
        for benchmark in BENCHMARKS.values()
        if benchmark.record in kinds
    ]


def benchmark_of(runs: Sequence[Run]) -> Benchmark:
    """The benchmark of all of these runs; a RunError if they have none, or several."""
    benchmarks = [benchmark for benchmark, _ in by_benchmark(runs)]
    if len(benchmarks) != 1:
        titles = ", ".join(benchmark.title for benchmark in benchmarks) or "none"
        raise RunError(f"The runs should be of one benchmark, not of: {titles}")
    return benchmarks[0]


def response_metrics(benchmark: Benchmark) -> list[Metric]:
    """The metrics that single responses have."""
    return [metric for metric in benchmark.metrics.values() if metric.value]


def values_frame(benchmark: Benchmark, runs: Sequence[Run]) -> pd.DataFrame:
    """One row per response of runs of a benchmark: ``PLACE``, ``tokens``, a column per metric.

    For group-bys it also has the ``record``; ``document``, which is the same for duplicates of one
    question; and ``cluster``, which documents share that are not independent.
    """
    import pandas as pd

    metrics = response_metrics(benchmark)
    rows = [
        {
            "run": run.label,
            "task": record.instance.task,
            "doc_id": record.instance.doc_id,
            "id": storable(str(record.instance.id)),
            "repeat": record.repeat,
            "record": record,
            "document": record.instance.key,
            "cluster": record.instance.cluster,
            "tokens": record.tokens,
            **{metric.name: metric.value(record) for metric in metrics if metric.value},
        }
        for run in runs
        for record in run.responses
    ]
    columns = [*PLACE, "record", "document", "cluster", "tokens", *(it.name for it in metrics)]
    frame = pd.DataFrame(rows, columns=columns)
    numbers = dict.fromkeys(columns[columns.index("tokens") :], float)
    typed: pd.DataFrame = frame.astype(numbers)
    return typed


def breakdown(name: str, record: Any) -> list[str | None]:
    """The values of an attribute of a record's question, each once; None: it has no value."""
    value = getattr(record.instance, name)
    values = (value or (None,)) if isinstance(value, tuple) else (value,)
    return list(dict.fromkeys(None if one is None else str(one) for one in values))


def responses_frame(runs: Run | Iterable[Run]) -> pd.DataFrame:
    """One row per response of runs of any benchmark.

    The columns: ``PLACE``; the breakdowns of the benchmark (several values in one text, with
    `` | `` between them); ``answer``, ``gold_answer``, ``judge``, ``reason``; of runs that RPTS
    scored ``first_error_step``, ``first_error_height``, ``first_error_modality``; ``tokens`` of the
    response; ``tokens_in``, ``tokens_out``, ``cost`` of the judge's replies; and each metric. Runs
    of several benchmarks have the columns of all.
    """
    import pandas as pd

    cost = cost_function()
    frames = []
    for benchmark, own in by_benchmark([runs] if isinstance(runs, Run) else runs):
        values = values_frame(benchmark, own)
        described = pd.DataFrame(
            [_description(benchmark, record) | _spent(record, cost) for record in values["record"]]
        )
        numbers = ["tokens", *(metric.name for metric in response_metrics(benchmark))]
        frames.append(pd.concat([values[[*PLACE]], described, values[numbers]], axis=1))
    frame: pd.DataFrame = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return frame


def _description(benchmark: Benchmark, record: Any) -> dict[str, Any]:
    """What a response's row says besides numbers."""
    instance = record.instance
    by = (name for name in benchmark.by if name not in PLACE)
    cells = {name: " | ".join(filter(None, breakdown(name, record))) or None for name in by}
    cells |= {
        "answer": record.final,
        "gold_answer": instance.gold or None,
        "judge": record.scoring.judge,
        "reason": record.reason,
    }
    if isinstance(record, RptsRecord):
        for name in ("step", "height", "modality"):
            error = record.first_error
            cells[f"first_error_{name}"] = None if error is None else getattr(error, name)
    return {name: storable(it) if isinstance(it, str) else it for name, it in cells.items()}


def _spent(value: Any, cost: Any) -> dict[str, Any]:
    spent = spent_on(value, cost)
    return {name: spent[name] for name in _SPENT}


def steps_frame(runs: Run | Iterable[Run]) -> pd.DataFrame:
    """One row per step of the runs that RPTS scored; docs/python.md describes the columns."""
    import pandas as pd

    cost = cost_function()
    rows = [
        row
        for run in ([runs] if isinstance(runs, Run) else runs)
        for record in run.responses
        if isinstance(record, RptsRecord) and record.steps
        for row in _step_rows(run, record, cost)
    ]
    frame: pd.DataFrame = pd.DataFrame(rows, columns=None if rows else [*PLACE, "step", "score"])
    return frame


def _step_rows(run: Run, record: RptsRecord, cost: Any) -> Iterator[Mapping[str, Any]]:
    instance, tree, settings = record.instance, record.tree(), record.settings
    weights = step_weights(tree, settings.decay, settings.focus_height)
    first_error = None if record.first_error is None else record.first_error.step
    response = {
        "run": run.label,
        "task": instance.task,
        "doc_id": instance.doc_id,
        "id": storable(str(instance.id)),
        "repeat": record.repeat,
        "language": instance.language,
        "relation": instance.relation,
        "answer": record.answer.value,
        "correct": record.answer.correct,
        "rpts": record.rpts,
        "judge": settings.judge,
    }
    for at, step in enumerate(record.steps):
        last = step.verdicts[-1] if step.verdicts else None
        yield response | {
            "step": at,
            "premises": " + ".join(map(_named, step.premises)),
            "conclusion": step.conclusion,
            "height": step.height,
            "modality": step.modality,
            "counts": step.counts,
            "uses": min(tree.uses[at], _MOST),
            "weight": weights[at],
            "restates": at in record.diagnosis.restating,
            "score": None if step.score is None else float(step.score),
            "first_error": at == first_error,
            "note": step.note,
            "question": _question(step),
            "evidence": "\n".join(last.evidence) if last else None,
            "reply": None if last is None or last.reply is None else storable(last.reply),
            "error": step.error,
            **_spent(step, cost),
        }


def _named(clue: Clue) -> str:
    return clue.kind if clue.index is None else f"{clue.kind} {clue.index}"


def _question(step: JudgedStep) -> str | None:
    """The last question to the judge about a step: ``image``, ``inference`` or ``second``."""
    if len(step.verdicts) > 1:
        return "second"
    return step.verdicts[0].kind.removesuffix("_seen") if step.verdicts else None


def plain_frame(table: pd.DataFrame) -> pd.DataFrame:
    """A table whose intervals are columns of numbers: value, ``_low``, ``_high``, ``_n``, ``_sd``;
    columns without any value are left out."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name in table.columns:
        cells = list(table[name])
        if not any(isinstance(cell, Interval) for cell in cells):
            columns[name] = cells
            continue
        for end in ("value", "low", "high", "n", "sd"):
            values = [getattr(cell, end, None) for cell in cells]
            if end == "value" or any(value is not None for value in values):
                columns[name if end == "value" else f"{name}_{end}"] = values
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame
