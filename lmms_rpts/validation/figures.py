"""The figures of a judge on one set, and those of baselines without a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from lmms_rpts.runs.validity import Bin, Interval, PublishedFigure
from lmms_rpts.stats.calibration import reliability_bins
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.stats.score_curves import fitted_thresholds
from lmms_rpts.stats.step_measures import baseline_estimates, estimate_all
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.own_metrics import own_estimates
from lmms_rpts.validation.scored_steps import scored_steps

Scores = Sequence[Sequence[float | None]]
"""By chain and step; None: not judged, or no score."""

RANKINGS: Mapping[str, Callable[[LabelledChain, int], float]] = {
    "shortness": lambda chain, step: -float(len(chain.steps[step])),
    "place": lambda chain, step: -float(chain.place(step)),
}
"""Baselines that score steps without a judge: from a chain and the number of a step."""

ALWAYS_SOUND = "always_sound"
COUNTED = ("unscored", "unscored_chains")


@dataclass(frozen=True, slots=True)
class SetFigures:
    """The figures computed for one set; names as in ``ValidatedSet``."""

    metrics: Mapping[str, Interval]
    own_metrics: Mapping[str, Interval]
    baselines: Mapping[str, Mapping[str, Interval]]
    thresholds: tuple[float, ...]
    bins: tuple[Bin, ...]
    published: tuple[PublishedFigure, ...]


def figures_of(
    layout: Layout,
    chains: Sequence[LabelledChain],
    scores: Scores,
    judges: Mapping[str, Scores],
) -> SetFigures:
    """Compute all figures of one set.

    Args:
        scores: scores of the judge.
        judges: scores of the other judges that serve as baselines, by name.
    """
    steps = scored_steps(chains, scores)
    baselines = {
        name: baseline_estimates(scored_steps(chains, _ranked(chains, rank)))
        for name, rank in RANKINGS.items()
    }
    others = {ALWAYS_SOUND: [[1.0] * len(chain.steps) for chain in chains], **judges}
    baselines |= {name: estimate_all(scored_steps(chains, own)) for name, own in others.items()}
    return SetFigures(
        metrics=_intervals(estimate_all(steps)),
        own_metrics=_intervals(own_estimates(layout.name, steps)),
        baselines={name: _intervals(found) for name, found in baselines.items()},
        thresholds=fitted_thresholds(steps),
        bins=tuple(
            Bin(
                score=each.score,
                sound=each.sound.value or 0.0,
                low=each.sound.low,
                high=each.sound.high,
                n=each.sound.n,
            )
            for each in reliability_bins(steps)
        ),
        published=layout.anchors,
    )


def _ranked(
    chains: Sequence[LabelledChain], rank: Callable[[LabelledChain, int], float]
) -> list[list[float]]:
    return [[rank(chain, step) for step in range(len(chain.steps))] for chain in chains]


def _intervals(estimates: Mapping[str, Estimate]) -> dict[str, Interval]:
    return {
        # Counted values have no interval.
        name: Interval(value=each.value)
        if name in COUNTED
        else Interval(value=each.value, low=each.low, high=each.high)
        for name, each in estimates.items()
    }
