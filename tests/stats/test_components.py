"""Variance components: agreement with statsmodels, all designs, and coverage."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
import pytest
from benchmarks.instability_coverage import MIXED, PARTS, Model, simulate
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from lmms_rpts.stats.components import MOST_LEVELS, Part, levels_needed, variance_parts
from lmms_rpts.stats.crossed import crossed_difference
from lmms_rpts.stats.intervals import Floats
from tests.support.tables import table

Draws = list[tuple[int, ...]]
FULL: Draws = [(w, o) for w in range(5) for o in range(4)]
SINGLE: Draws = [(w, 0) for w in range(5)] + [(0, o) for o in range(1, 4)]
# Each wording twice, each order as often as 10 draws allow.
FRACTION: Draws = [(k % 5, (k + k // 5) % 4) for k in range(10)]


def effects(seed: int, samples: int, draws: Draws, seeds: int = 1) -> tuple[pd.DataFrame, Floats]:
    """A table of samples, wordings, orders and values with effects of all kinds, in all designs."""
    of = np.random.default_rng(seed)
    sample, wording = 0.2 * of.standard_normal(samples), 0.15 * of.standard_normal(5)
    order, both = 0.1 * of.standard_normal(4), 0.1 * of.standard_normal((samples, 5))
    rows = [(s, w, o) for s in range(samples) for w, o in draws for _ in range(seeds)]
    s, w, o = np.array(rows).T
    y = 0.5 + sample[s] + wording[w] + order[o] + both[s, w] + 0.1 * of.standard_normal(len(rows))
    return pd.DataFrame({"sample": s, "wording": w, "order": o, "y": y}), y


def parts_of(data: pd.DataFrame, *factors: str, repeated: bool = False) -> Mapping[str, Part]:
    columns = {name: data[name].tolist() for name in factors}
    return variance_parts(data["y"].to_numpy(), data["sample"].tolist(), columns, repeated)


def value(estimate: object) -> float:
    found = getattr(estimate, "value", None)
    assert found is not None
    return float(found)


def test_equal_to_the_analysis_of_variance() -> None:
    """Mean squares of statsmodels, solved for the components; sums of squares are sequential."""
    n, seeds = 12, 2
    data, _ = effects(2, n, FULL, seeds)
    terms = "C(sample) + C(wording) + C(order) + C(sample):C(wording) + C(sample):C(order)"
    rows = anova_lm(ols(f"y ~ {terms}", data).fit())
    square = rows["mean_sq"].to_dict()
    rest = square["Residual"]
    single = {
        "wording": (square["C(sample):C(wording)"] - rest) / (4 * seeds),
        "order": (square["C(sample):C(order)"] - rest) / (5 * seeds),
    }
    main = {
        "wording": (square["C(wording)"] - square["C(sample):C(wording)"]) / (n * 4 * seeds),
        "order": (square["C(order)"] - square["C(sample):C(order)"]) / (n * 5 * seeds),
    }
    sample = square["C(sample)"] - square["C(sample):C(wording)"] - square["C(sample):C(order)"]
    found = parts_of(data, "wording", "order", repeated=True)
    assert list(found) == ["sample", "wording", "order", "sampling"]
    assert value(found["sampling"].variance) == pytest.approx(rest)
    assert value(found["sample"].variance) == pytest.approx((sample + rest) / (20 * seeds))
    for name in ("wording", "order"):
        assert value(found[name].main) == pytest.approx(max(0.0, main[name]), abs=1e-12)
        assert value(found[name].interaction) == pytest.approx(max(0.0, single[name]), abs=1e-12)


@table("draws, lacking", (FULL, 0.0), (SINGLE, 0.0), (FRACTION, 0.0), (FULL, 0.3), (SINGLE, 0.1))
def test_unbiased_in_all_designs(draws: Draws, lacking: float) -> None:
    """The mean over simulations is the variance, also where samples lack draws."""
    found = []
    for seed in range(40):
        data, y = effects(seed, 20, draws)
        y[np.random.default_rng(seed).random(len(y)) < lacking] = math.nan
        parts = parts_of(data.assign(y=y), "wording", "order")
        single = parts["wording"].interaction
        of_samples, rest = parts["sample"].variance, parts["rest"].variance
        found.append((value(of_samples), value(single), value(rest)))
        assert sum(value(part.share) for part in parts.values()) == pytest.approx(1)
        for part in parts.values():
            assert 0 <= (part.share.low or 0) <= (part.share.high or 0) <= 1
    away = np.mean(found, axis=0) - (0.04, 0.01, 0.01)
    assert (np.abs(away) < 4 * np.std(found, axis=0) / 40**0.5).all()


def test_what_cannot_be_told_apart() -> None:
    data, y = effects(4, 10, FULL)
    once = data[data["order"] == 0]
    alone = parts_of(once, "wording")
    assert alone["wording"].interaction is None
    assert value(alone["wording"].main) == value(alone["wording"].variance) > 0
    # The place of the right option, if each order puts it at another place.
    turned = data.assign(place=(data["order"] + data["sample"]) % 4)
    columns = {name: turned[name].tolist() for name in ("place", "order")}
    found = variance_parts(y, turned["sample"].tolist(), columns, False, nested=("order",))
    assert found["place"].interaction is not None
    assert (found["order"].variance.value, found["order"].main) == (None, None)
    # An order means something else for each sample: it has an interaction only.
    columns["wording"] = turned["wording"].tolist()
    del columns["place"]
    nested = variance_parts(y, turned["sample"].tolist(), columns, False, nested=("order",))
    assert nested["order"].main is None
    assert nested["order"].interaction == nested["order"].variance


@table("values, samples", ([], []), ([math.nan], [1]), ([1.0], [1]), ([1.0, 0.0], [1, 2]))
def test_too_little(values: list[float], samples: list[int]) -> None:
    found = variance_parts(np.array(values), samples, {"wording": [0] * len(values)}, False)
    assert [part.variance.value for part in found.values()] == [None] * 3


def test_constant_values_and_bounds() -> None:
    """All answers are right: no variance, and no shares of it. Right or wrong: at most 0.25."""
    data, y = effects(1, 10, FULL)
    found = parts_of(data.assign(y=np.ones_like(y)), "wording", "order")
    assert [part.variance.value for part in found.values()] == pytest.approx([0] * 4, abs=1e-12)
    assert all(part.share.value in (None, 0) for part in found.values())
    right = parts_of(data.assign(y=data["wording"] % 2)[data["wording"] < 2], "wording", "order")
    assert right["wording"].variance.high == 0.25


def test_intervals_of_main_effects_have_the_degrees_of_freedom_of_levels() -> None:
    """Five wordings say little about other wordings, however many samples there are."""
    data, _ = effects(3, 200, FULL)
    main = parts_of(data, "wording", "order")["wording"].main
    assert main is not None
    # 4 / chi-square(4) at 2.5% and 97.5%, expanded a little.
    assert (main.high or 0) / value(main) == pytest.approx(8.26, rel=0.15)
    assert (main.low or 0) / value(main) == pytest.approx(0.36, rel=0.15)


def test_coverage() -> None:
    """benchmarks/instability_coverage.py has all models and 400 simulations."""
    model = Model("mixed", {**MIXED, "sample": 0.09}, error=0.02)
    found = simulate(model, 60, samples=40)
    for name in PARTS:
        coverage, of_share, estimate, truth = found[name]
        # With a coverage of 0.90, 47 or fewer of 60 have a probability of 0.004.
        assert min(coverage, of_share) >= 48 / 60, name
        assert estimate == pytest.approx(truth, rel=0.4), name


def test_levels_needed() -> None:
    """As wide as the interval of as many levels, on average."""
    data, y = effects(5, 50, [(w, 0) for w in range(5)])
    parts = parts_of(data, "wording")
    mean = crossed_difference(y.reshape(50, 5)).difference
    assert mean.high is not None
    half = mean.high - value(mean)
    assert levels_needed(half * 1.001, parts, "wording", 50).levels == 5
    assert levels_needed(half * 0.999, parts, "wording", 50).levels == 6
    few = levels_needed(1e-3, parts, "wording", 50)
    assert few.levels is None
    assert few.narrowest == pytest.approx(
        2.01 * math.sqrt(value(parts["sample"].variance) / 50), 0.01
    )
    assert few.narrowest < half
    # Enough in principle, but more than anybody writes.
    assert levels_needed(few.narrowest * 1.0001, parts, "wording", 50).levels is None
    assert MOST_LEVELS >= 100
