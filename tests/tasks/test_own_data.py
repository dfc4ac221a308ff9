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
from lmms_rpts.host.own_tasks import examine_folder
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
    (json.dumps(good()) + "\n\n{oops}", "line 3 is not valid JSON"),
    ('[{"question": "x"}, 4]', "row 2 should be a JSON object in braces, not 4"),
    (b'{"question": "\xe4"}', "line 1 is not UTF-8"),
)
def test_files_that_hold_no_instances(tmp_path: Path, data: str | bytes, said: str) -> None:
    assert said in refused(write(tmp_path, data))


@table(
    "fields, said",
    ({"question": ..., "qestion": "x"}, "'qestion' is unknown: did you mean 'question'?"),
    ({"image": "a.png"}, "'image' is unknown: did you mean 'images'?"),
    ({"statement": "x"}, "question and statement mean the same: remove one"),
    ({"answer": ...}, "answer is missing"),
    ({"answer": True}, "answer should be a string or a number, not True"),
    ({"answer": "four apples?"}, "answer cannot be graded as a number"),
    ({"answer": ["4", "many"]}, "answer cannot be graded as a number: 'many' is not a number"),
    ({"images": {}}, "images should be a list, not {}"),
    ({"options": [None]}, "options[0] should be a string or a number, not None"),
    ({"tolerance": 5}, "tolerance should be less than or equal to 1, not 5"),
    ({"language": "de"}, "language should be one of en, zh, not 'de'"),
    ({"reasoning": ["The bar is high."]}, "cannot parse 'reasoning': line 0"),
    ({"reasoning": ["Image1 -> x"]}, "cites Image1 in line 0, but the document has 1 image, num"),
)
def test_instances_that_cannot_be_evaluated(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    found = refused(write(tmp_path, [good(id="first"), good(**fields)]))
    assert said in found
    assert "data.jsonl, line 2" in found or "instance" in found
    assert "instance 'first':" not in found


def test_answers_that_nobody_could_grade(tmp_path: Path) -> None:
    choice = write(tmp_path, [good(options=["red", "blue"], answer="D")])
    assert "graded as a choice: 'D' is neither" in refused(choice, "choice")
    assert "should be agree or disagree" in refused(write(tmp_path, [good(answer="yes")]), "agree")
    assert "'?' has no letter or digit" in refused(write(tmp_path, [good(answer="?")]), "text")


def test_faults_come_before_the_model(tmp_path: Path) -> None:
    """The model does not exist; ``doctor`` tells the same."""
    write(tmp_path, [good(question=...)])
    (tmp_path / "all.yaml").write_text("group: all_mine\ntask: [mine]\n", encoding="utf-8")
    manager = lmms_eval.tasks.TaskManager(include_path=str(tmp_path), include_defaults=False)

    def evaluate() -> None:
        lmms_eval.evaluator.simple_evaluate(
            model="llava_hf",
            model_args="pretrained=/no/such/model",
            tasks=["all_mine"],
            task_manager=manager,
        )

    with pytest.raises(DataError, match="question is missing"):
        evaluate()
    (check,) = [each for each in examine_folder(tmp_path) if each.name == "mine"]
    assert check.state == "problem"
    assert "question is missing" in check.said
    write(tmp_path, [good(reasoning=...)])
    with pytest.raises(DataError, match=r"no gold reasoning[^$]*LMMS_RPTS_EVIDENCE=facts"):
        evaluate()
    utils = tmp_path / "utils.py"
    utils.write_text(utils.read_text().replace('"number"', '"coice"'), encoding="utf-8")
    with pytest.raises(DataError, match="answer should be one of agree, choice, number"):
        evaluate()
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


def test_several_right_answers_make_a_column_of_lists(tmp_path: Path) -> None:
    several = good(answer=["4", "four"])
    write(tmp_path, [several, good(answer="disagree", images=..., reasoning=...)])
    docs = data_of(tmp_path, "mixed").load().dataset.to_list()
    assert [doc["answer"] for doc in docs] == [["4", "four"], ["disagree"]]
    assert [Question.of(doc).gold for doc in docs] == ["4 | four", "disagree"]
    assert [len(doc["images"]) for doc in docs] == [1, 0]
    write(tmp_path, [several])  # a changed file is read again
    (read,) = OwnData(tmp_path / "data.jsonl", tmp_path / "images", "mixed", "zh").load().questions
    assert read.language == "zh"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
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
