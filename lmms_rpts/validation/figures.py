"""The figures of a judge on one set, of baselines without a judge, and of two judges compared."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.escaping import printable
from lmms_rpts.runs.validity import Bin, Interval, JudgedChain, ValidatedSet, Validity
from lmms_rpts.stats.intervals import numbered
from lmms_rpts.stats.measures import Measure, estimate_measures
from lmms_rpts.stats.published_metrics import OWN_METRICS
from lmms_rpts.stats.step_labels import ScoredSteps
from lmms_rpts.stats.step_measures import (
    THRESHOLD,
    PairedDifferences,
    fitted_thresholds,
    paired_differences,
    rank_measures,
    reliability_bins,
    step_measures,
)
from lmms_rpts.validation.chains import LabelledChain

Scores = Sequence[Sequence[float | None]]
"""By chain and step; None: not judged, or no score."""

RANKINGS: Mapping[str, Callable[[LabelledChain, int], float]] = {
    "shortness": lambda chain, step: -float(len(chain.steps[step])),
    "place": lambda chain, step: -float(chain.place(step)),
}
"""Baselines that score steps without a judge: from a chain and the number of a step."""

_SAME = attrgetter("question", "labels", "first_error", "located", "path", "places")
"""What must be the same in both files for a chain to be compared."""

COUNTED = ("unscored", "unscored_chains")
"""Metrics that are counts, so that they have no interval."""

_DIGITS = 12
"""Scores that differ only by floating-point error, as means of several answers may, are ties."""


def figures_of(
    layout: str, chains: Sequence[LabelledChain], scores: Scores, judges: Mapping[str, Scores]
) -> dict[str, Any]:
    """The computed fields of ``ValidatedSet``, by name.

    Args:
        layout: name of the layout.
        scores: scores of the judge.
        judges: scores of the other judges that serve as baselines, by name.
    """
    steps = scored_steps(chains, scores)
    baselines = {}
    for name, rank in RANKINGS.items():
        ranks = [[rank(chain, at) for at in range(len(chain.steps))] for chain in chains]
        by_rank = scored_steps(chains, ranks)
        baselines[name] = _intervals(rank_measures(by_rank), steps)
    others = {"always_sound": [[1.0] * len(chain.steps) for chain in chains], **judges}
    for name, own in others.items():
        baselines[name] = _intervals(step_measures(scored_steps(chains, own)), steps)
    own_metrics = OWN_METRICS[layout](steps, THRESHOLD) if layout in OWN_METRICS else {}
    return {
        "metrics": _intervals(step_measures(steps), steps),
        "own_metrics": _intervals(own_metrics, steps),
        "baselines": baselines,
        "thresholds": fitted_thresholds(steps),
        "bins": tuple(
            Bin(score=score, sound=sound.value or 0.0, low=sound.low, high=sound.high, n=sound.n)
            for score, sound in reliability_bins(steps)
        ),
    }


def _intervals(measures: Mapping[str, Measure], steps: ScoredSteps) -> dict[str, Interval]:
    return {
        name: Interval(value=each.value)
        if name in COUNTED
        else Interval(value=each.value, low=each.low, high=each.high)
        for name, each in estimate_measures(measures, steps.question).items()
    }


def scored_steps(chains: Sequence[LabelledChain | JudgedChain], scores: Scores) -> ScoredSteps:
    """The labelled steps of chains as arrays.

    Args:
        chains: with their texts or without.
        scores: for each chain, by step; None: not judged, or no score. Scores of unlabelled steps
            are ignored.
    """
    rows = [
        (at, step, chain, chain.labels[step], scores[at][step])
        for at, chain in enumerate(chains)
        for step in chain.asked
    ]
    paths = [frozenset(chain.on_path) for chain in chains]
    every = [math.nan if score is None else float(score) for *_, score in rows]
    return ScoredSteps(
        sound=np.array([label for *_, label, _ in rows], dtype=bool),
        score=np.round(np.array(every, dtype=float), _DIGITS),
        chain=np.array([at for at, *_ in rows], dtype=np.intp),
        place=np.array([chain.place(step) for _, step, chain, *_ in rows], dtype=np.intp),
        on_path=np.array([step in paths[at] for at, step, *_ in rows], dtype=bool),
        inherited=np.array([step in chain.inherited for _, step, chain, *_ in rows], dtype=bool),
        question=numbered([chain.question for chain in chains]),
        stratum=numbered([chain.stratum for chain in chains]),
        half=np.array([half_of(chain.question) for chain in chains], dtype=np.intp),
        first_error=np.array([_first_error(chain) for chain in chains], dtype=float),
    )


def half_of(question: str) -> int:
    """0 or 1, from the id of the question only: the same in each sample of a set."""
    return hashlib.sha256(question.encode("utf-8", "surrogatepass")).digest()[0] & 1


def _first_error(chain: LabelledChain | JudgedChain) -> float:
    """Position of the first error; inf: no error; NaN: unknown, or at a step that is not judged."""
    if not chain.located:
        return math.nan
    if chain.first_error is None:
        return math.inf
    asked = chain.labels[chain.first_error] is not None and chain.first_error in chain.on_path
    return float(chain.place(chain.first_error)) if asked else math.nan


# --- two judges on the same steps


class ComparisonError(UserError):
    """Raised for two files that cannot be compared; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class SetComparison:
    """The comparison of both judges on one set.

    Attributes:
        chains: number of chains that are in both files, with the same question and labels.
        only: number of chains that are in one file only, or differ in question or labels.
        found: the differences, second minus first.
    """

    name: str
    chains: int
    only: int
    found: PairedDifferences


@dataclass(frozen=True, slots=True)
class JudgeComparison:
    """The comparison of two judges, by set; ``notes``: reasons other than the judges to differ."""

    judges: tuple[str, str]
    sets: tuple[SetComparison, ...]
    notes: tuple[str, ...]


def compare_judges(first: Validity, second: Validity) -> JudgeComparison:
    """Paired differences on the steps that both judges scored.

    Raises:
        ComparisonError: the files have no labelled chain in common, or one of them has two sets of
            the same name.
    """
    names = [[each.title for each in judged.sets] for judged in (first, second)]
    if any(len(set(each)) < len(each) for each in names):
        raise ComparisonError("One of the files has two sets of the same name")
    notes: list[str] = []
    sets: list[SetComparison] = []
    compared: set[str] = set()
    for one in first.sets:
        same = [each for each in second.sets if (each.name, each.layout) == (one.name, one.layout)]
        # Without such a pair, one judge with the images and the other without: a note says so.
        two = next((each for each in same if each.blind == one.blind), same[0] if same else None)
        if two is not None and (found := compare_sets(one, two)):
            sets.append(found)
            compared.add(one.name)
            notes += _differing(one, two)
    if not sets:
        listed = "; ".join(", ".join(each) or "none" for each in names)
        raise ComparisonError(
            f"The two files have no labelled chain in common (sets: {listed}): "
            "validate both judges with the same --data, --limit and --seed"
        )
    notes += [
        f"{each.name}: {each.only:,} chains are in only one file and are left out"
        for each in sets
        if each.only
    ]
    if missing := sorted({each.name for each in (*first.sets, *second.sets)} - compared):
        notes.append(f"data sets that are in only one of the files: {', '.join(missing)}")
    judges = (first.judge, second.judge)
    if judges[0] == judges[1]:
        notes.append("both files are from the same judge")
    return JudgeComparison(judges, tuple(sets), tuple(map(printable, notes)))


def compare_sets(one: ValidatedSet, two: ValidatedSet) -> SetComparison | None:
    """Paired differences on a set, second minus first; None if no chain is in both."""
    ours, theirs = (
        {(chain.stratum, chain.id): chain for chain in found.chains} for found in (one, two)
    )
    shared = [key for key in ours if key in theirs and _SAME(ours[key]) == _SAME(theirs[key])]
    if not shared:
        return None
    first, second = (
        scored_steps([table[key] for key in shared], [table[key].scores for key in shared])
        for table in (ours, theirs)
    )
    return SetComparison(
        one.title,
        len(shared),
        len(ours.keys() | theirs.keys()) - len(shared),
        paired_differences(first, second),
    )


def _differing(one: ValidatedSet, two: ValidatedSet) -> list[str]:
    """What else than the judges differs."""
    differing = {
        f"premises: {one.premises} for the first judge, {two.premises} for the second": (
            one.premises != two.premises
        ),
        "one judge saw the images, the other did not": one.blind != two.blind,
        "the labels were read from different files": one.sha256 != two.sha256,
    }
    return [f"{one.name}: {note}" for note, holds in differing.items() if holds]
