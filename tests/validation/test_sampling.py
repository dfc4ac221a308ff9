"""Sampling of chains: stratified, stable, the same for every judge."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.validation.chains import LabelledChain, draw
from tests.support.tables import table


def chain(number: int, stratum: str, wrong: bool) -> LabelledChain:
    return LabelledChain(f"{stratum}-{number}", f"q{number}", stratum, "c", ("x",), (not wrong,))


SET = [chain(at, "ab"[at % 5 == 0], at % 3 == 0) for at in range(300)]


@table("limit", None, 300, 301, 10_000)
def test_a_limit_beyond_the_set_takes_all(limit: int | None) -> None:
    assert draw(SET, limit, 0) == SET


@table("limit", 1, 7, 100, 299)
def test_strata_keep_their_shares(limit: int) -> None:
    drawn = draw(SET, limit, 0)
    assert len(drawn) == limit
    assert drawn == [each for each in SET if each in drawn]  # in order, without duplicates
    whole = Counter((each.stratum, each.has_error) for each in SET)
    got = Counter((each.stratum, each.has_error) for each in drawn)
    for stratum, count in whole.items():
        assert abs(got[stratum] - count * limit / len(SET)) < 1


def test_the_draw_depends_on_the_seed_alone() -> None:
    drawn = draw(SET, 50, 0)
    assert draw(SET, 50, 0) == drawn
    assert set(draw(SET[::-1], 50, 0)) == set(drawn)
    assert set(draw(SET, 50, 1)) != set(drawn)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=40), st.integers(1, 50))
def test_any_set_gives_as_many_as_asked(kinds: list[tuple[str, bool]], limit: int) -> None:
    chains = [chain(at, *kind) for at, kind in enumerate(kinds)]
    assert len(draw(chains, limit, 3)) == min(limit, len(chains))
