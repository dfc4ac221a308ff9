"""Summary of the runs of a benchmark: models side by side, with breakdowns and warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from shlex import quote
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.reading import shared_benchmark
from lmms_rpts.base.escaping import did_you_mean, listed, shorten
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.rounds import (
    Figure,
    differing_coverage,
    differing_settings,
    document_means,
    mean_tokens,
    over_rounds,
    rounds_of,
    same_rounds,
    there,
)
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.scoring.reading import CUT
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.scoring.score import undecided_note
from lmms_rpts.stats.intervals import estimate_mean, numbered
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

Values = Callable[[Any], Sequence[str | None]]
"""The values of a breakdown that a record has; None: no value in the data."""

Rounds = Sequence[Sequence[Any]]
"""The responses of each round."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one model on some documents.

    Attributes:
        task: the task, if each is summarized separately; else empty.
        rounds: number of its runs that cover any of them.
        documents: number of documents.
        responses: its responses to them, over all rounds.
        unscored: number of responses without a value of the first metric.
        metrics: figures of the metrics, by name.
        tokens: tokens per response, if reported; without an interval.
    """

    task: str
    model: str
    rounds: int
    documents: int
    responses: int
    unscored: int
    metrics: Mapping[str, Figure]
    tokens: Figure


@dataclass(frozen=True, slots=True)
class Group:
    """The models on the documents with one value of a breakdown; None: no value in the data."""

    value: str | None
    models: tuple[Figures, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The models on the documents grouped by the values of one breakdown."""

    by: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Models side by side.

    Attributes:
        overall: figures over all documents; None if each task is summarized separately.
        tables: one for the breakdown that is always shown, and one for each requested one.
        warnings: why some numbers are not comparable or incomplete.
    """

    benchmark: Benchmark
    overall: Group | None
    tables: tuple[Breakdown, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        models = shorten(", ".join(dict.fromkeys(each.model for each in self.models)), 120)
        return f"<Summary of {self.benchmark.title}: {models}>"

    @property
    def models(self) -> tuple[Figures, ...]:
        """The figures of each model over all its documents, or over those of each task."""
        groups = [self.overall] if self.overall else self.tables[0].groups
        return tuple(chain.from_iterable(group.models for group in groups))

    @property
    def dimensions(self) -> Any:
        """What averages the sets of ReForm-Eval; None for other benchmarks."""
        if self.benchmark.name != "reform":
            return None
        from lmms_rpts.analysis import dimensions

        return dimensions

    def frame(self) -> pd.DataFrame:
        """One row per group and model.

        Columns: ``by``, ``group`` (both empty: all documents; only ``group`` empty: no value in the
        data), ``task`` (empty: all), ``model``, ``rounds``, ``documents``, ``responses``,
        ``unscored``, and for ``tokens`` and each metric M ``M``, ``M_sd``, ``M_low``, ``M_high``,
        ``M_n`` (see ``Figure``).
        """
        import pandas as pd

        groups = [("", self.overall)] if self.overall else []
        groups += [(table.by, group) for table in self.tables for group in table.groups]
        rows = [
            {"by": by, "group": group.value or "", **_row(each)}
            for by, group in groups
            for each in group.models
        ]
        frame = pd.DataFrame(rows)
        # Columns of only None would be no numbers.
        numbers = frame.columns[frame.columns.get_loc("tokens") :]
        typed: pd.DataFrame = frame.astype(dict.fromkeys(numbers, float))
        return typed

    def to_dict(self) -> dict[str, Any]:
        """The whole summary, for JSON."""
        whole = {
            "overall": self.overall and asdict(self.overall),
            "tables": [asdict(table) for table in self.tables],
            "warnings": self.warnings,
        }
        return whole | (self.dimensions.dimension_numbers(self.models) if self.dimensions else {})


def _row(figures: Figures) -> dict[str, Any]:
    names = ("task", "model", "rounds", "documents", "responses", "unscored")
    row = {name: getattr(figures, name) for name in names}
    for name, figure in {"tokens": figures.tokens, **figures.metrics}.items():
        row[name] = figure.value
        row |= {f"{name}_{part}": getattr(figure, part) for part in ("sd", "low", "high", "n")}
    return row


def summarize(
    runs: Sequence[AnyRun],
    by: Sequence[str] = (),
    task: str | None = None,
    labels: Mapping[str, Values] | None = None,
) -> Summary:
    """Summarize runs of one benchmark side by side.

    Runs of one model on the same documents are its rounds. A metric is the mean over the documents
    that have a value; several responses to a document (``--repeats``) are averaged first. One round
    has a 95% interval over documents: the exact one if all its values are 0 or 1, else Student's t.
    Several rounds have their mean and sample standard deviation (n - 1).

    Args:
        by: names of breakdowns: attributes of the benchmark's questions, or ``labels``.
        task: only the responses to this task.
        labels: further breakdowns, as ``joining.read_labels`` returns them.

    Raises:
        RunError: if there is no run, none that has the task, or no such breakdown.
    """
    benchmark = shared_benchmark(runs)
    known = breakdowns(benchmark) | dict(labels or {})
    if unknown := next((name for name in by if name not in known), None):
        raise RunError(f"Unknown breakdown {unknown!r}; known breakdowns: {', '.join(known)}")
    others = [run.label for run in runs if of_task(run, task) is None]
    if len(others) == len(runs):
        tasks = sorted({name for run in runs for name in run.tasks})
        raise RunError(
            f"No run has the task {task}.{did_you_mean(str(task), tasks)} Tasks of the runs: "
            f"{', '.join(tasks)}"
        )
    parts = _parts(benchmark, [part for run in runs if (part := of_task(run, task)) is not None])
    rounds = {name: rounds_of(own) for name, own in parts.items()}
    warnings = [f"{listed(others)}: no responses to the task {task}"] if others else []
    names = dict.fromkeys((benchmark.by[0], *by))
    return Summary(
        benchmark,
        None if benchmark.by_task else _groups(benchmark, rounds, lambda record: (None,))[0],
        tuple(Breakdown(name, tuple(_groups(benchmark, rounds, known[name]))) for name in names),
        (*warnings, *_warnings(benchmark, parts, rounds)),
    )


def breakdowns(benchmark: Benchmark) -> dict[str, Values]:
    """The breakdowns of a benchmark by name: attributes of its questions."""
    return {name: partial(_values, name) for name in benchmark.by}


def _values(name: str, record: Any) -> Sequence[str | None]:
    """The values of an attribute of a record's question, each once, as text."""
    value = getattr(record.instance, name)
    several = (value or (None,)) if isinstance(value, tuple) else (value,)
    return list(dict.fromkeys(None if each is None else str(each) for each in several))


def _parts(benchmark: Benchmark, runs: Sequence[AnyRun]) -> dict[str, list[AnyRun]]:
    """The runs, by task if each task is summarized separately."""
    if not benchmark.by_task:
        return {"": list(runs)}
    tasks = sorted({task for run in runs for task in run.tasks}, key=partial(_order, benchmark))
    return {task: [part for run in runs if (part := of_task(run, task))] for task in tasks}


def _order(benchmark: Benchmark, value: str | None) -> tuple[object, ...]:
    """Sort key: values in the order of their benchmark, then others, numbers by size."""
    order, text = benchmark.order, value or ""
    known = order.index(text) if text in order else len(order)
    return (value is None, known, len(text) if text.isdigit() else 0, text)


Models = Mapping[str, Mapping[str, Sequence[AnyRun]]]
"""The rounds of each model, by task (an empty name: all tasks together) and model."""


def _groups(benchmark: Benchmark, models: Models, values_of: Values) -> list[Group]:
    """The figures of the models on the responses with each value."""
    found: dict[str | None, dict[tuple[str, str], list[list[Any]]]] = {}
    for task, rounds_of_models in models.items():
        for model, runs in rounds_of_models.items():
            for run in runs:
                of_round: dict[str | None, list[Any]] = {}
                for record in run.responses:
                    for value in values_of(record):
                        of_round.setdefault(value, []).append(record)
                for value, records in of_round.items():
                    found.setdefault(value, {}).setdefault((task, model), []).append(records)
    return [
        Group(value, tuple(_figures(benchmark, *of, each) for of, each in found[value].items()))
        for value in sorted(found, key=partial(_order, benchmark))
    ]


def _figures(benchmark: Benchmark, task: str, model: str, rounds: Rounds) -> Figures:
    responses = [*chain.from_iterable(rounds)]
    metrics = benchmark.metrics
    first = next(iter(metrics.values()))
    return Figures(
        task=task,
        model=model,
        rounds=len(rounds),
        documents=len({record.instance.key for record in responses}),
        responses=len(responses),
        unscored=sum(first.of(record) is None for record in responses),
        metrics={name: _figure(each, rounds) for name, each in metrics.items()},
        tokens=mean_tokens([[record.tokens for record in records] for records in rounds]),
    )


def _figure(metric: Metric, rounds: Rounds) -> Figure:
    """The figure of a metric over documents, each with the mean of its responses with a value."""
    if metric.over:
        values = [metric.over(records) for records in rounds]
        return over_rounds([None if it is None or math.isnan(it) else it for it in values])
    means = [
        document_means((record.instance.key, metric.of(record)) for record in records)
        for records in rounds
    ]
    known = [there(each) for each in means]
    if len(rounds) > 1:
        return over_rounds([math.fsum(each) / len(each) if each else None for each in known])
    clusters = {record.instance.key: record.instance.cluster for record in rounds[0]}
    kind = metric.kind
    share = all(each in (0, 1) for each in known[0]) if kind is None else kind == "share"
    found = estimate_mean(means[0], numbered([*clusters.values()]), share, kind != "count")
    return Figure(found.value, None, found.low, found.high, found.n)


# --- warnings ------------------------------------------------------------------------------------


def _warnings(
    benchmark: Benchmark, parts: Mapping[str, Sequence[AnyRun]], models: Models
) -> Iterator[str]:
    """Why some numbers of runs are not comparable or incomplete."""
    first = next(iter(benchmark.metrics.values()))
    yield from differing_settings([*chain.from_iterable(parts.values())])
    yield from dict.fromkeys(
        line for rounds in models.values() for line in same_rounds(rounds, first.of)
    )
    for task, rounds in models.items():
        keys = {
            model: {each.instance.key for run in runs for each in run.responses}
            for model, runs in rounds.items()
        }
        yield from differing_coverage("models", keys, f"documents{f' of {task}' * bool(task)}")
    # Tasks that ask the same questions in other ways.
    asked: dict[str, dict[str, set[str]]] = {}
    for task, runs in parts.items():
        ids = {str(each.instance.id) for run in runs for each in run.responses if task}
        asked.setdefault(benchmark.tasks.get(task, task), {})[task] = ids
    for of_part in asked.values():
        yield from differing_coverage("tasks", of_part, "documents")
    for task, runs in parts.items():
        for run in runs:
            for said in _left_out(benchmark, run, f" to {task}" * bool(task)):
                yield f"{run.label}: {said}"


def _left_out(benchmark: Benchmark, run: AnyRun, where: str) -> Iterator[str]:
    """What the means of a run leave out."""
    every, responses = len(run.responses), f"{len(run.responses)} responses{where}"
    first = next(iter(benchmark.metrics.values()))
    accuracy = benchmark.metrics.get("accuracy", first)
    undecided = [each for each in run.responses if each.undecided]
    reasons = [
        each.reason
        for each in run.responses
        if first.of(each) is None and not (each.undecided and accuracy is first)
    ]
    if reasons:
        yield (
            f"{len(reasons)} of {responses} have no score, and are left out of {first.name} (most "
            f"often: {_most(reasons)})"
        )
    if undecided:
        ends = [
            document_means(
                (each.instance.key, otherwise if each.undecided else accuracy.of(each))
                for each in run.responses
            )
            for otherwise in (0.0, 1.0)
        ]
        low, high = (math.fsum(known) / len(known) for known in map(there, ends))
        folder = quote(str(run.files[0].parent)) if run.files else "RESULTS"
        remedy = benchmark.remedy and f". A judge decides: {benchmark.remedy.format(folder)}"
        yield undecided_note(len(undecided), every, low, high) + remedy
    failed: dict[str, list[str]] = {}
    for each in run.responses:
        for name, finding in getattr(each, "findings", {}).items():
            if finding.error:
                failed.setdefault(name.replace("_", " "), []).append(finding.error)
    for name, errors in failed.items():
        yield (
            f"for {len(errors)} of {responses}, the judge did not answer the question about "
            f"{name} (most often: {_most(errors)})"
        )
    cut = sum(
        any(said.startswith(CUT) for said in each.transform.problems)
        for each in run.responses
        if isinstance(each, RptsRecord)
    )
    if cut:
        yield f"the thinking of {cut} of {responses} is too long: only passages of it are judged"


def _most(reasons: Sequence[str | None]) -> str:
    return Counter(reasons).most_common(1)[0][0] or "no reason given"
