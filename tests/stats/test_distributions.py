"""Quantiles agree with scipy and with published tables."""

from __future__ import annotations

import pytest
from scipy.special import ndtr, ndtri, stdtrit

from lmms_rpts.stats.distributions import normal_cdf, normal_quantile, t_quantile
from tests.support.tables import table


# Two-sided 95% and 99% points, from textbook tables.
@table(
    "df, p, value",
    (1, 0.975, 12.706),
    (2, 0.975, 4.303),
    (3, 0.975, 3.182),
    (10, 0.975, 2.228),
    (10, 0.995, 3.169),
    (120, 0.975, 1.980),
    (10**9, 0.975, 1.960),
    (5, 0.025, -2.571),
    (5, 0.5, 0.0),
)
def test_textbook(df: int, p: float, value: float) -> None:
    assert t_quantile(df, p) == pytest.approx(value, abs=5e-4)


@table("df", *range(1, 30), 31, 100, 415, 999, 1000, 1001, 1002, 5000, 10**5, 10**7)
def test_student(df: int) -> None:
    for p in (0.001, 0.01, 0.025, 0.3, 0.51, 0.9, 0.95, 0.975, 0.995, 0.999):
        assert t_quantile(df, p) == pytest.approx(float(stdtrit(df, p)), rel=1e-11, abs=1e-11)


def test_normal() -> None:
    for at in range(1, 1000):
        p = at / 1000
        assert normal_quantile(p) == pytest.approx(float(ndtri(p)), rel=1e-13, abs=1e-13)
        x = (at - 500) / 100
        assert normal_cdf(x) == pytest.approx(float(ndtr(x)), rel=1e-13)
