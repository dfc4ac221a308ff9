"""What the guarded score adds to a comparison: its own tests, and counts beyond one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_rpts.analysis.comparison import _adjusted, compare_runs
from lmms_rpts.tasks.rpts_eval.results import METRICS
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support.runs import STEPS, make_record, write_run


def test_descriptions_do_not_weaken_the_tests_of_scores() -> None:
    """By hand: Holm's factors are the number of tests of the own group, then one less each."""
    places = {name: at for at, name in enumerate(METRICS)}
    p_values: list[float | None] = [None] * len(METRICS)
    given = {"rpts": 0.01, "accuracy": 0.04, "rpts_guarded": 0.02, "steps": 0.03}
    for name, p in given.items():
        p_values[places[name]] = p
    found = _adjusted(p_values)
    expected = {"rpts": 0.03, "accuracy": 0.04, "rpts_guarded": 0.04, "steps": 0.03}
    assert {name: found[places[name]] for name in given} == pytest.approx(expected)
    assert [each for at, each in enumerate(found) if p_values[at] is None] == [None] * 13


def test_counts_are_compared_beyond_one(tmp_path: Path) -> None:
    """Two chains of three steps and two of two: 2.5 and 2, and the interval leaves [0, 1]."""
    long = (*STEPS[:1], "Text0 -> It shuts at eight.", "Conclusion0 + Conclusion1 -> Closed.")
    a = {at: make_record([1.0] * 3, steps=long) for at in range(2)}
    a |= {at: make_record([1.0] * 2) for at in range(2, 4)}
    b = {at: make_record([1.0] * 2) for at in range(4)}
    runs = [read_run(write_run(tmp_path / name, records)) for name, records in (("a", a), ("b", b))]
    comparison = compare_runs(runs[0], runs[1], resamples=200)
    (found,) = [each for each in comparison.metrics if each.metric == "steps"]
    assert (found.a, found.b, found.difference) == (2.5, 2.0, -0.5)
    assert found.low is not None
    assert found.low <= -0.5
    assert found.p == 0.5
