"""Scores of checkpoints against training steps, with the paired difference from the first."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_rpts.analysis.comparison import MetricDifference, compare_runs
from lmms_rpts.analysis.measured import Measured
from lmms_rpts.base.escaping import count, listed
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.intervals import Estimate, numbered
from lmms_rpts.stats.permutation import holm
from lmms_rpts.tasks.all_runs import shared_grading
from lmms_rpts.tasks.graded import figure_over

# checkpoint-500, step_1000, global_step500, iter_0002000, step140000-tokens294B.
# Not "step_10k" and "epoch_1.5", which would be read as 10 and 1.
_NAMES = "checkpoint|ckpt|step|iter|iteration|epoch"
_STEP = re.compile(rf"(?:{_NAMES})s?[-_=]?(\d+)(?![\da-z]|\.\d)", re.I)
_NOTE = (
    "Difference: from the first checkpoint, on the documents that both have. [ ]: 95% interval "
    "over documents. p: two-sided permutation test, adjusted for the number of checkpoints (Holm)."
)
_OPTIMISTIC = (
    "Best at step {}. The best of several checkpoints looks better than it is, since the same "
    "documents choose and measure it: confirm it on others."
)


def step_of(run: AnyRun) -> int:
    """The training step of a run: from its label (``500=PATH``), its checkpoint, or its folder.

    Raises:
        RunError: if none of them has a step.
    """
    folder = str(run.files[0].absolute().parent) if run.files else ""
    if run.label.isdecimal():
        return int(run.label)
    for place in (run.label, run.source, folder):
        if found := _STEP.findall(place):
            return int(found[-1])
    raise RunError(
        f"No training step in the name of {run.label} or its path {folder}, such as "
        "checkpoint-500, step_1000 or iter-2000. Name it 500=PATH, and the base model 0=PATH"
    )


def by_step(
    runs: Sequence[AnyRun], metrics: Sequence[str] = (), task: str | None = None
) -> Measured:
    """A table for each metric, with one row for each checkpoint of one training.

    Args:
        runs: of one benchmark, one per checkpoint.
        metrics: empty: those of the benchmark's table that are tested.
        task: only this task.

    Raises:
        RunError: if a step is unknown or there twice, there are fewer than two checkpoints, or none
            has a value.
    """
    grading, known = shared_grading(runs), {step_of(run): run for run in runs}
    if len(known) < max(2, len(runs)):
        raise RunError(
            f"{count(len(runs), 'run')} of {count(len(known), 'training step')} "
            f"({listed([run.label for run in runs])}): pass one run for each of several checkpoints"
        )
    if unknown := {*metrics} - {*grading.response_metrics}:
        known_names = ", ".join(grading.response_metrics)
        raise RunError(f"Unknown metric {listed(unknown)}; metrics: {known_names}")
    wanted = metrics or [
        name for name, each in grading.metrics.items() if each.tested and name in grading.columns
    ]
    grading = replace(grading, metrics={name: grading.response_metrics[name] for name in wanted})
    names = sorted({each for run in runs for each in run.tasks}) if grading.by_task else [None]
    tables: dict[str, list[dict[str, Any]]] = {}
    best: list[str] = []
    for name in [task] if task else names:
        parts = ((step, of_task(known[step], name)) for step in sorted(known))
        there = {step: part for step, part in parts if part}
        if not there:
            raise RunError(f"No run has the task {name}")
        first, *later = there.values()
        found = [compare_runs(first, run, grading=grading).metrics for run in later]
        for metric in grading.metrics.values():
            title = f"{metric.name} of {name}" if name else metric.name
            if rows := _rows(there, metric, found):
                tables[title] = rows
            # Of equal values, the first.
            values = {each["value"].value: each["step"] for each in reversed(rows)}
            if len(values) > 1 and metric.higher_is_better is not None:
                chosen = max(values) if metric.higher_is_better else min(values)
                best.append(f"{values[chosen]:,} ({title})")
    if not tables:
        raise RunError(f"No checkpoint has a value of {listed(wanted)}")
    notes = [_NOTE, *([_OPTIMISTIC.format(", ".join(best))] if best else [])]
    return Measured((), tables, tuple(notes))


def _rows(
    parts: Mapping[int, AnyRun], metric: Metric, found: Sequence[Sequence[MetricDifference]]
) -> list[dict[str, Any]]:
    """The rows of a metric that have a value; ``found``: the differences of all but the first."""
    later = [{each.metric: each for each in row}.get(metric.name) for row in found]
    tested = holm([None, *(each.p if each else None for each in later)])
    rows = []
    for (step, run), each, p in zip(parts.items(), [None, *later], tested, strict=True):
        clusters = {one.instance.key: one.instance.cluster for one in run.responses}
        of = figure_over([run.responses], metric.of, metric.kind, numbered([*clusters.values()]))
        if of.value is not None:
            value = Estimate(of.value, of.low, of.high, of.n)
            by = each and Estimate(each.difference, each.low, each.high, each.n_both)
            cells = {"checkpoint": run.label, "step": step, "value": value, "difference": by}
            rows.append(cells | {"p": p})
    return rows
