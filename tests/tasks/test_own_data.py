"""Own data: every error is reported before a model is loaded, with its file, place and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lmms_eval.evaluator
import lmms_eval.tasks
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image

from lmms_rpts.base.rows import Row
from lmms_rpts.filters.rpts import TransformFilter
from lmms_rpts.host.own_tasks import check_own_tasks, examine_folder
from lmms_rpts.scoring.question import ANSWER_FORMS, Question
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.data import FIELDS, OwnData, OwnQuestion, files_of
from lmms_rpts.tasks.own.starting import Start
from lmms_rpts.tasks.questions import parse_questions
from tests.support.tables import table

GOLD = ["Image0 -> The bar is at 4."]
GOOD: dict[str, Any] = {"question": "How high?", "answer": "4", "images": "a.png"}


@pytest.fixture(autouse=True)
def _judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")


def good(**changes: Any) -> dict[str, Any]:
    made = GOOD | {"reasoning": GOLD} | changes
    return {name: value for name, value in made.items() if value is not ...}


def write(folder: Path, content: str | bytes | list[Any], form: str = "number") -> Path:
    """A folder with a task ``mine``, as ``init`` writes it; ``content`` of its data."""
    (folder / "images").mkdir(exist_ok=True)
    Image.new("RGB", (4, 4)).save(folder / "images" / "a.png")
    for name, text in Start("mine", form, "en", [], {}).texts().items():
        (folder / name).write_text(text, encoding="utf-8")
    if isinstance(content, list):
        content = "\n".join(map(json.dumps, content))
    (folder / "data.jsonl").write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def data_of(folder: Path, form: str = "number") -> OwnData:
    return OwnData(folder / "data.jsonl", folder / "images", form)


def refused(folder: Path, form: str = "number") -> str:
    """The error message of the reader."""
    with pytest.raises(DataError) as caught:
        assert data_of(folder, form).load().dataset
    return str(caught.value)


def question(form: str = "number", **fields: Any) -> OwnQuestion:
    given = {"id": "7", "form": form, "language": "en", "question": "What?"}
    return OwnQuestion.model_validate(given | fields)


@table(
    "data, said",
    ("", "it has no instances"),
    ('{"question": ', "is truncated"),
    (json.dumps(good()) + "\n\n{oops}", "line 3 is not valid JSON"),
    ('[{"question": "x"}, 4]', "row 2 should be a JSON object in braces, not 4"),
    (b'{"question": "\xe4"}', "line 1 is not UTF-8"),
)
def test_files_that_hold_no_instances(tmp_path: Path, data: str | bytes, said: str) -> None:
    found = refused(write(tmp_path, data))
    assert said in found
    assert f"{tmp_path}/data.jsonl" in found


@table(
    "fields, said",
    ({"question": ...}, "question is missing"),
    ({"question": ..., "qestion": "x"}, "'qestion' is unknown: did you mean 'question'?"),
    ({"images": ..., "Image": "a.png"}, "'Image' is unknown: did you mean 'images'?"),
    ({"image": "a.png"}, "'image' is unknown: did you mean 'images'?"),
    ({"question": " "}, "question should be a non-empty string, not ' '"),
    ({"statement": "x"}, "question and statement mean the same: remove one"),
    ({"answer": ...}, "answer is missing"),
    ({"answer": True}, "answer should be a string or a number, not True"),
    ({"answer": "four apples?"}, "answer cannot be graded as a number"),
    ({"images": {}}, "images should be a list, not {{}}"),
    ({"images": ["a.png", ""]}, "images[1] should be a non-empty string, not ''"),
    ({"images": "b.png"}, "the image {folder}/images/b.png is missing"),
    ({"images": "../mine.yaml"}, "may be outside of {folder}/images"),
    ({"images": "half.png"}, "cannot read the image {folder}/images/half.png"),
    ({"images": "out.png"}, "is a link to a file outside of {folder}/images"),
    ({"images": "x\0y.png"}, "annot read"),
    ({"texts": "one"}, "texts should be a list, not 'one'"),
    ({"options": [None]}, "options[0] should be a string or a number, not None"),
    ({"tolerance": 5}, "tolerance should be less than or equal to 1, not 5"),
    ({"language": "de"}, "language should be one of en, zh, not 'de'"),
    ({"reasoning": ["The bar is high."]}, "cannot parse 'reasoning': line 0"),
    ({"reasoning": ["Image1 -> x"]}, "cites Image1 in line 0, but the document has 1 image, num"),
    ({"relation": "sideways"}, "relation should be one of guided, adversarial, independent, not"),
    ({"id": 1.5}, "id should be a string or a whole number, not 1.5"),
    ({"id": "first"}, "instance 'first' occurs more than once"),
)
def test_instances_that_cannot_be_evaluated(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    write(tmp_path, [good(id="first"), good(**fields)])
    folder = tmp_path / "images"
    Image.effect_noise((64, 64), 50).save(folder / "half.png")
    (folder / "half.png").write_bytes((folder / "half.png").read_bytes()[:2000])
    (tmp_path / "elsewhere.png").write_bytes((folder / "a.png").read_bytes())
    (folder / "out.png").unlink(missing_ok=True)
    (folder / "out.png").symlink_to(tmp_path / "elsewhere.png")
    found = refused(tmp_path)
    assert said.format(folder=tmp_path) in found
    assert "data.jsonl, line 2" in found or "instance" in found
    assert "instance 'first':" not in found


@table(
    "form, answer, options, said",
    ("agree", "yes", [], "answer should be agree or disagree, not 'yes'"),
    ("choice", "D", ["red", "blue"], "answer cannot be graded as a choice: 'D' is neither"),
    ("choice", "red", [], "answer cannot be graded as a choice: 'red' is not one"),
    ("number", ["4", "many"], [], "answer cannot be graded as a number: 'many' is not a number"),
    ("text", "?", [], "answer cannot be graded as a text: '?' has no letter or digit"),
)
def test_answers_that_nobody_could_grade(
    tmp_path: Path, form: str, answer: Any, options: list[str], said: str
) -> None:
    assert said in refused(write(tmp_path, [good(answer=answer, options=options)]), form)


@table(
    "old, new, said",
    ('"number"', '"coice"', "answer should be one of agree, choice, number, text, anls, relaxed"),
    ("data.jsonl", "none.jsonl", "{folder}/none.jsonl: No such file"),
)
def test_faults_come_before_the_model(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The model does not exist."""
    utils = write(tmp_path, [good()]) / "utils.py"
    utils.write_text(utils.read_text().replace(old, new), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        lmms_eval.evaluator.simple_evaluate(
            model="llava_hf",
            model_args="pretrained=/no/such/model",
            tasks=["mine"],
            task_manager=manager(tmp_path),
        )
    assert said.format(folder=tmp_path) in str(caught.value)


def manager(folder: Path) -> Any:
    return lmms_eval.tasks.TaskManager(include_path=str(folder), include_defaults=False)


def test_the_check_alone_tells_the_same(tmp_path: Path) -> None:
    write(tmp_path, [good(question=...)])
    (tmp_path / "all.yaml").write_text("group: all_mine\ntask: [mine]\n", encoding="utf-8")
    with pytest.raises(DataError, match="question is missing"):
        check_own_tasks(manager(tmp_path), ["all_mine"])
    (check,) = [each for each in examine_folder(tmp_path) if each.name == "mine"]
    assert check.state == "problem"
    assert "question is missing" in check.said
    write(tmp_path, [good(reasoning=...)])
    with pytest.raises(DataError, match=r"no gold reasoning[^$]*LMMS_RPTS_EVIDENCE=facts"):
        check_own_tasks(manager(tmp_path), ["mine"])
    (check,) = examine_folder(tmp_path / "images")
    assert "contains no .yaml file with a task" in check.said


# --- questions -----------------------------------------------------------------------------------


def test_the_fields_of_a_question() -> None:
    read = question(**good(context="A chart.", texts=["Text."], options=[1, 0.0000001], id=7))
    assert read.context == "A chart.\nHow high?\nA. 1\nB. 0.0000001"
    assert (read.id, read.statement, read.background) == ("7", "How high?", "A chart.")
    assert (read.textual_clue, read.visual_clue) == (("Text.",), ("a.png",))
    assert question("agree", question="High.", answer="agree").context == ""
    assert question("none").answer == ""
    assert question(answer=1e16).answer == "1" + "0" * 16


def test_a_file_is_read_once_until_it_changes(tmp_path: Path) -> None:
    write(tmp_path, [good()])
    assert data_of(tmp_path).load() is data_of(tmp_path).load()
    (tmp_path / "data.jsonl").write_text(f"{json.dumps(good())}\n{json.dumps(good())}")
    assert [each.id for each in data_of(tmp_path).load().questions] == ["0", "1"]


def test_several_right_answers_make_a_column_of_lists(tmp_path: Path) -> None:
    write(
        tmp_path, [good(answer=["4", "four"]), good(answer="disagree", images=..., reasoning=...)]
    )
    docs = data_of(tmp_path, "mixed").load().dataset.to_list()
    assert [doc["answer"] for doc in docs] == [["4", "four"], ["disagree"]]
    assert [Question.of(doc).gold for doc in docs] == ["4 | four", "disagree"]
    assert [len(doc["images"]) for doc in docs] == [1, 0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3)
    ),
    max_leaves=6,
)
OBJECTS = st.dictionaries(st.sampled_from((*FIELDS, "statement", "anwser")), VALUES, max_size=6)


@given(st.lists(OBJECTS, min_size=1, max_size=3), st.sampled_from(ANSWER_FORMS))
@example([{"question": "?", "answer": "ſ", "options": ["İ", "ſ"]}], "choice")
@example([{"question": "?", "answer": "٤"}], "number")
def test_any_objects_are_instances_or_told(objects: list[dict[str, Any]], form: str) -> None:
    rows = [Row(Path("x"), f"line {at}", at, each) for at, each in enumerate(objects)]
    data = OwnData(Path("x"), Path("y"), form)
    found, faults, _ = parse_questions(files_of(data), rows, data.source())
    assert faults or len(found) == len(objects)
    assert all(each.statement.strip() for _, each in found)


@table(
    "form, answer, options, response, correct",
    ("mixed", "agree", [], "Final answer: I agree.", True),
    ("mixed", "同意", [], "最终答案：不同意", False),
    ("mixed", ["red", "crimson"], [], "Final answer: crimson", True),
    ("mixed", "4", [], "Final answer: four", True),
    ("mixed", "B", ["red", "blue"], "Final answer: blue", True),
    ("mixed", "Rome", [], "Final answer: Rome.", True),
    ("anls", ["colour", "hue"], [], "Final answer: color", True),  # 1 of 6 letters to be edited
    ("relaxed", "20", [], "Final answer: 21.1", False),
)
def test_answers_of_all_forms(
    form: Any, answer: Any, options: list[str], response: str, correct: bool
) -> None:
    doc = question(form, answer=answer, options=options).model_dump(by_alias=True)
    (found,) = TransformFilter(judge="lexical", answer=form).apply([[response]], [doc])
    assert found[0].answer.correct is correct
