"""The number of documents that a difference needs: by hand, and by simulated experiments."""

from __future__ import annotations

import numpy as np
import pytest

from lmms_rpts.stats.intervals import Floats, estimate_mean, t_quantile
from lmms_rpts.stats.power import detectable, deviation_of, documents_needed

EXPERIMENTS = 4000


def test_by_hand() -> None:
    # (1.960 + 0.842)^2 = 7.849; 7.849 * 0.5 / 0.05^2 = 1569.8
    assert documents_needed(0.05, 0.5**0.5) == 1570
    assert documents_needed(-0.05, 0.5) == 785
    assert documents_needed(0.1, 0.19**0.5) == 150  # 149.1
    assert documents_needed(0.0, 0.5) == 0
    assert documents_needed(1.0, 0.0) == 2
    assert detectable(1570, 0.5**0.5) == pytest.approx(0.05, abs=1e-5)


def answers(generator: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Right answers of two models with accuracy 0.6 and 0.7: right together on 0.5 of the docs."""
    drawn = generator.random(shape)
    a = drawn < 0.6
    b = (drawn < 0.5) | (drawn > 0.8)
    return a.astype(float), b.astype(float)


@pytest.mark.parametrize("size", [1, 2])
def test_simulated_power(size: int) -> None:
    """Of documents, and of clusters of two whose answers are the same: a document counts half.

    The deviation is known from the interval of a pilot, as the commands know it from runs.
    """
    generator = np.random.default_rng(1)
    a, b = answers(generator, (20_000,))
    pilot = np.repeat(b - a, size)
    found = estimate_mean(pilot, np.repeat(np.arange(20_000), size), bounded=False)
    assert found.low is not None
    assert found.high is not None
    deviation = deviation_of(found.low, found.high, len(pilot))
    needed = documents_needed(0.1, deviation)
    assert needed == pytest.approx(7.849 * 0.29 / 0.01 * size, rel=0.03)  # 0.3 - 0.1^2
    one, other = answers(generator, (EXPERIMENTS, needed // size))
    means = (other - one).mean(axis=1)
    errors = (other - one).std(axis=1, ddof=1) / np.sqrt(needed // size)
    found_it = means - t_quantile(needed // size - 1) * errors > 0
    assert found_it.mean() == pytest.approx(0.8, abs=0.03)
