"""Metrics of expanded tasks in lmms-eval's table, beside the means over all draws."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pkgutil import resolve_name
from statistics import stdev
from typing import Any, NamedTuple

from lmms_rpts.runs.metrics import Metric, Metrics, by_name
from lmms_rpts.stats.instability import Answer, wording_errors, wording_statistics
from lmms_rpts.stats.intervals import Estimate, estimate_mean
from lmms_rpts.tasks.aggregation import Mean, Value, mean_of_scored, read_records, stderr_of_scored
from lmms_rpts.tasks.benchmark import benchmarks
from lmms_rpts.tasks.grade_types import Grading


class Drawn(NamedTuple):
    """A response to one draw: its answer, None without a grade; its RPTS, and whether wrong."""

    sample: str
    answer: tuple[Any, ...] | None
    rpts: float | None
    wrong_reason: float | None


Items = Sequence[Sequence[Drawn]]
"""The responses of each document."""


def _answers(items: Items) -> list[Answer]:
    return [Answer(*each.answer) for rows in items for each in rows if each.answer is not None]


def of_answers(name: str, items: Items) -> float:
    """A value of ``wording_statistics``; NaN if it is undefined."""
    found = wording_statistics(_answers(items), resamples=1)[name]
    return math.nan if found.value is None else Mean(found.value, n=found.n)


def of_samples(name: str, items: Items) -> float:
    """The mean of one value of each sample; see ``_BY_SAMPLE``."""
    return mean_of_scored(_by_sample(name, items))


def stderr_of(metric: Any) -> Callable[[Items], float] | None:
    """The standard error of such a metric, over samples; None for other metrics."""
    if not isinstance(metric, partial) or metric.func not in (of_answers, of_samples):
        return None
    (name,) = metric.args
    if metric.func is of_samples:
        return lambda items: stderr_of_scored(_by_sample(name, items))
    return lambda items: wording_errors(_answers(items))[name]


def _spread(rows: Sequence[Drawn]) -> float | None:
    scores = [each.rpts for each in rows if each.rpts is not None]
    return stdev(scores) if len(scores) > 1 else None


def _wrong_reason(rows: Sequence[Drawn]) -> float | None:
    known = [each.wrong_reason for each in rows if each.rpts is not None and each.answer]
    return float(any(known)) if known else None


_BY_SAMPLE: Mapping[str, Callable[[Sequence[Drawn]], float | None]] = {
    "rpts_spread": _spread,
    "wrong_reason_any": _wrong_reason,
}


def _by_sample(name: str, items: Items) -> list[float | None]:
    samples: defaultdict[str, list[Drawn]] = defaultdict(list)
    for rows in items:
        for each in rows:
            samples[each.sample].append(each)
    return [_BY_SAMPLE[name](rows) for rows in samples.values()]


_of_answers = {
    "accuracy_worst_wording": ("accuracy_worst_prompt", True, "accuracy of the worst wording"),
    "accuracy_best_wording": ("accuracy_best_prompt", True, "accuracy of the best wording"),
    "consistent_rate": ("consistent_rate", True, "share of samples with one answer throughout"),
    "accuracy_all": ("accuracy_all", True, "share of samples with right answers only"),
    "instability": ("instability", False, "mean entropy (nats) of the answers to a sample"),
    "instability_norm": ("instability_norm", False, "instability divided by its maximum"),
}
OF_DRAWS: Metrics = by_name(
    *(
        Metric(name, aggregation=partial(of_answers, of), higher_is_better=up, words=words)
        for name, (of, up, words) in _of_answers.items()
    ),
    Metric(
        "rpts_spread",
        aggregation=partial(of_samples, "rpts_spread"),
        higher_is_better=False,
        words="mean over samples of the standard deviation of RPTS within a sample",
    ),
    Metric(
        "wrong_reason_any",
        aggregation=partial(of_samples, "wrong_reason_any"),
        higher_is_better=False,
        words="share of samples that are right for the wrong reason under at least one draw",
    ),
)
"""Metrics of the responses to all draws of all samples."""

UNPERTURBED = ("accuracy", "rpts")
"""Metrics that are also shown for the unperturbed documents alone."""


class DrawMetrics:
    """The metrics of an expanded task, added to those of a task of lmms-eval.

    Args:
        task: lmms-eval's ConfigurableTask; metrics whose name it uses are left out.
        record: the type of its records.
        worded: whether the wording varies.
    """

    def __init__(self, task: Any, record: Any, worded: bool) -> None:
        graded = [one for one in benchmarks().values() if one.record and one.grades]
        ours = next(one for one in graded if resolve_name(str(one.record)) is record)
        self.record, self.grading = record, resolve_name(str(ours.grades))
        listed = task._aggregation_list
        # Next to a metric of the task, the one of RPTS has a prefix.
        own = {name: next(filter(listed.get, (f"rpts_{name}", name)), "") for name in UNPERTURBED}
        self.unperturbed = {f"{name}_unperturbed": own[name] for name in UNPERTURBED if own[name]}
        self.names = [
            name
            for name in OF_DRAWS
            if name not in listed
            and own["rpts" if name in _BY_SAMPLE else "accuracy"]
            and (worded or not name.endswith("_wording"))
        ]
        listed |= {name: OF_DRAWS[name].aggregation for name in self.names}
        listed |= dict.fromkeys(self.unperturbed, mean_of_scored)
        higher = {name: OF_DRAWS[name].higher_is_better for name in self.names}
        task._higher_is_better |= dict.fromkeys(self.unperturbed, True) | higher

    def complete(self, doc: Any, results: Any, found: Mapping[str, Any]) -> dict[str, Any]:
        """The metrics of a document with those of its draw; unchanged without records."""
        several = [each if isinstance(each, list) else [each] for each in results]
        records = read_records(self.record, [text for each in several for text in each])
        if not records:
            return dict(found)
        perturbed = doc["perturbed"]
        sample = str(perturbed["sample"])
        metrics = {name: _clustered(value, sample) for name, value in found.items()}
        for name, of in self.unperturbed.items():
            metrics[name] = None if perturbed["draw"] else metrics.get(of)
        rows = [drawn(self.grading, each, sample) for each in records]
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
    metrics, found = grading.metrics, answer_of(grading, record)
    answer: tuple[Any, ...] | None = None
    if found is not None:
        answer = (sample, found.wording, found.chosen, found.correct, None, None, found.options)
    rpts, wrong = (
        metrics[name].of(record) if name in metrics else None
        for name in ("rpts", "right_for_wrong_reason")
    )
    return Drawn(sample, answer, rpts, wrong)


def estimates_of(rows: Sequence[Drawn]) -> dict[str, Estimate]:
    """Accuracy and the metrics of ``OF_DRAWS`` that have a value, with intervals over samples."""
    found = wording_statistics(_answers([rows]))
    names = {"accuracy": "accuracy"} | {name: of for name, (of, *_) in _of_answers.items()}
    known = {name: found[of] for name, of in names.items()} | {
        name: estimate_mean(_by_sample(name, [rows]), share=name == "wrong_reason_any")
        for name in _BY_SAMPLE
    }
    return {name: each for name, each in known.items() if each.value is not None}


def _clustered(value: Any, sample: str) -> Any:
    """A value with its sample, as ``aggregation.Value``; lists by element."""
    if isinstance(value, list):
        return [_clustered(each, sample) for each in value]
    plain = isinstance(value, int | float) and not isinstance(value, Value)
    return Value(value, document=sample) if plain else value
