"""Paired comparison of two runs, or of two parts of one, with the documents that flipped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from lmms_rpts.analysis.reading import benchmark_of_runs
from lmms_rpts.analysis.summary import breakdowns
from lmms_rpts.base.escaping import count, listed, shorten
from lmms_rpts.runs.metrics import Metrics
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.rounds import differing_settings
from lmms_rpts.runs.run import Run
from lmms_rpts.stats import intervals
from lmms_rpts.stats.intervals import RESAMPLES, Floats, Indices
from lmms_rpts.stats.permutation import PERMUTATIONS, holm, swap_test
from lmms_rpts.tasks.benchmark import Benchmark

if TYPE_CHECKING:
    import pandas as pd

_WRONG_REASON = "right_for_wrong_reason"
Category = Literal["right, RPTS >= 0.5", "right for the wrong reason", "right", "wrong", "unscored"]
Key = tuple[str, Any]
Pairs = Mapping[Key, tuple[list[Any], list[Any]]]


@dataclass(frozen=True, slots=True)
class MetricDifference:
    """A metric of both runs over their shared documents; None if there is no value.

    Attributes:
        a: mean over the documents for which the first run has a value; ``b``: of the second.
        difference: ``b - a``.
        low: with ``high`` the 95% interval of the difference; None if a run has fewer than two
            values.
        p: two-sided p-value of the permutation test; diagnostics are not tested.
        p_holm: ``p`` adjusted for all tested metrics.
        n_both: documents with a value in both runs; ``n_either``: in at least one.
    """

    metric: str
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    n_both: int
    n_either: int


@dataclass(frozen=True, slots=True)
class Side:
    """Result of one run on a document: means over its responses, None if there is no value.

    ``accuracy`` is the first metric of benchmarks without ``rpts``.
    """

    category: Category
    accuracy: float | None
    rpts: float | None
    answers: tuple[str | None, ...]

    @property
    def right(self) -> bool | None:
        """Whether at least half of its answers are correct."""
        return None if self.accuracy is None else self.accuracy >= 0.5


@dataclass(frozen=True, slots=True)
class Flip:
    """A document on which the runs differ in the answer or in the category.

    ``size``: change of RPTS plus change of accuracy, from 0 to 2; a value that one run lacks
    counts as no change.
    """

    task: str
    doc_id: int
    id: str
    statement: str
    gold: str
    a: Side
    b: Side
    size: float

    @property
    def to_right(self) -> bool | None:
        """Whether the answer went from wrong to correct (False: from correct to wrong)."""
        known = self.a.right is not None and self.b.right is not None
        return self.b.right if known and self.a.right != self.b.right else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of ``compare_runs``.

    Attributes:
        documents: number of shared documents; ``only_a``, ``only_b``: documents of one run
            only.
        paired: the same documents, or instances asked in two languages or formats.
        changed: shared documents whose data differ between the runs, such as clues or gold answer.
        metrics: in the order of the results table.
        flips: the largest change first.
    """

    label_a: str
    label_b: str
    documents: int
    paired: Literal["documents", "instances"]
    only_a: int
    only_b: int
    changed: int
    metrics: tuple[MetricDifference, ...]
    flips: tuple[Flip, ...]
    scored: tuple[str, ...] = ()

    def __repr__(self) -> str:
        runs = f"{shorten(self.label_a, 60)} and {shorten(self.label_b, 60)}"
        documents = count(self.documents, f"shared {self.paired.removesuffix('s')}")
        return f"<Comparison of {runs}: {documents}, {count(len(self.flips), 'flip')}>"

    def frame(self) -> pd.DataFrame:
        """One row per metric: ``run_a``, ``run_b`` and the fields of ``MetricDifference``."""
        import pandas as pd

        names = {"run_a": self.label_a, "run_b": self.label_b}
        rows = [names | asdict(each) for each in self.metrics]
        frame: pd.DataFrame = pd.DataFrame(rows)
        floats = ["a", "b", "difference", "low", "high", "p", "p_holm"]
        frame[floats] = frame[floats].astype(float)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """The whole comparison, for JSON; without ``scored`` if it is empty."""
        return {name: each for name, each in asdict(self).items() if each or name != "scored"}


def compare_runs(
    a: Run, b: Run, resamples: int = RESAMPLES, permutations: int = PERMUTATIONS
) -> Comparison:
    """Compare two runs over their shared documents, second minus first.

    Runs without a shared document are compared over the instances that both were asked in other
    languages or formats, such as English and Chinese.

    A document's value is the mean over its responses; NaN values are left out of each run's own
    mean. Intervals are expanded percentile bootstrap intervals (Hesterberg 2015) of the difference
    of means, with the same resampled documents for both runs. The p-values are those of a two-sided
    permutation test that swaps the runs within documents, adjusted by Holm's method (Holm 1979).
    Diagnostics have an interval and no test, to keep the power of the other tests. A document and
    its translation are resampled, and swapped, together. Results are deterministic.

    Args:
        resamples: bootstrap resamples.
        permutations: random swaps, if there are too many to enumerate.

    Raises:
        RunError: if nothing is shared, if a shared document differs between the runs, or for runs
            of several benchmarks.
    """
    metrics = response_metrics(benchmark_of_runs([a, b]))
    # rpts_eval_en and rpts_eval_zh share no document, but each document has a translation.
    paired: Literal["documents", "instances"] = "documents"
    for key in (attrgetter("key"), attrgetter("cluster")):
        ours, theirs = (run.grouped(key) for run in (a, b))
        if shared := sorted(set(ours) & set(theirs)):
            break
        paired = "instances"
    else:
        raise RunError(
            f"{a.label!r} ({', '.join(a.tasks)}) and {b.label!r} ({', '.join(b.tasks)}) share no "
            "document or instance, so nothing can be paired: compare runs of the same tasks and "
            "documents, or show the means of the parts of a run with summarize --by"
        )
    pairs: Pairs = {each: (ours[each], theirs[each]) for each in shared}
    first, second = (
        np.vstack([_values(each[side], metrics) for each in pairs.values()]) for side in (0, 1)
    )
    clusters = intervals.numbered([each[0].instance.cluster for each, _ in pairs.values()])
    named = [replace(run, label=name) for run, name in ((a, "A"), (b, "B"))]
    found = Comparison(
        label_a=a.label,
        label_b=b.label,
        documents=len(pairs),
        paired=paired,
        only_a=len(ours) - len(pairs),
        only_b=len(theirs) - len(pairs),
        changed=_count_changed(pairs) if paired == "documents" else 0,
        metrics=_differences(first, second, clusters, resamples, permutations, metrics),
        flips=_flips(pairs, first, second, [*metrics]),
        scored=tuple(differing_settings(named)),
    )
    return adjust_together([found])[0]


def adjust_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons, their p-values adjusted by Holm's method for the metrics of all of them."""
    adjusted = iter(holm([metric.p for each in comparisons for metric in each.metrics]))
    return [
        replace(each, metrics=tuple(replace(one, p_holm=next(adjusted)) for one in each.metrics))
        for each in comparisons
    ]


def response_metrics(benchmark: Benchmark) -> Metrics:
    """The metrics that single responses have."""
    return {name: each for name, each in benchmark.metrics.items() if each.value}


def parts_of(run: Run, by: str) -> tuple[Run, ...]:
    """The parts of a run with several values of a breakdown, for ``compare_runs``.

    Args:
        by: a breakdown that has two values in the run, such as ``language``; or a breakdown with
            two or more of its values, such as ``task=cmmath,cmmath_en_cot``.
    """
    return tuple(
        replace(run, label=value, responses=responses, path=("", ""))
        for value, responses in _chosen(run, by, several=True).items()
    )


def part_of(run: Run, by: str) -> Run:
    """The part of a run with one value of a breakdown, such as ``relation=guided``."""
    (responses,) = _chosen(run, by, several=False).values()
    return replace(run, responses=responses)


def _chosen(run: Run, by: str, several: bool) -> dict[str, tuple[Any, ...]]:
    """The responses with each of the chosen values of a breakdown."""
    name, _, chosen = by.partition("=")
    known = breakdowns(benchmark_of_runs([run]))
    if name not in known:
        raise RunError(f"Unknown field {name!r}; fields: {', '.join(known)}")
    found: dict[str, list[Any]] = {}
    for record in run.responses:
        for value in known[name](record):
            if value is not None:
                found.setdefault(value, []).append(record)
    values, part, number, example = [chosen], "a part", "one", "A"
    if several:
        values = chosen.split(",") if chosen else list(found)
        part, number, example = "two parts", "two", "A,B"
    enough = not several or (len({*values}) == len(values) > 1 and (chosen or len(values) == 2))
    if not enough or not {*values} <= {*found}:
        raise RunError(
            f"{run.label}: {by!r} does not give {part}; values of {name}: "
            f"{listed(found) or 'none'}. Choose {number} of them: {name}={example}"
        )
    return {value: tuple(found[value]) for value in values}


def _values(records: Iterable[Any], metrics: Metrics) -> Floats:
    """The value of each metric for a document with these responses; NaN if there is none."""
    records = list(records)
    return np.array([_mean(map(each.of, records)) for each in metrics.values()])


def document_values(run: Run, metrics: Metrics) -> dict[tuple[str, int], Floats]:
    """The value of each metric for each document, by task and ``doc_id``.

    Without pandas, whose import takes 0.3 s.

    Returns:
        Arrays of the shape (len(metrics),): means over a document's responses, NaN if there is no
        value.
    """
    of = run.grouped(attrgetter("key"))
    return {key: _values(of[key], metrics) for key in sorted(of)}


def _mean(values: Iterable[float | None]) -> float:
    there = [float(each) for each in values if each is not None and not math.isnan(each)]
    return math.fsum(there) / len(there) if there else math.nan


def _differences(
    first: Floats,
    second: Floats,
    clusters: Indices,
    resamples: int,
    permutations: int,
    metrics: Metrics,
) -> tuple[MetricDifference, ...]:
    def means(weights: Floats) -> Floats:
        a, b = (intervals.resampled_means(side, weights) for side in (first, second))
        return np.hstack([a, b, b - a])

    observed, drawn = intervals.bootstrap(means, len(first), resamples, clusters=clusters)
    rows = zip(observed.reshape(3, -1).T, drawn[-first.shape[1] :], first.T, second.T, strict=True)
    found = []
    for metric, (whole, draws, one, two) in zip(metrics.values(), rows, strict=True):
        known_a, known_b = ~np.isnan(one), ~np.isnan(two)
        if metric.optional and not (known_a | known_b).any():
            continue
        size = min(len(set(clusters[known].tolist())) for known in (known_a, known_b))
        low, high = intervals.interval(draws, size) if size > 1 else (None, None)
        if low is None and size > 1 and metric.kind != "count":
            # All resamples are equal: the interval of a mean in [0, 1], stretched to [-1, 1].
            shifted = intervals.estimate_mean((two - one + 1) / 2, clusters)
            ends = (shifted.low, shifted.high)
            low, high = (None if end is None else 2 * end - 1 for end in ends)
        a, b, difference = map(_value, whole)
        found.append(
            MetricDifference(
                metric.name,
                a,
                b,
                difference,
                low,
                high,
                p=swap_test(one, two, permutations, clusters) if metric.tested else None,
                p_holm=None,
                n_both=int((known_a & known_b).sum()),
                n_either=int((known_a | known_b).sum()),
            )
        )
    return tuple(found)


def _value(number: float) -> float | None:
    return None if np.isnan(number) else float(number)


def _flips(pairs: Pairs, first: Floats, second: Floats, names: Sequence[str]) -> tuple[Flip, ...]:
    scored = "accuracy_rpts" in names
    columns = (
        [names.index(each) for each in ("accuracy", "rpts", "accuracy_rpts", _WRONG_REASON)]
        if scored
        else [0]
    )
    found = []
    for (ours, theirs), one, other in zip(
        pairs.values(), first[:, columns], second[:, columns], strict=True
    ):
        a, b = (
            _side([each.final for each in responses], *values)
            for responses, values in ((ours, one), (theirs, other))
        )
        size = float(np.nansum(np.abs(other - one)[:2]))
        instance, question = ours[0].instance, ours[0].instance.shown
        asked = (str(instance.id), question.text, question.right_answer)
        flip = Flip(instance.task, instance.doc_id, *asked, a, b, size)
        if a.category != b.category or flip.to_right is not None:
            found.append(flip)
    return tuple(sorted(found, key=lambda flip: (-flip.size, flip.task, flip.doc_id)))


def _side(answers: Sequence[str | None], right: float, *reasoned: float) -> Side:
    """The result of a run.

    ``reasoned``: RPTS, whether answer and reasoning are right, and whether the reason is wrong.
    """
    accuracy = _value(right)
    rpts, both, wrong_reason = map(_value, reasoned) if reasoned else (None, None, None)
    category: Category
    if accuracy is None or (reasoned and rpts is None):
        category = "unscored"
    elif accuracy < 0.5:
        category = "wrong"
    elif wrong_reason is None:  # no reasoning is scored, or no step could be read
        category = "right"
    elif both is None or both < 0.5:
        category = "right for the wrong reason"
    else:
        category = "right, RPTS >= 0.5"
    return Side(category, accuracy, rpts, tuple(answers))


def _count_changed(pairs: Pairs) -> int:
    """Number of shared documents whose data differ."""
    changed = 0
    for ours, theirs in pairs.values():
        task, doc_id = ours[0].instance.key
        one, other = ((each[0].instance.id, each[0].instance.shown.text) for each in (ours, theirs))
        if one != other:
            raise RunError(
                f"Document {doc_id} of {task} differs between the runs: id {one[0]!r}, "
                f"{one[1][:60]!r}, and id {other[0]!r}, {other[1][:60]!r}. The runs used different "
                "data and cannot be compared"
            )
        # Its number differs where a sample has another number of duplicates.
        a, b = (each[0].instance.model_copy(update={"doc_id": 0}) for each in (ours, theirs))
        changed += a != b
    return changed
