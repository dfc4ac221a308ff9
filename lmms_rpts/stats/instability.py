"""Dependence of answers on the wording of a question and on the order of its options.

Each sample is asked several times, with several wordings and orders. Intervals resample samples,
not answers, because the answers to one sample are not independent.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from lmms_rpts.stats.intervals import (
    RESAMPLES,
    SEED,
    Estimate,
    Floats,
    bootstrap,
    bootstrapped,
    numbered,
    resampled_means,
)
from lmms_rpts.stats.measures import divided

# Means of one value per sample, see ``wording_statistics``.
BY_SAMPLE = (
    "accuracy",
    "accuracy_all",
    "majority_accuracy",
    "instability",
    "instability_norm",
    "agreement",
    "consistent_rate",
)
BY_WORDING = ("accuracy_best_prompt", "accuracy_worst_prompt")
_USUAL = 0.9
_TIED = 1e-9
_RESAMPLES = _PERMUTATIONS = 2_000
_ENUMERATED = 5  # drawing from the 5! exchanges of five answers is faster than shuffling them
# Minimum expected number of answers per position for a chi-square test.
LEAST_EXPECTED = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a sample in one wording.

    Attributes:
        sample: the sample.
        wording: index of the wording, from 0.
        chosen: the chosen option, by a name that does not depend on its position; None if unknown.
        correct: whether the answer is right.
        position: position of the chosen option, from 0; None if it has no meaning.
        right_position: position of the right option.
        options: number of options shown.
        order: for each place as shown, the number of the option in the data; empty: as in the data;
            None: unknown.
        asked: what else the question was asked with, such as marks; answers with other ``asked`` or
            another wording are not exchanged in ``position_bias``.
    """

    sample: Hashable
    wording: int
    chosen: Hashable | None
    correct: bool
    position: int | None = None
    right_position: int | None = None
    options: int = 0
    order: tuple[int, ...] | None = None
    asked: Hashable = None


@dataclass(frozen=True, slots=True)
class PositionBias:
    """Whether options are chosen because of their position.

    Attributes:
        chosen: the share of answers that chose each position.
        expected: the share expected for a model with this accuracy that ignores positions; uniform
            if the right option is equally often at each position.
        distance: half the sum of the absolute differences between the two, from 0 to 1.
        statistic: chi-square; unless ``exact``, divided by the design effect of answers to the same
            sample.
        p: its p-value; NaN if it cannot be tested, see ``position_bias``.
        n: number of answers that chose a position.
        exact: whether p is that of the permutation test.
    """

    chosen: tuple[float, ...]
    expected: tuple[float, ...]
    distance: float
    statistic: float
    p: float
    n: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer in a dialogue; ``round`` may start at any number."""

    dialogue: Hashable
    round: int
    correct: float


@dataclass(frozen=True, slots=True)
class Rounds:
    """Accuracy over the rounds of dialogues.

    Attributes:
        accuracy: accuracy per round, in order.
        correlation: Pearson's correlation of round and accuracy; without a value if the accuracy is
            constant or there is only one round.
        slope: the change of accuracy per round; 0 for one round.
    """

    accuracy: Mapping[int, Estimate]
    correlation: Estimate
    slope: Estimate


def wording_statistics(
    answers: Iterable[Answer], resamples: int = _RESAMPLES
) -> dict[str, Estimate]:
    """Dependence of answers on the wording, with 95% intervals over samples.

    - ``accuracy``: the mean over samples of the share of right answers.
    - ``accuracy_all``: the share of samples with right answers only (circular evaluation).
    - ``majority_accuracy``: the share of samples whose most frequent answer is right; if t answers
      are equally frequent, each counts 1/t.
    - ``instability``: the mean entropy, in nats, of the options that were chosen for a sample; all
      answers without an option form one class.
    - ``instability_norm``: ``instability`` divided by its maximum, ln min(answers, options + 1).
    - ``agreement``: the mean share of the most frequent answer.
    - ``consistent_rate``: the share of samples for which all answers chose the same option.
    - ``accuracy_best_prompt``, ``accuracy_worst_prompt``: accuracy with the best and the worst
      wording.

    Samples with a single answer do not count in ``instability`` and the three metrics after it,
    which are undefined if no answer chose an option. The best of several wordings looks better than
    it would on other samples, and the worst looks worse; their intervals do not correct for this.
    Wordings that are missing for more than a tenth of the samples are excluded from both.

    Returns:
        Estimates by the names in ``BY_SAMPLE`` and ``BY_WORDING``; without a value if undefined.
    """
    none = dict.fromkeys((*BY_SAMPLE, *BY_WORDING), Estimate(None, None, None, 0))
    found = _over_samples(answers, resamples)
    return none | {name: bootstrapped(*each) for name, each in found.items()}


def wording_errors(answers: Iterable[Answer], resamples: int = _RESAMPLES) -> dict[str, float]:
    """Standard errors of the values of ``wording_statistics``: bootstrap over samples.

    Not a jackknife, which is zero for the best of several wordings with the same accuracy. NaN for
    fewer than two samples.
    """
    none = dict.fromkeys((*BY_SAMPLE, *BY_WORDING), math.nan)
    return none | {
        name: float(np.std(draws, ddof=1))
        for name, (_, draws, n) in _over_samples(answers, resamples).items()
        if n > 1
    }


def _over_samples(
    answers: Iterable[Answer], resamples: int
) -> dict[str, tuple[float, Floats, int]]:
    """For each statistic its value, its draws, and the number of samples; none without answers."""
    samples: dict[Hashable, list[Answer]] = defaultdict(list)
    for answer in answers:
        samples[answer.sample].append(answer)
    grouped = list(samples.values())
    if not grouped:
        return {}
    values = np.array([_of_sample(each) for each in grouped])
    if all(answer.chosen is None for each in grouped for answer in each):
        values[:, BY_SAMPLE.index("instability") :] = math.nan
    asked = Counter(wording for each in grouped for wording in {one.wording for one in each})
    usual = sorted(each for each, n in asked.items() if n >= _USUAL * max(asked.values()))
    right = np.array([_by_wording(each, usual) for each in grouped])

    def statistic(weights: Floats) -> Floats:
        means = resampled_means(right, weights)
        ends = np.fmax.reduce(means, axis=1), np.fmin.reduce(means, axis=1)
        return np.column_stack([resampled_means(values, weights), *ends])

    whole, draws = bootstrap(statistic, len(grouped), resamples)
    counts = [*(~np.isnan(values)).sum(axis=0).tolist(), len(grouped), len(grouped)]
    each = zip(whole.tolist(), draws, counts, strict=True)
    return dict(zip((*BY_SAMPLE, *BY_WORDING), each, strict=True))


def position_bias(answers: Iterable[Answer]) -> PositionBias:
    """Test whether positions influence the choice.

    If the order shown is known for all answers, and samples were asked in several orders: a
    permutation test. Given the sample, the wording and what else it was asked with, a model that
    ignores positions would choose the same options if the orders had been dealt to its answers
    differently. So the chosen options are exchanged among the orders shown, p = (extreme + 1) /
    (permutations + 1) (Phipson and Smith 2010), and the expected shares are means over all
    permutations. NaN if no permutation changes a position.

    Otherwise a chi-square test; NaN if fewer than ``LEAST_EXPECTED`` answers are expected at a
    position. The null model chooses the right option with the accuracy of these answers, at any
    position, and otherwise each of the other options equally often. The chi-square statistic is
    divided by the design effect of samples (first-order correction, Rao and Scott 1981), but never
    increased.

    Answers without a position, or without the position of the right option, do not count.
    """
    from scipy.special import chdtrc  # scipy.stats takes a second to import

    counted = [
        each
        for each in answers
        if each.position is not None
        and each.right_position is not None
        and max(each.position, each.right_position) < each.options
    ]
    size = max((each.options for each in counted), default=0)
    if size < 2:
        return PositionBias((), (), math.nan, math.nan, math.nan, len(counted))
    chosen, right = (
        np.array([getattr(each, name) for each in counted])[:, None] == np.arange(size)
        for name in ("position", "right_position")
    )
    exchanged = _exchanged(counted, size)
    if exchanged:
        expected, counts = exchanged
    else:
        options = np.array([[each.options] for each in counted])
        accuracy = (chosen & right).sum() / len(counted)
        other = (1 - accuracy) / np.maximum(1, options - 1) * (np.arange(size) < options)
        expected = np.where(right, np.where(options > 1, accuracy, 1.0), other)
    seen, wanted, n = chosen.sum(axis=0), expected.sum(axis=0), len(counted)

    def distance(counts: Floats) -> Floats:
        found: Floats = np.nansum(divided((counts - wanted) ** 2, wanted), axis=-1)
        return found

    statistic = float(distance(seen))
    if exchanged:
        extreme = int((distance(counts) >= statistic - _TIED).sum())
        p = (extreme + 1) / (len(counts) + 1) if len(counts) else math.nan
    else:
        statistic /= _design_effect(chosen - expected, [each.sample for each in counted])
        enough = bool((wanted >= LEAST_EXPECTED).all())
        p = float(chdtrc(size - 1, statistic)) if enough else math.nan
    return PositionBias(
        tuple((seen / n).tolist()),
        tuple((wanted / n).tolist()),
        float(np.abs(seen - wanted).sum()) / (2 * n),
        statistic,
        p,
        n,
        bool(exchanged),
    )


def round_statistics(turns: Iterable[Turn], resamples: int = RESAMPLES) -> Rounds:
    """Accuracy per round, its correlation with the round, and its slope; over dialogues.

    Args:
        turns: in any order; several answers to one round of a dialogue are averaged.
    """
    cells: dict[Hashable, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in turns:
        cells[turn.dialogue][turn.round].append(float(turn.correct))
    rounds = sorted({number for each in cells.values() for number in each})
    if not rounds:
        nothing = Estimate(None, None, None, 0)
        return Rounds({}, nothing, nothing)
    values = np.array(
        [
            [math.fsum(each[number]) / len(each[number]) if number in each else math.nan
             for number in rounds]
            for each in cells.values()
        ]
    )  # fmt: skip
    x, n = np.array(rounds, dtype=float), len(values)

    def statistic(weights: Floats) -> Floats:
        means = resampled_means(values, weights)
        return np.column_stack([means, *_trend(x, means)])

    whole, draws = bootstrap(statistic, n, resamples)
    counts = [*(~np.isnan(values)).sum(axis=0), n, n]
    *accuracy, correlation, slope = (
        bootstrapped(float(value), column, int(each))
        for value, column, each in zip(whole, draws, counts, strict=True)
    )
    return Rounds(dict(zip(rounds, accuracy, strict=True)), correlation, slope)


def _of_sample(answers: Sequence[Answer]) -> list[float]:
    """The values of one sample, in the order of ``BY_SAMPLE``."""
    n = len(answers)
    counts = Counter(answer.chosen for answer in answers)
    most = max(counts.values())
    modes = [chosen for chosen, count in counts.items() if count == most]
    right = {answer.chosen for answer in answers if answer.correct}
    accuracy = sum(answer.correct for answer in answers) / n
    majority = sum(chosen in right for chosen in modes) / len(modes)
    values = [accuracy, float(accuracy == 1), majority]
    if n == 1:
        return [*values, math.nan, math.nan, math.nan, math.nan]
    entropy = -sum(count / n * math.log(count / n) for count in counts.values()) + 0.0
    classes = min(n, max(answer.options for answer in answers) + 1)
    largest = math.log(classes) if classes > 1 else math.log(n)  # no options: free text
    same = len(counts) == 1 and None not in counts
    return [*values, entropy, min(1.0, entropy / largest), most / n, float(same)]


def _by_wording(answers: Sequence[Answer], wordings: Sequence[int]) -> list[float]:
    """The share of right answers of one sample per wording; NaN if the sample lacks the wording."""
    found: dict[int, list[bool]] = defaultdict(list)
    for answer in answers:
        found[answer.wording].append(answer.correct)
    return [sum(found[each]) / len(found[each]) if each in found else math.nan for each in wordings]


def _exchanged(answers: Sequence[Answer], size: int) -> tuple[Floats, Floats] | None:
    """Positions of the chosen options if they are exchanged among the orders shown.

    Returns:
        The probability of each position, (answers, size), and counts of positions in permutations,
        (k, size); k = 0 if all permutations have the same positions. None if orders are unknown, or
        if nothing was shown in several orders.
    """
    groups: dict[Hashable, dict[int, tuple[int, ...]]] = defaultdict(dict)
    for at, each in enumerate(answers):
        shown = tuple(range(each.options)) if each.order == () else each.order
        if shown is None or sorted(shown) != [*range(each.options)]:
            return None
        groups[each.sample, each.wording, each.asked, each.options][at] = shown
    if all(len({*orders.values()}) == 1 for orders in groups.values()):
        return None
    expected, moved = np.zeros((len(answers), size)), False
    counts, generator = np.zeros((_PERMUTATIONS, size)), np.random.default_rng(SEED)
    for members in groups.values():
        own, orders, k = [*members], np.array([*members.values()]), np.arange(len(members))
        options = orders[k, np.array([answers[at].position for at in own])]
        # (k, k): the place in order j of the option that answer i chose; then (k, k, size).
        places = orders.argsort(axis=1)[:, options].T
        there = places[:, :, None] == np.arange(size)
        expected[own] = there.mean(axis=0)
        if (options == options[0]).all():
            counts += there[0].sum(axis=0)
            continue
        if len(k) <= _ENUMERATED:
            every = np.array([*permutations(k)])
            drawn = generator.integers(0, len(every), _PERMUTATIONS)
            counts += there[every, k].sum(axis=1)[drawn]
        else:
            every = generator.random((_PERMUTATIONS, len(k))).argsort(axis=1)
            counts += there[every, k].sum(axis=1)
        moved |= bool((places != places[0]).any())
    return expected, counts if moved else counts[:0]


def _design_effect(residuals: Floats, samples: Sequence[Hashable]) -> float:
    """Ratio of the variance of sums over samples to that of answers; at least 1."""
    own = numbered(samples)
    sums = np.zeros((int(own.max()) + 1, residuals.shape[1]))
    np.add.at(sums, own, residuals)
    alone = float((residuals**2).sum())
    return max(1.0, float((sums**2).sum()) / alone) if alone > 0 else 1.0


def _trend(x: Floats, means: Floats) -> Floats:
    """Correlation and slope of (k, m) means over m rounds, ignoring NaN: (2, k)."""
    known = ~np.isnan(means)
    n = known.sum(axis=1, keepdims=True)
    y = np.where(known, means, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        dx = np.where(known, x - (known * x).sum(axis=1, keepdims=True) / n, 0.0)
        dy = np.where(known, y - y.sum(axis=1, keepdims=True) / n, 0.0)
        xx, yy, xy = (dx * dx).sum(axis=1), (dy * dy).sum(axis=1), (dx * dy).sum(axis=1)
        flat = yy < 1e-24  # equal means, except for rounding
        correlation = np.where(flat | (xx == 0), np.nan, xy / np.sqrt(xx * yy))
        slope = np.where(xx == 0, 0.0, np.where(flat, 0.0, xy / xx))
    found: Floats = np.stack([np.clip(correlation, -1.0, 1.0), slope])
    return found
