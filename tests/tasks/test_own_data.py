"""Own data: every error is reported before a model is loaded, with file, place and field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lmms_eval.evaluator
import lmms_eval.tasks
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from lmms_rpts.base.rows import ReadError, Row
from lmms_rpts.filters.rpts import TransformFilter
from lmms_rpts.host.own_tasks import check_own_tasks, examine_folder
from lmms_rpts.scoring.question import ANSWER_FORMS, Question
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.data import (
    FIELDS,
    Instance,
    OwnData,
    as_question,
    check_instances,
    load,
    row_of,
)
from lmms_rpts.tasks.own.prompts import doc_to_text
from lmms_rpts.tasks.own.starting import METRICS, TASK_FILE, TASK_MODULE
from tests.support.tables import table

GOLD = ["Image0 -> The bar is at 4."]
GOOD: dict[str, Any] = {"question": "How high?", "answer": "4", "images": "a.png"}


@pytest.fixture(autouse=True)
def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")


def good(**changes: Any) -> dict[str, Any]:
    made = GOOD | {"reasoning": GOLD} | changes
    return {name: value for name, value in made.items() if value is not ...}


def write(
    folder: Path, content: str | bytes | list[Any], form: str = "number", **keys: str
) -> Path:
    """A folder with a task ``mine``, as ``init`` writes it.

    ``content``: of the file, or its objects; ``keys``: other arguments in ``utils.py``.
    """
    (folder / "images").mkdir(exist_ok=True)
    Image.new("RGB", (4, 4)).save(folder / "images" / "a.png")
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    (folder / "data.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
    name = {"name": "mine", "form": form}
    found = {"data": "data.jsonl", "images": "images", "language": "en"} | keys
    (folder / "mine.yaml").write_text(TASK_FILE.format(**name, metrics=METRICS), encoding="utf-8")
    (folder / "utils.py").write_text(TASK_MODULE.format(**name, **found), encoding="utf-8")
    return folder


def manager(folder: Path) -> Any:
    return lmms_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)


def told(folder: Path, tasks: Any = ("mine",)) -> str:
    """The error message, raised before the model is loaded; the model does not exist."""
    tasks_of = manager(folder)
    with pytest.raises((DataError, ReadError)) as caught:
        lmms_eval.evaluator.simple_evaluate(
            model="llava_hf",
            model_args="pretrained=/no/such/model",
            tasks=list(tasks),
            task_manager=tasks_of,
        )
    return str(caught.value)


def refused(folder: Path, form: str = "number") -> str:
    """The error message of the reader."""
    with pytest.raises((DataError, ReadError)) as caught:
        load(OwnData(folder / "data.jsonl", folder / "images", form))
    return str(caught.value)


@table(
    "data, said",
    ("", "it has no instance"),
    ('{"question": ', "is truncated"),
    (json.dumps(good()) + "\n\n{oops}", "line 3 is not valid JSON"),
    ('[{"question": "x"}, 4]', "row 2 should be a JSON object in braces, not 4"),
    (b'{"question": "\xe4"}', "line 1 is not UTF-8"),
    (b"\x89PNG\0", "is not a text file"),
)
def test_files_that_hold_no_instances(tmp_path: Path, data: str | bytes, said: str) -> None:
    found = refused(write(tmp_path, data))
    assert said in found
    assert f"{tmp_path}/data.jsonl" in found


@table(
    "fields, said",
    ({"question": ...}, "question is missing"),
    ({"question": None}, "question is missing"),
    ({"question": ..., "qestion": "x"}, "'qestion' is unknown: did you mean 'question'?"),
    ({"images": ..., "Image": "a.png"}, "'Image' is unknown: did you mean 'images'?"),
    ({"question": " "}, "question should be a non-empty string, not ' '"),
    ({"question": 4}, "question should be a non-empty string, not 4"),
    ({"statement": "x"}, "question and statement mean the same: remove one"),
    ({"answer": ...}, "answer is missing"),
    ({"answer": True}, "answer should be a string or a number, not True"),
    ({"answer": [["4"]]}, "answer should be a string or a number, not ['4']"),
    ({"answer": "four apples?"}, "answer cannot be graded as a number"),
    ({"images": 4}, "images should be a list, not 4"),
    ({"images": ["a.png", ""]}, "images[1] should be a non-empty string, not ''"),
    ({"images": "b.png"}, "images: the image {folder}/images/b.png is missing"),
    ({"images": "../mine.yaml"}, "may be outside of {folder}/images"),
    ({"images": "/etc/hostname"}, "may be outside of {folder}/images"),
    ({"images": "broken.png"}, "cannot read the image {folder}/images/broken.png"),
    ({"images": "half.png"}, "cannot read the image {folder}/images/half.png"),
    ({"images": "out.png"}, "is a link to a file outside of {folder}/images"),
    ({"images": "x\0y.png"}, "annot read"),
    ({"images": "x" * 5000}, "annot read"),
    ({"context": 4}, "context should be a string, not 4"),
    ({"texts": "one"}, "texts should be a list, not 'one'"),
    ({"options": {"A": "x"}}, "options should be a list, not"),
    ({"options": [None]}, "options[0] should be a string or a number, not None"),
    ({"tolerance": "5%"}, "tolerance should be a number, not '5%'"),
    ({"tolerance": 5}, "tolerance should be less than or equal to 1, not 5"),
    ({"language": "de"}, "language should be one of en, zh, not 'de'"),
    ({"reasoning": "Image0 -> x"}, "reasoning should be a list, not 'Image0 -> x'"),
    ({"reasoning": ["The bar is high."]}, "cannot parse 'reasoning': line 0"),
    (
        {"reasoning": ["Image1 -> x"]},
        "'reasoning' cites Image1 in line 0, but the document has 1 image, numbered from 0",
    ),
    ({"ability": 4}, "ability should be a list, not 4"),
    ({"relation": "sideways"}, "relation should be one of guided, adversarial, independent, not"),
    ({"id": 1.5}, "id should be a string or a whole number, not 1.5"),
    ({"id": "first"}, "line 2: the id 'first' is also the id of line 1"),
    ({"id": ["x"]}, "id should be a string or a whole number, not ['x']"),
)
def test_instances_that_cannot_be_evaluated(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    write(tmp_path, [good(id="first"), good(**fields)])
    folder = tmp_path / "images"
    (folder / "broken.png").write_bytes(b"no image")
    Image.effect_noise((64, 64), 50).save(folder / "half.png")
    (folder / "half.png").write_bytes((folder / "half.png").read_bytes()[:2000])
    (tmp_path / "elsewhere.png").write_bytes((folder / "a.png").read_bytes())
    (folder / "out.png").symlink_to(tmp_path / "elsewhere.png")
    found = refused(tmp_path)
    assert said.format(folder=tmp_path) in found
    assert "line 2" in found
    assert "line 1 (id 'first')" not in found


def test_an_id_of_0_is_an_id_on_every_line(tmp_path: Path) -> None:
    write(tmp_path, [good(id=7), good(id=0), good(id=1, answer=True), good(id=0)])
    found = refused(tmp_path)
    assert "line 4: the id '0' is also the id of line 2" in found
    # A line without an id has its number, from 0, as its id.
    write(tmp_path, [good(), good(id=0, answer=True)])
    found = refused(tmp_path)
    assert "line 2 (id 0): answer should be" in found
    assert "line 2: the id '0' is also the id of line 1" in found


@table(
    "form, answer, options, said",
    ("agree", "yes", None, "answer should be agree or disagree, not 'yes'"),
    ("choice", "D", ["red", "blue"], "answer cannot be graded as a choice: 'D' is neither"),
    ("choice", "green", ["red", "blue"], "answer cannot be graded as a choice: 'green' is neither"),
    ("choice", "red", None, "answer cannot be graded as a choice: 'red' is not one"),
    ("number", "many", None, "answer cannot be graded as a number: 'many' is not a number"),
    ("text", "?", None, "answer cannot be graded as a text: '?' has no letter or digit"),
)
def test_answers_that_nobody_could_grade(
    tmp_path: Path, form: str, answer: str, options: list[str] | None, said: str
) -> None:
    assert said in refused(write(tmp_path, [good(answer=answer, options=options)]), form)


@table(
    "form, keys, said",
    (
        "coice",
        {},
        "answer should be one of agree, choice, number, text, anls, relaxed, mixed, none, function",
    ),
    ("text", {"language": "de"}, "language should be one of en, zh, not 'de'"),
    ("text", {"images": "pictures"}, "the folder of images {folder}/pictures is missing"),
    ("text", {"data": "none.jsonl"}, "{folder}/none.jsonl: No such file"),
    ("text", {"data": "images"}, "{folder}/images: No such file"),
)
def test_parts_that_cannot_be_used(
    tmp_path: Path, form: str, keys: dict[str, str], said: str
) -> None:
    assert said.format(folder=tmp_path) in told(write(tmp_path, [good()], form, **keys))


def test_the_check_alone_tells_the_same(tmp_path: Path) -> None:
    write(tmp_path, [good(question=...)])
    (tmp_path / "all.yaml").write_text("group: all_mine\ntask: [mine]\n", encoding="utf-8")
    for name in ("mine", "all_mine"):
        with pytest.raises(DataError, match="question is missing"):
            check_own_tasks(manager(tmp_path), [name])
    (check,) = [each for each in examine_folder(tmp_path) if each.name == "mine"]
    assert check.state == "problem"
    assert "question is missing" in check.said


def test_images_without_gold_reasoning_need_a_judge_that_sees(tmp_path: Path) -> None:
    found = told(write(tmp_path, [good(reasoning=...)]))
    assert "there is no gold reasoning" in found
    assert "LMMS_RPTS_EVIDENCE=facts" in found


def test_a_task_that_includes_another_one(tmp_path: Path) -> None:
    """The file's own keys take precedence; functions stay those of the included folder."""
    write(tmp_path, [good(), good()], "none")
    (tmp_path / "heir").mkdir()
    heir = f"task: heir\ninclude: {tmp_path}/mine.yaml\nrepeats: 2\n"
    (tmp_path / "heir" / "heir.yaml").write_text(heir)
    found = manager(tmp_path)._get_config("heir")
    assert (found["task"], found["repeats"]) == ("heir", 2)
    assert found["metadata"]["instances"] == 2
    assert found["metadata"]["images"] == str(tmp_path / "images")


def test_the_documents(tmp_path: Path) -> None:
    record = good(context="A chart.", texts=["Text."], options=[1, 0.0000001], ability="Math", id=7)
    assert as_question(Instance(**record), "number", "zh", 3) == Question(
        id="7",
        language="zh",
        form="number",
        statement="How high?",
        context="A chart.\nHow high?\nA. 1\nB. 0.0000001",
        background="A chart.",
        textual_clue=("Text.",),
        visual_clue=("a.png",),
        reasoning=tuple(GOLD),
        answer="4",
        options=("1", "0.0000001"),
        tolerance=0.0,
        ability=("Math",),
        relation=None,
    )
    agree = as_question(Instance(question="It is high.", answer="agree"), "agree", "en", 3)
    assert (agree.id, agree.statement, agree.context) == ("3", "It is high.", "")
    assert as_question(Instance(question="Why?"), "none", "en", 0).answer == ""


@table(
    "value, text", (4, "4"), (-3.5, "-3.5"), (1e-7, "0.0000001"), (1e16, "1" + "0" * 16), ("B", "B")
)
def test_numbers_are_written_in_plain_digits(value: Any, text: str) -> None:
    assert Instance(question="?", answer=value).answer == text


def test_a_file_is_examined_once_until_it_changes(tmp_path: Path) -> None:
    write(tmp_path, [good()])
    source = OwnData(tmp_path / "data.jsonl", tmp_path / "images", "number")
    assert load(source) is load(source)
    (tmp_path / "data.jsonl").write_text(json.dumps(good()) + "\n" + json.dumps(good()))
    assert len(load(source)) == 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from((*FIELDS, "extra", "anwser")), VALUES, max_size=6)


@given(st.lists(OBJECTS, min_size=1, max_size=3), st.sampled_from(ANSWER_FORMS))
@example([{"question": "?", "answer": "ſ", "options": ["İ", "ſ"]}], "choice")
@example([{"question": "?", "answer": "٤"}], "number")
def test_any_objects_are_instances_or_told(objects: list[dict[str, Any]], form: str) -> None:
    rows = [Row(Path("x"), f"line {at}", at, each) for at, each in enumerate(objects)]
    instances, faults = check_instances(rows, form)
    assert faults or len(instances) == len(objects)
    assert all(each.question.strip() for _, each in instances)


@table(
    "make, said",
    (lambda folder: folder / "none", "is not a folder"),
    (lambda folder: folder, "contains no"),
)
def test_folders_without_tasks(tmp_path: Path, make: Callable[[Path], Path], said: str) -> None:
    (check,) = examine_folder(make(tmp_path))
    assert check.state == "problem"
    assert said in check.said


@table(
    "answer, options, response, correct",
    ("agree", [], "Final answer: I agree.", True),
    ("同意", [], "最终答案：不同意", False),
    (["red", "crimson"], [], "Final answer: crimson", True),
    (["4", "5"], [], "Final answer: 6", False),
    ("4", [], "Final answer: 4.0", True),
    ("4", [], "Final answer: four", True),
    ("4", [], "Final answer: 5", False),
    ("B", ["red", "blue"], "Final answer: (B) blue", True),
    ("B", ["red", "blue"], "Final answer: blue", True),
    ("B", ["red", "blue"], "Final answer: A", False),
    ("B", [], "Final answer: C", False),
    ("Rome", [], "Final answer: Rome.", True),
)
def test_answers_of_several_forms_in_one_file(
    answer: Any, options: list[str], response: str, correct: bool
) -> None:
    assert graded("mixed", answer, response, options) is correct


def graded(form: Any, answer: Any, response: str, options: Any = ()) -> bool | None:
    doc = as_question(Instance(question="What?", answer=answer, options=options), form, "en", 0)
    (found,) = TransformFilter(judge="lexical", answer=form).apply([[response]], [row_of(doc)])
    correct: bool | None = found[0].answer.correct
    return correct


@table(
    "form, answer, response, correct",
    ("anls", ["colour", "hue"], "Final answer: color", True),  # 1 of 6 letters to be edited
    ("anls", "colour", "Final answer: shape", False),
    ("relaxed", 20, "Final answer: 21", True),
    ("relaxed", "20", "Final answer: 21.1", False),
)
def test_forms_of_docvqa_and_chartqa(form: str, answer: Any, response: str, correct: bool) -> None:
    assert graded(form, answer, response) is correct


def test_several_right_answers_make_a_column_of_lists(tmp_path: Path) -> None:
    write(tmp_path, [good(answer=["4", "four"]), good(answer="disagree")], "mixed")
    source = OwnData(tmp_path / "data.jsonl", tmp_path / "images", "mixed")
    (file,) = source.dataset_kwargs()["data_files"].values()
    docs = [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]
    assert [doc["answer"] for doc in docs] == [["4", "four"], ["disagree"]]
    assert [Question.of(doc).gold for doc in docs] == ["4 | four", "disagree"]
    assert "Final answer: agree, or" in doc_to_text(docs[1])
