"""Coverage and width of the intervals of means, for simulated scores of documents.

For each kind of scores, the worst case over its distributions and numbers of documents:

- coverage: share of the samples whose interval contains the true mean, of our interval and of
  Student's t (limited to [0, 1]; a sample of equal scores has a t interval of width 0).
- width: mean width of our interval.
- ratio, excess: this width divided by, and minus, that of the narrowest t interval with a coverage
  of 93%. Its factor of the standard error is the 93% quantile of the factors that just reach the
  true mean. There is none where more than 7% of the samples have equal scores.

Run: ``python -m benchmarks.interval_coverage`` (two minutes). Summary: docs/read-results.md.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from lmms_rpts.stats.intervals import estimate_mean

DOCUMENTS = (10, 15, 20, 40, 100)
SAMPLES = 1_000
TARGET = 0.93

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]
"""Draws this number of scores."""


@dataclass(frozen=True, slots=True)
class Scores:
    """A distribution of scores with its mean.

    Attributes:
        draw: draws independent scores.
        pairs: None: one document per instance; else the share of instances whose translation has
            the same score, the others being independent.
    """

    draw: Draw
    mean: float
    pairs: float | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """The figures of one distribution with one number of documents, or of clusters."""

    n: int
    coverage: float
    t_coverage: float
    width: float
    reference: float


def some_of(**weights: float) -> Scores:
    """A few scores with weights, written as ``s100=0.9, s40=0.1`` for 1 and 0.4."""
    scores = np.array([int(name[1:]) / 100 for name in weights])
    shares = np.array(list(weights.values())) / sum(weights.values())
    return Scores(
        lambda generator, n: generator.choice(scores, n, p=shares), float(scores @ shares)
    )


def mostly(score: float, share: float) -> Scores:
    """A score with this share; all others are uniform."""

    def draw(generator: np.random.Generator, n: int) -> Floats:
        return np.where(generator.random(n) < share, score, generator.random(n))

    return Scores(draw, share * score + (1 - share) / 2)


def beta(a: float, b: float, tenths: bool = False) -> Scores:
    """A beta distribution; ``tenths``: rounded, as the scores of most judges are."""
    if not tenths:
        return Scores(lambda generator, n: generator.beta(a, b, n), a / (a + b))
    many = np.round(np.random.default_rng(0).beta(a, b, 1_000_000), 1)
    scores, counts = np.unique(many, return_counts=True)
    names = {f"s{round(100 * score)}": int(n) for score, n in zip(scores, counts, strict=True)}
    return some_of(**names)


def mirrored(scores: Scores) -> Scores:
    """The same near 0 instead of 1."""
    return Scores(lambda generator, n: 1 - scores.draw(generator, n), 1 - scores.mean)


MOSTLY_ONE = [
    some_of(s100=p, s40=(1 - p) * a, s0=(1 - p) * (1 - a))
    for p in (0.6, 0.8, 0.9, 0.95, 0.98)
    for a in (0, 0.6, 1)
] + [mostly(1.0, p) for p in (0.7, 0.9, 0.95)]
KINDS = {
    "60 to 98% at 1, the others lower": MOSTLY_ONE,
    "the same near 0": [mirrored(each) for each in MOSTLY_ONE[::4]],
    "0 or 1, mean 0.005 to 0.5": [
        some_of(s100=p, s0=1 - p) for p in (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    ],
    "two scores": [
        some_of(**{first: p, second: 1 - p})
        for first, second in (("s100", "s50"), ("s70", "s0"), ("s50", "s80"), ("s40", "s0"))
        for p in (0.5, 0.8, 0.95)
    ],
    "many ties: 0, 0.5, 1, or 50 to 95% at 0.7": [
        *(some_of(s0=1, s50=1, s100=1), some_of(s0=3, s50=7, s100=90)),
        *(mostly(0.7, p) for p in (0.5, 0.8, 0.95)),
        *(beta(a, b, tenths=True) for a, b in ((4, 2), (9, 1), (5, 0.5))),
    ],
    "continuous: uniform and beta": [
        beta(a, b) for a, b in ((1, 1), (4, 2), (2, 2), (9, 1), (0.5, 0.5), (0.2, 0.2), (5, 0.5))
    ],
    "most within 0.01 of 1, none equal": [beta(1, 0.1), beta(2, 0.1)],
    "all within about 0.1": [
        *(some_of(s100=0.8, s90=0.2), some_of(s50=0.9, s60=0.1)),
        *(beta(50, 1), beta(300, 300), beta(30, 30, tenths=True)),
    ],
    "equal": [some_of(s0=1), some_of(s50=1), some_of(s100=1)],
    "instances with a translation": [
        Scores(each.draw, each.mean, pairs)
        for pairs in (0, 0.5, 0.9, 1)
        for each in (some_of(s100=0.9, s40=0.06, s0=0.04), some_of(s100=0.7, s0=0.3), beta(4, 2))
    ],
}


def samples_of(
    scores: Scores, n: int, generator: np.random.Generator
) -> tuple[Floats, Sequence[int] | None]:
    """Scores of ``n`` documents, or of ``n`` instances with translations, and their clusters."""
    first = scores.draw(generator, n)
    if scores.pairs is None:
        return first, None
    same = generator.random(n) < scores.pairs
    second = np.where(same, first, scores.draw(generator, n))
    # A tenth of the translations is missing.
    there = np.append(np.full(n, True), generator.random(n) < 0.9)
    return np.append(first, second)[there], np.tile(np.arange(n), 2)[there]


def simulated(scores: Scores, n: int, samples: int, seed: int) -> Result:
    """Coverage and width over ``samples`` samples."""
    generator = np.random.default_rng(seed)
    covered, width, means, errors = 0, 0.0, np.empty(samples), np.empty(samples)
    for at in range(samples):
        values, clusters = samples_of(scores, n, generator)
        found = estimate_mean(values, clusters)
        if found.low is None or found.high is None:
            raise AssertionError(f"No interval for {values.tolist()}")
        covered += found.low - 1e-12 <= scores.mean <= found.high + 1e-12
        width += found.high - found.low
        own = np.arange(n) if clusters is None else clusters
        away = np.bincount(own, values - values.mean())
        means[at] = values.mean()
        errors[at] = math.sqrt((away**2).sum() * n / (n - 1)) / len(values)
    off = np.abs(means - scores.mean)
    # Rounding leaves errors of 1e-17 for equal scores.
    needed = np.where(off < 1e-12, 0.0, off / np.where(errors < 1e-12, 1e-300, errors))
    factor = float(np.quantile(needed, TARGET, method="higher"))
    t_widths = np.minimum(1, means + factor * errors) - np.maximum(0, means - factor * errors)
    reached = bool(1e-9 < factor < 1e9)
    return Result(
        n,
        covered / samples,
        float((needed <= stdtrit(n - 1, 0.975)).mean()),
        width / samples,
        float(t_widths.mean()) if reached else math.nan,
    )


def rows(samples: int) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| scores | coverage | of t | largest width at n = 20 | ratio | excess |"
    yield "|---|---|---|---|---|---|"
    for kind, members in KINDS.items():
        results = [
            simulated(scores, n, samples, zlib.crc32(f"{kind} {at} {n}".encode()))
            for at, scores in enumerate(members)
            for n in DOCUMENTS
        ]
        known = [each for each in results if not math.isnan(each.reference)]
        worst = max((each.width / each.reference for each in known), default=math.nan)
        excess = max((each.width - each.reference for each in known), default=math.nan)
        last = "– | –" if math.isnan(worst) else f"{worst:.2f} | {excess:.2f}"
        yield (
            f"| {kind} | {min(each.coverage for each in results):.3f} "
            f"| {min(each.t_coverage for each in results):.3f} "
            f"| {max(each.width for each in results if each.n == 20):.2f} | {last} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=SAMPLES, help="samples per distribution")
    for row in rows(parser.parse_args().samples):
        print(row, flush=True)


if __name__ == "__main__":
    main()
