"""Agreement of step scores: formulas against libraries, matching of steps, files of ratings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import cohen_kappa_score

from lmms_rpts.analysis.agreements import (
    STATISTICS,
    Agreement,
    agreement,
    read_ratings,
    statistics_of,
)
from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.base.errors import UserError
from lmms_rpts.runs.run import Run
from tests.support.instances import make_doc
from tests.support.ratings import rating, write_ratings
from tests.support.runs import STEPS, make_record, write_run
from tests.support.tables import table

TWENTIETHS = st.integers(0, 20)  # half of them between levels


# --- statistics


@given(st.lists(st.tuples(TWENTIETHS, TWENTIETHS), min_size=2, max_size=12))
@settings(deadline=None, max_examples=100)
def test_the_statistics_are_those_of_scipy_and_sklearn(pairs: list[tuple[int, int]]) -> None:
    scores, reference = np.array(pairs).T / 20
    levels = [[round(n / 2) for n in side] for side in zip(*pairs, strict=True)]  # halves to even
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        correlations = [measure(scores, reference)[0] for measure in (spearmanr, pearsonr)]
        kappa = cohen_kappa_score(*levels, labels=range(11), weights="quadratic")
    gaps = scores - reference
    expected = [np.abs(gaps).mean(), *correlations, kappa, gaps.mean()]
    assert statistics_of(scores, reference) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_the_statistics_worked_by_hand() -> None:
    # Ranks 1 2 3 and 1.5 1.5 3: r = 1.5 / sqrt(2 * 1.5). Levels 0 5 10 and 5 5 10: observed squares
    # 25; expected (3 * (125 + 150) - 2 * 15 * 20) / 3 = 75.
    values = statistics_of(np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.5, 1.0]))
    expected = {"mae": 1 / 6, "spearman": 1.5 / math.sqrt(3), "kappa": 1 - 25 / 75, "bias": -1 / 6}
    assert dict(zip(STATISTICS, values, strict=True)) | expected == pytest.approx(
        expected | {"pearson": 0.25 / math.sqrt(0.5 * (1 / 6))}
    )
    # What differs in the last bit only is a tie.
    tied = statistics_of(np.array([0.1 + 0.2, 0.3, 0.9]), np.array([0.4, 0.4, 0.5]))
    assert tied[1] == pytest.approx(1.0)


# --- judges and people


def run_of(folder: Path, scores: Mapping[int, Sequence[float | None]], **changes: Any) -> Run:
    write_run(
        folder,
        {at: make_record(own, doc=make_doc(id=f"d{at}"), **changes) for at, own in scores.items()},
    )
    return only(folder)


def only(path: Path) -> Run:
    (run,) = read_runs([path])
    return run


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return run_of(tmp_path / "run", {0: [1.0, 0.4], 3: [0.2, None], 5: [0.7, 0.7]})


def sheet(run: Run, content: str) -> Path:
    file = run.files[0].parent / "steps.csv"
    file.write_text(content, encoding="utf-8")
    return file


def figures(found: Agreement, row: int = 0) -> dict[str, Any]:
    """The values of a row, without intervals."""
    cells = found.table.iloc[row].to_dict()
    return {str(name): getattr(cell, "value", cell) for name, cell in cells.items()}


def test_a_judge_against_people(run: Run) -> None:
    found = agreement(
        [run], sheet(run, "doc_id,step,human\n0,0,.8\n0,1,.5\n3,0,.2\n3,1,.9\n5,0,\n")
    )
    assert found.reference == "people"
    assert figures(found) == {
        "run": run.label,
        "judge": "openai:oracle",
        "steps": 3,
        "documents": 2,
        "mae": pytest.approx(0.1),
        "spearman": pytest.approx(1.0),
        "pearson": pytest.approx(pearsonr([1.0, 0.4, 0.2], [0.8, 0.5, 0.2])[0]),
        "kappa": pytest.approx(1 - 5 / (120 + 93 - 2 * 16 * 15 / 3)),
        "bias": pytest.approx((0.2 - 0.1) / 3),
    }
    assert found.left_out == {"not rated": 2, f"no score in {run.label}": 1}
    assert found.steps["reference"].tolist() == [0.8, 0.5, 0.2]
    assert found.steps["modality"].tolist() == ["visual", "inference", "visual"]
    plain = found.frame()
    assert plain["mae_low"][0] <= plain["mae"][0] <= plain["mae_high"][0]


def test_several_raters_count_as_their_mean(run: Run, tmp_path: Path) -> None:
    ann = [rating(0, 0, 0.8), rating(5, 0, 0.1)]
    bob = [rating(0, 0, 0.6), rating(0, 1, 0.4), rating(5, 0, None)]
    files = [
        write_ratings(tmp_path / "1.json", *ann),
        write_ratings(tmp_path / "2.json", *bob, rater=" Bob "),
    ]
    found = agreement([run], files)
    assert found.steps["reference"].tolist() == pytest.approx([0.7, 0.4, 0.1])
    assert read_ratings(files, run)["rater"].tolist() == ["Ann", "Ann", "Bob", "Bob"]


def test_steps_that_no_judge_was_asked_about_are_left_out(run: Run) -> None:
    first = run.responses[0]
    by_rule = first.steps[1].model_copy(update={"verdicts": (), "note": "no premises"})
    changed = first.model_copy(update={"steps": (first.steps[0], by_rule)})
    found = agreement(
        [replace(run, responses=(changed, *run.responses[1:]))],
        sheet(run, "doc_id,step,human\n0,0,1\n0,1,1\n"),
    )
    assert found.steps["step"].tolist() == [0]
    assert found.left_out["scored by a rule"] == 1


def test_two_judges_of_the_same_responses(tmp_path: Path) -> None:
    more = (*STEPS, "Conclusion1 -> The baker sleeps.")
    changed = ("Image0 -> The  clock shows nine.", "Conclusion0 + Text0 -> The shop is open.")
    first = run_of(tmp_path / "a", {0: [0.5, 0.1, 0.5], 2: [0.5, 0.1, 0.5]}, steps=more)
    second = run_of(tmp_path / "b", {0: [0.6, 0.6], 2: [0.7, 0.6]}, steps=changed, judge="hf:b")
    found = agreement([first, second])
    assert found.reference.startswith("a")
    assert (figures(found)["steps"], figures(found)["judge"]) == (2, "hf:b")
    assert figures(found)["bias"] == pytest.approx(0.15), "white space is no difference"
    assert found.left_out == {"different conclusion": 2, "only in one run": 2}
    with pytest.raises(UserError, match="no step can be compared: only in one run: 8"):
        agreement([first, run_of(tmp_path / "c", {7: [1.0, 1.0]})])


def test_one_document_and_constant_scores_give_no_interval(tmp_path: Path) -> None:
    """A document and its translation are one; each step has a score in each language."""
    for name, judge in (("a", "openai:oracle"), ("b", "hf:b")):
        for task in ("rpts_eval_en", "rpts_eval_zh"):
            write_run(tmp_path / name, {0: make_record([0.5, 0.5], judge=judge)}, task=task)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = agreement([only(tmp_path / "a"), only(tmp_path / "b")])
    row = found.table.iloc[0]
    assert (row["steps"], row["documents"]) == (4, 1)
    assert (row["mae"].value, row["mae"].low) == (0.0, None)
    assert row["spearman"].value is row["pearson"].value is row["kappa"].value is None


# --- files of ratings

WANTED = {(0, 0): 0.8, (5, 1): 0.25}


@table(
    "content",
    "doc_id,step,human\n0,0,0.8\n5,1,.25\n",
    "task,doc_id,repeat,step,human\nrpts_eval_en,0,0,0,0.8\n,5,,1,0.25\n",
    "id,step,human\nd0,0,0.8\nd5,1,0.25\n",
    "doc_id,id,step,human\n0,d0,0,0.8\n,d5,1,0.25\n",
    "doc_id,step,score,human\n0,0,0.1,0.8\n5,1,0.2,0.25\n0,1,0.9,\n",  # as exported
    "\ufeffdoc_id;step;human\r\n0.0;0;0.8\r\n\r\n;;\r\n5;1;0.25\r\n;;\r\n",
)
def test_tables_of_ratings(run: Run, content: str) -> None:
    people = read_ratings(sheet(run, content), run)
    scores = {(row.doc_id, row.step): row.score for row in people.itertuples()}
    assert scores == WANTED
    assert set(people["rater"]) == {""}


@table(
    "content, row, message",
    ("doc_id,step,human\n0,0,\n0,1, \n", None, "no step is rated"),
    ("doc_id,step,score\n0,0,1\n", None, "no step is rated"),  # the judge's own score
    ("doc_id,stepp,human\n0,0,1\n", 2, "step is missing"),
    ("doc_id,step,human\n0,0,1.01\n", 2, "human should be less than or equal to 1, not '1.01'"),
    ("doc_id,step,human\n0,0,1\n0,1,good\n", 3, "human should be a number, not 'good'"),
    ("doc_id,step,human\n0,0,nan\n", 2, "not 'nan'"),
    ("doc_id,step,human\n0,2,1\n", 2, "has no steps .* document 0, response 0, step 2"),
    ("doc_id,step,human\n0,-1,1\n", 2, "step should be greater than or equal to 0"),
    ("id,step,human\nd9,0,1\n", 2, "document d9.*Pass the run that was rated"),
    ("doc_id,step,human,repeat\n0,0,1,1\n", 2, "response 1"),
    ("task,doc_id,step,human\nrpts_eval_em,0,0,1\n", 2, "no steps of rpts_eval_em"),
    ("doc_id,step,rater,human\n0,0,al,1\n0,0,al,0\n", 3, "al rated this step already in .*row 2"),
)
def test_what_is_wrong_is_told_with_its_row(
    run: Run, content: str, row: int | None, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read_ratings(sheet(run, content), run)
    assert ("steps.csv" if row is None else f"steps.csv, row {row}") in str(caught.value)
    assert len(str(caught.value)) < 600


@table(
    "ratings, changes, message",
    ([rating(0, 1, 1, conclusion="Another.")], {}, r"ratings\[0\]: in .* is not “Another.”. Pass"),
    ([rating(0, 1, 1), rating(0, 1, 0)], {}, r"ratings\[1\]: Ann rated this step already"),
    ([rating(0, 1, 1.5)], {}, "human should be less than or equal to 1, not 1.5"),
    ([rating(0, 1, None)], {}, "no step is rated"),
    ([7], {}, r"ratings\[0\] should be"),
    ([], {"format": "x"}, "ann.json.*format should be .*rating mode"),
)
def test_what_is_wrong_in_a_saved_file(
    run: Run, tmp_path: Path, ratings: list[Any], changes: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read_ratings(write_ratings(tmp_path / "ann.json", *ratings, **changes), run)


def test_tasks_repeats_and_shared_ids_are_told_apart(tmp_path: Path) -> None:
    same = make_doc(id="same")
    records = {0: [make_record([1.0, 1.0], doc=same), make_record([0.0, 0.5], doc=same)]}
    write_run(tmp_path / "run", records)
    write_run(tmp_path / "run", {0: make_record([0.5, 0.5], doc=same)}, task="rpts_eval_zh")
    run = only(tmp_path / "run")
    with pytest.raises(UserError, match=r"has 2 steps of any task.*add task or doc_id"):
        read_ratings(sheet(run, "id,step,human\nsame,0,1\n"), run)
    content = "task,id,step,human,repeat\nrpts_eval_en,same,0,1,\nrpts_eval_en,same,0,.3,1\n"
    found = agreement([run], sheet(run, content))
    assert found.steps[["repeat", "reference", run.label]].to_numpy().tolist() == [
        [0, 1.0, 1.0],
        [1, 0.3, 0.0],
    ]
