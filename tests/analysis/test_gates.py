"""Conditions on comparisons: outcomes, messages and the documents that would decide."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from lmms_rpts.analysis.comparison import Comparison, MetricDifference
from lmms_rpts.analysis.gates import gate
from lmms_rpts.base.errors import UserError


def difference(metric: str, low: Any, high: Any, middle: Any = None, **more: Any) -> Any:
    middle = (low + high) / 2 if middle is None and low is not None else middle
    found = MetricDifference(metric, 0.5, 0.5, middle, low, high, 0.02, 0.04, 100, 100)
    return replace(found, **more)


FOUND = Comparison(
    "one",
    "two",
    100,
    "documents",
    0,
    0,
    0,
    (
        difference("rpts", -0.08, -0.04),
        difference("accuracy", -0.05, 0.07),
        difference("steps", None, None, 0.0, p=None),
    ),
    (),
)


@pytest.mark.parametrize(
    ("condition", "outcome"),
    [
        ("rpts < -0.03", "failed"),
        ("rpts < -0.05", "undecided"),
        ("rpts < -0.09", "passed"),
        ("rpts > 0", "passed"),
        ("not rpts > -0.05", "undecided"),
        ("accuracy < -0.03", "undecided"),
        # Proof of non-inferiority with a margin of 0.03, and of 0.06.
        ("accuracy.low < -0.03", "failed"),
        ("accuracy.low < -0.06", "passed"),
        ("rpts.p < 0.05 and rpts.difference < 0", "failed"),
        ("rpts.p_holm < 0.03", "passed"),
        ("rpts.b < 0.6 and n >= 100 and rpts.n_both == 100", "failed"),
        ("rpts < -0.03 or accuracy < -0.03", "failed"),
        ("rpts < -0.03 and accuracy < -0.03", "undecided"),
        ("rpts < -0.09 and accuracy < -0.03", "passed"),
        ("steps.difference < 0", "passed"),
    ],
)
def test_outcomes(condition: str, outcome: str) -> None:
    assert gate(FOUND, condition).outcome == outcome


def test_how_many_documents_decide() -> None:
    # 0.12 / 2 / t(99) = 0.0302, times 10: s = 0.302; 7.849 * 0.302^2 / (0.01 + 0.03)^2 = 448
    found = gate(FOUND, "accuracy < -0.03")
    assert found.documents == 449
    assert str(found) == (
        "undecided: accuracy < -0.03; accuracy is [-0.050, +0.070]; an interval contains its "
        "margin, so the gate does not fail; about 449 documents would decide it (80% power, if "
        "B - A is as seen here)"
    )
    assert "<p>undecided: accuracy &lt; -0.03; " in found._repr_html_()
    assert gate(FOUND, "-0.03 > accuracy").documents == 449
    # The most that one of its parts needs; nothing decides about the observed difference itself.
    assert gate(FOUND, "accuracy < -0.03 and accuracy < 0").documents == 7177  # 16 times 448.6
    assert gate(FOUND, "accuracy < 0.01").documents is None
    unpaired = replace(FOUND, metrics=(difference("rpts", -0.1, 0.1, n_both=0),))
    assert gate(unpaired, "rpts < -0.03").documents is None
    # A quarter of the documents has a value: four times as many are needed.
    assert gate(replace(FOUND, documents=400), "accuracy < -0.03").documents == 1796
    assert gate(FOUND, "rpts < -0.09 and accuracy < -0.03").documents is None


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("steps < 0", "cannot be judged: there is no steps of one and two"),
        ("accuracy < 0 or steps.p < 0.05", "cannot be judged: there is no steps.p of one and two"),
        ("rpts.mean < 0", "Unknown name 'rpts.mean' in a condition."),
        ("speed < 0", "Names: rpts, accuracy, steps, n. Text needs quotes"),
    ],
)
def test_what_cannot_be_judged(condition: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        gate(FOUND, condition)
