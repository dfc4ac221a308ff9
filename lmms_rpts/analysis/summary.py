"""Summary of the runs of a benchmark: models side by side, with breakdowns and warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from shlex import quote
from statistics import fmean
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.reading import benchmark_of_runs
from lmms_rpts.base.escaping import did_you_mean, listed, shorten
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.reading import RunError
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
from lmms_rpts.runs.run import Run, of_task
from lmms_rpts.scoring.reading import CUT
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.scoring.score import undecided_note
from lmms_rpts.stats.intervals import Indices, estimate_mean, numbered
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
        by: the breakdown that the documents are a group of; empty: all documents.
        group: its value of these documents; None: no value in the data.
        task: the task, if each is summarized separately; else empty.
        rounds: number of its runs that cover any of them.
        documents: number of documents.
        responses: its responses to them, over all rounds.
        unscored: number of responses without a value of the first metric.
        tokens: tokens per response, if reported; without an interval.
        metrics: figures of the metrics, by name.
    """

    by: str
    group: str | None
    task: str
    model: str
    rounds: int
    documents: int
    responses: int
    unscored: int
    tokens: Figure
    metrics: Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Summary:
    """Models side by side.

    Attributes:
        rows: the figures over all documents (of each task, if these are summarized separately),
            then those of the groups of each breakdown.
        warnings: why some numbers are not comparable or incomplete.
    """

    benchmark: Benchmark
    rows: tuple[Figures, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        models = shorten(", ".join(dict.fromkeys(each.model for each in self.models)), 120)
        return f"<Summary of {self.benchmark.title}: {models}>"

    @property
    def models(self) -> list[Figures]:
        """The figures over all documents, or over those of each task."""
        return self.of("")

    def of(self, by: str) -> list[Figures]:
        """The figures of the groups of a breakdown."""
        return [row for row in self.rows if row.by == by]

    @property
    def dimensions(self) -> Any:
        """The module that averages the sets of ReForm-Eval; None for other benchmarks."""
        if self.benchmark.name != "reform":
            return None
        from lmms_rpts.analysis import dimensions

        return dimensions

    def frame(self) -> pd.DataFrame:
        """A row for each of ``rows``, with the fields of ``Figures`` as columns.

        A figure M has the columns ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n``.
        """
        import pandas as pd

        frame = pd.json_normalize(self.to_dict()["rows"], sep="_")
        names = [
            str(name).removeprefix("metrics_").removesuffix("_value") for name in frame.columns
        ]
        frame.columns = pd.Index(names)
        # Columns of only None would be no numbers.
        numbers = dict.fromkeys(names[names.index("tokens") :], float)
        typed: pd.DataFrame = frame.astype(numbers)
        return typed

    def to_dict(self) -> dict[str, Any]:
        """The whole summary, for JSON."""
        whole = {"rows": [asdict(row) for row in self.rows], "warnings": self.warnings}
        return whole | (self.dimensions.dimension_numbers(self.models) if self.dimensions else {})


def summarize(
    runs: Sequence[Run],
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
    benchmark = benchmark_of_runs(runs)
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
    rows = [*_rows(benchmark, rounds, "", lambda record: (None,))]
    for name in dict.fromkeys((benchmark.by[0], *by)):
        rows += _rows(benchmark, rounds, name, known[name])
    warnings = [f"{listed(others)}: no responses to the task {task}"] if others else []
    return Summary(benchmark, tuple(rows), (*warnings, *_warnings(benchmark, parts, rounds)))


def breakdowns(benchmark: Benchmark) -> dict[str, Values]:
    """The breakdowns of a benchmark by name: attributes of its questions."""
    return {name: partial(_values, name) for name in benchmark.by}


def _values(name: str, record: Any) -> Sequence[str | None]:
    """The values of an attribute of a record's question, each once, as text."""
    value = getattr(record.instance, name)
    several = (value or (None,)) if isinstance(value, tuple) else (value,)
    return list(dict.fromkeys(None if each is None else str(each) for each in several))


def _parts(benchmark: Benchmark, runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs, by task if each task is summarized separately."""
    if not benchmark.by_task:
        return {"": list(runs)}
    tasks = sorted({task for run in runs for task in run.tasks}, key=partial(_order, benchmark))
    return {task: [part for run in runs if (part := of_task(run, task))] for task in tasks}


def _order(benchmark: Benchmark, value: str | None) -> tuple[object, ...]:
    """Sort key: tasks and parts in the order of their benchmark, then others, numbers by size."""
    order, text = (*benchmark.tasks, *benchmark.tasks.values()), value or ""
    known = order.index(text) if text in order else len(order)
    return (value is None, known, len(text) if text.isdigit() else 0, text)


Models = Mapping[str, Mapping[str, Sequence[Run]]]
"""The rounds of each model, by task (an empty name: all tasks together) and model."""


def _rows(benchmark: Benchmark, models: Models, by: str, values_of: Values) -> Iterator[Figures]:
    """The figures of the models on the responses with each value of a breakdown."""
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
    for value in sorted(found, key=partial(_order, benchmark)):
        for of, rounds in found[value].items():
            yield _figures(benchmark.metrics.values(), rounds, (by, value, *of))


def _figures(
    metrics: Iterable[Metric], rounds: Rounds, of: tuple[str, str | None, str, str]
) -> Figures:
    """The figures of a model; ``of``: the first four fields."""
    by, group, task, model = of
    responses = [*chain.from_iterable(rounds)]
    instances = {record.instance.key: record.instance for record in rounds[0]}
    clusters = numbered([each.cluster for each in instances.values()])
    first = next(iter(metrics))
    return Figures(
        by=by,
        group=group,
        task=task,
        model=model,
        rounds=len(rounds),
        documents=len({record.instance.key for record in responses}),
        responses=len(responses),
        unscored=sum(first.of(record) is None for record in responses),
        tokens=mean_tokens([[record.tokens for record in records] for records in rounds]),
        metrics={each.name: _figure(each, rounds, clusters) for each in metrics},
    )


def _figure(metric: Metric, rounds: Rounds, clusters: Indices) -> Figure:
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
    kind = metric.kind
    share = all(each in (0, 1) for each in known[0]) if kind is None else kind == "share"
    found = estimate_mean(means[0], clusters, share, kind != "count")
    return Figure(found.value, None, found.low, found.high, found.n)


# --- warnings ------------------------------------------------------------------------------------


def _warnings(
    benchmark: Benchmark, parts: Mapping[str, Sequence[Run]], models: Models
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
    for task, runs in parts.items():
        for run in runs:
            for said in _left_out(benchmark, run, f" to {task}" * bool(task)):
                yield f"{run.label}: {said}"


def _left_out(benchmark: Benchmark, run: Run, where: str) -> Iterator[str]:
    """What the means of a run leave out."""
    records, of = run.responses, f"of {len(run.responses)} responses{where}"
    first = next(iter(benchmark.metrics.values()))
    accuracy = benchmark.metrics.get("accuracy", first)
    undecided = [each for each in records if each.undecided]
    unscored = [
        each.reason
        for each in records
        if first.of(each) is None and not (each.undecided and accuracy is first)
    ]
    if unscored:
        said = f"{len(unscored)} {of} have no score, and are left out of {first.name}"
        yield f"{said} ({_most(unscored)})"
    if undecided:
        ends = list[float]()
        for otherwise in (0.0, 1.0):
            values = (otherwise if each.undecided else accuracy.of(each) for each in records)
            pairs = zip((each.instance.key for each in records), values, strict=True)
            ends.append(fmean(there(document_means(pairs))))
        low, high = ends
        note = undecided_note(len(undecided), len(records), low, high, where)
        folder = quote(str(run.files[0].parent)) if run.files else "RESULTS"
        yield note + (benchmark.remedy and f". A judge decides: {benchmark.remedy.format(folder)}")
    failed: dict[str, list[str | None]] = {}
    for name, finding in chain.from_iterable(getattr(it, "findings", {}).items() for it in records):
        if finding.error:
            failed.setdefault(name.replace("_", " "), []).append(finding.error)
    for name, errors in failed.items():
        yield f"for {len(errors)} {of}, the judge's answer on {name} is missing ({_most(errors)})"
    problems = (each.transform.problems for each in records if isinstance(each, RptsRecord))
    if cut := sum(any(each.startswith(CUT) for each in of_one) for of_one in problems):
        yield f"the thinking of {cut} {of} is too long: only passages of it are judged"


def _most(reasons: Sequence[str | None]) -> str:
    """The most frequent reason."""
    return f"most often: {Counter(reasons).most_common(1)[0][0] or 'no reason given'}"
