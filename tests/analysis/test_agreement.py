"""Agreement of step scores: formulas against reference code, matching of steps, hostile CSV."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_rpts.analysis.dataframes import steps_frame
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from lmms_rpts.analysis.agreement import (
    Agreement,
    GroupAgreement,
    agreement_of_judges,
    agreement_with_humans,
)
from lmms_rpts.analysis.ratings import Ratings, read_ratings
from lmms_rpts.analysis.reading import read_run
from lmms_rpts.runs.reading import RunError
from lmms_rpts.runs.run import Run
from lmms_rpts.stats.agreement import (
    STATISTICS,
    estimate_groups,
    krippendorff_alpha,
    reliability_of,
    statistics_of,
)
from lmms_rpts.stats.intervals import interval, resampled
from tests.support.instances import make_doc
from tests.support.runs import STEPS, make_record, write_run
from tests.support.tables import table

# Except warnings about objects of earlier tests, which may be collected at any time.
pytestmark = pytest.mark.filterwarnings(
    "error", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)

HUNDREDTHS = st.integers(0, 100).map(lambda each: each / 100)
TWENTIETHS = st.integers(0, 20).map(lambda each: each / 20)  # half of them between levels


def by_others(scores: Sequence[float], others: Sequence[float]) -> list[float]:
    """The statistics computed with numpy, scipy and scikit-learn."""
    levels = [
        [int(Decimal(str(each)).quantize(Decimal("0.1"), ROUND_HALF_EVEN) * 10) for each in values]
        for values in (scores, others)
    ]
    gaps = np.subtract(scores, others)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rho = spearmanr(scores, others).statistic if len(scores) > 1 else math.nan
        kappa = cohen_kappa_score(*levels, labels=list(range(11)), weights="quadratic")
    if len(scores) < 2:
        kappa = math.nan
    return [np.abs(gaps).mean(), rho, kappa, gaps.mean()]


@given(st.lists(st.tuples(TWENTIETHS, TWENTIETHS) | st.tuples(HUNDREDTHS, HUNDREDTHS), min_size=1))
@settings(deadline=None, max_examples=100)
def test_the_statistics_are_those_of_scipy_and_sklearn(pairs: list[tuple[float, float]]) -> None:
    scores, others = np.array(pairs).T
    (found,) = statistics_of(scores, others, np.ones((1, len(pairs))))
    assert found == pytest.approx(by_others(scores, others), abs=1e-12, nan_ok=True)


@given(st.lists(st.tuples(TWENTIETHS, TWENTIETHS, st.integers(0, 3)), min_size=1, max_size=12))
@settings(deadline=None, max_examples=100)
def test_a_weight_counts_like_copies(rows: list[tuple[float, float, int]]) -> None:
    scores, others, weights = np.array(rows).T
    (found,) = statistics_of(scores, others, weights[None, :])
    copies = np.repeat(scores, weights.astype(int)), np.repeat(others, weights.astype(int))
    if not len(copies[0]):
        assert np.isnan(found).all()
        return
    assert found == pytest.approx(by_others(*copies), abs=1e-12, nan_ok=True)


def test_worked_by_hand() -> None:
    scores, others = np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 1.0])
    (found,) = statistics_of(scores, others, np.ones((1, 3)))
    # Ranks 1 2 3 and 1.5 1.5 3: r = 1.5 / sqrt(2 * 1.5). Levels 0 5 10 and 5 5 10: observed squares
    # 25; expected (3 * (125 + 150) - 2 * 15 * 20) / 3 = 75.
    assert dict(zip(STATISTICS, found, strict=True)) == pytest.approx(
        {"mae": 1 / 6, "spearman": 1.5 / math.sqrt(3), "kappa": 1 - 25 / 75, "bias": -1 / 6}
    )


def test_scores_that_differ_in_the_last_bit_are_ties() -> None:
    scores, others = np.array([0.1 + 0.2, 0.3, 0.9]), np.array([0.4, 0.4, 0.5])
    (found,) = statistics_of(scores, others, np.ones((1, 3)))
    assert found[1] == 1.0


def test_intervals_are_those_of_a_slow_loop() -> None:
    generator = np.random.default_rng(5)
    documents = np.array([0, 0, 0, 1, 2, 2, 3, 3, 4, 4, 4, 5])
    scores, others = generator.integers(0, 11, (2, 12)) / 10
    groups = [np.arange(12), np.array([0, 3, 4, 8]), np.array([1, 2]), np.array([], dtype=int)]
    found = estimate_groups(scores, others, documents, groups, 80)
    (weights,) = resampled(6, 80)
    for estimates, own in zip(found, groups, strict=True):
        drawn = []
        for row in weights.astype(int):
            chosen = [step for step in own for _ in range(row[documents[step]])]
            if chosen:
                drawn.append(by_others(scores[chosen], others[chosen]))
        several = len(set(documents[own])) > 1
        for at, name in enumerate(STATISTICS):
            estimate = estimates[name]
            if not several:
                assert (estimate.low, estimate.high) == (None, None)
                continue
            wanted = interval(np.array(drawn)[:, at], len(set(documents[own])))
            assert (estimate.low, estimate.high) == pytest.approx(wanted, abs=1e-12)
    assert [each["mae"].n for each in found] == [6, 4, 1, 0]
    assert found[3]["mae"].value is None
    assert found[2]["mae"].value is not None


def test_alpha_is_that_of_the_published_example() -> None:
    # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section E: 0.849.
    observers = (
        *("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3"),
        *(". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 ."),
    )
    units = zip(*(line.split() for line in observers), strict=True)
    values = [[float(each) for each in unit if each != "."] for unit in units]
    assert krippendorff_alpha(values) == pytest.approx(0.849, abs=5e-4)


def test_alpha_worked_by_hand() -> None:
    # Values 0 0 | 0 1 | 1 1: observed 2/6; expected 18 of 30 ordered pairs differ.
    assert krippendorff_alpha([[0, 0], [0, 1], [1, 1], [0.5]]) == pytest.approx(
        1 - (2 / 6) * 30 / 18
    )
    assert krippendorff_alpha([[0, 1], [1, 0]]) == pytest.approx(1 - 1 * 12 / 8)
    assert krippendorff_alpha([[0.3, 0.3], [0.3, 0.3, 0.3]]) is None
    assert krippendorff_alpha([[0.3], [0.4]]) is None
    assert krippendorff_alpha([]) is None


def test_raters_are_compared_in_pairs() -> None:
    found = reliability_of(
        [{"ann": 0.0, "bob": 0.2}, {"ann": 1.0, "bob": 0.6}, {"bob": 0.5, "cy": 0.9}, {"dee": 0.1}]
    )
    assert found is not None
    assert found.mae == pytest.approx((0.3 + 0.4) / 2)
    assert (found.raters, found.steps) == (3, 3)
    assert reliability_of([{"ann": 0.1}, {"bob": 0.2}]) is None


# --- human ratings -------------------------------------------------------------------------------


def run_of(folder: Path, scores: Mapping[int, Sequence[float | None]], **changes: Any) -> Run:
    records = {
        doc_id: make_record(values, doc=make_doc(id=f"d{doc_id}"), **changes)
        for doc_id, values in scores.items()
    }
    return read_run(write_run(folder, records))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(tmp_path / "run", {0: [1.0, 0.4], 3: [0.2, None], 5: [0.7, 0.7]})


def ratings_of(run: Run, content: str | bytes) -> Ratings:
    file = run.files[0].parent / "steps.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_ratings(file, run)


def of(found: Agreement, group: str) -> GroupAgreement:
    (each,) = [each for each in found.groups if each.group == group]
    return each


def test_a_judge_against_people(run: Run) -> None:
    ratings = ratings_of(run, "doc_id,step,score\n0,0,0.8\n0,1,0.5\n3,0,0.2\n3,1,0.9\n5,0,\n")
    found = agreement_with_humans(run, ratings)
    every, visual, inference = (of(found, group) for group in ("all", "visual", "inference"))
    assert (every.steps, every.responses, visual.steps, inference.steps) == (3, 2, 2, 1)
    assert every.mae.value == pytest.approx(0.1)
    assert every.bias.value == pytest.approx((0.2 - 0.1) / 3)
    assert every.spearman.value == pytest.approx(1.0)
    assert visual.bias.value == pytest.approx(0.1)
    assert inference.mae.value == pytest.approx(0.1)
    assert inference.spearman.value is inference.kappa.value is inference.mae.low is None
    assert of(found, "textual").mae.value is None
    assert found.left_out == {"not rated": 2, "the judge gave no score": 1}
    assert "1 blank score" in found.sources[1]
    assert "openai:oracle" in found.sources[0]
    assert found.reliability is None


def test_several_raters_count_as_their_mean(run: Run) -> None:
    ratings = ratings_of(
        run, "doc_id,step,rater,score\n0,0,ann,0.8\n0,0,bob,0.6\n0,1,bob,0.4\n5,0,ann,0.1\n"
    )
    found = agreement_with_humans(run, ratings)
    assert [pair.other for pair in found.pairs] == pytest.approx([0.7, 0.4, 0.1])
    assert found.reliability is not None
    assert found.reliability.mae == pytest.approx(0.2)
    assert found.reliability.steps == 1
    assert ratings.raters == ("ann", "bob")
    assert ratings.frame()["rater"].tolist() == ["ann", "bob", "bob", "ann"]


def test_the_worst_come_first_and_equal_scores_never(run: Run) -> None:
    ratings = ratings_of(run, "doc_id,step,score\n0,0,0.9\n0,1,1\n3,0,0.2\n")
    found = agreement_with_humans(run, ratings)
    assert [(pair.id, pair.step) for pair in found.worst(5)] == [("d0", 1), ("d0", 0)]
    assert len(found.worst(1)) == 1
    assert found.worst(1)[0].reply == "Score: 0.4"


def test_steps_that_no_judge_was_asked_about_are_left_out(run: Run) -> None:
    first = run.responses[0]
    by_rule = first.steps[1].model_copy(update={"verdicts": (), "note": "no premises"})
    changed = first.model_copy(update={"steps": (first.steps[0], by_rule)})
    run = replace(run, responses=(changed, *run.responses[1:]))
    found = agreement_with_humans(run, ratings_of(run, "doc_id,step,score\n0,0,1\n0,1,1\n"))
    assert [pair.step for pair in found.pairs] == [0]
    assert found.left_out["scored by a rule, not by a judge"] == 1


def test_nothing_but_failures_is_an_error(run: Run) -> None:
    with pytest.raises(RunError, match=r"nothing to compare.*the judge gave no score: 1"):
        agreement_with_humans(run, ratings_of(run, "doc_id,step,score\n3,1,0.5\n"))


WANTED = {(0, 0): 0.8, (5, 1): 0.25}


@table(
    "content",
    "doc_id,step,score\n0,0,0.8\n5,1,.25\n",
    "task,doc_id,repeat,step,score\nrpts_eval_en,0,0,0,0.8\n,5,,1,0.25\n",
    "id,step,score\nd0,0,0.8\nd5,1,0.25\n",
    "doc_id,id,step,score\n0,d0,0,0.8\n,d5,1,0.25\n",
    "doc_id,step,score,human\n0,0,0.1,0.8\n5,1,0.2,0.25\n0,1,0.9,\n",
    "doc_id\tstep\tscore\n0\t0\t0.8\n5\t1\t0.25\n",
    "doc_id,step,score\n0.0,0.0,0.8\n5.0,1.0,0.25\n",
    "\ufeffdoc_id;step;score\r\n0;0;0.8\r\n\r\n;;\r\n5;1;0.25\r\n;;\r\n",
)
def test_tables_of_ratings(run: Run, content: str) -> None:
    found = ratings_of(run, content)
    assert {(each.doc_id, each.step): each.score for each in found.steps} == WANTED
    assert found.raters == ("",)


@table(
    "content, row, message",
    ("doc_id,step,score\n", None, "no step is rated"),
    ("doc_id,step,score\n0,0,\n0,1, \n", None, "no step is rated"),
    ("doc_id,stepp,score\n0,0,1\n", 2, "step is missing"),
    ("doc,step,score\n0,0,1\n", 2, "no document of rpts_eval_en with id 'None'"),
    ("doc_id,step,score\n0,0,1.01\n", 2, "score should be less than or equal to 1, not '1.01'"),
    ("doc_id,step,score\n0,0,-0.1\n", 2, "score should be greater than or equal to 0, not '-0.1'"),
    ("doc_id,step,score\n0,0,1\n0,1,good\n", 3, "score should be a number, not 'good'"),
    ("doc_id,step,score\n0,0,nan\n", 2, "not 'nan'"),
    ('doc_id,step,score\n0,0,"0,8"\n', 2, "score should be a number, not '0,8'"),
    ("doc_id,step,score\n0,2,1\n", 2, "no step 2 in document 0 of .*: it has 2 steps, from 0"),
    ("doc_id,step,score\n0,-1,1\n", 2, "step should be greater than or equal to 0"),
    ("doc_id,step,score\n0,0.5,1\n", 2, "step should be a whole number, not '0.5'"),
    ("doc_id,step,score\n1,0,1\n", 2, "no response 0 to document 1 of rpts_eval_en"),
    ("doc_id,step,score\nd0,0,1\n", 2, "doc_id should be a whole number, not 'd0'"),
    ("id,step,score\nd9,0,1\n", 2, "no document of rpts_eval_en with id 'd9'"),
    ("doc_id,step,score,repeat\n0,0,1,1\n", 2, "no response 1 to document 0"),
    ("task,doc_id,step,score\nrpts_eval_em,0,0,1\n", 2, "no task 'rpts_eval_em'.* rpts_eval_en"),
    ("doc_id,step,score\n0,0,1\n5,0,1\n0,0,1\n", 4, "already scored in .*row 2"),
    ("doc_id,step,rater,score\n0,0,al,1\n0,0,al,0\n", 3, "scored by 'al' in .*row 2$"),
    ('doc_id,note,step,score\n0,"a\nb",0,1\n0,c,9,1\n', 3, "no step 9"),
    ("doc_id,step,score,judge,reply\n0,0,1,m,x\n", None, "the judge's own"),
)
def test_what_is_wrong_is_told_with_its_row(
    run: Run, content: str | bytes, row: int | None, message: str
) -> None:
    with pytest.raises(RunError, match=message) as caught:
        ratings_of(run, content)
    said = str(caught.value)
    assert "steps.csv" in said
    assert row is None or f"steps.csv, row {row}" in said
    assert len(said) < 600


def test_tasks_are_needed_where_there_are_several(tmp_path: Path) -> None:
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        write_run(tmp_path / "run", {0: make_record([0.5, 0.5])}, task=task)
    run = read_run(tmp_path / "run")
    with pytest.raises(RunError, match="row 2: the run has no task ''"):
        ratings_of(run, "doc_id,step,score\n0,0,1\n")
    with pytest.raises(RunError, match="row 2: the run has no task ''"):
        ratings_of(run, "task,doc_id,step,score\n,0,0,1\n")
    found = ratings_of(run, "task,doc_id,step,score\nrpts_eval_zh,0,0,1\n")
    assert [each.task for each in found.steps] == ["rpts_eval_zh"]


def test_an_id_that_several_documents_share_is_refused(tmp_path: Path) -> None:
    doc = make_doc(id="same")
    records = {0: make_record([1.0, 1.0], doc=doc), 1: make_record([0.0, 0.0], doc=doc)}
    run = read_run(write_run(tmp_path, records))
    with pytest.raises(RunError, match=r"row 2: .* 2 documents of rpts_eval_en with id 'same'"):
        ratings_of(run, "id,step,score\nsame,0,1\n")


def test_repeats_are_told_apart(tmp_path: Path) -> None:
    records = {0: [make_record([1.0, 1.0]), make_record([0.0, 0.5])]}
    run = read_run(write_run(tmp_path, records))
    found = agreement_with_humans(
        run, ratings_of(run, "doc_id,step,score,repeat\n0,0,1,\n0,0,0.3,1\n")
    )
    assert [(pair.repeat, pair.score, pair.other) for pair in found.pairs] == [
        (0, 1.0, 1.0),
        (1, 0.0, 0.3),
    ]
    every = of(found, "all")
    assert (every.responses, every.mae.n, every.mae.low) == (2, 1, None)


def test_an_exported_file_filled_in_is_read_and_one_not_filled_in_refused(run: Run) -> None:
    frame = steps_frame([run])
    with pytest.raises(RunError, match="the judge's own"):
        ratings_of(run, frame.to_csv(index=False))
    frame["human"] = frame["score"].where(frame["doc_id"] == 0)
    found = ratings_of(run, frame.to_csv(index=False))
    assert {(each.doc_id, each.step): each.score for each in found.steps} == {
        (0, 0): 1.0,
        (0, 1): 0.4,
    }
    assert found.unrated == 4


# --- with another judge --------------------------------------------------------------------------


def test_two_judges_of_the_same_responses(tmp_path: Path, run: Run) -> None:
    spaced = ("Image0 -> The  clock shows nine.", STEPS[1])
    other = run_of(
        tmp_path / "other",
        {0: [0.8, 0.5], 3: [0.2, 0.9], 5: [None, 0.6]},
        judge="hf:small",
        steps=spaced,
    )
    found = agreement_of_judges(run, other)
    assert [(each.doc_id, each.step) for each in found.pairs] == [(0, 0), (0, 1), (3, 0), (5, 1)]
    assert of(found, "all").mae.value == pytest.approx(0.4 / 4)
    assert of(found, "all").bias.value == pytest.approx(0.2 / 4)
    assert found.left_out == {
        "the first judge gave no score": 1,
        "the second judge gave no score": 1,
    }
    assert "openai:oracle" in found.sources[0]
    assert "hf:small" in found.sources[1]
    assert found.pairs[0].other_reply == "Score: 0.8"


def test_a_changed_chain_is_matched_where_it_is_the_same(tmp_path: Path) -> None:
    more = (*STEPS, "Conclusion1 -> The baker sleeps.")
    changed = (STEPS[0], "Conclusion0 + Text0 -> The shop is open.")
    records = {at: make_record([0.5] * 3, steps=more) for at in range(3)}
    first = read_run(write_run(tmp_path / "a", records | {7: make_record([0.1, 0.1])}))
    second = read_run(
        write_run(
            tmp_path / "b",
            {
                0: make_record([0.6] * 3, steps=more, judge="hf:b"),
                1: make_record([0.6] * 2, judge="hf:b"),
                2: make_record([0.6] * 2, steps=changed, judge="hf:b"),
                8: make_record([0.1, 0.1], judge="hf:b"),
            },
        )
    )
    found = agreement_of_judges(first, second)
    assert [(each.doc_id, each.step) for each in found.pairs] == [
        *((0, 0), (0, 1), (0, 2)),
        *((1, 0), (1, 1)),
        (2, 0),
    ]
    assert found.left_out == {
        "step only in the first run": 2,
        "different conclusion": 1,
        "response only in the first run": 2,
        "response only in the second run": 2,
    }
    reverse = agreement_of_judges(second, first)
    assert reverse.left_out["step only in the second run"] == 2
    assert of(reverse, "all").bias.value == pytest.approx(-of(found, "all").bias.value)  # type: ignore[operator]


def test_runs_that_share_nothing_are_refused(tmp_path: Path, run: Run) -> None:
    strange = ("Image0 -> A cat.", "Conclusion0 -> A dog.")
    other = run_of(tmp_path / "b", {0: [1.0, 1.0], 9: [1.0, 1.0]}, steps=strange, judge="hf:b")
    with pytest.raises(RunError) as caught:
        agreement_of_judges(run, other)
    said = str(caught.value)
    assert "Nothing to compare" in said
    assert "different conclusion: 2" in said
    assert "response only in the first run: 4" in said
    assert "hf:b" in said


def test_a_run_is_not_compared_with_itself(run: Run) -> None:
    with pytest.raises(RunError, match="passed twice"):
        agreement_of_judges(run, run)


def test_one_constant_judge_gives_no_correlation_and_no_warning(tmp_path: Path) -> None:
    first = run_of(tmp_path / "a", {at: [0.5, 0.5] for at in range(4)})
    second = run_of(tmp_path / "b", {at: [0.5, 0.5] for at in range(4)}, judge="hf:b")
    every = of(agreement_of_judges(first, second), "all")
    assert (every.spearman.value, every.spearman.low, every.kappa.value) == (None, None, None)
    assert (every.mae.value, every.mae.low, every.mae.high) == (0.0, None, None)
