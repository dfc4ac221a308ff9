"""Designs: their draws, and seeded orders."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.stats.designs import balanced_order, distinct_order, parse_design, rng_of
from tests.support.tables import table

FACTORS = ("wording", "order", "marks", "negated")


@table(
    "text, draws",
    ("wording=5", 5),
    ("wording=3, order=4 ,negated", 24),
    ("wording=3,order=4,negated,design=single", 7),
    ("wording=5,order=all,design=full", 20),
    ("wording=5,order=all,design=10", 10),
    ("wording=2,negated=2,design=100", 4),
)
def test_number_of_draws(text: str, draws: int) -> None:
    design = parse_design(text, FACTORS)
    found = design.draws(options=4)
    assert len(found) == draws == len({tuple(each.values()) for each in found})
    assert set(found[0].values()) == {0}
    assert all(set(each) == set(design.levels) for each in found)


@table(
    "text, said",
    ("", "varies nothing"),
    ("design=8", "varies nothing"),
    ("words=5", "'words' is unknown"),
    ("wording=5,wording=2", "wording twice"),
    ("wording=1", "2 to 100"),
    ("wording", "2 to 100"),
    ("wording=all", "2 to 100"),
    ("order=x", "2 to 100 or all"),
    ("negated=3", "2 levels"),
    ("wording=2,design=half", "full, single or a number"),
    ("wording=2,design=1", "full, single or a number"),
    ("wording=50,order=50", "2,500 draws"),
    ("wording=\N{ARABIC-INDIC DIGIT FIVE}", "2 to 100"),
)
def test_other_texts_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_design(text, FACTORS)


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.integers(2, 40))
def test_a_fraction_is_balanced(counts: list[int], wanted: int) -> None:
    text = ",".join(f"{name}={count}" for name, count in zip("abcd", counts, strict=False))
    found = parse_design(f"{text},design={wanted}", "abcd").draws()
    assert set(found[0].values()) == {0}
    for name, count in zip("abcd", counts, strict=False):
        seen = Counter(each[name] for each in found)
        rounds = len(found) // count
        assert all(rounds <= seen[level] <= rounds + 1 for level in range(count)), seen


def test_n_draws_of_factors_with_n_levels_form_latin_squares() -> None:
    found = parse_design("wording=4,order=4,marks=4,design=16", FACTORS).draws()
    for one, other in combinations(("wording", "order", "marks"), 2):
        pairs = {(each[one], each[other]) for each in found}
        assert len(pairs) == 16, (one, other)


@given(st.integers(1, 5), st.integers(0, 3))
def test_orders_are_distinct_as_far_as_they_exist(count: int, seed: int) -> None:
    possible = (1, 1, 2, 6, 24, 120)[count]
    orders = [distinct_order(count, level, seed) for level in range(min(possible, 30))]
    assert orders[0] == tuple(range(count))
    assert len(set(orders)) == len(orders)
    assert distinct_order(count, possible, seed) == orders[0]


@given(st.integers(1, 26), st.integers(0, 25), st.integers(0, 3), st.integers(0, 9))
def test_the_right_option_visits_each_place_equally_often(
    options: int, right: int, rounds: int, seed: int
) -> None:
    right %= options
    orders = [
        balanced_order(options, right, variant, seed, "set", 7)
        for variant in range(options * rounds + 1)
    ]
    assert orders[0] == list(range(options))
    assert all(sorted(order) == orders[0] for order in orders)
    visits = Counter(order.index(right) for order in orders[1:])
    assert set(visits.values()) <= {rounds}


def test_draws_depend_on_their_names_alone() -> None:
    assert rng_of(0, "a", 1).random() == rng_of(0, "a", 1).random()
    assert len({rng_of(*each).random() for each in ((0, "a", 1), (0, "a", 11), (1, "a", 1))}) == 3
