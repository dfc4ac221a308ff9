"""Summary of graded answers for all benchmarks: models side by side, with breakdowns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from lmms_rpts.base.escaping import did_you_mean, listed, shorten
from lmms_rpts.runs.record import R, Record
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
from lmms_rpts.runs.run import AnyRun, RunOf, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.intervals import Indices, estimate_mean, numbered
from lmms_rpts.tasks.grade_types import Breakdown, Figures, Grading, Group, Rounds, Subject

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class GradeSummary:
    """Models side by side.

    Attributes:
        grading: how they are summarized.
        overall: figures over all questions; None if each task is summarized separately.
        tables: one for the breakdown that is always shown, and one for each requested one.
        warnings: why some numbers are not comparable or incomplete.
    """

    grading: Grading
    overall: Group | None
    tables: tuple[Breakdown, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        models = shorten(", ".join(dict.fromkeys(each.model for each in self.models)), 120)
        return f"<GradeSummary of {self.grading.title}: {models}>"

    @property
    def models(self) -> tuple[Figures, ...]:
        """The figures of each subject over all its questions."""
        if self.overall is not None:
            return self.overall.models
        return tuple(chain.from_iterable(group.models for group in self.tables[0].groups))

    def frame(self) -> pd.DataFrame:
        """One row per group and model.

        Columns: ``by``, ``group`` (both empty: all questions; only ``group`` empty: no value in the
        data), ``task`` if each is separate, ``model``, ``rounds``, the number of questions,
        ``responses``, ``unscored``, each count, ``tokens``, ``tokens_sd``, and for each metric M
        ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n`` (see ``Figure``).
        """
        groups = [("", self.overall)] if self.overall else []
        groups += [(table.by, group) for table in self.tables for group in table.groups]
        rows = [
            {"by": by, "group": group.value or ""} | self._row(each)
            for by, group in groups
            for each in group.models
        ]
        return numeric_frame(rows, ("by", "group", "task", "model"))

    def to_dict(self) -> dict[str, Any]:
        """The whole summary, for JSON."""
        whole: dict[str, Any] = {"overall": self._group(self.overall)} if self.overall else {}
        whole["tables"] = [
            {"by": table.by, "groups": [self._group(each) for each in table.groups]}
            for table in self.tables
        ]
        if self.grading.numbers:
            whole |= self.grading.numbers(self.models)
        return whole | {"warnings": self.warnings}

    def _group(self, group: Group) -> dict[str, Any]:
        there = self.grading.known_in(self.models)
        models = [
            self._named(each)
            | dict(each.counts)
            | {"tokens": asdict(each.tokens)}
            | {
                "metrics": {
                    name: asdict(figure)
                    for name, figure in each.metrics.items()
                    if name in there or name not in self.grading.metrics
                }
            }
            for each in group.models
        ]
        return {"value": group.value, "models": models}

    def _row(self, figures: Figures) -> dict[str, Any]:
        row = self._named(figures)
        for name, count in figures.counts.items():
            if isinstance(count, int):
                row[name] = count
            else:
                row |= {f"{name}_{each}": number for each, number in count.items()}
        row |= {"tokens": figures.tokens.value, "tokens_sd": figures.tokens.sd}
        return row | figure_columns(figures.metrics)

    def _named(self, figures: Figures) -> dict[str, Any]:
        row = {"task": figures.task} if self.grading.by_task else {}
        return row | {
            "model": figures.model,
            "rounds": figures.rounds,
            self.grading.questions: figures.questions,
            "responses": figures.responses,
            "unscored": figures.unscored,
        }


def summarize_grades(
    grading: Grading, runs: Sequence[AnyRun], by: Sequence[str] = (), task: str | None = None
) -> GradeSummary:
    """Summarize runs side by side; runs of one model on the same questions are its rounds.

    A metric is the mean over the questions that have a value; several responses to a question
    (``--repeats``) are averaged first. One round has a 95% interval over questions: the exact one
    if all its values are 0 or 1, else Student's t. Several rounds have their mean and sample
    standard deviation (n - 1).

    Args:
        by: names of breakdowns.
        task: only the responses to this task.

    Raises:
        RunError: if there is no run, none that has the task, or no such breakdown.
    """
    if not runs:
        raise RunError("No run to summarize")
    others = [run.label for run in runs if of_task(run, task) is None]
    if len(others) == len(runs):
        known = sorted({name for run in runs for name in run.tasks})
        raise RunError(
            f"No run has the task {task}.{did_you_mean(str(task), known)} Tasks of the runs: "
            f"{', '.join(known) or 'none'}"
        )
    runs = [part for run in runs if (part := of_task(run, task)) is not None]
    for name in by:
        if name not in grading.breakdowns:
            raise RunError(
                f"Unknown breakdown {name!r}; known breakdowns: {', '.join(grading.breakdowns)}"
            )
    parts = _parts(grading, runs)
    tasks = {task: rounds_of(each) for task, each in parts.items()}
    subjects = {
        Subject(task, model): rounds
        for task, models in tasks.items()
        for model, rounds in models.items()
    }
    first = [grading.first] if grading.first else []
    overall = None
    if not grading.by_task:
        (overall,) = _groups(grading, subjects, "", lambda record: (None,))
    return GradeSummary(
        grading=grading,
        overall=overall,
        tables=tuple(
            Breakdown(name, tuple(_groups(grading, subjects, name, grading.breakdowns[name])))
            for name in dict.fromkeys((*first, *by))
        ),
        warnings=(
            *([f"{listed(others)}: no responses to the task {task}"] if others else []),
            *run_warnings(grading, runs, parts, tasks),
        ),
    )


def _parts(grading: Grading, runs: Sequence[AnyRun]) -> dict[str, list[AnyRun]]:
    """The runs, by task if each task is summarized separately."""
    if not grading.by_task:
        return {"": list(runs)}
    parts: dict[str, list[AnyRun]] = {}
    for run in runs:
        found: dict[str, list[Any]] = {}
        for record in run.responses:
            found.setdefault(record.instance.task, []).append(record)
        for task, responses in found.items():
            parts.setdefault(task, []).append(replace(run, responses=tuple(responses)))
    return {task: parts[task] for task in sorted(parts, key=lambda task: _sort_key(grading, task))}


def _sort_key(grading: Grading, value: str | None) -> tuple[object, ...]:
    """Sort key: values in the order of their benchmark, then others, numbers by size."""
    order = grading.order
    known = order.index(value) if value in order else len(order)
    text = value or ""
    return (value is None, known, len(text) if text.isdigit() else 0, text)


def _groups(
    grading: Grading,
    subjects: Mapping[Subject, Sequence[AnyRun]],
    by: str,
    values_of: Callable[[Any], Iterable[str | None]],
) -> Iterator[Group]:
    found = grouped(subjects, values_of)
    for value in sorted(found, key=lambda value: _sort_key(grading, value)):
        there = [subject for subject in subjects if subject in found[value]]
        yield Group(
            value, tuple(_figures(grading, each, found[value][each], by, value) for each in there)
        )


def _figures(
    grading: Grading, subject: Subject, rounds: Rounds, by: str, value: str | None
) -> Figures:
    responses = [record for records in rounds for record in records]
    instances = {each.instance.key: each.instance for each in rounds[0]}
    clusters = numbered([each.cluster for each in instances.values()])
    # Metrics that only `more` computes have no value here.
    metrics = dict.fromkeys(grading.metrics, Figure(None)) | {
        name: figure_over(rounds, each.of, each.kind, clusters)
        for name, each in grading.response_metrics.items()
    }
    counts: dict[str, Any] = {
        name: sum(map(wanted, responses)) for name, wanted in grading.counts.items()
    }
    if grading.more:
        further, counted = grading.more(rounds, by, value)
        metrics, counts = {**metrics, **further}, {**counts, **counted}
    return Figures(
        task=subject.task,
        model=subject.model,
        rounds=len(rounds),
        questions=len({record.instance.key for record in responses}),
        responses=len(responses),
        unscored=sum(grading.score(record) is None for record in responses),
        counts=counts,
        metrics=metrics,
        tokens=mean_tokens([[record.tokens for record in records] for records in rounds]),
    )


def run_warnings(
    grading: Grading,
    runs: Sequence[AnyRun],
    parts: Mapping[str, Sequence[AnyRun]],
    tasks: Mapping[str, Mapping[str, Sequence[AnyRun]]],
) -> Iterator[str]:
    """Why some numbers of runs are not comparable or incomplete.

    Args:
        parts: the runs by task, if each is summarized separately; else all, with an empty name.
        tasks: the rounds of each model in these, as by ``rounds_of``.
    """
    yield from differing_settings(runs, grading.settings)
    yield from dict.fromkeys(
        line for models in tasks.values() for line in same_rounds(models, grading.score)
    )
    for task, models in tasks.items():
        keys = {
            model: {each.instance.key for run in rounds for each in run.responses}
            for model, rounds in models.items()
        }
        of_task = f" of {task}" * bool(task)
        yield from differing_coverage("models", keys, grading.questions + of_task)
    if grading.by_task and grading.same_questions:
        ids = {
            task: {each.instance.id for run in own for each in run.responses}
            for task, own in parts.items()
        }
        yield from differing_coverage("tasks", ids, grading.questions)
    for task, own in parts.items():
        for run in own:
            yield from _left_out(grading, run, f" to {task}" * bool(task))
            yield from grading.notes(run) if grading.notes else ()


def _left_out(grading: Grading, run: AnyRun, where: str) -> Iterator[str]:
    name = next(iter(grading.metrics))
    every = len(run.responses)
    reasons = [record.reason for record in run.responses if grading.score(record) is None]
    if reasons:
        yield (
            f"{run.label}: {len(reasons)} of {every} responses{where} have no score, and are left "
            f"out of {name} (most often: {_most(reasons)}){grading.remedy(run)}"
        )
    for what, error_of in grading.asked.items():
        failed = [error for error in map(error_of, run.responses) if error]
        if failed:
            yield (
                f"{run.label}: for {len(failed)} of {every} responses{where}, the judge did not "
                f"say {what} (most often: {_most(failed)})"
            )


def _most(reasons: Sequence[str | None]) -> str:
    return Counter(reasons).most_common(1)[0][0] or "no reason given"


# --- groups of responses, and figures over their documents ----------------------------------------

M = TypeVar("M", bound=Hashable)
V = TypeVar("V", bound=Hashable)


def by_field(path: str) -> Callable[[Record], Iterable[str | None]]:
    """A breakdown by a field of records, such as ``instance.language``, as text."""
    value_of = attrgetter(path)

    def values(record: Record) -> Iterable[str | None]:
        value = value_of(record)
        return (None if value is None else str(value),)

    return values


def grouped(
    models: Mapping[M, Sequence[RunOf[R]]], values_of: Callable[[R], Iterable[V]]
) -> dict[V, dict[M, list[list[R]]]]:
    """The responses with each value, by model and round; rounds without any are left out.

    Args:
        models: the rounds of each model.
        values_of: returns the values of a response, which is listed with each of them.
    """
    found: dict[V, dict[M, list[list[R]]]] = {}
    for model, runs in models.items():
        for run in runs:
            of_round: dict[V, list[R]] = {}
            for each in run.responses:
                for value in values_of(each):
                    of_round.setdefault(value, []).append(each)
            for value, responses in of_round.items():
                found.setdefault(value, {}).setdefault(model, []).append(responses)
    return found


def figure_over(
    rounds: Sequence[Sequence[R]],
    value_of: Callable[[R], float | None],
    kind: str | None = None,
    clusters: Indices | None = None,
) -> Figure:
    """The mean over questions, each with the mean of its responses that have a value.

    One round has the 95% interval of ``estimate_mean`` over questions. Several have the mean and
    the sample standard deviation of their means.

    Args:
        kind: as of a `Metric`.
        clusters: as for ``estimate_mean``, of the questions in their order.
    """
    means = [
        document_means((each.instance.key, value_of(each)) for each in responses)
        for responses in rounds
    ]
    values = [there(each) for each in means]
    if len(rounds) == 1:
        share = all(each in (0, 1) for each in values[0]) if kind is None else kind == "share"
        found = estimate_mean(means[0], clusters, share, kind != "count")
        return Figure(found.value, None, found.low, found.high, found.n)
    return over_rounds([math.fsum(each) / len(each) if each else None for each in values])


def figure_columns(figures: Mapping[str, Figure]) -> dict[str, float | None]:
    """Figures as columns: for each M ``M``, ``M_sd``, ``M_low``, ``M_high``, ``M_n``."""
    columns: dict[str, float | None] = {}
    for name, figure in figures.items():
        columns[name] = figure.value
        columns |= {f"{name}_{each}": getattr(figure, each) for each in ("sd", "low", "high", "n")}
    return columns


def numeric_frame(rows: Sequence[Mapping[str, Any]], texts: Collection[str]) -> pd.DataFrame:
    """A table whose columns are numbers except ``texts``, even if all values are missing."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    # A column of only None would not be numeric.
    numbers = [name for name in frame if frame[name].dtype == object and name not in texts]
    typed: pd.DataFrame = frame.astype(dict.fromkeys(numbers, float))
    return typed
