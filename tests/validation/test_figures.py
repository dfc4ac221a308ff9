"""Labelled chains as arrays."""

from __future__ import annotations

import numpy as np

from lmms_rpts.validation.figures import half_of, scored_steps
from tests.support.labelled import judged
from tests.support.tables import table

CHAINS = [
    judged("+.-", 0.9, 0.1, None, question="q", stratum="s"),
    judged("++-", 0.3, 0.2, 0.1, question="r", stratum="s", places=(0, 1, 1), path=(0, 2)),
    judged("++", 1, 0, question="q", stratum="t", inherited=frozenset({1})),
    judged("-", 0.5, question="r", stratum="t", located=False),
]


def test_arrays() -> None:
    found = scored_steps([each.chain for each in CHAINS], [each.scores for each in CHAINS])
    expected = {
        "sound": [True, False, True, True, False, True, True, False],
        "score": [0.9, np.nan, 0.3, 0.2, 0.1, 1, 0, 0.5],
        "chain": [0, 0, 1, 1, 1, 2, 2, 3],
        "place": [0, 2, 0, 1, 1, 0, 1, 0],
        "on_path": [True, True, True, False, True, True, True, True],
        "inherited": [False] * 6 + [True, False],
        "question": [0, 1, 0, 1],
        "stratum": [0, 0, 1, 1],
        "half": [half_of("q"), half_of("r"), half_of("q"), half_of("r")],
        "first_error": [2, 1, np.inf, np.nan],
    }
    for name, values in expected.items():
        np.testing.assert_equal(getattr(found, name), values, err_msg=name)


@table(
    "labels, fields",
    ("+..", {"first_error": 1}),
    ("+-+", {"first_error": 1, "places": (0, 1, 1), "path": (0, 2)}),
    ("+-", {"located": False}),
)
def test_an_error_at_no_asked_step_of_the_chain_is_not_located(
    labels: str, fields: dict[str, object]
) -> None:
    each = judged(labels, *[0.5] * len(labels), **fields)
    assert np.isnan(scored_steps([each.chain], [each.scores]).first_error).all()


def test_scores_that_differ_in_the_last_bit_are_ties() -> None:
    each = judged("++", 0.1 + 0.2, 0.3)
    one, two = scored_steps([each.chain], [each.scores]).score
    assert one == two == 0.3


def test_halves_are_those_of_the_name_and_about_as_large() -> None:
    assert [half_of(name) for name in ("q", "r", "s", "", "\ud800", "题")] == [0, 1, 0, 1, 1, 1]
    assert 450 < sum(half_of(f"question {at}") for at in range(1000)) < 550
