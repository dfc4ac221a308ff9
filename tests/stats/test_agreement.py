"""Agreement of graders of answers with labels, by numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lmms_rpts.stats.agreement import grading_measures
from tests.support.tables import table

NAN = math.nan


@table(
    "hit, missed, alarm, passed, undecided, expected",
    # Cohen's kappa of 20, 5, 10, 15: observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5.
    (20, 5, 10, 15, 0, (0.7, 0.8, 0.6, 0.4, 0.0)),
    (1, 1, 1, 1, 4, (0.5, 0.5, 0.5, 0.0, 0.5)),
    (0, 2, 2, 0, 0, (0.0, 0.0, 0.0, -1.0, 0.0)),
    (3, 0, 0, 0, 1, (1.0, 1.0, NAN, NAN, 0.25)),
    (0, 0, 0, 0, 2, (NAN, NAN, NAN, NAN, 1.0)),
)
def test_grading_measures(
    hit: int, missed: int, alarm: int, passed: int, undecided: int, expected: tuple[float, ...]
) -> None:
    right = [True] * (hit + missed) + [False] * (alarm + passed) + [True] * undecided
    grades = [1.0] * hit + [0.0] * missed + [1.0] * alarm + [0.0] * passed + [NAN] * undecided
    found = grading_measures(np.array(right), np.array(grades))
    names = ("agreement", "sensitivity", "specificity", "kappa", "undecided")
    values = [found[name].of(np.ones((1, len(right))))[0] for name in names]
    assert values == pytest.approx(expected, nan_ok=True)
