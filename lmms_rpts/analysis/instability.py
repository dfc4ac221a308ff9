"""Instability of runs of expanded tasks: what a score owes to wording, orders, marks and sampling.

Each sample of an expanded task was asked in several draws, see `Perturbed`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from statistics import pstdev
from typing import Any

import numpy as np

from lmms_rpts.analysis.agreement import Measured
from lmms_rpts.analysis.comparison import by_wording
from lmms_rpts.runs.metrics import Metric
from lmms_rpts.runs.record import FACTORS
from lmms_rpts.runs.rounds import there
from lmms_rpts.runs.run import AnyRun, of_task
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.components import Part, levels_needed, variance_parts
from lmms_rpts.stats.crossed import by_level, crossed_difference, ranking
from lmms_rpts.stats.instability import BY_WORDING, Answer, position_bias, wording_statistics
from lmms_rpts.stats.intervals import Estimate, Floats, estimate_mean
from lmms_rpts.tasks.all_runs import grading_of
from lmms_rpts.tasks.grade_types import Grading

NESTED = ("order", "images", "clues")
"""Factors whose levels mean something else for each sample."""

_MEASURES = {
    "accuracy": "accuracy",
    "consistent_rate": "one_answer",
    "accuracy_all": "all_right",
    "instability": "instability",
    "instability_norm": "normalised",
    "accuracy_worst_prompt": "worst_wording",
    "accuracy_best_prompt": "best_wording",
}
_NOTES = (
    "accuracy: mean over all draws; unperturbed: of the first draw, as in the data; one answer: "
    "share of samples with the same answer in all draws; all right: with a right one in all; "
    "instability: mean entropy of a sample's answers in nats; normalised: from 0 to 1; rpts sd: "
    "mean standard deviation within a sample; wrong reason: share of samples that are right with "
    "an RPTS below 0.5 in at least one draw. [ ]: 95% interval over samples.",
    "Parts: share of the variance of the values of single draws, and standard deviation; of a "
    "factor also that of its effect on all samples alike and on single samples. rest: also the "
    "effects of several factors together, of sampling, and those without a number. Wordings count "
    "as drawn from many, so few of them leave a wide interval.",
    "Positions: chosen and expected share of each; p: of a model that ignores positions.",
    "Wordings: the difference is that from the mean of the others; p: adjusted for their number "
    "(Holm). The worst looks worse than it would with other samples.",
    "Enough wordings: the interval is over samples and wordings; needed: number of wordings that "
    "reaches the wanted half-width; narrowest: half-width of very many wordings (more samples "
    "narrow it).",
    "Ranking: probability that another study finds the opposite order, with other wordings of the "
    "same samples, and with other samples as well.",
)


@dataclass(frozen=True)
class _Subject:
    """The responses of a run to a task that was expanded."""

    task: str
    model: str
    grading: Grading
    records: Sequence[Any]

    @property
    def names(self) -> dict[str, Any]:
        return {"task": self.task, "model": self.model}

    @cached_property
    def samples(self) -> Mapping[Any, Sequence[Any]]:
        found: dict[Any, list[Any]] = {}
        for each in self.records:
            found.setdefault(each.instance.key, []).append(each)
        return found

    @cached_property
    def wordings(self) -> Sequence[int]:
        return sorted({each.instance.drawn.wording for each in self.records})

    @property
    def metrics(self) -> Sequence[Metric]:
        """The first metric, and RPTS."""
        known = self.grading.response_metrics
        names = [each for each in ("accuracy", "rpts") if each in known] or [*known][:1]
        return [known[name] for name in names]

    def answers(self, first: bool = False) -> list[Answer]:
        """The answers with a grade; ``first``: only those of the first draw.

        A benchmark that does not say more tells only answers apart whose text differs.
        """
        found = []
        for each in self.records:
            score, drawn = self.metrics[0].of(each), each.instance.drawn
            if score is None or (first and drawn.draw):
                continue
            said = self.grading.display.answer(each).final or None
            answer = (
                self.grading.answered(each)
                if self.grading.answered
                else Answer(each.instance.key, drawn.wording, said, score == 1)
            )
            if each.instance.perturbed:
                asked = drawn.marks, drawn.images, drawn.clues
                answer = replace(answer, order=drawn.order, asked=asked)
            found.append(answer)
        return found


def instability_of(
    found: Mapping[str, Sequence[AnyRun]], half_width: float = 0.02, task: str | None = None
) -> tuple[Measured, list[Mapping[str, Any]]]:
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
    subjects = [
        _Subject(name, run.label, grading_of(benchmark), part.responses)
        for benchmark, runs in found.items()
        for run in runs
        for name in run.tasks
        if task in (None, name) and (part := of_task(run, name))
    ]
    plain = [each for each in subjects if not any(r.instance.drawn.draw for r in each.records)]
    subjects = sorted((each for each in subjects if each not in plain), key=attrgetter("task"))
    single = "; ".join(f"{each.task} of {each.model}" for each in plain)
    if not subjects:
        raise RunError(
            f"Each sample was asked in one way only ({single or f'no task {task}'}), so there is "
            "no instability to measure. Expand the task and run it again: "
            "LMMS_RPTS_PERTURB=wording=5 lmms-eval ... (docs/instability.md)"
        )
    worst: list[Mapping[str, Any]] = []
    rows: dict[str, list[dict[str, Any]]] = {
        "Instability": [_measures(each) for each in subjects],
        "Parts of the variance": [],
        "Positions": [row for each in subjects for row in _positions(each)],
        "Wordings": [],
        "Enough wordings": [],
        "Ranking": [],
    }
    for each in subjects:
        for metric in each.metrics:
            parts = _parts(each, metric)
            names = {**each.names, "metric": metric.name}
            rows["Parts of the variance"] += [
                {**names, "part": name, **_part(part)} for name, part in parts.items()
            ]
            if len(each.wordings) > 1:
                levels, samples = _wordings(each, metric, names)
                rows["Wordings"] += levels
                worst += samples
                rows["Enough wordings"].append(_enough(each, metric, names, parts, half_width))
    for _, of_one in groupby(subjects, attrgetter("task")):
        rows["Ranking"] += _ranking(list(of_one))
    lines = [f"Not expanded, and left out: {single}"] if plain else []
    notes = [note for note, table in zip(_NOTES, rows.values(), strict=True) if table]
    tables = {title: table for title, table in rows.items() if table}
    return Measured(tuple(lines), tables, tuple(notes)), worst


def _measures(subject: _Subject) -> dict[str, Any]:
    found, plain = (wording_statistics(subject.answers(first)) for first in (False, True))
    draws = max(Counter(each.instance.key for each in subject.records).values())
    row = {**subject.names, "samples": len(subject.samples), "draws": draws}
    row |= {"accuracy": found["accuracy"], "unperturbed": plain["accuracy"]}
    row |= {
        head: found[name]
        for name, head in _MEASURES.items()
        if len(subject.wordings) > 1 or name not in BY_WORDING
    }
    if "rpts" not in subject.grading.response_metrics:
        return row

    def over(value: Callable[[Sequence[Any]], float | None], share: bool = False) -> Estimate:
        values = (
            [one for one in each if one.rpts is not None] for each in subject.samples.values()
        )
        return estimate_mean([value(each) for each in values], share=share)

    wrong = subject.grading.response_metrics["right_for_wrong_reason"]
    spread = over(lambda each: pstdev(one.rpts for one in each) if len(each) > 1 else None)
    any_wrong = over(lambda each: max([0.0, *there(map(wrong.of, each))]) if each else None, True)
    return row | {"rpts_sd": spread, "wrong_reason": any_wrong}


def _parts(subject: _Subject, metric: Metric) -> dict[str, Part]:
    drawn = [each.instance.drawn for each in subject.records]
    levels = {name: [getattr(each, name) for each in drawn] for name in FACTORS if name != "seed"}
    factors = {name: column for name, column in levels.items() if len(set(column)) > 1}
    samples = [each.instance.key for each in subject.records]
    repeated = len({*zip(samples, *factors.values(), strict=True)}) < len(samples)
    values = [metric.of(each) for each in subject.records]
    return variance_parts(
        np.array([math.nan if each is None else float(each) for each in values]),
        samples,
        factors,
        repeated,
        NESTED,
    )


def _part(part: Part) -> dict[str, Estimate | None]:
    def sd(variance: Estimate | None) -> Estimate | None:
        ends = (variance.value, variance.low, variance.high) if variance else (None,) * 3
        roots = [None if end is None else math.sqrt(end) for end in ends]
        return Estimate(*roots, variance.n) if variance else None

    return {
        "share": part.share,
        "sd": sd(part.variance),
        "sd_all_samples": sd(part.main),
        "sd_single_samples": sd(part.interaction),
    }


def _positions(subject: _Subject) -> Iterator[dict[str, Any]]:
    bias = position_bias(subject.answers())
    if bias.chosen:
        test = {"test": "exact" if bias.exact else "chi-square"}
        yield {**subject.names, **test, "n": bias.n, "chosen": bias.chosen} | {
            "expected": bias.expected,
            "distance": bias.distance,
            "p": None if math.isnan(bias.p) else bias.p,
        }


def _table(subject: _Subject, metric: Metric, wordings: Sequence[int]) -> Floats:
    return by_wording(subject.samples.values(), wordings, metric)


def _wordings(
    subject: _Subject, metric: Metric, names: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[Mapping[str, Any]]]:
    """A row for each wording, and for each sample that is worse with the worst wording."""
    table = _table(subject, metric, subject.wordings)
    levels = by_level(table)
    means = [math.nan if each.value.value is None else each.value.value for each in levels]
    if np.isnan(means).all():
        return [], []
    worst, best = int(np.nanargmin(means)), int(np.nanargmax(means))
    marks = {best: "best", worst: "worst"} if means[worst] < means[best] else {}
    rows = [
        {**names, "wording": str(number + 1), "note": marks.get(at, "")}
        | {"mean": level.value, "difference": level.difference, "p": level.p}
        for at, (number, level) in enumerate(zip(subject.wordings, levels, strict=True))
    ]
    if not marks:
        return rows, []
    differences = levels[worst].by_sample
    samples = [
        {**names, "id": str(records[0].instance.id), "wording": str(subject.wordings[worst] + 1)}
        | {"value": float(table[at, worst]), "difference": float(differences[at])}
        for at, records in enumerate(subject.samples.values())
        if differences[at] < 0
    ]
    return rows, sorted(samples, key=lambda row: row["difference"])


def _enough(
    subject: _Subject,
    metric: Metric,
    names: Mapping[str, Any],
    parts: Mapping[str, Part],
    half_width: float,
) -> dict[str, Any]:
    """What is reached with these wordings, and how many reach the half-width."""
    mean = crossed_difference(_table(subject, metric, subject.wordings)).difference
    low, high = mean.low, mean.high
    row = {**names, "wordings": len(subject.wordings), "mean": mean, "half_width": None}
    if low is not None and high is not None:
        within = Estimate(mean.value, max(0.0, low), min(1.0, high), mean.n)
        row |= {"mean": within, "half_width": (high - low) / 2}
    row |= {"wanted": half_width, "needed": None, "narrowest": None}
    if parts["wording"].variance.value is not None:
        needed = levels_needed(half_width, parts, "wording", len(subject.samples))
        row |= {"needed": needed.levels, "narrowest": needed.narrowest}
    return row


def _ranking(subjects: Sequence[_Subject]) -> Iterator[dict[str, Any]]:
    """A row for each pair of models of a task, over the samples and wordings that all have."""
    wordings = sorted(set.intersection(*({*each.wordings} for each in subjects)))
    shared = sorted(set.intersection(*({*each.samples} for each in subjects)))
    if len(subjects) < 2 or len(wordings) < 2 or len(shared) < 2:
        return
    for metric in subjects[0].metrics:
        values = {
            each.model: by_wording((each.samples[key] for key in shared), wordings, metric)
            for each in subjects
        }
        if any(np.isnan(each).all() for each in values.values()):
            continue
        found = ranking(values)
        pairs = {**found.turns, ("all", "all"): found.turns_any}
        for (better, worse), (of_wordings, of_both) in pairs.items():
            if better != "all" or len(subjects) > 2:
                yield {
                    "task": subjects[0].task,
                    "metric": metric.name,
                    "better": better,
                    "worse": worse,
                    "difference": found.means[better] - found.means[worse]
                    if better in found.means
                    else None,
                    "turns_wordings": of_wordings,
                    "turns_samples_too": of_both,
                }
