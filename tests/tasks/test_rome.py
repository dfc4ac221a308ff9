"""ROME: its questions and their faults, which grader counts, and the metrics by lmms-eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.filters.grading import all_filters
from lmms_rpts.filters.session import reset_session
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.registry import check_tasks, read_questions
from lmms_rpts.tasks.rome.matchers import RULES
from lmms_rpts.tasks.rome.questions import FILES, SUBTASKS, RomeQuestion
from lmms_rpts.tasks.rome.scorer import METRICS
from lmms_rpts.tasks.rome.task import process_results
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import Serve, constant
from tests.support.reference import reference
from tests.support.rome import ENTRIES, draw_images, make_doc, write_rome
from tests.support.tables import table

FIRST = "question_academic_1"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    reset_session()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "rome"
    found.mkdir()
    monkeypatch.setenv("ROME_PATH", str(found))
    return write_rome(found)


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def every() -> tuple[RomeQuestion, ...]:
    return FILES.load().questions


def error_of(*tasks: str) -> str:
    with pytest.raises(DataError) as caught:
        check_tasks(tasks or ["rome"])
    return str(caught.value)


# --- questions: faults that all readers find stand in test_readers.py ----------------------------


@table(
    "name, content",
    ("data/test.json", json.dumps(ENTRIES)),
    ("bom.jsonl", "\ufeff" + "\r\n".join(json.dumps(each) for each in ENTRIES)),
    ("ids.json", json.dumps({e["question_id"]: dict(list(e.items())[1:]) for e in ENTRIES})),
)
def test_annotations_in_every_form(folder: Path, name: str, content: str) -> None:
    """Beside files of other kinds."""
    expected = every()
    assert {each.subtask for each in expected} == {*SUBTASKS}
    assert {each.evaluator for each in expected} == {*RULES}
    (folder / "annotation.json").unlink()
    write(folder / name, content)
    write(folder / "predictions.json", [{"question_id": FIRST, "question": "?", "answer": "B"}])
    write(folder / "numbers.json", [1, 2])
    assert every() == expected
    check_tasks(["rome"])
    (folder / name).unlink()
    write_rome(folder)


def test_a_file_of_annotations_and_no_images(tmp_path: Path, monkeypatch: Any) -> None:
    """The publishers' README needs no images to grade; a model needs them."""
    write(tmp_path / "a.json", [{k: v for k, v in e.items() if k != "img_path"} for e in ENTRIES])
    monkeypatch.setenv("ROME_PATH", str(tmp_path / "a.json"))
    assert sum(map(len, read_questions("rome").values())) == len(ENTRIES)
    assert "it has no image" in error_of("rome_geo")


@table(
    "changes, subtask",
    ({"task": "Puzzles & Games"}, "puzzles_games"),
    ({"task": "multi-image"}, "multi"),
    ({"task": None, "question_id": "Question_spatial3"}, "spatial"),
)
def test_the_subtask(folder: Path, changes: dict[str, Any], subtask: str) -> None:
    entries = [ENTRIES[0] | changes]
    write(folder / "annotation.json", entries)
    draw_images(folder, entries)
    assert [each.subtask for each in every()] == [subtask]


@table(
    "changes, said",
    ({"img_path": []}, "it has no image"),
    ({"question": "<image 2>?"}, "it names '<image 2>', but has 1 image(s), numbered from 1"),
    ({"evaluator": "choice_matching"}, "unknown evaluator 'choice_matching'"),
    ({"evaluator_kwargs": {}}, "choices_matching: the argument 'label' is missing"),
    ({"task": "odd", "question_id": "q7"}, "subtask should be one of academic, diagrams"),
)
def test_questions_that_cannot_be_graded(folder: Path, changes: dict[str, Any], said: str) -> None:
    write(folder / "annotation.json", [ENTRIES[0] | changes, *ENTRIES[1:]])
    assert said in error_of("rome_academic")


def test_parts_without_questions(folder: Path) -> None:
    write(folder / "annotation.json", [each for each in ENTRIES if each["task"] != "memes"])
    assert "no questions of memes" in error_of("rome_memes")
    check_tasks(["rome_geo"])
    assert "rome_memes" not in read_questions("rome")


# --- grades --------------------------------------------------------------------------------------


def grade(*responses: str | None, **fields: Any) -> list[dict[str, Any]]:
    """The records of responses to one question."""
    filter_ = all_filters()["rome_answer"]()
    (found,) = filter_.apply([list(responses)], [make_doc(**fields)])
    return [json.loads(each) for each in ([found] if isinstance(found, str) else found)]


def test_partial_credit_and_missing_responses() -> None:
    place = {"location_fine_grained": ["Harbour Gate"], "location_coarse_grained": ["Northport"]}
    fields = {"evaluator": "location_matching", "evaluator_kwargs": json.dumps(place)}
    said = ["Answer: Harbour Gate", "Answer: Northport", "Answer: Southport", None]
    found = grade(*said, **fields)
    assert [each["score"] for each in found] == [1.0, 0.5, 0.0, None]
    assert [each["grades"].keys() for each in found[2:]] == [{"rule", "strict"}, set()]
    values = process_results({}, list(map(json.dumps, found)))
    assert (values["accuracy"], values["grader_coverage"]) == (0.5, 0.75)
    assert process_results({}, []) == dict.fromkeys(METRICS)


@table(
    "name, reply, metric, value",
    ("consistency", "Verdict: consistent", "thinking_answer_consistency", 1.0),
    ("consistency", "Verdict: inconsistent", "thinking_answer_consistency", 0.0),
    ("pretended_tools", "It searched.\nVerdict: pretended", "pretended_tools", 1.0),
    ("pretended_tools", "Hard to say.", "pretended_tools", None),
)
def test_the_thinking_is_asked_about(
    serve: Serve, monkeypatch: Any, name: str, reply: str, metric: str, value: float | None
) -> None:
    """Of a long thinking, the judge sees the end, and what may be about tools."""
    configure(monkeypatch, rome={name: True})
    server = serve(constant(reply))
    filler, claim = "It may be A or B.\n" * 5000, "Running a quick image search: a heron.\n"
    (record,) = grade(f"<think>{filler}{claim}{filler}So B.</think>Final Answer: B")
    assert (record["score"], record["grader"]) == (1.0, "rule")
    assert process_results({}, [json.dumps(record)])[metric] == value
    said = str(server.requests[0]["messages"][-1]["content"])
    assert "So B.>>>" in said
    assert "B, Mill Lane" not in said, "the reference would reveal the right answer"
    assert (claim in said) == (name == "pretended_tools")
    calls = server.calls
    (record,) = grade("Final Answer: B")
    assert "findings" not in record
    assert server.calls == calls


def test_recommended_needs_a_judge_for_diagrams(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("ROME_GRADER", "recommended")
    check_tasks(["rome_geo"])
    with pytest.raises(JudgeConfigurationError, match=r"^ROME_GRADER=recommended needs a judge"):
        check_tasks(["rome"])


_DOCS = [
    make_doc(evaluator=each["evaluator"], evaluator_kwargs=json.dumps(each["evaluator_kwargs"]))
    for each in ENTRIES
]
_PARTS = (
    *("Final Answer:", "最终答案：", "\\boxed{", "}", "<think>", "</think>", "B", "cm"),
    *("1/0", "9" * 5000, "25:99", "-", "\ud800", "\x00"),
)
_SAID = st.lists(st.text(max_size=40) | st.sampled_from(_PARTS), max_size=8).map("".join)


@given(st.sampled_from(_DOCS), _SAID)
def test_no_response_breaks_the_grading(document: dict[str, Any], response: str) -> None:
    """lmms-eval retries process_results and hides its errors."""
    (found,) = all_filters()["rome_answer"]().apply([[response]], [document])
    values = process_results(document, [found])
    assert tuple(values) == tuple(METRICS)
    assert 0 <= (values["accuracy"] if values["accuracy"] is not None else -1) <= 1


def test_score_does_what_the_publishers_script_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On their minimal annotation, and on predictions in each of their layouts."""
    monkeypatch.setenv("ROME_PATH", "")  # which the command sets, to be restored
    entries = json.loads(reference("rome", "annotation.json").read_text(encoding="utf-8"))
    needed = ("question_id", "question", "task", "evaluator", "evaluator_kwargs", "reference")
    minimal = tmp_path / "annotations.json"
    write(minimal, [{name: each[name] for name in needed} for each in entries])
    rows = json.loads(reference("rome", "predictions.json").read_text(encoding="utf-8"))
    rounds = [{**each, "answer": {"inference_0": each["answer"]}} for each in rows]
    expected = json.loads(reference("rome", "scores.json").read_text(encoding="utf-8"))
    for at, layout in enumerate((rows, {each["question_id"]: each for each in rows}, rounds)):
        said, out = tmp_path / f"{at}.json", tmp_path / f"graded_{at}"
        write(said, layout)
        options = ["--task", "rome", "--annotations", str(minimal), "-o", str(out)]
        done = CliRunner().invoke(app, ["score", str(said), *options])
        assert done.exit_code == 0, done.output
        (scores,) = out.glob("*_scores.json")
        assert json.loads(scores.read_text(encoding="utf-8")) == expected
