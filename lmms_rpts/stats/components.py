"""Variance components of expanded runs: how much comes from the sample, the wording, sampling."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lmms_rpts.stats.intervals import (
    SEED,
    Estimate,
    Floats,
    Indices,
    bootstrap,
    bootstrapped,
    numbered,
    t_quantile,
)
from lmms_rpts.stats.measures import divided

# Resamples of samples, and draws of chi-square, for the intervals.
DRAWS = 2_000
# The largest number of levels that ``levels_needed`` proposes.
MOST_LEVELS = 1_000
_TIED = 1e-18

Effect = tuple[str, ...]
"""("sample",), (factor,) for its main effect, ("sample", factor) for its interaction."""


@dataclass(frozen=True, slots=True)
class Part:
    """A source of variance, in squared units of the values, and its share of the sum of all.

    A factor's part is the sum of ``main``, by which a level is better for all samples, and of
    ``interaction``, by which it is better for some and worse for others; None where there is none,
    or where it cannot be told from the last part.
    """

    variance: Estimate
    share: Estimate
    main: Estimate | None = None
    interaction: Estimate | None = None


class Needed(NamedTuple):
    """How many levels are needed, None if no number is enough; and the half-width of very many."""

    levels: int | None
    narrowest: float


def variance_parts(
    values: Floats,
    samples: Sequence[Hashable],
    factors: Mapping[str, Sequence[Hashable]],
    repeated: bool,
    nested: Collection[str] = (),
) -> dict[str, Part]:
    """The variance of values, split by the random effects of samples and factors.

    Model: value = mean + sample + for each factor (level + sample x level) + rest, all random and
    independent. Levels, such as wordings, are a sample of those that one might have used, so the
    interval of a main effect has as many degrees of freedom as levels less 1. Any design: crossed,
    one factor at a time, fractions, samples that lack draws.

    Main effects and samples: Henderson's method III, each adjusted for the other main effects.
    Interactions and rest: MIVQUE(0) with samples and main effects swept out (Hartley, Rao and
    LaMotte 1978). Both are the estimators of the analysis of variance if the data are balanced
    (Searle, Casella and McCulloch 1992, chapters 5 and 11).

    Intervals are generalized (Weerahandi 1993): the mean square of a main effect divided by draws
    of chi-square, less the other parts in resamples of samples. benchmarks/instability_coverage.py
    measures their coverage.

    Args:
        values: (n,), NaN for no value.
        samples: the sample of each value.
        factors: for each factor, the level of each value.
        repeated: whether the same prompt was repeated: then the rest is ``sampling``.
        nested: factors whose levels mean something else for each sample, such as the order of
            options: they have an interaction only.

    Returns:
        Parts by name: ``sample``, one for each factor, then ``sampling`` if ``repeated``, else
        ``rest``. The last one includes interactions of several factors, and without repetition also
        sampling; with one factor and no repetition also the factor's interaction. If two factors
        have the same cells, such as the order of the options and the place of the right one, the
        interaction is part of the first.
    """
    known = np.flatnonzero(~np.isnan(values)).tolist()
    y, sample = values[known].astype(float), numbered([samples[at] for at in known])
    levels = {name: numbered([column[at] for at in known]) for name, column in factors.items()}
    last = "sampling" if repeated else "rest"
    count = int(sample.max(initial=-1)) + 1
    nothing = Estimate(None, None, None, count)
    if count < 2 or count == len(y):
        return dict.fromkeys(("sample", *factors, last), Part(nothing, nothing))
    mains = {
        name: _incidence(labels).toarray()
        for name, labels in levels.items()
        if name not in nested and labels.max() > 0
    }
    found = _drawn(y, sample, mains, {**_cells(sample, levels), last: np.arange(len(y))})
    for each in found.values():
        each[0] = max(0.0, each[0])  # but not the draws: their sums would be biased
    total = np.sum(list(found.values()), axis=0)
    total[total < _TIED] = 0.0  # no shares of rounding errors
    most = 0.25 if y.min() >= 0 and y.max() <= 1 else math.inf  # the variance of 0 and 1

    def estimate(effects: Sequence[Effect], share: bool = False) -> Estimate | None:
        there = [found[effect] for effect in effects if effect in found]
        sums = np.maximum(0.0, np.sum(there, axis=0))
        sums = np.minimum(1.0, divided(sums, total)) if share else np.minimum(most, sums)
        return bootstrapped(float(sums[0]), sums[1:], count) if there else None

    def part(*effects: Effect) -> Part:
        inside = [estimate([effect]) for effect in effects] if len(effects) > 1 else ()
        return Part(estimate(effects) or nothing, estimate(effects, True) or nothing, *inside)

    return {
        "sample": part(("sample",)),
        **{name: part((name,), ("sample", name)) for name in factors},
        last: part(("sample", last)),
    }


def levels_needed(
    half_width: float, parts: Mapping[str, Part], factor: str, samples: int
) -> Needed:
    """How many levels of a factor give a 95% interval of the mean with this half-width.

    The interval is over samples and levels, as in ``crossed.crossed_difference``, with one value
    per sample and level.
    """

    def variance(estimate: Estimate | None) -> float:
        return (estimate.value if estimate else None) or 0.0

    every, shared = variance(parts["sample"].variance), variance(parts[factor].main)
    single = sum(variance(part.variance) for part in parts.values()) - every - shared

    def reached(levels: float) -> float:
        noise = single / (levels * samples)
        of_levels, of_samples = shared / levels + noise, every / samples + noise
        total = of_levels + of_samples - noise
        spread = of_levels**2 / (levels - 1) + of_samples**2 / (samples - 1)
        return t_quantile(total**2 / spread) * math.sqrt(total) if spread > 0 else 0.0

    narrowest = reached(1e12)
    enough = (n for n in range(2, MOST_LEVELS + 1) if reached(n) <= half_width)
    return Needed(next(enough, None) if narrowest < half_width else None, narrowest)


def _cells(sample: Indices, levels: Mapping[str, Indices]) -> dict[str, Indices]:
    """The cells of sample and level of each factor whose interaction can be told from the rest."""
    found: dict[str, Indices] = {}
    for name, labels in levels.items():
        cell = numbered(list(zip(sample.tolist(), labels.tolist(), strict=True)))
        others = (sample, np.arange(len(sample)), *found.values())
        if not any(np.array_equal(cell, other) for other in others):
            found[name] = cell
    return found


def _drawn(
    y: Floats, sample: Indices, mains: Mapping[str, Floats], cells: Mapping[str, Indices]
) -> dict[Effect, Floats]:
    """The estimate of each component, then ``DRAWS`` draws for its interval; may be below 0.

    ``mains``: (n, levels) indicators for each factor; ``cells``: cells of sample and level.
    """
    owners, sizes = _incidence(sample), np.bincount(sample).astype(float)
    inner = [_incidence(cell) for cell in cells.values()]
    averaging = owners.T.multiply(1 / sizes[:, None]).tocsr()
    all_mains = np.hstack([np.ones((len(y), 1)), *mains.values()])

    def centred(x: Any) -> Any:
        return x - owners @ (averaging @ x)

    def basis(without: str) -> Floats:
        others = [centred(each) for name, each in mains.items() if name != without]
        return _orthonormal(np.hstack([np.zeros((len(y), 1)), *others]))

    def captured(x: Any, columns: Floats, samples: bool = True) -> float:
        """Sum of squares of the projection on columns, and on the indicators of samples."""
        found = ((columns.T @ x) ** 2).sum()
        return float(found + (((averaging @ x).T ** 2) @ sizes).sum() if samples else found)

    swept = basis("")
    residual = centred(y) - swept @ (swept.T @ y)
    # Sums over samples, in all data and in each resample.
    within_mains = centred(all_mains)
    normal = np.linalg.pinv(within_mains.T @ within_mains)
    means = averaging @ (y - all_mains @ (normal @ (within_mains.T @ y)))
    means -= means.mean()
    between = (sizes, sizes * means, sizes * means**2)
    forms = np.column_stack([_forms(residual, sample, cells), *between])
    whole, draws = bootstrap(lambda weights: weights @ forms, len(sizes), DRAWS)
    sums = np.column_stack([whole, draws])
    within = sums[:-3].T @ _inverse(inner, centred, swept)
    found: dict[Effect, Floats] = {
        ("sample", name): column for name, column in zip(cells, within.T, strict=True)
    }
    pivots = sums[-1] - sums[-2] ** 2 / sums[-3]  # the variance between samples
    effects = {"sample": (owners, _orthonormal(all_mains), divided(pivots, pivots[0]))}
    generator, rest = np.random.default_rng(SEED), list(found)[-1]
    for name, indicators in mains.items():
        others = basis(name)
        df = swept.shape[1] - others.shape[1]
        if df:
            pivots = np.concatenate([[1.0], df / generator.chisquare(df, DRAWS)])
            effects[name] = indicators, others, pivots
            error = _between(residual**2, indicators, found[rest][0], generator)
            found[rest] = found[rest] + error  # not in ``within``
    for name, (indicators, others, pivots) in effects.items():
        # The reduction of the sum of squares by the effect, and its expectation.
        explained, scale, *noise = (
            captured(x, swept) - captured(x, others, samples=name != "sample")
            for x in (y, indicators, *inner)
        )
        found[name,] = (explained * pivots - within @ np.array(noise)) / scale
    return found


def _between(
    squares: Floats, indicators: Floats, rest: float, generator: np.random.Generator
) -> Floats:
    """Draws of the error of the rest because it differs between levels of a factor.

    Right or wrong varies less where a level makes nearly all answers right. Resamples of samples do
    not show this. The differences between samples are counted twice, as in min F'.
    """
    levels = indicators.shape[1]
    of_levels = indicators.T @ squares / indicators.sum(axis=0)
    error = np.std(of_levels, ddof=1) / math.sqrt(levels) * rest / max(_TIED, squares.mean())
    return np.concatenate([[0.0], error * generator.standard_t(levels - 1, DRAWS)])


def _forms(residual: Floats, sample: Indices, cells: Mapping[str, Indices]) -> Floats:
    """(samples, k): for each sample the sum of squares of sums over its cells, of each kind."""
    forms = []
    for cell in cells.values():
        owner = np.empty(cell.max() + 1, dtype=np.intp)
        owner[cell] = sample
        forms.append(np.bincount(owner, np.bincount(cell, residual) ** 2))
    return np.column_stack(forms)


def _inverse(inner: Sequence[Any], centred: Callable[[Any], Any], swept: Floats) -> Floats:
    """(k, k): sums of ``_forms`` @ this are unbiased.

    The expectation of a form is linear in the components. Its coefficients are the squared norms of
    first' R second, where R takes out samples and main effects, for pairs of incidence matrices.
    """
    owned = [swept.T @ each for each in inner]
    expected = np.empty((len(inner), len(inner)))
    for i, first in enumerate(inner):
        for j, second in enumerate(inner):
            product = first.T @ centred(second)
            crossing = (owned[i].T * (product @ owned[j].T)).sum()
            both = ((owned[i] @ owned[i].T) * (owned[j] @ owned[j].T)).sum()
            expected[i, j] = product.multiply(product).sum() - 2 * crossing + both
    found: Floats = np.asarray(np.linalg.pinv(expected), dtype=float)
    return found


def _orthonormal(columns: Floats) -> Floats:
    """An orthonormal basis of the columns."""
    squares, vectors = np.linalg.eigh(columns.T @ columns)  # faster than a singular value analysis
    there = squares > 1e-9 * max(1.0, squares[-1])
    found: Floats = columns @ (vectors[:, there] / np.sqrt(squares[there]))
    return found


def _incidence(labels: Indices) -> Any:
    """(n, levels) sparse indicators of the level of each value."""
    from scipy.sparse import csr_array

    rows = np.arange(len(labels))
    return csr_array((np.ones(len(labels)), (rows, labels)), dtype=float)
