"""Instability of runs of expanded tasks: what a score owes to wording, orders, marks and sampling.

Each sample of an expanded task was asked in several draws, see `Perturbed`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

import numpy as np

from lmms_rpts.analysis.comparison import by_wording
from lmms_rpts.analysis.measured import Measured
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.record import FACTORS
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.components import MOST_LEVELS, Part, levels_needed, variance_parts
from lmms_rpts.stats.crossed import by_level, crossed_difference, ranking
from lmms_rpts.stats.instability import Answer, position_bias
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.tasks.all_runs import grading_of
from lmms_rpts.tasks.draw_metrics import OF_DRAWS, answer_of, drawn, estimates_of
from lmms_rpts.tasks.grade_types import Grading

_NESTED = ("order", "images", "clues")  # their levels mean something else for each sample
_NOTES = {
    "Instability": "accuracy: mean over all draws; unperturbed: of the first draw, as in the data; "
    + "; ".join(f"{name.replace('_', ' ')}: {each.words}" for name, each in OF_DRAWS.items())
    + ". [ ]: 95% interval over samples.",
    "Parts of the variance": "Parts: share of the variance of the values of single draws, and "
    "standard deviation; of a factor also that of its effect on all samples alike and on single "
    "samples. position: the place of the right option. rest: also the effects of several factors "
    "together, of sampling, and those without a number. Wordings count as drawn from many, so few "
    "of them leave a wide interval.",
    "Positions": "Positions: chosen and expected share of each; p: of a model that ignores them.",
    "Wordings": "Wordings: the difference is that from the mean of the others; p: adjusted for "
    "their number (Holm). The worst looks worse than it would with other samples.",
    "Enough wordings": "Enough wordings: the interval is over samples and wordings; needed: number "
    f"of wordings that reaches the wanted half-width, none if over {MOST_LEVELS:,}; narrowest: "
    "half-width of very many wordings (more samples narrow it).",
    "Ranking": "Ranking: probability that another study finds the opposite order, with other "
    "wordings of the same samples, and with other samples as well.",
}
"""What the numbers of each table mean."""

_Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class _Subject:
    """The responses of a run to a task."""

    task: str
    model: str
    grading: Grading
    records: Sequence[Any]

    @cached_property
    def samples(self) -> Mapping[Any, Sequence[Any]]:
        found: dict[Any, list[Any]] = {}
        for each in self.records:
            found.setdefault(each.instance.key, []).append(each)
        return found

    @cached_property
    def answers(self) -> Sequence[Answer | None]:
        return [answer_of(self.grading, each) for each in self.records]

    @cached_property
    def wordings(self) -> Sequence[int]:
        return sorted({each.instance.drawn.wording for each in self.records})

    @property
    def metrics(self) -> Sequence[Metric]:
        """Accuracy and RPTS, or the first metric."""
        known = self.grading.response_metrics
        names = [each for each in ("accuracy", "rpts") if each in known] or [*known][:1]
        return [known[name] for name in names]


def instability_of(
    found: Mapping[str, Sequence[AnyRun]], half_width: float = 0.02, task: str | None = None
) -> tuple[Measured, _Rows]:
    """Tables of the instability of runs of expanded tasks, by model and task.

    Args:
        found: the runs by benchmark.
        half_width: that of the mean's interval for which enough wordings are looked for.
        task: only this task.

    Returns:
        The tables, and the samples for which the worst wording is worse than the others.

    Raises:
        RunError: if no task of the runs was expanded.
    """
    every = [
        _Subject(name, run.label, grading_of(benchmark), part.responses)
        for benchmark, runs in found.items()
        for run in runs
        for name in run.tasks
        if task in (None, name) and (part := of_task(run, name))
    ]
    subjects = [each for each in every if any(r.instance.drawn.draw for r in each.records)]
    subjects.sort(key=attrgetter("task", "grading.title"))
    single = "; ".join(f"{each.task} of {each.model}" for each in every if each not in subjects)
    if not subjects:
        raise RunError(
            f"Each sample was asked in one way only ({single or f'no task {task}'}), so there is "
            "no instability to measure. Expand the task and run it again: "
            "LMMS_RPTS_PERTURB=wording=5 lmms-eval ... (docs/instability.md)"
        )
    tables: dict[str, _Rows] = {title: [] for title in _NOTES}
    worst: _Rows = []
    for each in subjects:
        names = {"task": each.task, "model": each.model}
        tables["Instability"].append(names | _measures(each))
        tables["Positions"] += [names | row for row in _positions(each)]
        for metric in each.metrics:
            of_metric, parts = {**names, "metric": metric.name}, _parts(each, metric)
            tables["Parts of the variance"] += [
                {**of_metric, "part": name, **_part(part)} for name, part in parts.items()
            ]
            if len(each.wordings) > 1 and parts["sample"].variance.value is not None:
                levels, lowered, enough = _wordings(each, metric, parts, half_width)
                tables["Wordings"] += [of_metric | row for row in levels]
                tables["Enough wordings"].append(of_metric | enough)
                worst += [of_metric | row for row in lowered]
    for _, of_one in groupby(subjects, attrgetter("task", "grading.title")):
        tables["Ranking"] += _ranking(list(of_one))
    tables = {title: rows for title, rows in tables.items() if rows}
    lines = [f"Not expanded, and left out: {single}"] if single else []
    worst.sort(key=itemgetter("difference"))
    return Measured(tuple(lines), tables, tuple(_NOTES[title] for title in tables)), worst


def _measures(subject: _Subject) -> dict[str, Any]:
    rows = [drawn(subject.grading, each, str(each.instance.key)) for each in subject.records]
    drawn_as = [each.instance.drawn.draw for each in subject.records]
    plain = estimates_of([row for row, draw in zip(rows, drawn_as, strict=True) if not draw])
    found = estimates_of(rows)
    worded = len(subject.wordings) > 1
    return {
        "samples": len(subject.samples),
        "draws": max(
            len({r.instance.drawn.draw for r in each}) for each in subject.samples.values()
        ),
        "accuracy": found.pop("accuracy", None),
        "unperturbed": plain.get("accuracy"),
        **{name: each for name, each in found.items() if worded or not name.endswith("_wording")},
    }


def _parts(subject: _Subject, metric: Metric) -> dict[str, Part]:
    draws = [each.instance.drawn for each in subject.records]
    levels = {name: [getattr(each, name) for each in draws] for name in FACTORS if name != "seed"}
    factors = {name: column for name, column in levels.items() if len(set(column)) > 1}
    samples = [each.instance.key for each in subject.records]
    repeated = len({*zip(samples, *factors.values(), strict=True)}) < len(samples)
    values = [metric.of(each) for each in subject.records]
    numbers = np.array([math.nan if each is None else float(each) for each in values])
    if "order" in factors:
        factors["position"] = _right_places(subject)
    return variance_parts(numbers, samples, factors, repeated, _NESTED)


def _right_places(subject: _Subject) -> list[int | None]:
    """The place of the right option in each draw; None if no answer to the sample tells it."""
    right: dict[Any, int] = {}
    for each, answer in zip(subject.records, subject.answers, strict=True):
        if answer and answer.right_position is not None:
            order, place = each.instance.drawn.order, answer.right_position
            right[each.instance.key] = order[place] if order else place
    found: list[int | None] = []
    for each in subject.records:
        order, option = each.instance.drawn.order, right.get(each.instance.key)
        found.append(order.index(option) if order and option is not None else option)
    return found


def _part(part: Part) -> dict[str, Estimate | None]:
    def sd(variance: Estimate | None) -> Estimate | None:
        if variance is None:
            return None
        ends = (variance.value, variance.low, variance.high)
        value, low, high = (None if end is None else math.sqrt(end) for end in ends)
        return Estimate(value, low, high, variance.n)

    found = {
        "sd": part.variance,
        "sd_all_samples": part.main,
        "sd_single_samples": part.interaction,
    }
    return {"share": part.share, **{name: sd(each) for name, each in found.items()}}


def _positions(subject: _Subject) -> Iterator[dict[str, Any]]:
    bias = position_bias(each for each in subject.answers if each)
    if bias.chosen:
        shares = {"chosen": bias.chosen, "expected": bias.expected, "distance": bias.distance}
        p = None if math.isnan(bias.p) else bias.p
        yield {"test": "exact" if bias.exact else "chi-square", "n": bias.n, **shares, "p": p}


def _wordings(
    subject: _Subject, metric: Metric, parts: Mapping[str, Part], half_width: float
) -> tuple[_Rows, _Rows, dict[str, Any]]:
    """A row for each wording, one for each sample that the worst lowers, and what is enough."""
    table = by_wording(subject.samples.values(), subject.wordings, metric)
    levels, names = by_level(table), [str(number + 1) for number in subject.wordings]
    means = [math.nan if each.value.value is None else each.value.value for each in levels]
    worst, best = int(np.nanargmin(means)), int(np.nanargmax(means))
    marks = {best: "best", worst: "worst"} if means[worst] < means[best] else {}
    rows: _Rows = [
        {"wording": names[at], "note": marks.get(at, "")}
        | {"mean": each.value, "difference": each.difference, "p": each.p}
        for at, each in enumerate(levels)
    ]
    lowered: _Rows = [
        {"id": str(records[0].instance.id), "wording": names[worst]}
        | {"value": float(table[at, worst]), "difference": float(levels[worst].by_sample[at])}
        for at, records in enumerate(subject.samples.values())
        if marks and levels[worst].by_sample[at] < 0
    ]
    mean = crossed_difference(table).difference
    needed = levels_needed(half_width, parts, "wording", len(subject.samples))
    reached = None
    if mean.low is not None and mean.high is not None:
        low, high = max(0.0, mean.low), min(1.0, mean.high)
        mean, reached = replace(mean, low=low, high=high), (high - low) / 2
    enough = {"wordings": len(names), "mean": mean, "half_width": reached, "wanted": half_width}
    enough |= {"needed": needed.levels, "narrowest": needed.narrowest}
    return rows, lowered, enough


def _ranking(subjects: Sequence[_Subject]) -> Iterator[dict[str, Any]]:
    """A row for each pair of models of a task, over the samples and wordings that all have."""
    wordings = sorted(set.intersection(*({*each.wordings} for each in subjects)))
    shared = sorted(set.intersection(*({*each.samples} for each in subjects)))
    if len(subjects) < 2 or not wordings or not shared:
        return
    for metric in subjects[0].metrics:
        values = {
            each.model: by_wording((each.samples[key] for key in shared), wordings, metric)
            for each in subjects
        }
        if (found := ranking(values)) is None:
            continue
        rows: list[tuple[Any, ...]] = [
            (*pair, found.means[pair[0]] - found.means[pair[1]], *turns)
            for pair, turns in found.turns.items()
        ]
        rows += [("all", "all", None, *found.turns_any)] if len(subjects) > 2 else []
        heads = ("better", "worse", "difference", "turns_wordings", "turns_samples_too")
        for row in rows:
            yield {
                "task": subjects[0].task,
                "metric": metric.name,
                **dict(zip(heads, row, strict=True)),
            }
