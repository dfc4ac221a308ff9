"""The growth assertion distinguishes linear, quadratic and exponential work."""

from __future__ import annotations

import re

import pytest

from tests.support.growth import assert_linear, assert_linear_in_text


def count_to(number: int) -> None:
    for _ in range(number):
        pass


def test_linear_work_passes() -> None:
    assert_linear(count_to, lambda size: 100 * size, size=100)
    assert_linear_in_text(re.compile("a*b").match, "a" * 10_000)


def test_quadratic_work_fails() -> None:
    with pytest.raises(AssertionError, match=r"32 times the input took .* times the work"):
        assert_linear(count_to, lambda size: size**2, size=20, factor=32)
    with pytest.raises(AssertionError, match="times the work"):
        assert_linear(re.compile("a*b").search, lambda size: "a" * size, size=200, factor=32)


def test_quadratic_work_passes_where_it_is_expected() -> None:
    assert_linear(count_to, lambda size: size**2, size=100, power=2)
    with pytest.raises(AssertionError, match="times the work"):
        assert_linear(count_to, lambda size: size**3, size=4, factor=32, power=2)


def test_exponential_work_fails() -> None:
    with pytest.raises(AssertionError, match="times the work"):
        assert_linear(re.compile("(a|aa)*b").match, lambda size: "a" * size, size=3)
