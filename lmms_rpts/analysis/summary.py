"""Summary of the runs of a benchmark: models side by side, with intervals and warnings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from shlex import quote
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.frames import (
    benchmark_of,
    breakdown,
    plain_frame,
    response_metrics,
    values_frame,
)
from lmms_rpts.base.escaping import listed
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run, of_task, rounds_of
from lmms_rpts.scoring.reading import CUT
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.scoring.score import undecided_note
from lmms_rpts.stats.figures import Interval
from lmms_rpts.stats.intervals import estimate_mean, numbered
from lmms_rpts.stats.metrics import Metric
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

Labels = Mapping[str, Mapping[Any, str]]
"""Further breakdowns by name: the label of each cluster of documents."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Models side by side.

    Attributes:
        table: a row per breakdown, group, task (if tasks are summarized separately, else empty)
            and model; all documents come last, with an empty breakdown and group. Columns: ``by``,
            ``group``, ``task``, ``model``; ``rounds``, ``documents``, ``responses``, and those
            ``unscored``; ``tokens`` per response and each metric as an `Interval`.
        warnings: why some numbers are not comparable or incomplete.
    """

    benchmark: Benchmark
    table: pd.DataFrame
    warnings: tuple[str, ...]

    @property
    def models(self) -> pd.DataFrame:
        """The rows over all documents, or over those of each task."""
        rows: pd.DataFrame = self.table[self.table["group"] == ""]
        return rows

    def frame(self) -> pd.DataFrame:
        """The table as plain numbers: a figure M has the columns ``M``, ``M_low``, ``M_high``,
        ``M_n``, and with several rounds ``M_sd``."""
        return plain_frame(self.table)


def summarize(
    runs: Sequence[Run], by: str | Sequence[str] = (), labels: Labels | None = None
) -> Summary:
    """Summarize runs of one benchmark side by side.

    Runs of one model on the same documents are its rounds. A metric is the mean over the documents
    that have a value; several responses to a document (``--repeats``) are averaged first. One round
    has a 95% interval over documents: the exact one if all its values are 0 or 1, else Student's t.
    Several rounds have their mean and sample standard deviation (n - 1).

    Args:
        by: breakdowns: attributes of the benchmark's questions, or ``labels``.
        labels: further breakdowns, as ``joining.read_labels`` returns them.

    Raises:
        RunError: if there is no run, runs of several benchmarks, or no such breakdown.
    """
    benchmark, labels = benchmark_of(runs), labels or {}
    breakdowns, known = [by] if isinstance(by, str) else list(by), (*benchmark.by, *labels)
    if unknown := [name for name in breakdowns if name not in known]:
        raise RunError(f"Unknown column {unknown[0]!r} for --by; columns: {', '.join(known)}")
    parts = _parts(benchmark, runs)
    models = {task: rounds_of(own) for task, own in parts.items()}
    return Summary(
        benchmark=benchmark,
        table=_table(_placed(benchmark, models), benchmark, breakdowns, labels),
        warnings=tuple(_warnings(benchmark, parts, models)),
    )


Models = Mapping[str, Mapping[str, Sequence[Run]]]
"""The rounds of each model, by task (an empty name: all tasks together) and model."""


def _parts(benchmark: Benchmark, runs: Sequence[Run]) -> dict[str, list[Run]]:
    """The runs, by task if each task is summarized separately."""
    if not benchmark.by_task:
        return {"": list(runs)}
    tasks = sorted({task for run in runs for task in run.tasks}, key=_order(benchmark))
    return {task: [part for run in runs if (part := of_task(run, task))] for task in tasks}


def _order(benchmark: Benchmark) -> Callable[[str], tuple[object, ...]]:
    """Sort key: tasks and parts in the order of their benchmark, then others, numbers by size."""
    order = [*benchmark.tasks, *benchmark.tasks.values()]

    def key(name: str) -> tuple[object, ...]:
        known = order.index(name) if name in order else len(order)
        return (known, len(name) if name.isdigit() else 0, name)

    return key


def _placed(benchmark: Benchmark, models: Models) -> pd.DataFrame:
    """The values of all responses, with the ``part`` of the table, ``model`` and ``round``."""
    import pandas as pd

    frames = [
        values_frame(benchmark, [run]).assign(part=part, model=model, round=number)
        for part, own in models.items()
        for model, runs in own.items()
        for number, run in enumerate(runs)
    ]
    placed: pd.DataFrame = pd.concat(frames, ignore_index=True)
    placed["document"] = numbered(list(placed["document"]))
    placed["cluster_number"] = numbered(list(placed["cluster"]))
    return placed


def _table(
    frame: pd.DataFrame, benchmark: Benchmark, breakdowns: Sequence[str], labels: Labels
) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = []
    order = _order(benchmark)
    for by in breakdowns:
        values: list[Any]
        if by in labels:
            values = [labels[by].get(cluster) for cluster in frame["cluster"]]
        else:
            values = [breakdown(by, record) for record in frame["record"]]
        groups = frame.assign(group=pd.Series(values, frame.index)).explode("group")
        groups["group"] = groups["group"].fillna(NOT_GIVEN)
        for name in sorted(groups["group"].unique(), key=lambda it: (it == NOT_GIVEN, *order(it))):
            rows += _rows(groups[groups["group"] == name], benchmark, by, name)
    rows += _rows(frame, benchmark, "", "")
    table: pd.DataFrame = pd.DataFrame(rows)
    return table


NOT_GIVEN = "(not given)"
"""The name of the group of documents without a value of the breakdown."""


def _rows(
    frame: pd.DataFrame, benchmark: Benchmark, by: str, group: str
) -> Iterator[dict[str, Any]]:
    """The figures of the models on these responses."""
    metrics = list(benchmark.metrics.values())
    for (part, model), own in frame.groupby(["part", "model"], sort=False):
        rounds = [responses for _, responses in own.groupby("round")]
        tokens = [responses["tokens"].dropna() for responses in rounds]
        yield {
            "by": by,
            "group": group,
            "task": part,
            "model": model,
            "rounds": len(rounds),
            "documents": own["document"].nunique(),
            "responses": len(own),
            "unscored": int(own[metrics[0].name].isna().sum()),
            "tokens": _over_rounds([float(it.mean()) for it in tokens], len(tokens[0])),
            **_figures(own, rounds, benchmark),
        }


def _figures(
    responses: pd.DataFrame, rounds: Sequence[pd.DataFrame], benchmark: Benchmark
) -> dict[str, Interval]:
    """The figure of each metric over documents, each with the mean of its responses."""
    names = [metric.name for metric in response_metrics(benchmark)]
    keys = ["round", "document", "cluster_number"]
    documents = responses.groupby(keys, sort=False)[names].mean()
    means = documents.groupby("round").mean()
    clusters = documents.index.get_level_values("cluster_number").to_numpy()
    figures: dict[str, Interval] = {}
    for name, metric in benchmark.metrics.items():
        if metric.over:
            values = [metric.over(list(own["record"])) for own in rounds]
            figures[name] = _over_rounds([math.nan if it is None else it for it in values])
        elif len(rounds) > 1:
            figures[name] = _over_rounds(list(means[name]))
        else:
            figures[name] = _over_documents(metric, documents[name].to_numpy(), clusters)
    return figures


def _over_documents(metric: Metric, values: Any, clusters: Any) -> Interval:
    share = metric.kind == "share"
    if metric.kind is None:
        share = bool(((values == 0) | (values == 1) | (values != values)).all())
    return estimate_mean(values, clusters, share, metric.kind != "count")


def _over_rounds(means: Sequence[float], n: int | None = None) -> Interval:
    """The mean and sample standard deviation of one value per round; ``n``: of a single round."""
    values = [float(mean) for mean in means if not math.isnan(mean)]
    if not values:
        return Interval(None)
    if len(means) == 1:
        return Interval(values[0], n=1 if n is None else n)
    sd = stdev(values) if len(values) > 1 else None
    return Interval(fmean(values), n=len(values), sd=sd)


# --- warnings ------------------------------------------------------------------------------------


def _warnings(
    benchmark: Benchmark, parts: Mapping[str, Sequence[Run]], models: Models
) -> Iterator[str]:
    """Why some numbers of runs are not comparable or incomplete."""
    runs = list(chain.from_iterable(parts.values()))
    yield from stopped_runs(runs)
    yield from differing_settings(runs)
    for task, of_part in models.items():
        yield from _differing_documents(of_part, f" of {task}" * bool(task))
    for task, own in parts.items():
        for run in own:
            for line in _left_out(benchmark, run, f" to {task}" * bool(task)):
                yield f"{run.label}: {line}"


def stopped_runs(runs: Sequence[Run]) -> list[str]:
    """Warnings about runs whose judging stopped before its end."""
    reasons = {run.label: run.stopped for run in runs if run.stopped}
    return [
        f"{label}: judging stopped before its end ({reason}): run the same lmms-rpts score again "
        "to complete it"
        for label, reason in reasons.items()
    ]


def differing_settings(runs: Sequence[Run]) -> list[str]:
    """Warnings about settings of the scores that differ between runs of one benchmark."""
    labels: dict[str, dict[object, list[str]]] = {}
    for run in runs:
        for name, value in chain.from_iterable(run.scorings):
            if value is not None:  # a setting that these scores don't depend on
                labels.setdefault(name, {}).setdefault(value, []).append(run.label)
    differing = [
        f"{name.replace('_', ' ')}: "
        + "; ".join(f"{value} in {listed(list(dict.fromkeys(own)))}" for value, own in by.items())
        for name, by in labels.items()
        if len(by) > 1
    ]
    if not differing:
        return []
    return [f"scored in different ways, not comparable side by side. {'. '.join(differing)}"]


def _differing_documents(models: Mapping[str, Sequence[Run]], where: str) -> Iterator[str]:
    """A warning if the models cover different documents."""
    covered = {
        model: {record.instance.key for run in rounds for record in run.responses}
        for model, rounds in models.items()
    }
    common = set.intersection(*covered.values())
    if any(keys != common for keys in covered.values()):
        counts = listed([f"{len(keys)} by {model}" for model, keys in covered.items()])
        yield (
            f"the models cover different documents{where}: {counts}; {len(common)} are common to "
            "all"
        )


def _left_out(benchmark: Benchmark, run: Run, where: str) -> Iterator[str]:
    """What the means of a run leave out."""
    records, of = run.responses, f"of {len(run.responses)} responses{where}"
    first = next(iter(benchmark.metrics.values()))
    accuracy = benchmark.metrics.get("accuracy", first)
    undecided = [record for record in records if record.undecided]
    unscored = [
        record.reason
        for record in records
        if getattr(record, record.SCORE) is None and not (record.undecided and accuracy is first)
    ]
    if unscored:
        line = f"{len(unscored)} {of} have no score, and are left out of {first.name}"
        yield f"{line} ({_most(unscored)})"
    if undecided:
        low, high = (_accuracy_if(records, accuracy, value) for value in (0.0, 1.0))
        note = undecided_note(len(undecided), len(records), low, high, where)
        folder = quote(str(run.files[0].parent)) if run.files else "RESULTS"
        yield note + (benchmark.remedy and f". A judge decides: {benchmark.remedy.format(folder)}")
    failed: dict[str, list[str | None]] = {}
    for name, finding in chain.from_iterable(getattr(it, "findings", {}).items() for it in records):
        if finding.error:
            failed.setdefault(name.replace("_", " "), []).append(finding.error)
    for name, errors in failed.items():
        yield f"for {len(errors)} {of}, the judge's answer on {name} is missing ({_most(errors)})"
    problems = (record.transform.problems for record in records if isinstance(record, RptsRecord))
    if cut := sum(any(line.startswith(CUT) for line in lines) for lines in problems):
        yield f"the thinking of {cut} {of} is too long: only passages of it are judged"


def _accuracy_if(records: Sequence[Any], accuracy: Metric, otherwise: float) -> float:
    """The accuracy over documents if all undecided answers had this value."""
    documents: dict[Any, list[float]] = {}
    for record in records:
        value = otherwise if record.undecided else accuracy.of(record)
        if value is not None:
            documents.setdefault(record.instance.key, []).append(value)
    return fmean(fmean(values) for values in documents.values())


def _most(reasons: Sequence[str | None]) -> str:
    """The most frequent reason."""
    return f"most often: {Counter(reasons).most_common(1)[0][0] or 'no reason given'}"
