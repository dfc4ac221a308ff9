"""Metrics of expanded tasks in lmms-eval's table, beside the means over all draws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pkgutil import resolve_name
from statistics import stdev
from typing import Any, NamedTuple

from lmms_rpts.runs.metrics import Metric, Metrics, by_name
from lmms_rpts.stats.instability import Answer, wording_errors, wording_statistics
from lmms_rpts.stats.intervals import Estimate, estimate_mean
from lmms_rpts.tasks.aggregation import (
    Mean,
    StandardError,
    Value,
    mean_of_scored,
    read_records,
    stderr_of_scored,
)
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.grade_types import Grading

DRAWS = "_lmms_rpts_draws"
"""Attribute of an expanded task with its `DrawMetrics`."""


class Drawn(NamedTuple):
    """A response to one draw of a sample; ``correct`` is None without a grade."""

    sample: str
    wording: int = 0
    chosen: Hashable | None = None
    correct: bool | None = None
    options: int = 0
    rpts: float | None = None
    wrong_reason: float | None = None


Items = Sequence[Sequence[Drawn]]
"""The responses of each document."""


def _spread(rows: Sequence[Drawn]) -> float | None:
    scores = [each.rpts for each in rows if each.rpts is not None]
    return stdev(scores) if len(scores) > 1 else None


def _wrong_reason(rows: Sequence[Drawn]) -> float | None:
    known = [each for each in rows if each.rpts is not None and each.correct is not None]
    return float(any(each.wrong_reason for each in known)) if known else None


# A value of `wording_statistics`, or of the responses to one sample
Measure = str | Callable[[Sequence[Drawn]], float | None]
_MEASURES: Mapping[str, tuple[Measure, bool, str]] = {
    "accuracy_worst_wording": ("accuracy_worst_prompt", True, "accuracy of the worst wording"),
    "accuracy_best_wording": ("accuracy_best_prompt", True, "accuracy of the best wording"),
    "consistent_rate": ("consistent_rate", True, "share of samples with one answer throughout"),
    "accuracy_all": ("accuracy_all", True, "share of samples with right answers only"),
    "instability": ("instability", False, "mean entropy (nats) of the answers to a sample"),
    "instability_norm": ("instability_norm", False, "instability divided by its maximum"),
    "rpts_spread": (
        _spread,
        False,
        "mean over samples of the standard deviation of RPTS within a sample",
    ),
    "wrong_reason_any": (
        _wrong_reason,
        False,
        "share of samples that are right for the wrong reason under at least one draw",
    ),
}


def aggregated(of: Measure, items: Items) -> float:
    """The value of a metric of ``OF_DRAWS``; NaN if it is undefined."""
    if callable(of):
        return mean_of_scored(_by_sample(of, items))
    found = wording_statistics(_answers(items), resamples=1)[of]
    return math.nan if found.value is None else Mean(found.value, n=found.n)


@lru_cache(maxsize=1)  # lmms-eval asks for the error of one metric after the other
def _errors(answers: tuple[Answer, ...]) -> Mapping[str, float]:
    return wording_errors(answers)


def _error(of: Measure, items: Items) -> float:
    samples = stderr_of_scored(_by_sample(of, items)) if callable(of) else None
    error = _errors(tuple(_answers(items)))[str(of)] if samples is None else samples
    # No values: a group has no error, since its tasks may share samples (translations).
    return StandardError(error, values=())


def stderr_of(metric: Any) -> Callable[[Items], float] | None:
    """The standard error of such a metric, over samples; None for other metrics."""
    ours = isinstance(metric, partial) and metric.func is aggregated
    return partial(_error, *metric.args) if ours else None


def stderr_of_means(items: Sequence[Any], otherwise: Callable[..., float]) -> float:
    """The standard error of a mean of numbers, over samples if they are from an expanded task."""
    ours = all(isinstance(each, Value) for each in items)
    return stderr_of_scored(items) if ours else otherwise(items)


def list_in_groups(tasks: Mapping[Any, Any]) -> set[str]:
    """Let lmms-eval's groups of expanded tasks show the metrics of draws; returns their names."""
    names: set[str] = set()
    for group, part in tasks.items():
        if not isinstance(part, Mapping):
            names |= {*getattr(part, DRAWS).names} if hasattr(part, DRAWS) else {*()}
            continue
        names |= (inner := list_in_groups(part))
        config = getattr(group, "_config", None)
        if listed := getattr(config, "aggregate_metric_list", None):
            more = sorted(inner - {each.metric for each in listed})
            # The others are means over tasks as well.
            listed += [replace(listed[0], metric=name) for name in more]
    return names


def _answers(items: Items) -> list[Answer]:
    return [
        Answer(each.sample, each.wording, each.chosen, each.correct, options=each.options)
        for rows in items
        for each in rows
        if each.correct is not None
    ]


def _by_sample(of: Callable[[Sequence[Drawn]], float | None], items: Items) -> list[float | None]:
    samples: defaultdict[str, list[Drawn]] = defaultdict(list)
    for rows in items:
        for each in rows:
            samples[each.sample].append(each)
    return [of(rows) for rows in samples.values()]


OF_DRAWS: Metrics = by_name(
    *(
        Metric(name, aggregation=partial(aggregated, of), higher_is_better=up, words=words)
        for name, (of, up, words) in _MEASURES.items()
    )
)
"""Metrics of the responses to all draws of all samples."""

UNPERTURBED = ("accuracy", "rpts")
"""Metrics that are also shown for the unperturbed documents alone."""


class DrawMetrics:
    """The metrics of an expanded task, added to those of a task of lmms-eval.

    Args:
        task: lmms-eval's ConfigurableTask; metrics whose name it uses are left out.
        record: the type of its records. Without a benchmark that has such records, there are only
            the unperturbed values.
        worded: whether the wording varies.
    """

    def __init__(self, task: Any, record: Any, worded: bool) -> None:
        graded = [one for one in benchmarks().values() if one.record and one.grades]
        ours = (one.grades for one in graded if resolve_name(str(one.record)) is record)
        known = next(ours, None)
        self.record, self.grading = record, resolve_name(known) if known else None
        listed = task._aggregation_list
        # Next to a metric of the task, the one of RPTS has a prefix.
        own = {name: next(filter(listed.get, (f"rpts_{name}", name)), "") for name in UNPERTURBED}
        self.unperturbed = {f"{name}_unperturbed": own[name] for name in UNPERTURBED if own[name]}
        self.names = [
            name
            for name, (of, *_) in _MEASURES.items()
            if self.grading
            and name not in listed
            and own["rpts" if callable(of) else "accuracy"]
            and (worded or not name.endswith("_wording"))
        ]
        listed |= {name: OF_DRAWS[name].aggregation for name in self.names}
        listed |= dict.fromkeys(self.unperturbed, mean_of_scored)
        higher = {name: OF_DRAWS[name].higher_is_better for name in self.names}
        task._higher_is_better |= dict.fromkeys(self.unperturbed, True) | higher

    def complete(self, doc: Any, results: Any, found: Mapping[str, Any]) -> dict[str, Any]:
        """The metrics of a document with those of its draw, clustered by sample."""
        perturbed = doc["perturbed"]
        sample = str(perturbed["sample"])
        metrics = {name: _clustered(value, sample) for name, value in found.items()}
        several = [each if isinstance(each, list) else [each] for each in results]
        records = read_records(self.record, [text for each in several for text in each])
        if not records:
            return metrics
        for name, of in self.unperturbed.items():
            metrics[name] = None if perturbed["draw"] else metrics.get(of)
        rows = [drawn(self.grading, each, sample) for each in records] if self.grading else []
        return metrics | dict.fromkeys(self.names, rows)


def answer_of(grading: Grading, record: Any) -> Answer | None:
    """The answer of a record; None without a grade."""
    metrics, instance = grading.metrics, record.instance
    graded = metrics.get("accuracy", next(iter(metrics.values()))).of(record)
    if graded is None:
        return None
    if grading.answered:
        return grading.answered(record)
    return Answer(instance.key, instance.drawn.wording, graded, graded == 1)


def drawn(grading: Grading, record: Any, sample: str) -> Drawn:
    """A response to one draw of a sample."""
    rpts, wrong = (
        grading.metrics[name].of(record) if name in grading.metrics else None
        for name in ("rpts", "right_for_wrong_reason")
    )
    if (answer := answer_of(grading, record)) is None:
        return Drawn(sample, rpts=rpts, wrong_reason=wrong)
    return Drawn(sample, answer.wording, answer.chosen, answer.correct, answer.options, rpts, wrong)


def estimates_of(rows: Sequence[Drawn]) -> dict[str, Estimate]:
    """Accuracy and the metrics of ``OF_DRAWS`` that have a value, with intervals over samples."""
    found = wording_statistics(_answers([rows]))
    known = {"accuracy": found["accuracy"]} | {
        name: estimate_mean(_by_sample(of, [rows]), share=of is _wrong_reason)
        if callable(of)
        else found[of]
        for name, (of, *_) in _MEASURES.items()
    }
    return {name: each for name, each in known.items() if each.value is not None}


def _clustered(value: Any, sample: str) -> Any:
    """A value with its sample, as ``aggregation.Value``; lists by element."""
    if isinstance(value, list):
        return [_clustered(each, sample) for each in value]
    plain = isinstance(value, int | float) and not isinstance(value, Value)
    return Value(value, document=sample) if plain else value
