"""Paired comparison of two runs, or of parts of one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lmms_rpts.analysis.frames import (
    benchmark_of,
    breakdown,
    plain_frame,
    response_metrics,
    values_frame,
)
from lmms_rpts.analysis.summary import differing_settings, stopped_runs
from lmms_rpts.base.escaping import count, listed, shorten
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
from lmms_rpts.stats.metrics import Metric
from lmms_rpts.stats.permutation import holm, swap_test

if TYPE_CHECKING:
    import pandas as pd

Side = Mapping[Any, Sequence[Any]]
"""The records of a run by document or instance."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over their shared documents, second minus first.

    Attributes:
        documents: number of shared documents; ``only_a``, ``only_b``: documents of one run only.
        paired: ``document``, or ``instance`` that was asked in two languages or formats.
        table: a row per ``metric``: its means ``a`` and ``b`` and their ``difference`` (an
            `Interval`) over the ``n`` documents for which both runs have a value; the two-sided
            ``p`` of the permutation test, and ``p_holm``, adjusted for all tested metrics (NaN: not
            tested); ``coverage_a`` and ``coverage_b``, the shares of the shared documents for which
            each run has a value. The benchmark's own columns come first, ``headline`` of them.
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
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        runs = f"{shorten(self.label_a, 60)} and {shorten(self.label_b, 60)}"
        return f"<Comparison of {runs}: {self.shared}>"

    @property
    def shared(self) -> str:
        """How many documents are compared, in words."""
        pairs = count(self.documents, f"shared {self.paired}")
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
    import pandas as pd

    benchmark = benchmark_of([a, b])
    metrics = {metric.name: metric for metric in response_metrics(benchmark)}
    columns = [metrics[name] for name in benchmark.columns if name in metrics]
    frames = [values_frame(benchmark, [run]) for run in (a, b)]
    # rpts_eval_en and rpts_eval_zh share no document, but each document has a translation.
    for key in ("document", "cluster"):
        sides = [{name: list(own) for name, own in it.groupby(key)["record"]} for it in frames]
        if shared := [name for name in dict.fromkeys(frames[0][key]) if name in sides[1]]:
            break
    else:
        raise RunError(
            f"{a.label!r} ({', '.join(a.tasks)}) and {b.label!r} ({', '.join(b.tasks)}) share no "
            "document or instance, so nothing can be paired: compare runs of the same tasks and "
            "documents, or show the means of the parts of a run with summarize --by"
        )
    named = [replace(run, label=name) for run, name in ((a, "A"), (b, "B"))]
    warnings = [*stopped_runs(named), *differing_settings(named)]
    if {*a.files} == {*b.files} and a.responses == b.responses:
        warnings.append("both runs are the same files: the run is compared with itself.")
    if key == "document" and (changed := _changed(shared, *sides)):
        warnings.append(
            f"the data changed between the runs: {changed} of {len(shared)} shared documents "
            "have other data, such as the clues or the gold answer."
        )
    means = [frame.groupby(key)[list(metrics)].mean().loc[shared] for frame in frames]
    clusters = numbered([sides[0][name][0].instance.cluster for name in shared])
    ordered = dict.fromkeys([*columns, *metrics.values()])
    first, second = means
    rows = [_difference(it, first[it.name], second[it.name], clusters) for it in ordered]
    table = pd.DataFrame([row for row in rows if row["n"] or not metrics[row["metric"]].optional])
    table.insert(5, "p_holm", holm(table["p"].to_numpy()))
    return Comparison(
        label_a=a.label,
        label_b=b.label,
        documents=len(shared),
        only_a=len(sides[0]) - len(shared),
        only_b=len(sides[1]) - len(shared),
        paired={"document": "document", "cluster": "instance"}[key],
        table=table,
        headline=int(table["metric"].isin(benchmark.columns).sum()),
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
    adjusted = iter(holm(np.concatenate([it.table["p"] for it in comparisons])))
    return [
        replace(it, table=it.table.assign(p_holm=[next(adjusted) for _ in it.table["p"]]))
        for it in comparisons
    ]


def _difference(metric: Metric, a: pd.Series, b: pd.Series, clusters: Indices) -> dict[str, Any]:
    """The row of a metric, from its values on the shared documents (NaN: none)."""
    both = (a.notna() & b.notna()).to_numpy()
    first, second, own = a.to_numpy()[both], b.to_numpy()[both], numbered(clusters[both].tolist())
    n = len(first)
    return {
        "metric": metric.name,
        "a": first.mean() if n else math.nan,
        "b": second.mean() if n else math.nan,
        "difference": _interval(second - first, own, metric.kind != "count"),
        "p": swap_test(first, second, own) if metric.tested else math.nan,
        "n": n,
        "coverage_a": float(a.notna().mean()),
        "coverage_b": float(b.notna().mean()),
    }


def _interval(differences: Floats, clusters: Indices, bounded: bool) -> Interval:
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


def _changed(shared: Sequence[Any], ours: Side, theirs: Side) -> int:
    """Number of shared documents whose data differ; a RunError for different questions."""
    changed = 0
    for name in shared:
        one, other = ours[name][0].instance, theirs[name][0].instance
        if (one.id, one.shown.text) != (other.id, other.shown.text):
            task, doc_id = one.key
            raise RunError(
                f"Document {doc_id} of {task} differs between the runs: id {one.id!r}, "
                f"{one.shown.text[:60]!r}, and id {other.id!r}, {other.shown.text[:60]!r}. The "
                "runs used different data and cannot be compared"
            )
        # Its number differs where a sample has another number of duplicates.
        changed += one != other and one.model_copy(update={"doc_id": other.doc_id}) != other
    return changed
