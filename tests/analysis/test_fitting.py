"""Decay and focus height fitted to ratings of whole responses; several judges; labellers."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from typer.testing import CliRunner

from lmms_rpts.analysis.agreement import agreement_of_several, rank_judges
from lmms_rpts.analysis.fitting import fit_settings
from lmms_rpts.analysis.ratings import read_ratings
from lmms_rpts.analysis.relations import agreement_on_relations
from lmms_rpts.cli import app
from lmms_rpts.runs.samples import RunError
from lmms_rpts.stats.agreement import nominal_statistics
from lmms_rpts.tasks.rpts_eval.relations import read_relations
from lmms_rpts.tasks.rpts_eval.runs import Run, read_run
from tests.support.instances import make_doc
from tests.support.ratings import file_with, write_ratings
from tests.support.runs import make_record, write_run

STEPS = ("Image0 -> A.", "Text0 -> B.", "Conclusion0 + Conclusion1 -> C.", "Conclusion2 -> D.")
HEIGHTS = (1, 1, 2, 3)
Scores = Mapping[int, Sequence[float | None]]


def run_of(folder: Path, scores: Scores, judge: str = "openai:a") -> Run:
    records = {
        at: make_record(each, doc=make_doc(id=at), steps=STEPS[: len(each)], judge=judge)
        for at, each in scores.items()
    }
    write_run(folder, records)
    return read_run(folder)


def table_of(path: Path, head: str, rows: Sequence[Sequence[Any]]) -> Path:
    path.write_text("\n".join([head, *(",".join(map(str, row)) for row in rows)]), "utf-8")
    return path


def weighted(scores: Sequence[float], decay: float, height: int) -> float:
    weights = [decay ** abs(height - each) for each in HEIGHTS]
    return sum(map(float.__mul__, weights, scores)) / sum(weights)


def random_scores(documents: int) -> dict[int, list[float]]:
    generator = random.Random(1)
    return {at: [generator.choice([0, 0.25, 0.5, 1.0]) for _ in STEPS] for at in range(documents)}


def test_a_weighting_that_people_use_is_found(tmp_path: Path) -> None:
    scores = random_scores(30)
    people = {at: weighted(each, 0.3, 2) for at, each in scores.items()}
    rated = table_of(tmp_path / "whole.csv", "doc_id,overall", list(people.items()))
    run = run_of(tmp_path / "run", scores)
    found = fit_settings(run, read_ratings(rated, run))
    default, fitted, difference = found.tables[""]
    error = math.fsum(abs(weighted(scores[at], 0.9, 1) - people[at]) for at in people) / 30
    assert default["mae"].value == pytest.approx(error)
    assert fitted["mae"].value == pytest.approx(0, abs=1e-9)
    assert fitted["spearman"].value == pytest.approx(1)
    assert difference["mae"].value == pytest.approx(-error)
    assert difference["mae"].low < difference["mae"].high < 0
    assert "Smallest error on all of them: decay 0.3, focus height 2." in found.lines[1]
    assert "decay 0.3, focus height 2 (10)" in found.lines[1]
    assert "better on documents that did not choose it" in found.notes[0]
    grid = {row["decay"]: row for row in found.tables["MAE on all responses"]}
    assert grid["0.3"]["focus_height_2"] == pytest.approx(0, abs=1e-9)
    assert grid["0.9"]["focus_height_1"] == pytest.approx(error)


def test_chance_is_not_taken_for_a_fit(tmp_path: Path) -> None:
    """With arbitrary ratings, the best setting looks better only on the data that chose it."""
    scores, generator = random_scores(24), random.Random(2)
    rows = [(at, generator.random()) for at in scores]
    run = run_of(tmp_path / "run", scores)
    found = fit_settings(run, read_ratings(table_of(tmp_path / "r.csv", "id,overall", rows), run))
    default, fitted, difference = found.tables[""]
    smallest = min(
        cell
        for row in found.tables["MAE on all responses"]
        for cell in row.values()
        if isinstance(cell, float)
    )
    assert smallest < default["mae"].value < fitted["mae"].value
    assert difference["mae"].low < 0 < difference["mae"].high
    assert "no reason to leave the default" in found.notes[0]


def test_ratings_that_fit_all_settings_keep_the_default(tmp_path: Path) -> None:
    scores: Scores = {at: [at / 9] * 4 for at in range(10)} | {10: [0.5, None, 0.5, 0.5]}
    rows = [(at, at / 9) for at in range(10)] + [(10, 1)]
    run = run_of(tmp_path / "run", scores)
    found = fit_settings(run, read_ratings(table_of(tmp_path / "r.csv", "id,overall", rows), run))
    assert "decay 0.9, focus height 1 (10)" in found.lines[1]
    assert "10 responses to 10 documents; 1 rated responses have no RPTS" in found.lines[0]


def test_a_document_and_its_translation_are_in_one_fold(tmp_path: Path) -> None:
    scores = random_scores(2)
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        records = {
            at: make_record(each, doc=make_doc(id=0), steps=STEPS) for at, each in scores.items()
        }
        write_run(tmp_path / "run", records, task=task)
    run = read_run(tmp_path / "run")
    rows = [(task, at, 0.5) for task in run.tasks for at in scores]
    rated = read_ratings(table_of(tmp_path / "r.csv", "task,doc_id,overall", rows), run)
    with pytest.raises(RunError, match=r"two documents or more, .* there are 1\. .*--overall"):
        fit_settings(run, rated)


# --- several judges


def test_several_judges_on_the_steps_that_all_scored(tmp_path: Path) -> None:
    """Steps of humans: 1, 0.5 | 0, 1. The second judge fails on one; the third has another step."""
    humans = [(0, 0, 1), (0, 1, 0.5), (1, 0, 0), (1, 1, 1)]
    rated = table_of(tmp_path / "r.csv", "doc_id,step,score", humans)
    runs = [
        run_of(tmp_path / "a", {0: [0.9, 0.5], 1: [0.2, 1.0], 2: [1.0, 1.0]}),
        run_of(tmp_path / "b", {0: [0.5, None], 1: [0.5, 0.6]}, "openai:b"),
        run_of(tmp_path / "c", {0: [1.0, 0.5], 1: [0.0]}, "openai:c"),
    ]
    found = agreement_of_several(runs, read_ratings(rated, runs[0]))
    # Common: steps (0, 0) and (1, 0).
    assert [len(each.pairs) for each in found] == [2, 2, 2]
    assert [dict(each.left_out) for each in found] == [
        {"not rated": 2, "no score of another judge": 2},
        {"not rated": 2, "the judge gave no score": 1, "no score of another judge": 1},
        {"not rated": 2, "not in this run": 1, "no score of another judge": 1},
    ]
    table = rank_judges("abc", found).tables[""]
    assert [row["mae"].value for row in table] == pytest.approx([0.15, 0.5, 0])
    assert table[0]["mae_from_first"] is None
    assert [row["mae_from_first"].value for row in table[1:]] == pytest.approx([0.35, -0.15])
    records = {0: make_record([1.0], doc=make_doc(id=0), steps=["Image0 -> Else."])}
    records[1] = make_record([0.5], doc=make_doc(id=1), steps=["Image0 ->  A. "])
    write_run(tmp_path / "e", records)
    found = agreement_of_several([runs[0], read_run(tmp_path / "e")], read_ratings(rated, runs[0]))
    assert [each.doc_id for each in found[1].pairs] == [1]  # white space does not count
    assert found[1].left_out["different conclusion"] == 1
    other = run_of(tmp_path / "d", {7: [0.5, 0.5]}, "openai:d")
    with pytest.raises(RunError, match=r"nothing to compare with .*not in this run: 4"):
        agreement_of_several([runs[0], other], read_ratings(rated, runs[0]))


# --- labellers of relations

LABELS = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), min_size=1, max_size=30)


@given(LABELS)
@settings(deadline=None, max_examples=100)
def test_kappa_is_that_of_sklearn(labels: list[tuple[int, int]]) -> None:
    one, two = np.array(labels).T
    ((equal, kappa),) = nominal_statistics(one, two, np.ones((1, len(one))))
    both = [pair for pair in labels if -1 not in pair]
    if not both:
        assert math.isnan(equal)
        return
    assert equal == pytest.approx(sum(a == b for a, b in both) / len(both))
    first, second = zip(*both, strict=True)
    if len({*first, *second}) > 1:
        assert kappa == pytest.approx(cohen_kappa_score(first, second), abs=1e-12)
    else:
        assert math.isnan(kappa)


def test_labellers_and_the_judge(tmp_path: Path) -> None:
    """Ann changed a label after she saw the proposal: her first one counts."""
    run = run_of(tmp_path / "run", {at: [1.0, 1.0] for at in range(4)})
    asked = {"task": "rpts_eval_en", "repeat": 0, "kind": "relation", "language": "en"}
    said = [("guided", "guided"), ("independent", "guided"), ("adversarial",) * 2, (None, None)]
    items = [
        {**asked, "doc_id": at, "id": str(at), "context": ""}
        | {"relation": final, "first": first, "proposal": "guided"}
        for at, (final, first) in enumerate(said)
    ]
    ann = write_ratings(tmp_path / "ann.json", file_with(*items))
    labels = [(0, "guided"), (1, "guided"), (2, "guided"), (3, "independent")]
    bob = table_of(tmp_path / "bob.csv", "id,relation", labels)
    found = agreement_on_relations(run, read_relations(ann, bob))
    assert (
        "4 of 4 documents have labels: 1 guided, 0 adversarial, 1 independent, 2 undecided"
        in found.lines[0]
    )
    rows = {(row["labeller"], row["other"]): row for row in found.tables[""]}
    assert {pair: row["documents"] for pair, row in rows.items()} == {
        ("Ann", "bob.csv"): 3,
        ("Ann", "judge's proposal"): 3,
        ("bob.csv", "judge's proposal"): 4,
    }
    assert rows["Ann", "bob.csv"]["equal"].value == pytest.approx(2 / 3)
    assert rows["Ann", "bob.csv"]["kappa"].value == pytest.approx(0)
    assert rows["bob.csv", "judge's proposal"]["equal"].value == pytest.approx(3 / 4)
    cy = table_of(tmp_path / "cy.csv", "id,relation", [*labels[:2], (2, "adversarial")])
    found = agreement_on_relations(run, read_relations(ann, bob, cy))
    (people,) = [row for row in found.tables[""] if row["labeller"] == "people"]
    # Ann and Bob 2/3 and kappa 0, Ann and Cy 1 and 1, Bob and Cy 2/3 and 0.
    assert people["equal"].value == pytest.approx(7 / 9)
    assert people["kappa"].value == pytest.approx(1 / 3)
    assert people["documents"] == 3
    with pytest.raises(RunError, match=r"bob.csv: no document of .* labels of two people"):
        agreement_on_relations(run, read_relations(bob))


# --- the command


def test_the_tables_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    scores = random_scores(12)
    for name in "ab":
        run_of(tmp_path / name, scores, f"openai:{name}")
    steps = [(at, step, each) for at, own in scores.items() for step, each in enumerate(own)]
    files = {
        "steps": table_of(tmp_path / "steps.csv", "doc_id,step,score", steps),
        "whole": table_of(tmp_path / "w.csv", "doc_id,overall", [(at, 0.5) for at in scores]),
        "relations": table_of(
            tmp_path / "r.csv",
            "id,relation,rater",
            [(at, "guided", rater) for at in scores for rater in "xy"],
        ),
    }
    places = {"a": tmp_path / "a", "b": tmp_path / "b", **files}

    def told(words: str, code: int = 0) -> str:
        arguments = [str(places.get(word, word)) for word in words.split()]
        done = CliRunner().invoke(app, ["agreement", *arguments])
        assert done.exit_code == code, done.output
        return done.output

    several = told("a steps b")
    assert "on the 48 steps of 12 documents that people rated and each of them scored" in several
    assert several.count(" judged by openai:") == 2
    assert "12 guided, 0 adversarial, 0 independent, 0 undecided" in told("a relations")
    out = tmp_path / "fit.csv"
    assert "MAE on all responses" in told(f"a whole --fit -o {out}")
    assert out.read_text("utf-8").startswith("table,setting,mae,mae_low,mae_high,spearman")
    assert "--fit needs ratings of whole responses" in told("a steps --fit", 1)
    assert "no step is rated" in told("a relations --fit", 1)
    for wrong in ("a b --fit", "a b whole --fit", "a b a"):
        assert "the same humans" in told(wrong, 1)
