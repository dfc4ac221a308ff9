"""Paired comparison of two runs, or of parts of one, with the documents that flipped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lmms_rpts.analysis.frames import (
    benchmark_of,
    breakdown,
    plain_frame,
    response_metrics,
    values_frame,
)
from lmms_rpts.analysis.summary import differing_settings, stopped_runs
from lmms_rpts.base.escaping import count, listed, shorten
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.stats.figures import Interval
from lmms_rpts.stats.intervals import (
    Floats,
    Indices,
    bootstrap,
    estimate_mean,
    interval,
    numbered,
    resampled_means,
)
from lmms_rpts.stats.permutation import holm, swap_test
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over their shared documents, second minus first.

    Attributes:
        documents: number of shared documents; ``only_a``, ``only_b``: documents of one run only.
        paired: ``documents``, or ``instances`` that were asked in two languages or formats.
        table: a row per ``metric``: its means ``a`` and ``b`` and their ``difference`` (an
            `Interval`) over the ``n`` documents for which both runs have a value; the two-sided
            ``p`` of the permutation test, and ``p_holm``, adjusted for all tested metrics (NaN: not
            tested); ``coverage_a`` and ``coverage_b``, the shares of the shared documents for which
            each run has a value. The benchmark's own columns come first, ``headline`` of them.
        flips: a row per document on which the runs differ in the outcome, the largest change
            first: ``task``, ``doc_id``, ``id``, ``question``, ``gold``, and for each run
            ``outcome``, ``answers`` and ``rpts`` with the suffix ``_a`` or ``_b``.
        warnings: reasons other than the models why the runs may differ.
    """

    label_a: str
    label_b: str
    documents: int
    only_a: int
    only_b: int
    paired: str
    table: pd.DataFrame
    headline: int
    flips: pd.DataFrame
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        runs = f"{shorten(self.label_a, 60)} and {shorten(self.label_b, 60)}"
        return f"<Comparison of {runs}: {self.shared}>"

    @property
    def shared(self) -> str:
        """How many documents are compared, in words."""
        pairs = count(self.documents, f"shared {self.paired.removesuffix('s')}")
        return f"{pairs}, {self.only_a} only in A, {self.only_b} only in B"

    def frame(self) -> pd.DataFrame:
        """The table as plain numbers, with ``run_a`` and ``run_b``."""
        frame = plain_frame(self.table)
        frame.insert(0, "run_a", self.label_a)
        frame.insert(1, "run_b", self.label_b)
        return frame


def compare_runs(a: Run, b: Run) -> Comparison:
    """Compare two runs over their shared documents, second minus first.

    Runs without a shared document are compared over the instances that both were asked in other
    languages or formats, such as English and Chinese.

    A document's value is the mean over its responses. Each metric is compared over the documents
    for which both runs have a value. Intervals are expanded percentile bootstrap intervals
    (Hesterberg 2015) of the mean difference; p-values are those of a two-sided permutation test
    that swaps the runs within documents, adjusted by Holm's method (Holm 1979). A document and its
    translation are resampled, and swapped, together. Results are deterministic.

    Raises:
        RunError: if nothing is shared, if a shared document differs between the runs, or for runs
            of several benchmarks.
    """
    benchmark = benchmark_of([a, b])
    frames = [values_frame(benchmark, [run]) for run in (a, b)]
    # rpts_eval_en and rpts_eval_zh share no document, but each document has a translation.
    for key in ("document", "cluster"):
        sides = [_records(frame, key) for frame in frames]
        if shared := [name for name in sides[0] if name in sides[1]]:
            break
    else:
        raise RunError(
            f"{a.label!r} ({', '.join(a.tasks)}) and {b.label!r} ({', '.join(b.tasks)}) share no "
            "document or instance, so nothing can be paired: compare runs of the same tasks and "
            "documents, or show the means of the parts of a run with summarize --by"
        )
    warnings = list(_doubts(a, b))
    paired = {"document": "documents", "cluster": "instances"}[key]
    if key == "document":
        changed = _changed([(sides[0][name][0], sides[1][name][0]) for name in shared])
        if changed:
            warnings.append(
                f"the data changed between the runs: {changed} of {len(shared)} shared documents "
                "have other data, such as the clues or the gold answer."
            )
    names = [metric.name for metric in response_metrics(benchmark)]
    first, second = (
        frame[frame[key].isin(set(shared))].groupby(key, sort=False)[names].mean().loc[shared]
        for frame in frames
    )
    clusters = numbered([sides[0][name][0].instance.cluster for name in shared])
    table = _differences(benchmark, first, second, clusters)
    return Comparison(
        label_a=a.label,
        label_b=b.label,
        documents=len(shared),
        only_a=len(sides[0]) - len(shared),
        only_b=len(sides[1]) - len(shared),
        paired=paired,
        table=table,
        headline=int(table["metric"].isin(benchmark.columns).sum()),
        flips=_flips(shared, sides, first, second),
        warnings=tuple(warnings),
    )


def parts_of(run: Run, by: str) -> list[Run]:
    """The parts of a run with several values of a breakdown, for ``compare_runs``.

    Args:
        by: a breakdown that has two values in the run, such as ``language``; or a breakdown with
            two or more of its values, such as ``task=cmmath,cmmath_en_cot``.
    """
    name, _, chosen = by.partition("=")
    known = benchmark_of([run]).by
    if name not in known:
        raise RunError(f"Unknown column {name!r} for --by; columns: {', '.join(known)}")
    parts: dict[str, list[Any]] = {}
    for record in run.responses:
        for value in breakdown(name, record):
            if value is not None:
                parts.setdefault(value, []).append(record)
    values = chosen.split(",") if chosen else list(parts)
    enough = len({*values}) == len(values) > 1 and (chosen or len(values) == 2)
    if not enough or not {*values} <= {*parts}:
        raise RunError(
            f"{run.label}: {by!r} does not give two parts; values of {name}: "
            f"{listed(parts) or 'none'}. Choose two of them: {name}=A,B"
        )
    return [replace(run, label=value, responses=tuple(parts[value])) for value in values]


def adjust_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons, their p-values adjusted by Holm's method for the metrics of all of them."""
    every = [p for comparison in comparisons for p in comparison.table["p"]]
    adjusted = iter(holm([None if math.isnan(p) else p for p in every]))
    return [
        replace(it, table=it.table.assign(p_holm=[_number(next(adjusted)) for _ in it.table["p"]]))
        for it in comparisons
    ]


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _differences(
    benchmark: Benchmark, first: pd.DataFrame, second: pd.DataFrame, clusters: Indices
) -> pd.DataFrame:
    import pandas as pd

    rows = []
    metrics = {metric.name: metric for metric in response_metrics(benchmark)}
    for name in dict.fromkeys([*(it for it in benchmark.columns if it in metrics), *metrics]):
        metric = metrics[name]
        one, other = first[metric.name].to_numpy(), second[metric.name].to_numpy()
        both = ~pd.isna(one) & ~pd.isna(other)
        if metric.optional and not both.any():
            continue
        own = numbered(clusters[both].tolist())
        p = swap_test(one[both], other[both], own) if metric.tested else None
        rows.append(
            {
                "metric": metric.name,
                "a": one[both].mean() if both.any() else math.nan,
                "b": other[both].mean() if both.any() else math.nan,
                "difference": _difference((other - one)[both], own, metric.kind != "count"),
                "p": _number(p),
                "n": int(both.sum()),
                "coverage_a": float((~pd.isna(one)).mean()),
                "coverage_b": float((~pd.isna(other)).mean()),
            }
        )
    table: pd.DataFrame = pd.DataFrame(rows)
    table.insert(5, "p_holm", [_number(p) for p in holm([_known(p) for p in table["p"]])])
    return table


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _difference(differences: Floats, clusters: Indices, bounded: bool) -> Interval:
    """The mean difference over documents with its 95% interval.

    Without an interval for a single cluster, and if no document differs.
    """
    n = len(differences)
    if not n:
        return Interval(None)
    mean = math.fsum(differences) / n
    size = len(set(clusters.tolist()))
    if size < 2 or not differences.any():
        return Interval(mean, n=n)
    _, draws = bootstrap(
        lambda weights: resampled_means(differences[:, None], weights), n, clusters=clusters
    )
    low, high = interval(draws[0], size)
    if low is None and bounded:
        # All differences are equal: the interval of a mean in [0, 1], stretched to [-1, 1].
        shifted = estimate_mean((differences + 1) / 2, clusters)
        low, high = (None if end is None else 2 * end - 1 for end in (shifted.low, shifted.high))
    return Interval(mean, low, high, n)


def _flips(
    shared: Sequence[Any], sides: Sequence[Any], first: pd.DataFrame, second: pd.DataFrame
) -> pd.DataFrame:
    """The documents whose outcome differs, the largest change first."""
    import pandas as pd

    scored = "rpts" in first
    correct = "accuracy" if scored else first.columns[0]
    rows = []
    for name, (_, one), (_, other) in zip(shared, first.iterrows(), second.iterrows(), strict=True):
        a, b = _outcome(one, scored), _outcome(other, scored)
        right_a, right_b = one[correct], other[correct]
        turned = not math.isnan(right_a + right_b) and (right_a >= 0.5) != (right_b >= 0.5)
        if a == b and not turned:
            continue
        records = [side[name] for side in sides]
        instance = records[0][0].instance
        changes = [abs(other[it] - one[it]) for it in dict.fromkeys((correct, first.columns[0]))]
        row = {
            "task": instance.task,
            "doc_id": instance.doc_id,
            "id": str(instance.id),
            "question": instance.shown.text,
            "gold": instance.shown.right_answer,
            "to_right": bool(right_b >= 0.5) if turned else None,
            "size": sum(change for change in changes if not math.isnan(change)),
        }
        for end, outcome, own, values in (("a", a, records[0], one), ("b", b, records[1], other)):
            row[f"outcome_{end}"] = outcome
            row[f"answers_{end}"] = [record.final for record in own]
            row[f"rpts_{end}"] = float(values["rpts"]) if scored else math.nan
        rows.append(row)
    rows.sort(key=lambda row: (-row["size"], row["task"], row["doc_id"]))
    frame: pd.DataFrame = pd.DataFrame(rows)
    return frame


def _outcome(values: Any, scored: bool) -> str:
    """The outcome of a run on a document, from the means of its metrics."""
    if not scored:
        right = values.iloc[0]
        return "unscored" if math.isnan(right) else "right" if right >= 0.5 else "wrong"
    if math.isnan(values["accuracy"]) or math.isnan(values["rpts"]):
        return "unscored"
    if values["accuracy"] < 0.5:
        return "wrong"
    if math.isnan(values["right_for_wrong_reason"]):
        return "right without readable steps"
    return "right" if values["accuracy_rpts"] >= 0.5 else "right for the wrong reason"


def _records(frame: pd.DataFrame, key: str) -> dict[Any, list[Any]]:
    """The records of each document or instance."""
    records: dict[Any, list[Any]] = {}
    for name, record in zip(frame[key], frame["record"], strict=True):
        records.setdefault(name, []).append(record)
    return records


def _changed(pairs: Sequence[tuple[Any, Any]]) -> int:
    """Number of shared documents whose data differ; a RunError for different questions."""
    changed = 0
    for ours, theirs in pairs:
        one, other = ours.instance, theirs.instance
        if one is other or one == other:
            continue
        if (one.id, one.shown.text) != (other.id, other.shown.text):
            task, doc_id = one.key
            raise RunError(
                f"Document {doc_id} of {task} differs between the runs: id {one.id!r}, "
                f"{one.shown.text[:60]!r}, and id {other.id!r}, {other.shown.text[:60]!r}. The "
                "runs used different data and cannot be compared"
            )
        # Its number differs where a sample has another number of duplicates.
        changed += one.model_copy(update={"doc_id": 0}) != other.model_copy(update={"doc_id": 0})
    return changed


def _doubts(a: Run, b: Run) -> Sequence[str]:
    """Reasons other than the models why the runs may differ."""
    named = [replace(run, label=name) for run, name in ((a, "A"), (b, "B"))]
    doubts = [*stopped_runs(named), *differing_settings(named)]
    if {*a.files} == {*b.files} and a.responses == b.responses:
        doubts.append("both runs are the same files: the run is compared with itself.")
    for run in named:
        for judge in dict.fromkeys(
            it.judge for it in run.scorings if not getattr(it, "comparable", True)
        ):
            doubts.append(
                f"{run.label}: not judged (judge {judge!r}), so only the answers can be compared."
                if judge == NO_JUDGE
                else f"the judge {judge!r} of {run.label} is for testing only: its scores cannot "
                "be compared with those of another judge."
            )
    return list(dict.fromkeys(doubts))
