"""Comparison of two runs: differences checked manually and against scipy, and flipped documents."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_rpts.analysis.comparison import Comparison, MetricDifference, compare_runs, parts_of
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.stats.permutation import EXACT, holm, swap_test
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, write_run
from tests.support.tables import table

NAN = math.nan


def record(doc_id: int, score: float | None, right: bool = True, **changes: Any) -> dict[str, Any]:
    """A response with two steps that both have ``score``, which is also its RPTS."""
    doc = make_doc(id=100 + doc_id, statement=f"Statement {doc_id}.") | changes
    return make_record([score, score], answer="agree" if right else "disagree", doc=doc)


def make_run(folder: Path, records: Mapping[int, Any], name: str = "a", **changes: Any) -> Run:
    write_run(folder / name, records, **changes)
    return read_run(f"{name}={folder / name}")


def scored(folder: Path, scores: Sequence[float], name: str) -> Run:
    return make_run(folder, {at: record(at, score) for at, score in enumerate(scores)}, name)


def metric(comparison: Comparison, name: str) -> MetricDifference:
    (found,) = [each for each in comparison.metrics if each.metric == name]
    return found


@pytest.fixture
def four(tmp_path: Path) -> tuple[Run, Run]:
    a = {0: record(0, 0.2), 1: record(1, 0.8), 2: record(2, 0.1, right=False), 3: record(3, 0.4)}
    b = {0: record(0, 0.8), 1: record(1, 0.4, right=False), 2: record(2, 0.3), 3: record(3, None)}
    return make_run(tmp_path, a), make_run(tmp_path, b, "b")


@table(
    "name, a, b, difference, n_both, n_either",
    ("rpts", 1.5 / 4, 1.5 / 3, 0.125, 3, 4),
    ("accuracy", 3 / 4, 3 / 4, 0, 4, 4),
    ("accuracy_rpts", 1 / 4, 1 / 3, 1 / 12, 3, 4),
    # A: documents 0, 1 and 3 are right, 0 and 3 unsound; B: documents 0 and 2 are right and judged.
    ("right_for_wrong_reason", 2 / 3, 1 / 2, -1 / 6, 1, 4),
    ("rpts_visual", 1.5 / 4, 1.5 / 3, 0.125, 3, 4),
    ("rpts_textual", None, None, None, 0, 0),
    ("parse_rate", 1, 1, 0, 4, 4),
    ("judge_coverage", 1, 3 / 4, -1 / 4, 4, 4),
)
def test_differences_by_hand(
    four: tuple[Run, Run],
    name: str,
    a: float | None,
    b: float | None,
    difference: float | None,
    n_both: int,
    n_either: int,
) -> None:
    found = metric(compare_runs(*four, resamples=100), name)
    assert (found.n_both, found.n_either) == (n_both, n_either)
    for value, expected in ((found.a, a), (found.b, b), (found.difference, difference)):
        assert value == (None if expected is None else pytest.approx(expected, abs=1e-12))
    assert (found.p is None) == (found.p_holm is None) == (difference is None)


def test_flips_by_hand_the_largest_first(four: tuple[Run, Run]) -> None:
    flips = compare_runs(*four, resamples=10).flips
    sound, unsound = "right, RPTS >= 0.5", "right for the wrong reason"
    assert [(flip.doc_id, flip.a.category, flip.b.category, flip.to_right) for flip in flips] == [
        (1, sound, "wrong", False),
        (2, "wrong", unsound, True),
        (0, unsound, sound, None),
        (3, unsound, "unscored", None),
    ]
    assert [flip.size for flip in flips] == pytest.approx([1.4, 1.2, 0.6, 0.0])
    assert (flips[0].task, flips[0].id, flips[0].statement, flips[0].gold) == (
        *("rpts_eval_en", "101", "Statement 1."),
        "agree",
    )
    assert (flips[0].a.answers, flips[0].b.answers) == (("agree",), ("disagree",))
    assert (flips[3].a.rpts, flips[3].b.rpts) == (pytest.approx(0.4), None)


def test_a_run_against_itself(four: tuple[Run, Run]) -> None:
    for run in four:
        comparison = compare_runs(run, run, resamples=200)
        assert comparison.flips == ()
        known = [each for each in comparison.metrics if each.a is not None]
        assert len(known) == 12
        for each in known:
            p = 1 if METRICS[each.metric].tested else None
            assert (each.difference, each.p, each.p_holm) == (0, p, p)
            low, high = each.low or 0.0, each.high or 0.0  # counts have none
            assert low == pytest.approx(-high)
            assert (high == 0) == (METRICS[each.metric].kind == "count")
        assert sum(each.p is not None for each in known) == 7


def test_swapping_the_runs_negates(four: tuple[Run, Run]) -> None:
    one, other = compare_runs(*four), compare_runs(*reversed(four))
    for ours, theirs in zip(one.metrics, other.metrics, strict=True):
        assert (ours.a, ours.b, ours.p, ours.p_holm) == (
            theirs.b,
            theirs.a,
            theirs.p,
            theirs.p_holm,
        )
        if ours.difference is not None:
            assert theirs.difference == pytest.approx(-ours.difference)
        if ours.low is not None and ours.high is not None:
            assert (theirs.low, theirs.high) == pytest.approx((-ours.high, -ours.low))
    assert [(flip.a, flip.b) for flip in one.flips] == [(flip.b, flip.a) for flip in other.flips]


def test_only_what_both_have_counts(tmp_path: Path) -> None:
    a = make_run(
        tmp_path, {0: record(0, 0.2), 1: record(1, 0.4), 2: record(2, 1.0), 5: record(5, 0)}
    )
    b = make_run(tmp_path, {1: record(1, 0.6), 0: record(0, 0.6), 9: record(9, 0.0)}, "b")
    comparison = compare_runs(a, b, resamples=10)
    assert (comparison.documents, comparison.only_a, comparison.only_b) == (2, 2, 1)
    found = metric(comparison, "rpts")
    assert (found.a, found.b, found.difference) == pytest.approx((0.3, 0.6, 0.3))
    assert {flip.doc_id for flip in comparison.flips} == {0, 1}


def test_languages_of_one_run_are_paired_by_instance(tmp_path: Path) -> None:
    """English 0.2, 0.8, 0.5; Chinese, in another order, 0.6 and 0.4; the third is only in one."""
    for language, scores in (("en", {1: 0.2, 2: 0.8, 3: 0.5}), ("zh", {2: 0.4, 1: 0.6})):
        records = {
            at: record(number, score, language=language)
            for at, (number, score) in enumerate(scores.items())
        }
        write_run(tmp_path, records, task=f"rpts_eval_{language}")
    run = read_run(tmp_path)
    for by in ("language", "language=en,zh", "task"):
        comparison = compare_runs(*parts_of(run, by), resamples=10)
        sides = comparison.label_a[-2:], comparison.label_b[-2:]
        assert (comparison.paired, sides) == ("instances", ("en", "zh"))
        assert (comparison.documents, comparison.only_a, comparison.changed) == (2, 1, 0)
        found = metric(comparison, "rpts")
        assert (found.a, found.b, found.difference) == pytest.approx((0.5, 0.5, 0.0), abs=1e-12)
        flips = {flip.id: (flip.a.rpts, flip.b.rpts) for flip in comparison.flips}
        assert flips == {"101": pytest.approx((0.2, 0.6)), "102": pytest.approx((0.8, 0.4))}
    for by, message in (
        ("relation", "'relation' does not give two parts; values of relation: none"),
        ("language=en", "values of language: en, zh. Choose two of them: language=A,B"),
        ("colour", "Unknown field 'colour'; fields: task, language, relation, ability"),
    ):
        with pytest.raises(RunError, match=message):
            parts_of(run, by)


def test_several_responses_count_by_their_means(tmp_path: Path) -> None:
    a = {0: [record(0, 0.9), record(0, 0.3, right=False)], 1: [record(1, 0.8)] * 2}
    b = {0: record(0, 0.6, right=False), 1: record(1, 0.8)}
    comparison = compare_runs(make_run(tmp_path, a), make_run(tmp_path, b, "b"), resamples=10)
    (flip,) = comparison.flips
    assert flip.a.answers == ("agree", "disagree")
    assert (flip.a.category, flip.a.rpts) == ("right, RPTS >= 0.5", pytest.approx(0.6))
    assert (flip.b.category, flip.to_right) == ("wrong", False)
    assert flip.size == pytest.approx(0.5)
    assert metric(comparison, "accuracy").a == 0.75


def test_answers_flip_where_nothing_was_judged(tmp_path: Path) -> None:
    a = make_run(tmp_path, {0: record(0, None), 1: record(1, None)})
    b = make_run(tmp_path, {0: record(0, None, right=False), 1: record(1, None)}, "b")
    comparison = compare_runs(a, b, resamples=10)
    (flip,) = comparison.flips
    assert (flip.doc_id, flip.to_right, flip.size) == (0, False, 1.0)
    assert (flip.a.category, flip.b.category) == ("unscored", "unscored")
    assert metric(comparison, "rpts") == MetricDifference("rpts", *[None] * 7, n_both=0, n_either=0)


def test_a_single_value_has_no_interval(tmp_path: Path) -> None:
    a = make_run(tmp_path, {0: record(0, 0.2), 1: record(1, None)})
    b = make_run(tmp_path, {0: record(0, 0.4), 1: record(1, 0.6)}, "b")
    comparison = compare_runs(a, b, resamples=50)
    found = metric(comparison, "rpts")
    assert found.difference == pytest.approx(0.3)
    assert (found.low, found.high) == (None, None)
    assert metric(comparison, "judge_coverage").low == 0


@table("size, expected", (10, -0.2), (10, 0.0), (40, -0.2))
def test_equal_differences_have_an_interval(tmp_path: Path, size: int, expected: float) -> None:
    # (d + 1) / 2 = c is a mean of equal scores: its limits are c (n - t) / (n + 1) and likewise
    # from 1.
    first = [0.8] * size
    a = scored(tmp_path, first, "a")
    b = scored(tmp_path, [each + expected for each in first], "b")
    found = metric(compare_runs(a, b, resamples=50), "rpts")
    c, t = (expected + 1) / 2, float(stats.t.ppf(0.975, size))
    factor = (size - t) / (size + 1)
    assert found.low == pytest.approx(2 * c * factor - 1)
    assert found.high == pytest.approx(1 - 2 * (1 - c) * factor)
    assert metric(compare_runs(a, b, resamples=50), "steps").low is None


def test_intervals_are_those_of_scipy(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    first = generator.random(40) * 0.8
    # Close to the first: if documents were not paired, the interval would be far wider.
    second = first + generator.random(40) * 0.2
    found = metric(
        compare_runs(scored(tmp_path, first, "a"), scored(tmp_path, second, "b")), "rpts"
    )
    expected = stats.bootstrap(
        (first, second),
        lambda x, y, axis: y.mean(axis=axis) - x.mean(axis=axis),
        n_resamples=10_000,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(7),
    )
    # The standard error of such a quantile is 0.027 of the mean's; both sides are estimated here.
    margin = 4 * math.sqrt(2) * 0.027 * expected.standard_error
    assert found.low == pytest.approx(expected.confidence_interval.low, abs=margin)
    assert found.high == pytest.approx(expected.confidence_interval.high, abs=margin)
    assert found.difference == pytest.approx((second - first).mean())


def by_scipy(first: Sequence[float], second: Sequence[float]) -> float:
    found = stats.permutation_test(
        (np.array(first), np.array(second)),
        lambda x, y, axis: y.mean(axis=axis) - x.mean(axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=math.inf,
    )
    return float(found.pvalue)


@table("seed", *range(20))
@table("scale", 3, 10, 10**6)
def test_p_values_are_those_of_scipy(seed: int, scale: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = generator.integers(0, scale, (2, 2 + seed // 2)) / scale
    assert swap_test(first, second) == pytest.approx(by_scipy(first, second))


def by_hand(first: Sequence[float], second: Sequence[float]) -> float | None:
    """All swaps of all pairs, one by one; divides by standard errors where values are missing."""
    pairs = list(zip(first, second, strict=True))
    studentised = any(math.isnan(a) != math.isnan(b) for a, b in pairs)

    def measured(pairs: Sequence[tuple[float, float]]) -> float | None:
        sides = [np.array(side) for side in zip(*pairs, strict=True)]
        if any(np.isnan(side).all() for side in sides):
            return None
        means = [float(np.nanmean(side)) for side in sides]
        gap = means[1] - means[0]
        if not studentised or abs(gap) <= 1e-9:
            return gap
        parts = [
            np.nan_to_num(side - mean) / (~np.isnan(side)).sum()
            for side, mean in zip(sides, means, strict=True)
        ]
        error = math.sqrt(((parts[1] - parts[0]) ** 2).sum())
        return gap / error if error > 1e-9 else math.copysign(math.inf, gap)

    observed = measured(pairs)
    if observed is None:
        return None
    found = [
        measured([(y, x) if swap else (x, y) for (x, y), swap in zip(pairs, swaps, strict=True)])
        for swaps in product((False, True), repeat=len(pairs))
    ]
    there = [each for each in found if each is not None]
    return sum(abs(each) >= abs(observed) - 1e-9 for each in there) / len(there)


values = st.sampled_from([NAN, 0.0, 0.1, 0.2, 0.3, 0.7, 1.0]) | st.floats(0, 1)


@given(st.lists(st.tuples(values, values), min_size=1, max_size=7))
def test_values_move_with_their_nan(pairs: list[tuple[float, float]]) -> None:
    first, second = np.array(pairs).T
    expected = by_hand(first.tolist(), second.tolist())
    found = swap_test(first, second)
    assert found == (None if expected is None else pytest.approx(expected))
    assert swap_test(second, first) == found


@table(
    "first, second, p",
    # B - A: 1/2; after swapping the second pair -1/3, the third 1/3, both -1/2.
    ([1, 0, NAN], [1, 1, 1], 2 / 4),
    # 3/4, also after swapping the third; -3/4 after swapping the first two or all; 0 after swapping
    # the second, or the first and third; the other two swaps leave one side empty.
    ([0, NAN, NAN], [NAN, 1, 0.5], 4 / 6),
    ([NAN, NAN], [NAN, 1], None),
)
def test_ratios_by_hand(first: list[float], second: list[float], p: float | None) -> None:
    expected = None if p is None else pytest.approx(p)
    assert swap_test(np.array(first, float), np.array(second, float)) == expected


def test_only_pairs_that_differ_need_swapping() -> None:
    first, second = np.zeros(500), np.zeros(500)
    second[[3, 50, 499]] = 1.0
    assert swap_test(first, second) == 2 / 8
    assert swap_test(first, second, permutations=0) == 2 / 8


def test_ties_are_not_lost_to_rounding() -> None:
    # The gains are 0.1 and 0.2: two of the four swaps have the same sum, except for the last bit.
    assert swap_test(np.array([0, 0, 0.1]), np.array([0, 0.1, 0.3])) == 2 / 4


def test_random_swaps_where_there_are_too_many() -> None:
    n = EXACT + 1
    generator = np.random.default_rng(11)
    first = generator.random(n)
    second = first + generator.normal(0.2, 0.3, n)
    exact = by_scipy(first, second)
    assert 0.02 < exact < 0.6
    found = swap_test(first, second)
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 10_000))
    assert found == swap_test(first, second)
    first[[2, 5]] = NAN
    second[[5, 7, 8]] = NAN
    gappy = by_hand(first.tolist(), second.tolist())
    assert gappy is not None
    assert swap_test(first, second) == pytest.approx(gappy, abs=0.02)


@table("permutations, p", (99, 1 / 100), (10_000, 1 / 10_001))
def test_a_random_p_is_never_zero(permutations: int, p: float) -> None:
    assert swap_test(np.zeros(60), np.ones(60), permutations) == p
    both = np.full(60, NAN)
    assert swap_test(both, np.ones(60), permutations) is None


@table(
    "p_values, adjusted",
    ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
    ([0.01, None, 0.6, 0.7], [0.03, None, 1.0, 1.0]),
    ([0.02], [0.02]),
    ([None], [None]),
    ([], []),
)
def test_holm_by_hand(p_values: list[float | None], adjusted: list[float | None]) -> None:
    found = holm(p_values)
    assert [each if each is None else round(each, 12) for each in found] == adjusted


def test_the_frame_holds_what_the_metrics_do(four: tuple[Run, Run]) -> None:
    comparison = compare_runs(*four, resamples=50)
    frame = comparison.frame().set_index("metric")
    assert set(frame["run_a"]) == {"a"}
    assert set(frame["run_b"]) == {"b"}
    assert frame.loc["rpts", "difference"] == metric(comparison, "rpts").difference
    assert frame["n_either"].tolist() == [each.n_either for each in comparison.metrics]
    assert math.isnan(frame.loc["rpts_textual", "p_holm"])


def test_runs_without_a_document_in_common_are_refused(tmp_path: Path) -> None:
    a = make_run(tmp_path, {0: record(0, 0.5)})
    b = make_run(tmp_path, {0: record(0, 0.5)}, "b", task="other")
    with pytest.raises(RunError, match=r"'a' \(rpts_eval_en\) and 'b' \(other\) share no"):
        compare_runs(a, b)


@table("change", {"id": 3}, {"statement": "Another \x1b[31mquestion."})
def test_other_documents_under_the_same_number_are_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    a = make_run(tmp_path, {0: record(0, 0.5), 1: record(1, 0.5)})
    b = make_run(tmp_path, {0: record(0, 0.5), 1: record(1, 0.5, **change)}, "b")
    with pytest.raises(
        RunError, match="Document 1 of rpts_eval_en differs between the runs"
    ) as error:
        compare_runs(a, b)
    assert "\x1b" not in str(error.value)


def test_changed_data_are_counted(tmp_path: Path) -> None:
    a = make_run(tmp_path, {at: record(at, 0.5) for at in range(4)})
    changes: list[dict[str, Any]] = [{}, {"answer": "disagree"}, {"context": "Else."}, {}]
    changed = {at: record(at, 0.5, **change) for at, change in enumerate(changes)}
    b = make_run(tmp_path, changed, "b")
    assert compare_runs(a, b, resamples=10).changed == 2
    assert compare_runs(a, a, resamples=10).changed == 0


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
