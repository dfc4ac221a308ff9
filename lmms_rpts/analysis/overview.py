"""Overview of a run: metrics with intervals, outcomes, first errors, breakdowns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from lmms_rpts.analysis.document_values import Key, document_values
from lmms_rpts.filters.record import RptsInstance, RptsRecord, is_sound
from lmms_rpts.reasoning.localisation import Modality
from lmms_rpts.stats.intervals import Estimate, Floats, estimate_mean, numbered
from lmms_rpts.tasks.rpts_eval.results import COUNTS, METRICS, SHARES
from lmms_rpts.tasks.rpts_eval.runs import Run

Instances = Mapping[tuple[str, int], RptsInstance]
Outcome = Literal["right_unsound", "right_sound", "wrong_sound", "wrong_unsound", "unjudged"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

Dimension = Literal["task", "language", "relation", "ability"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


@dataclass(frozen=True, slots=True)
class Group:
    """The documents of a run that share a property, for example an ability.

    Attributes:
        name: the property; None if the data do not give it.
        n: number of documents.
    """

    name: str | None
    n: int
    rpts: Estimate
    accuracy: Estimate


@dataclass(frozen=True, slots=True)
class Overview:
    """Summary of a run.

    Attributes:
        documents: number of documents.
        metrics: each of METRICS, over all documents, with its 95% interval.
        outcomes: number of responses by outcome.
        origins: number of responses by height and modality of their first error; responses
            without a wrong step are not counted.
        unbroken: scored responses that have steps, none of them wrong.
        stepless: scored responses without a readable step.
        breakdowns: by dimension; a dimension in which all documents are alike is left out.
    """

    documents: int
    metrics: Mapping[str, Estimate]
    outcomes: Mapping[Outcome, int]
    origins: Mapping[tuple[int, Modality], int]
    unbroken: int
    stepless: int
    breakdowns: Mapping[Dimension, tuple[Group, ...]]


def outcome(response: RptsRecord) -> Outcome:
    """The outcome of a response; sound means an RPTS of at least 0.5."""
    if response.rpts is None or response.answer.correct is None:
        return "unjudged"
    sound = is_sound(response.rpts)
    if response.answer.correct:
        return "right_sound" if sound else "right_unsound"
    return "wrong_sound" if sound else "wrong_unsound"


def overview_of(run: Run) -> Overview:
    """Summarise a run; the metrics are the numbers in lmms-eval's table."""
    scored = [each for each in run.responses if each.rpts is not None]
    values = document_values(run)
    instances = {each.instance.key: each.instance for each in run.responses}
    return Overview(
        documents=len(values),
        metrics=_metrics(values, instances),
        outcomes=Counter(map(outcome, run.responses)),
        origins=Counter(
            (each.first_error.height, each.first_error.modality)
            for each in scored
            if each.first_error is not None
        ),
        unbroken=sum(each.first_error is None and bool(each.steps) for each in scored),
        stepless=sum(not each.steps for each in scored),
        breakdowns=_breakdowns(values, instances),
    )


def _metrics(values: Mapping[Key, Floats], instances: Instances) -> dict[str, Estimate]:
    clusters = numbered([instances[key].cluster for key in values])
    return {
        name: estimate_mean(_column(values, name), clusters, name in SHARES, name not in COUNTS)
        for name in METRICS
    }


def _column(values: Mapping[Key, Floats], metric: str) -> list[float]:
    at = METRICS.index(metric)
    return [float(each[at]) for each in values.values()]


def _breakdowns(
    values: Mapping[Key, Floats], instances: Instances
) -> dict[Dimension, tuple[Group, ...]]:
    scores, right = (
        dict(zip(values, _column(values, name), strict=True)) for name in ("rpts", "accuracy")
    )
    found: dict[Dimension, tuple[Group, ...]] = {}
    for dimension in DIMENSIONS:
        members: dict[str | None, list[tuple[str, int]]] = {}
        for key, instance in instances.items():
            for name in _values(instance, dimension):
                members.setdefault(name, []).append(key)
        if len(members) > 1:
            found[dimension] = tuple(
                _group(name, [instances[key] for key in members[name]], scores, right)
                for name in sorted(members, key=lambda each: (each is None, each))
            )
    return found


def _group(
    name: str | None,
    instances: Sequence[RptsInstance],
    scores: Mapping[Any, float],
    right: Mapping[Any, float],
) -> Group:
    clusters = numbered([each.cluster for each in instances])
    return Group(
        name,
        len(instances),
        estimate_mean([scores[each.key] for each in instances], clusters),
        estimate_mean([right[each.key] for each in instances], clusters, share=True),
    )


def _values(instance: RptsInstance, dimension: Dimension) -> Iterable[str | None]:
    if dimension == "ability":
        return instance.abilities
    one: str | tuple[str, ...] | None = getattr(instance, dimension)
    return dict.fromkeys(one) if isinstance(one, tuple) else (one,)
