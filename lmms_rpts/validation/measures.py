"""Measures of judges by labels, with 95% intervals over questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from lmms_rpts.stats import intervals
from lmms_rpts.stats.figures import Interval
from lmms_rpts.stats.intervals import Floats
from lmms_rpts.validation.chains import LabelledChain

SOUND = 0.5  # a step is called sound from this score on, as in RPTS
RESAMPLES = 1_000
_DIGITS = 12  # scores that differ only by rounding are ties

Scores = Mapping[tuple[int, int], Any]
"""Scores of labelled steps, by the numbers of chain and step; None, or no entry: no score."""

Sums = Mapping[str, Floats]
"""Counts by name, summed over chains or answers, under each of k weightings: (k,)."""


class Measure(NamedTuple):
    """A formula of sums, NaN where it is undefined.

    ``units``: the count that it is based on: questions without any cannot narrow its interval.
    ``share``: a share of 0 or 1 has the exact interval, since all resamples are equal.
    """

    formula: Callable[[Sums], Floats]
    units: str
    share: bool = False


def divided(over: Floats, under: Floats) -> Floats:
    """The quotient; NaN if the denominator is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Floats = np.where(under > 0, over / under, np.nan)
    return quotient


def share(over: str, under: str) -> Measure:
    """The share of the units counted as ``under`` that are counted as ``over``, too."""
    return Measure(lambda sums: divided(sums[over], sums[under]), under, share=True)


def macro_f1(sums: Sums) -> Floats:
    """The mean of the F1 of wrong and of sound steps; NaN if either are missing."""
    caught, wrong, passed, sound = (sums[it] for it in ("caught", "wrong", "passed", "sound"))
    of_wrong = divided(2 * caught, wrong + caught + sound - passed)
    of_sound = divided(2 * passed, sound + passed + wrong - caught)
    return np.where(wrong * sound > 0, (of_wrong + of_sound) / 2, np.nan)


def first_f1(sums: Sums) -> Floats:
    """The F1 of ProcessBench: the harmonic mean of both shares of chains; 0 if both are 0."""
    located = divided(sums["located"], sums["faulty"])
    cleared = divided(sums["cleared"], sums["clean"])
    total = located + cleared
    return np.where(total == 0, 0.0, divided(2 * located * cleared, total))


def kappa(sums: Sums) -> Floats:
    """Cohen's kappa (Cohen 1960) of grades and labels; NaN if only one value occurs."""
    passed, sound, caught, wrong = (sums[it] for it in ("passed", "sound", "caught", "wrong"))
    scored, accepted = sound + wrong, passed + wrong - caught
    equal = divided(passed + caught, scored)
    chance = divided(sound * accepted + wrong * (scored - accepted), scored**2)
    return divided(equal - chance, 1 - chance)


OF_STEPS: Mapping[str, Measure] = {
    # How often a sound step scores higher than a wrong one, of all or of its chain; ties half
    "AUC": Measure(lambda sums: divided(sums["won"], sums["pairs"]), "scored"),
    "AUC within chains": share("won_within", "pairs_within")._replace(share=False),
    "sensitivity": share("caught", "wrong"),
    "specificity": share("passed", "sound"),
    "macro F1": Measure(macro_f1, "scored"),
    "wrong chains located": share("located", "faulty"),
    "sound chains passed": share("cleared", "clean"),
    "F1 of first errors": Measure(first_f1, "decided"),
    "Brier score": share("squares", "scored")._replace(share=False),
    "unscored steps": share("unscored", "asked"),
}
OF_ANSWERS: Mapping[str, Measure] = {
    "agreement": share("agreed", "scored"),
    "sensitivity": share("passed", "sound"),
    "specificity": share("caught", "wrong"),
    "kappa": Measure(kappa, "scored"),
    "undecided": share("unscored", "asked"),
}
"""Of graders, over the answers that they graded; a right (sound) answer is the positive case."""


def measure(
    chains: Sequence[LabelledChain],
    scores: Scores,
    measures: Mapping[str, Measure] = OF_STEPS,
    resamples: int = RESAMPLES,
) -> dict[str, Interval]:
    """Measures with 95% intervals: the expanded percentile bootstrap over questions."""
    scores = {place: round(it, _DIGITS) for place, it in scores.items() if it is not None}
    counts = [
        chain_counts(chain, [scores.get((at, step)) for step in chain.asked])
        for at, chain in enumerate(chains)
    ]
    columns = {name: np.array([float(it[name]) for it in counts]) for name in counts[0]}
    table = np.column_stack(list(columns.values()))
    clusters = intervals.numbered([chain.question for chain in chains])
    steps = sorted((score, chains[at].labels[step], at) for (at, step), score in scores.items())
    score, label, chain_of = np.array(steps, dtype=float).reshape(-1, 3).T
    starts = np.flatnonzero(np.diff(score, prepend=np.nan) != 0)  # of equal scores

    def statistic(weights: Floats) -> Floats:
        """The measures under (k, m) weights of the chains: (k, number of measures)."""
        times = weights[:, chain_of.astype(int)]
        sound = np.add.reduceat(times * label, starts, axis=1)
        wrong = np.add.reduceat(times * (1 - label), starts, axis=1)
        # Pairs of a sound and a wrong step, and those in which the sound one scores higher
        pairs = sound.sum(axis=1) * wrong.sum(axis=1)
        won = (sound * (wrong.cumsum(axis=1) - wrong / 2)).sum(axis=1)
        sums = dict(zip(columns, (weights @ table).T, strict=True))
        sums |= {"pairs": pairs, "won": won}
        return np.column_stack([each.formula(sums) for each in measures.values()])

    values, draws = intervals.bootstrap(
        statistic, len(chains), resamples, clusters=clusters, size=len(steps)
    )
    estimates = {}
    for name, value, drawn in zip(measures, values.tolist(), draws, strict=True):
        units = columns[measures[name].units]
        n, independent = round(units.sum()), len(np.unique(clusters[units > 0]))
        low, high = intervals.interval(drawn, independent)
        if measures[name].share and value in (0.0, 1.0) and independent > 1:
            exact = intervals.estimate_mean(np.full(independent, value), share=True)
            low, high = exact.low, exact.high
        undefined = Interval(None, n=n)
        estimates[name] = undefined if math.isnan(value) else Interval(value, low, high, n)
    return estimates


def chain_counts(chain: LabelledChain, scores: Sequence[float | None]) -> dict[str, float]:
    """Counts of a chain with these scores of its labelled steps: of all measures but the AUC."""
    steps = [(chain.labels[at], score) for at, score in zip(chain.asked, scores, strict=True)]
    sound = [score for label, score in steps if label and score is not None]
    wrong = [score for label, score in steps if not label and score is not None]
    passed, caught = sum(it >= SOUND for it in sound), sum(it < SOUND for it in wrong)
    is_located, is_faulty = _is_located(steps) if chain.located else None, False in chain.labels
    return {
        "asked": len(steps),
        "scored": len(sound) + len(wrong),
        "unscored": len(steps) - len(sound) - len(wrong),
        "sound": len(sound),
        "wrong": len(wrong),
        "passed": passed,
        "caught": caught,
        "agreed": passed + caught,
        "squares": sum((1 - it) ** 2 for it in sound) + sum(it**2 for it in wrong),
        "pairs_within": len(sound) * len(wrong),
        "won_within": sum((a > b) + (a == b) / 2 for a in sound for b in wrong),
        "decided": is_located is not None,
        "faulty": is_located is not None and is_faulty,
        "clean": is_located is not None and not is_faulty,
        "located": is_located is True and is_faulty,
        "cleared": is_located is True and not is_faulty,
    }


def _is_located(steps: Sequence[tuple[bool | None, float | None]]) -> bool | None:
    """Whether the first step that is called wrong is the first wrong one, or there is neither.

    None: an unscored step comes before both.
    """
    for label, score in steps:
        if score is None:
            return None
        if score < SOUND or not label:
            return score < SOUND and not label
    return True
