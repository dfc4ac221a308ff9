"""The guarded score in a comparison: counts may exceed one."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.analysis.comparison import compare_runs
from lmms_rpts.tasks.rpts_eval.runs import read_run
from tests.support.runs import STEPS, make_record, write_run


def test_counts_are_compared_beyond_one(tmp_path: Path) -> None:
    """Two chains of three steps and two of two: 2.5 and 2; the interval is not cut to [0, 1]."""
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
