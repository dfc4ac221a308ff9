"""Runs matched with validity files, and the notes on their judges."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.analysis.validity import EXPLAINED, validity_lines, validity_notes
from lmms_rpts.runs.validity import (
    Interval,
    Validity,
    ValidityError,
    ValidityFile,
    read_validity_file,
    read_validity_files,
    validity_in,
)
from lmms_rpts.tasks.rpts_eval.runs import Run, read_run
from tests.support.instances import make_doc
from tests.support.runs import make_record, scoring_with, write_run
from tests.support.tables import table
from tests.support.validity import METRICS, chains, make_set, make_validity, write_validity


def file_of(validity: Validity | None = None, name: str = "validity.json") -> ValidityFile:
    return ValidityFile(Path(name), name, validity or make_validity())


def record(doc_id: int, inference: float | None, image: float = 0.1, **more: Any) -> dict[str, Any]:
    """One image step and one inference step: only the inference is counted."""
    return make_record([image, inference], doc=make_doc(id=doc_id), **more)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Five documents: one has an unscored inference; two of the other four are wrong."""
    scores = [0.4, 0.49, 0.5, 1.0, None]
    write_run(tmp_path / "run", {at: record(at, score) for at, score in enumerate(scores)})
    return read_run(tmp_path / "run")


def test_by_hand(run: Run) -> None:
    """p = 2 of 4; sensitivity 0.8, specificity 0.9: (0.5 - 0.1) / 0.7."""
    (note,) = validity_notes([run], [file_of()])
    assert (note.run, note.file, note.created) == ("model-a", "validity.json", "2026-11-22")
    assert (note.called_wrong, note.n_steps, note.mismatches) == (0.5, 4, ())
    (found,) = note.sets
    assert found.auc is not None
    assert (found.auc.value, found.auc.low, found.auc.high) == (0.71, 0.65, 0.77)
    assert found.missed is not None
    ends = (found.missed.value, found.missed.low, found.missed.high)
    assert ends == pytest.approx((0.2, 0.1, 0.3))
    assert found.false_alarms is not None
    ends = (found.false_alarms.value, found.false_alarms.low, found.false_alarms.high)
    assert ends == pytest.approx((0.1, 0.05, 0.15))
    assert found.corrected is not None
    assert found.corrected.value == pytest.approx(4 / 7)
    assert (found.corrected.sensitivity, found.corrected.specificity) == (0.8, 0.9)
    assert found.corrected.low is not None
    assert found.corrected.low < 4 / 7 < (found.corrected.high or 0)


def test_the_words(run: Run) -> None:
    judge, share, explained = validity_lines(validity_notes([run], [file_of()]))
    assert judge == (
        "openai:oracle on processbench (210 labelled steps; validity.json, 2026-11-22): scores "
        "20.0% [10.0%, 30.0%] of the wrong steps as sound; scores 10.0% [5.0%, 15.0%] of the sound "
        "steps as wrong; AUC 0.71 [0.65, 0.77]"
    )
    assert share.startswith(
        "model-a: 50.0% of 4 inference steps scored below 0.5 in the first call; "
        "corrected by processbench 57.1% ["
    )
    assert explained == EXPLAINED


def test_only_the_first_question_counts(run: Run) -> None:
    """A second question that lifts a step above the mark is ignored, and so is a fixed score."""
    first = run.responses[0]
    step = first.steps[1]
    (question,) = step.questions
    again = question.model_copy(update={"kind": "second", "score": 1.0})
    lifted = step.model_copy(update={"score": 0.8, "questions": (question, again)})
    fixed = step.model_copy(update={"questions": ()})
    response = first.model_copy(update={"steps": (lifted, fixed, *first.steps)})
    (note,) = validity_notes([replace(run, responses=(response,))], [file_of()])
    assert (note.called_wrong, note.n_steps) == (1.0, 2)


@table(
    "changes, said",
    (
        {"judge": "openai:other"},
        "validity.json is about the judge 'openai:other' with prompts 1, not 'openai:oracle' with "
        "prompts 1",
    ),
    (
        {"prompt_version": "1+abc"},
        "validity.json is about the judge 'openai:oracle' with prompts 1+abc, not "
        "'openai:oracle' with prompts 1",
    ),
    (
        {"prompt_version": ""},
        "validity.json is about the judge 'openai:oracle' with prompts unknown, not "
        "'openai:oracle' with prompts 1",
    ),
)
def test_figures_of_another_judge_are_not_shown(run: Run, changes: Any, said: str) -> None:
    (note,) = validity_notes([run], [file_of(make_validity(**changes))])
    assert (note.mismatches, note.sets, note.file) == ((said,), (), "")
    assert validity_lines([note]) == [
        f"{said}: the error rates of the judge of model-a are unknown"
    ]


def test_a_run_is_matched_with_the_file_of_its_judge(run: Run, tmp_path: Path) -> None:
    write_run(tmp_path / "b", {0: record(0, 0.2, judge="lexical")}, model_args="name=b")
    other = file_of(make_validity(judge="lexical"), "other.json")
    notes = validity_notes([run, read_run(tmp_path / "b")], [other, file_of()])
    assert [(note.run, note.file) for note in notes] == [
        ("model-a", "validity.json"),
        ("b", "other.json"),
    ]
    assert not any(note.mismatches for note in notes)


def test_two_judges_in_one_run_have_a_note_each(tmp_path: Path) -> None:
    other_prompts = scoring_with(prompt_version="2")
    write_run(tmp_path, {0: record(0, 0.2), 1: record(1, 0.9, scoring=other_prompts)})
    alike, other = validity_notes([read_run(tmp_path)], [file_of()])
    assert (alike.n_steps, alike.called_wrong, alike.mismatches) == (1, 1.0, ())
    assert len(other.mismatches) == 1


def test_without_a_file_or_a_judge_nothing_is_said(run: Run, tmp_path: Path) -> None:
    assert validity_notes([run]) == ()
    write_run(tmp_path / "none", {0: record(0, None, judge="none")})
    assert validity_notes([read_run(tmp_path / "none")], [file_of()]) == ()
    assert validity_lines(()) == []


def test_runs_of_one_judge_share_its_lines(run: Run) -> None:
    sets = (make_set(), make_set("visual", blind=True))
    notes = validity_notes([run, replace(run, label="b")], [file_of(make_validity(*sets))])
    lines = validity_lines(notes)
    assert len(lines) == 2 + 2 + 1
    assert lines[1].startswith("openai:oracle on visual without its images (210 ")
    assert "; corrected by visual without its images 57.1%" in lines[2]
    assert lines[3] == lines[2].replace("model-a", "b")


def metrics(**changes: Any) -> dict[str, Any]:
    return {**METRICS, **{name: Interval(value=value) for name, value in changes.items()}}


@table(
    "changes, told, share",
    # Missing values, and values that are not a share, are ignored.
    ({"metrics": metrics(sensitivity=None)}, "scores 10.0%", None),
    ({"metrics": metrics(specificity=None)}, "scores 20.0%", None),
    ({"metrics": metrics(specificity=7.0)}, "scores 20.0%", None),
    ({"metrics": metrics(sensitivity=-1.0)}, "scores 10.0%", None),
    ({"metrics": metrics(auc=None)}, "steps as wrong", "57.1%"),
    ({"metrics": {"auc": Interval(value=0.5)}}, "AUC 0.50", None),
    ({"metrics": {}}, None, None),
    (
        {"chains": ()},
        "AUC",
        "not corrected by processbench (the validity file is missing or holds no labelled chains)",
    ),
    (
        {"chains": chains(found=2, passed=8)},
        "AUC",
        "not corrected by processbench (sensitivity + specificity is 1.00; the correction",
    ),
    ({"chains": chains(questions=1)}, "AUC", "by processbench 57.1%"),
)
def test_what_a_set_lacks(run: Run, changes: Any, told: str | None, share: str | None) -> None:
    notes = validity_notes([run], [file_of(make_validity(make_set(**changes)))])
    lines = validity_lines(notes)
    assert len(lines) == (told is not None) + 2 * (share is not None)
    assert told is None or told in lines[0]
    assert share is None or share in lines[1]


def test_a_run_without_inferences(tmp_path: Path) -> None:
    write_run(tmp_path, {0: make_record([0.3], steps=["Image0 -> The clock shows nine."])})
    (note,) = validity_notes([read_run(tmp_path)], [file_of()])
    assert (note.called_wrong, note.n_steps) == (None, 0)
    assert len(validity_lines([note])) == 1


def results_with(file: ValidityFile) -> dict[str, Any]:
    """The results file that lmms-eval would have written."""
    found: dict[str, Any] = json.loads(json.dumps({"usage": {"validity": file.extract()}}))
    return found


def test_results_name_the_file(run: Run, tmp_path: Path) -> None:
    """An unchanged file is used in full, else the saved figures without the correction.

    A validity file passed explicitly takes precedence.
    """
    path = write_validity(tmp_path / "validity.json")
    held = replace(run, results=results_with(read_validity_file(path)))
    (note,) = validity_notes([held])
    assert note.sets[0].corrected is not None
    assert note.sets[0].corrected.value == pytest.approx(4 / 7)
    assert note.file == str(path.absolute())
    assert validity_notes([held], [file_of()])[0].file == "validity.json"
    stranger = file_of(make_validity(judge="openai:other"))
    assert validity_notes([held], [stranger])[0] == note
    write_validity(path, make_validity(seed=1))
    (changed,) = validity_notes([held])
    path.unlink()
    (gone,) = validity_notes([held])
    assert changed == gone
    (found,) = gone.sets
    assert found.missed == note.sets[0].missed
    assert found.auc == note.sets[0].auc
    assert "file is missing" in (found.corrected.refused or "" if found.corrected else "")


def test_an_extract_is_small_and_plain() -> None:
    extract = file_of().extract()
    assert json.loads(json.dumps(extract)) == extract
    assert len(json.dumps(extract)) < 1000
    assert Path(extract["file"]).is_absolute()


@table(
    "usage",
    None,
    [],
    {},
    {"validity": None},
    {"validity": []},
    {"validity": {"file": "x"}},
    {"validity": {**file_of().extract(), "sets": 5}},
    {"validity": {**file_of().extract(), "file": 5}},
    {"validity": {**file_of().extract(), "format": "other"}},
    {"validity": {**file_of().extract(), "version": 99}},
)
def test_results_that_name_none(usage: Any) -> None:
    assert validity_in({"usage": usage}) is None


@table("path", "\0", "/dev/zero", ".", "/nowhere/at all", "x" * 5000)
def test_results_that_name_what_is_no_file(path: str) -> None:
    found = validity_in({"usage": {"validity": {**file_of().extract(), "file": path}}})
    assert found is not None
    assert found.validity.sets[0].chains == ()


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("{")
    for name in ("nowhere.json", "broken.json", "."):
        with pytest.raises(ValidityError, match="lmms-rpts validate"):
            read_validity_files([tmp_path / name])
    path = write_validity(tmp_path / "good.json")
    (found,) = read_validity_files([path, path])
    assert found.validity == make_validity()
