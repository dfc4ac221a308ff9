"""Data of ROME: finding, parsing, checks before a model is loaded, conversion for lmms-eval."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.tasks import check_tasks
from lmms_rpts.tasks.data import DataError, store
from lmms_rpts.tasks.questions import Questions
from lmms_rpts.tasks.registry import BENCHMARKS, read_documents
from lmms_rpts.tasks.rome import data as dataset
from lmms_rpts.tasks.rome.arguments import EVALUATORS
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.data import DATA, Question, language_of
from tests.support.rome import ENTRIES, changed, draw_images, write_rome
from tests.support.tables import table

FIRST = "question_academic_1"


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "rome"
    found.mkdir()
    monkeypatch.setenv("ROME_PATH", str(found))
    return write_rome(found)


def read(folder: Path) -> Questions[Question]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROME_PATH", str(folder))
        return DATA.load()


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def error_of(*tasks: str) -> str:
    with pytest.raises(DataError) as caught:
        check_tasks(tasks or ["rome"])
    return str(caught.value)


def only(found: Questions[Question]) -> Question:
    assert found.faults == ()
    (question,) = found.questions
    return question


def test_the_small_data_set_has_every_kind(folder: Path) -> None:
    found = read(folder)
    assert found.faults == ()
    assert {each.task for each in found.questions} == set(SUBTASKS)
    assert {each.evaluator for each in found.questions} == set(EVALUATORS)
    assert Counter(each.language for each in found.questions) == {"en": 7, "zh": 5}
    assert {len(each.img_path) for each in found.questions} == {1, 2, 3}
    check_tasks(["rome", *(f"rome_{name}" for name in SUBTASKS)])


# --- where the questions are ---------------------------------------------------------------------


@table(
    "name, content",
    ("any.json", json.dumps(ENTRIES)),
    ("data/test.json", json.dumps(ENTRIES)),
    ("any.jsonl", "\n".join(json.dumps(each) for each in ENTRIES) + "\n\n"),
    ("bom.jsonl", "\ufeff" + "\r\n".join(json.dumps(each) for each in ENTRIES)),
    ("by_id.json", json.dumps({each["question_id"]: each for each in ENTRIES})),
    ("ids.json", json.dumps({e["question_id"]: dict(list(e.items())[1:]) for e in ENTRIES})),
)
def test_annotations_in_every_form(tmp_path: Path, name: str, content: str) -> None:
    expected = read(write_rome(tmp_path))
    (tmp_path / "annotation.json").unlink()
    write(tmp_path / name, content)
    found = read(tmp_path)
    assert (found.questions, found.faults) == (expected.questions, ())


def test_questions_in_several_files_count_once(folder: Path) -> None:
    """The publishers' folder holds test.json and also a part of it, test-diagrams.json."""
    whole = read(folder).questions
    write(folder / "part.json", ENTRIES[2:5])
    assert read(folder).questions == whole
    write(folder / "part.json", [ENTRIES[0] | {"reference": "C"}])
    assert f"question '{FIRST}' occurs more than once" in error_of("rome_academic")


def test_files_without_questions_are_passed_over(folder: Path) -> None:
    write(folder / "predictions.json", [{"question_id": FIRST, "question": "?", "answer": "B"}])
    write(folder / "scores.json", {"final_score": [2.0, 5], "accuracy": 40.0})
    write(folder / "numbers.json", [1, 2])
    write(folder / "notes.jsonl", "")
    check_tasks(["rome"])


def test_images_beside_their_annotation(folder: Path) -> None:
    """On the Hub both are in ``data``."""
    (folder / "annotation.json").rename(folder / "moved.json")
    (folder / "data").mkdir()
    for name in ("moved.json", *SUBTASKS):
        (folder / name).rename(folder / "data" / name)
    check_tasks(["rome"])
    assert read(folder).questions[0].img_path == ("data/academic/1-0.png",)


@table(
    "changes, task",
    ({"task": "Puzzles & Games"}, "puzzles_games"),
    ({"task": "games"}, "puzzles_games"),
    ({"task": "multi-image"}, "multi"),
    ({"task": "MEMES"}, "memes"),
    ({"task": None, "img_path": "geo/x.png"}, "geo"),
    ({"task": "of some kind", "img_path": ["images/puzzles/x.png"]}, "puzzles_games"),
    ({"task": None, "img_path": "x.png"}, "academic"),
    ({"task": None, "img_path": "x.png", "question_id": "question_multi-image_12"}, "multi"),
    ({"task": None, "img_path": "x.png", "question_id": "Question_spatial3"}, "spatial"),
)
def test_the_subtask(tmp_path: Path, changes: dict[str, Any], task: str) -> None:
    entries = changed(ENTRIES[:1], FIRST, **changes)
    write(tmp_path / "a.json", entries)
    draw_images(tmp_path, entries)
    assert only(read(tmp_path)).task == task


@table(
    "question, language",
    ("Guess the location.", "en"),
    ("这是哪里？", "zh"),
    ("What does 福禄寿喜 mean?", "en"),
    ("哪支队伍赢了？A. Monterrey B. Seattle Sounders C. Inter Miami D. Real Madrid", "zh"),
    ("Which sign says so? A. 左转 B. 右转 C. 请勿停车", "en"),
    ("<image 1> <image 2> 找不同", "zh"),
    ("ABC 和 DEF 哪个角更大？", "zh"),
    ("A. 甲 B. 乙", "zh"),
    ("x = 3?", "en"),
)
def test_the_language_is_told_by_the_script(question: str, language: str) -> None:
    assert language_of(question) == language


# --- faults of questions -------------------------------------------------------------------------

_WRONG: list[tuple[dict[str, Any], str]] = [
    ({"question": None}, "question is missing"),
    ({"question": " "}, "question should be a non-empty string, not ' '"),
    ({"question": ["?"]}, "question should be a non-empty string, not ['?']"),
    ({"img_path": None}, "img_path is missing"),
    ({"img_path": []}, "img_path should be a path or a list of paths, not []"),
    ({"img_path": [1]}, "img_path should be a path or a list of paths, not [1]"),
    ({"img_path": "../x.png"}, "may be outside of"),
    ({"img_path": "/x.png"}, "may be outside of"),
    ({"img_path": "academic/none.png"}, "academic/none.png is missing"),
    ({"img_path": "academic/a\0.png"}, "annot read"),
    ({"img_path": "academic"}, "annot read"),
    ({"question": "<image 2>?"}, "it names '<image 2>', but has 1 image(s), numbered from 1"),
    ({"question": "<image 0>?"}, "it names '<image 0>', but has 1 image(s), numbered from 1"),
    ({"evaluator": None}, "evaluator is missing"),
    ({"evaluator": 3}, "evaluator should be a non-empty string, not 3"),
    ({"evaluator": "choice_matching"}, "unknown evaluator 'choice_matching'"),
    ({"evaluator_kwargs": None}, "evaluator_kwargs is missing"),
    ({"evaluator_kwargs": "B"}, "evaluator_kwargs should be an object, not 'B'"),
    ({"evaluator_kwargs": {}}, "choices_matching: the argument 'label' is missing"),
    ({"evaluator_kwargs": {"label": 2}}, "choices_matching: 'label' should be a string of letters"),
]


@table("changes, said", *_WRONG)
def test_the_error_names_question_and_remedy(
    folder: Path, changes: dict[str, Any], said: str
) -> None:
    write(folder / "annotation.json", changed(ENTRIES, FIRST, **changes))
    for message in (error_of("rome"), error_of("rome_academic")):
        (fault,) = [line for line in message.splitlines() if "question '" in line]
        assert fault.strip().startswith(f"question '{FIRST}': ")
        assert said in fault
        assert str(folder) in message
        assert "ROME_PATH" in message.splitlines()[-1]
    check_tasks(["rome_spatial"])


@table("identity", None, "", True, 1.5, {})
def test_a_question_without_an_id_is_named_by_its_place(folder: Path, identity: Any) -> None:
    write(folder / "annotation.json", [*ENTRIES, ENTRIES[0] | {"question_id": identity}])
    assert "annotation.json, row 13: question_id should be" in error_of("rome")


def test_entries_that_are_no_objects(folder: Path) -> None:
    write(folder / "annotation.json", [*ENTRIES, "question"])
    said = "annotation.json, row 13 should be a JSON object in braces, not 'question'"
    assert said in error_of("rome_geo")


def test_a_subtask_that_cannot_be_told(folder: Path) -> None:
    entry = ENTRIES[0] | {"task": "odd", "question_id": "q7", "img_path": "x.png"}
    write(folder / "annotation.json", [*ENTRIES, entry])
    message = error_of("rome_memes")
    assert "question 'q7': task cannot be found from the field 'task'" in message
    assert "academic, diagrams, puzzles_games" in message


def test_the_same_question_twice(folder: Path) -> None:
    write(folder / "annotation.json", [*ENTRIES, ENTRIES[0]])
    assert f"question '{FIRST}' occurs more than once" in error_of("rome")


def test_a_subtask_without_questions(folder: Path) -> None:
    write(folder / "annotation.json", [each for each in ENTRIES if each["task"] != "memes"])
    runnable = ",".join(f"rome_{each}" for each in SUBTASKS if each != "memes")
    for task in ("rome", "rome_memes"):
        said = f"no questions of: memes; run --tasks {runnable} for the others"
        assert said in error_of(task)
    check_tasks(["rome_geo"])
    (check,) = BENCHMARKS["rome"].data_checks()
    assert check.state == "ok"
    assert "no questions of: memes" in check.said


def test_no_questions_at_all(folder: Path) -> None:
    write(folder / "annotation.json", [{"question_id": "1", "answer": "B"}])
    message = error_of("rome_geo")
    assert "has questions with question_id, question, evaluator" in message


def test_saved_responses_to_data_without_questions_name_the_data(folder: Path) -> None:
    write(folder / "annotation.json", [])
    with pytest.raises(DataError, match=r"(?s)No question of rome can be used: .*ROME_PATH"):
        read_documents("rome")


@table("name", "nowhere", ".")
def test_no_annotations_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("ROME_PATH", str(tmp_path / "temporary" / name))
    message = error_of()
    assert "is not a folder with annotations" in message
    assert "BAAI/ROME" in message


def test_without_a_connection_the_error_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.delenv("ROME_PATH", raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    message = error_of()
    assert "BAAI/ROME" in message
    assert "Set ROME_PATH" in message


# --- documents for lmms-eval ---------------------------------------------------------------------


def load(subtask: str) -> Any:
    from datasets import load_dataset

    kwargs = getattr(dataset, f"kwargs_{subtask}")
    return dataset.attach_images(load_dataset("json", **kwargs)["test"])


@table("subtask", *SUBTASKS)
def test_documents_survive_the_json_builder(folder: Path, subtask: str) -> None:
    """Although ``img_path`` and ``evaluator_kwargs`` have values of many types."""
    docs = load(subtask)
    entries = [each for each in ENTRIES if each["task"] == subtask]
    assert [doc["id"] for doc in docs] == [each["question_id"] for each in entries]
    for doc, entry in zip(docs, entries, strict=True):
        assert json.loads(doc["evaluator_kwargs"]) == entry["evaluator_kwargs"]
        paths = entry["img_path"]
        assert doc["img_path"] == ([paths] if isinstance(paths, str) else paths)
        assert [image.getpixel((0, 0))[0] for image in doc["images"]] == list(
            range(len(doc["images"]))
        )


def test_whole_numbers_and_fractions_stay_what_they_are(folder: Path) -> None:
    """The published rule compares 7 exactly, but 7.0 within a tenth."""
    (doc,) = load("puzzles_games")
    assert isinstance(json.loads(doc["evaluator_kwargs"])["value_to_match"], int)


def test_the_results_file_tells_the_data(folder: Path) -> None:
    before = dataset.metadata_academic
    assert before["questions"] == 2
    assert before == dataset.metadata_academic
    write(folder / "annotation.json", changed(ENTRIES, FIRST, reference="C"))
    assert dataset.metadata_academic["data_sha256"] != before["data_sha256"]
    with pytest.raises(AttributeError, match="metadata_music"):
        dataset.metadata_music  # noqa: B018


def test_the_file_for_datasets_is_written_once_repaired_and_kept_in_the_cache(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stored() -> Path:
        return store(read(folder).questions, "ROME", "questions")

    path = stored()
    assert (tmp_path / "temporary") in path.parents
    stamp = path.stat().st_mtime_ns
    assert stored() == path
    assert path.stat().st_mtime_ns == stamp
    whole = path.read_bytes()
    path.write_bytes(whole[:10])
    assert stored().read_bytes() == whole
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    assert (tmp_path / "cache" / "rome") in stored().parents
    # An unwritable cache: root may write anywhere, but not below a file.
    write(tmp_path / "file", "")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "file"))
    assert (tmp_path / "temporary") in stored().parents


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="Windows has a temporary folder per user")
def test_a_temporary_folder_of_somebody_else_is_not_used(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "temporary" / f"lmms_rpts-{os.getuid()}").symlink_to(elsewhere)
    write(tmp_path / "file", "")
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "file"))
    message = error_of("rome_geo")
    assert "Set LMMS_RPTS_CACHE to a folder that is writable" in message
    assert list(elsewhere.iterdir()) == []
