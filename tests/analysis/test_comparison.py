"""Comparison of two runs: differences by hand and against scipy."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from lmms_rpts.analysis.comparison import Comparison, adjust_together, compare_runs, parts_of
from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.runs.run import Run
from lmms_rpts.stats.permutation import EXACT, holm, swap_test
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table

NAN = math.nan


def record(doc_id: int, score: float | None, right: bool = True, **changes: Any) -> dict[str, Any]:
    """A response with two steps that both have ``score``, which is also its RPTS."""
    doc = make_doc(id=100 + doc_id, statement=f"Statement {doc_id}.") | changes
    return make_record([score, score], answer="agree" if right else "disagree", doc=doc)


def make_run(folder: Path, records: Mapping[int, Any], name: str = "a", **changes: Any) -> Run:
    write_run(folder / name, records, **changes)
    (run,) = read_runs(f"{name}={folder / name}")
    return run


def scored(folder: Path, scores: Sequence[float], name: str) -> Run:
    return make_run(folder, {at: record(at, score) for at, score in enumerate(scores)}, name)


def metric(comparison: Comparison, name: str) -> Any:
    (row,) = comparison.table[comparison.table["metric"] == name].itertuples()
    return row


@pytest.fixture
def four(tmp_path: Path) -> tuple[Run, Run]:
    a = {0: record(0, 0.2), 1: record(1, 0.8), 2: record(2, 0.1, right=False), 3: record(3, 0.4)}
    b = {0: record(0, 0.8), 1: record(1, 0.4, right=False), 2: record(2, 0.3), 3: record(3, None)}
    return make_run(tmp_path, a), make_run(tmp_path, b, "b")


@table(
    "name, a, b, n, coverage_a, coverage_b",
    ("rpts", 1.1 / 3, 1.5 / 3, 3, 1.0, 0.75),  # document 3 has no RPTS in B
    ("accuracy", 3 / 4, 3 / 4, 4, 1.0, 1.0),
    ("accuracy_rpts", 1 / 3, 1 / 3, 3, 1.0, 0.75),
    # Both answers are right and judged in document 0 alone.
    ("right_for_wrong_reason", 1.0, 0.0, 1, 0.75, 0.5),
    ("rpts_textual", NAN, NAN, 0, 0.0, 0.0),
    ("judge_coverage", 1.0, 3 / 4, 4, 1.0, 1.0),
)
def test_differences_by_hand(
    four: tuple[Run, Run],
    name: str,
    a: float,
    b: float,
    n: int,
    coverage_a: float,
    coverage_b: float,
) -> None:
    row = metric(compare_runs(*four), name)
    assert (row.a, row.b) == pytest.approx((a, b), nan_ok=True)
    assert (row.n, row.coverage_a, row.coverage_b) == (n, coverage_a, coverage_b)
    if n:
        assert row.difference.value == pytest.approx(b - a)
    tested = name in ("rpts", "accuracy", "right_for_wrong_reason")
    assert math.isnan(row.p) == math.isnan(row.p_holm) == (not tested)


def test_a_half_judged_copy_of_a_run_is_equal_to_it(tmp_path: Path) -> None:
    """A run whose judging stopped half-way: equal on every document that both have scored."""
    scores = [0.9, 0.1, 0.8, 0.2, 1.0, 0.0]
    whole = scored(tmp_path, scores, "a")
    records = {at: record(at, score if at < 3 else None) for at, score in enumerate(scores)}
    samples = write_run(tmp_path / "b", records)
    results = samples.with_name(samples.name.partition("_samples_")[0] + "_results.json")
    usage = {"judges": {"stopped": "no credit"}}
    results.write_text(json.dumps(json.loads(results.read_text()) | {"usage": usage}))
    (half,) = read_runs(tmp_path / "b")
    comparison = compare_runs(whole, half)
    row = metric(comparison, "rpts")
    assert (row.difference.value, row.difference.low, row.p, row.n) == (0, None, 1, 3)
    assert (row.coverage_a, row.coverage_b) == (1.0, 0.5)
    assert "B: judging stopped before its end (no credit)" in comparison.warnings[0]


def test_swapping_the_runs_negates(four: tuple[Run, Run]) -> None:
    one, other = compare_runs(*four).table, compare_runs(*reversed(four)).table
    for ours, theirs in zip(one.itertuples(), other.itertuples(), strict=True):
        assert (ours.a, ours.b, ours.p, ours.p_holm) == pytest.approx(
            (theirs.b, theirs.a, theirs.p, theirs.p_holm), nan_ok=True
        )
        if ours.difference.low is not None:
            assert theirs.difference.high == pytest.approx(-ours.difference.low)


def test_several_responses_count_by_their_means(tmp_path: Path) -> None:
    a = {0: [record(0, 0.9), record(0, 0.3, right=False)], 1: [record(1, 0.8)] * 2}
    b = {0: record(0, 0.6, right=False), 1: record(1, 0.8), 9: record(9, 0.0)}
    comparison = compare_runs(make_run(tmp_path, a), make_run(tmp_path, b, "b"))
    assert (comparison.documents, comparison.only_a, comparison.only_b) == (2, 0, 1)
    assert metric(comparison, "accuracy").a == 0.75


def test_languages_of_one_run_are_paired_by_instance(tmp_path: Path) -> None:
    """English 0.2, 0.8, 0.5; Chinese, in another order, 0.6 and 0.4; the third is only in one."""
    for language, scores in (("en", {1: 0.2, 2: 0.8, 3: 0.5}), ("zh", {2: 0.4, 1: 0.6})):
        records = {
            at: record(number, score, language=language)
            for at, (number, score) in enumerate(scores.items())
        }
        write_run(tmp_path, records, task=f"rpts_eval_{language}")
    (run,) = read_runs(tmp_path)
    for by in ("language", "language=en,zh", "task"):
        comparison = compare_runs(*parts_of(run, by))
        assert (comparison.label_a[-2:], comparison.label_b[-2:]) == ("en", "zh")
        assert comparison.shared == "2 shared instances, 1 only in A, 0 only in B"
        row = metric(comparison, "rpts")
        assert (row.a, row.b) == pytest.approx((0.5, 0.5))
    for by, message in (
        ("relation", "'relation' does not give two parts; values of relation: none"),
        ("language=en", "values of language: en, zh. Choose two of them: language=A,B"),
        ("colour", "Unknown column 'colour' for --by; columns: task, language, relation, abil"),
    ):
        with pytest.raises(ValueError, match=message):
            parts_of(run, by)


def test_data_that_changed(tmp_path: Path) -> None:
    a = make_run(tmp_path, {0: record(0, 0.5)})
    other = make_run(tmp_path, {0: record(0, 0.5, answer="disagree")}, "b")
    assert "the data changed between the runs: 1 of 1" in compare_runs(a, other).warnings[-1]
    with pytest.raises(ValueError, match="Document 0 of rpts_eval_en differs between the runs"):
        compare_runs(a, make_run(tmp_path, {0: record(0, 0.5, statement="Another.")}, "c"))
    with pytest.raises(ValueError, match="share no document or instance"):
        compare_runs(a, make_run(tmp_path, {1: record(1, 0.5)}, "d"))


@table("size, expected", (10, -0.2), (40, -0.2))
def test_equal_differences_have_an_interval(tmp_path: Path, size: int, expected: float) -> None:
    # (d + 1) / 2 = c is a mean of equal scores: its limits are c (n - t) / (n + 1) and likewise
    # from 1.
    a = scored(tmp_path, [0.8] * size, "a")
    b = scored(tmp_path, [0.8 + expected] * size, "b")
    difference = metric(compare_runs(a, b), "rpts").difference
    c, t = (expected + 1) / 2, float(stats.t.ppf(0.975, size))
    factor = (size - t) / (size + 1)
    assert difference.low == pytest.approx(2 * c * factor - 1)
    assert difference.high == pytest.approx(1 - 2 * (1 - c) * factor)


def test_intervals_are_those_of_scipy(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    first = generator.random(40) * 0.8
    # Close to the first: if documents were not paired, the interval would be far wider.
    second = first + generator.random(40) * 0.2
    a, b = scored(tmp_path, list(first), "a"), scored(tmp_path, list(second), "b")
    difference = metric(compare_runs(a, b), "rpts").difference
    expected = stats.bootstrap(
        (second - first,), np.mean, n_resamples=10_000, method="percentile", rng=generator
    )
    # The standard error of such a quantile is 0.027 of the mean's; both sides are estimated here.
    margin = 4 * math.sqrt(2) * 0.027 * expected.standard_error
    assert difference.low == pytest.approx(expected.confidence_interval.low, abs=margin)
    assert difference.high == pytest.approx(expected.confidence_interval.high, abs=margin)


# --- the permutation test


def by_scipy(first: Any, second: Any) -> float:
    test = stats.permutation_test(
        (np.array(first), np.array(second)),
        lambda x, y, axis: y.mean(axis=axis) - x.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=math.inf,
    )
    return float(test.pvalue)


@table("seed", *range(10))
@table("scale", 3, 10, 10**6)
def test_p_values_are_those_of_scipy(seed: int, scale: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, scale, (2, 2 + seed)) / scale
    assert swap_test(first, second) == pytest.approx(by_scipy(first, second))


def test_clusters_are_swapped_as_a_whole() -> None:
    # Gains of two clusters: 0.5 + 0.5 and 0.5; all four swaps but the observed one and its mirror
    # are smaller.
    first, second = np.zeros(3), np.full(3, 0.5)
    assert swap_test(first, second, np.array([0, 0, 1])) == 2 / 4
    assert swap_test(first, second) == 2 / 8
    assert math.isnan(swap_test(first[:0], second[:0]))


def test_only_pairs_that_differ_need_swapping_and_ties_are_not_lost_to_rounding() -> None:
    first, second = np.zeros(500), np.zeros(500)
    second[[3, 50, 499]] = 1.0
    assert swap_test(first, second) == 2 / 8
    # The gains are 0.1 and 0.2: two of the four swaps have the same sum, except for the last bit.
    assert swap_test(np.array([0, 0, 0.1]), np.array([0, 0.1, 0.3])) == 2 / 4


def test_random_swaps_where_there_are_too_many() -> None:
    n = EXACT + 1
    generator = np.random.default_rng(11)
    first = generator.random(n)
    second = first + generator.normal(0.2, 0.3, n)
    exact = by_scipy(first, second)
    p = swap_test(first, second)
    assert p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 10_000))
    assert p == swap_test(first, second)


def test_holm_by_hand(four: tuple[Run, Run]) -> None:
    # 3 x 0.01; 2 x 0.02 = 0.04; 0.03, but not below the one before.
    adjusted = [0.03, NAN, 0.04, 0.04]
    assert holm(np.array([0.01, NAN, 0.03, 0.02])) == pytest.approx(adjusted, nan_ok=True)
    alone = compare_runs(*four)
    both = adjust_together([alone, alone])
    tested = alone.table["p"].notna().sum()
    assert (both[0].table["p_holm"] >= alone.table["p_holm"])[alone.table["p"].notna()].all()
    assert tested == 3
