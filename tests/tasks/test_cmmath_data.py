"""Data of CMMaTH: parsing, checks before a model is loaded, the data sets of lmms-eval's tasks."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.errors import UserError
from lmms_rpts.tasks.cmmath.questions import Problem, form_of, load
from lmms_rpts.tasks.registry import check_tasks, get_benchmark
from tests.support.cmmath import PROBLEMS, make_doc, make_problem, write_cmmath
from tests.support.environment import VARIABLES
from tests.support.lmms import TASKS_DIR
from tests.support.reference import reference
from tests.support.tables import table


@pytest.fixture(autouse=True)
def _nothing_from_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CMMATH_PATH", str(tmp_path / "cmmath"))
    return write_cmmath(tmp_path / "cmmath")


def first(**changes: Any) -> list[Any]:
    """The problems with changes of the first one; None removes a field."""
    problem = {name: it for name, it in (PROBLEMS[0] | changes).items() if it is not None}
    return [problem, *PROBLEMS[1:]]


def write(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def error_of(*tasks: str) -> str:
    with pytest.raises(UserError) as caught:
        check_tasks(tasks or ["cmmath"])
    return str(caught.value)


# --- faults: those of all readers stand in test_readers.py --------------------------------------

NO_ANSWER = [make_problem(answer=answer) for answer in ("", "暂无\n", " 暂无答案。", "$$暂无$$")]


@table(
    "content, said",
    (first(answer=None), "answer is missing"),
    (first(answer=["A"]), "answer should be a string, not ['A']"),
    ([*PROBLEMS, make_problem(problem_id=None)], "cmmath.json, row 6: problem_id should be"),
    # Also if it belongs to a problem without an answer.
    ([*PROBLEMS, PROBLEMS[1] | {"problem_id": "90005"}], "problem '90005' occurs more than once"),
    (
        [each | {"problem_id": at} for at, each in enumerate(NO_ANSWER)],
        "it contains no problem with an answer, and 4 without",
    ),
)
def test_files_that_cannot_be_used(folder: Path, content: Any, said: str) -> None:
    write(folder / "cmmath.json", content)
    assert said in error_of()
    assert said in error_of("cmmath_ocr")


@table("image, said", ([], "it has no image"), (["none.png"], "images/none.png is missing"))
def test_faults_of_images_matter_where_they_are_shown(folder: Path, image: Any, said: str) -> None:
    write(folder / "cmmath.json", first(image=image))
    for task in ("cmmath_steps", "cmmath_image_ocr"):
        assert said in error_of(task)
    check_tasks(["cmmath_ocr", "cmmath_text"])
    assert len(load("text").questions) == 4


def test_where_the_problems_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = load("images").questions
    assert [each.id for each in expected] == ["90001", "90002", "90003", "90004"]
    file = (folder / "cmmath.json").rename(folder / "part.json")
    assert f"CMMATH_PATH={str(folder)!r} is no folder with cmmath.json" in error_of()
    monkeypatch.setenv("CMMATH_PATH", str(file))
    assert load("images").questions == expected
    monkeypatch.delenv("CMMATH_PATH")
    assert "CMMATH_PATH is not set. CMMaTH is not on the Hub: git clone https://" in error_of()


# --- parsed fields -------------------------------------------------------------------------------


def only(folder: Path, **fields: Any) -> Problem:
    write(folder / "cmmath.json", [make_problem(**fields)])
    (problem,) = load("text").questions
    return problem


def test_the_fields_of_a_document_and_what_may_be_absent(folder: Path) -> None:
    assert json.loads(only(folder).model_dump_json()) == make_doc()
    names = ("analysis", "ocr", "grade_id", "grade_group", "knowledge_point", "metadata")
    bare = json.loads(only(folder, **dict.fromkeys(names)).model_dump_json())
    assert bare == make_doc(category=None, **dict.fromkeys(names[2:-1]), analysis="", ocr="")
    other = only(folder, problem_id=7, answer=12, grade_id="8", image="7.png", more=[1])
    found = (other.id, other.reference, other.grade_id, other.img_path)
    assert found == ("7", "12", 8, ("7.png",))
    assert only(folder, knowledge_point="代数(集合),几何(圆,点),代数").area == ("代数", "几何")


CHOICES = "哪些正确？（   ）\nA.甲\nB.乙\nC.丙"
BLANK = "面积是 $$\\underline{}$$ ．"
FORMS: dict[str, list[tuple[str, str]]] = {
    "choice": [
        *((CHOICES, letters) for letters in ("B", "A\nC", "A,C", "A、C", "$${AC}$$", "Ｂ．")),
        ("哪个？A. 甲 B. 乙", "A"), ("哪个？\n A、甲\n B、乙", "A"),
        (f"{CHOICES}\n(1) 甲\n(2) 乙", "B"),
    ],
    # No letter, or no options for it; no parts; no blanks.
    "open": [
        *((CHOICES, other) for other in ("甲", "AA", "ABCDEFGHI")), ("点在哪里？", "A"),
        ("连接 A、B 两点，哪点高？", "A"), ("看图．\n(1) 求a．", "(1) 3"),
        ("由(1)和(2)可知什么？", "$$(1,2)$$"),
        ("已知$$f(1)=2$$，$$f(2)=3$$，求$$f(3)$$．", "$$f(1)+f(2)$$"), ("判断：对．（   ）", "×"),
        ("求$$\\underline{AB}$$．", "9"), ("解方程：$${{x}^{2}}=4$$．", "$$\\pm 2$$"),
    ],
    "blank": [
        (BLANK, "B"), (BLANK, "9"), (f"A组：{BLANK}\nB组：$$\\underline{{ }}$$", "B"),
        ("$$\\angle C= \\underline{} {}^\\circ $$", "125"),
    ],
    # Recognised by the question or by the answer.
    "parts": [
        ("看图．\n(1) 求a．\n(2) 求b．", "3\n4"),
        ("看图．\n（1）求a；\n（2）求b．", "（1）3；（2）4"),
        ("看图．\n($$1$$)求a．\n($$2$$)求b．", "3，4"),
        ("求a和b．", "(1)$$a=1$$．\n(2)$$b=2$$．"),
        ("求a和b．", "（1）1；（2）2"),
        (f"{BLANK}\n(1) 求a．\n(2) {BLANK}", "3\n4"),
    ],
}  # fmt: skip


def test_the_form() -> None:
    for form, rows in FORMS.items():
        assert [row for row in rows if form_of(*row) != form] == [], form


def test_the_published_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """42 problems; counted manually: one has no answer, four have parts but are called choices."""
    monkeypatch.setenv("CMMATH_PATH", str(reference("cmmath", "sample.json")))
    found = load("text")
    assert (len(found.questions), found.left_out) == (41, 1)
    parts = [each.id for each in found.questions if each.form == "parts"]
    assert parts == ["23074", "21705", "16294", "24098"]
    forms = Counter(each.form for each in found.questions)
    assert forms == {"blank": 8, "choice": 41 - 8 - 4, "parts": 4}


# --- texts for the images ------------------------------------------------------------------------

CAPTION = "一个正方形。"


@table(
    "name, rows",
    ("captions.jsonl", f'{{"id": "90001", "caption": "{CAPTION}"}}\n' * 2),
    ("captions.csv", f"problem_id,caption\n90001,{CAPTION}\n90002,\n"),
    ("", ""),
)
def test_captions_of_a_file_and_of_the_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, rows: str
) -> None:
    if name:
        monkeypatch.setenv("CMMATH_CAPTIONS", str(write(folder / name, rows)))
    else:
        write(folder / "cmmath.json", first(caption=CAPTION))
    check_tasks(["cmmath_caption", "cmmath_inputs"])
    shown, *others = [each.caption for each in load("caption").questions]
    assert shown == CAPTION
    assert not any(others)


def test_captions_that_cannot_be_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "cmmath_caption: none of the 4 problems in " in error_of("cmmath_caption")
    rows = '{"id": "90001", "caption": "一"}\n{"id": "90001", "caption": "圆"}'
    monkeypatch.setenv("CMMATH_CAPTIONS", str(write(folder / "x.jsonl", rows)))
    assert "line 2: a second caption of problem '90001'" in error_of("cmmath_caption")
    check_tasks(["cmmath_ocr", "cmmath_text"])


def test_data_without_recognized_texts(folder: Path) -> None:
    write(folder / "cmmath.json", [each | {"ocr": ""} for each in PROBLEMS])
    for task in ("cmmath_ocr", "cmmath_image_ocr"):
        assert "has recognized text. Use data with a field 'ocr'" in error_of(task)
    check_tasks(["cmmath", "cmmath_text"])


# --- lmms-eval's tasks ---------------------------------------------------------------------------


def test_lmms_eval_builds_the_tasks(folder: Path) -> None:
    from lmms_eval.tasks import TaskManager, get_task_dict

    manager = TaskManager(include_path=str(TASKS_DIR), include_defaults=False)
    write(folder / "cmmath.json", [each | {"caption": CAPTION} for each in PROBLEMS])
    tasks = get_task_dict([*get_benchmark("cmmath").tasks], manager)
    for name, task in tasks.items():
        assert task.higher_is_better()["undecided_rate"] is False
        *_, last = task.test_docs()
        shown = 0 if name in ("cmmath_text", "cmmath_ocr", "cmmath_caption") else 2
        images = task.doc_to_visual(last)
        assert [image.getpixel((0, 0))[0] for image in images] == list(range(shown))
        assert task.doc_to_target(last) == "$$70{}^\\circ $$"
    prompts = {task.doc_to_text(task.test_docs()[0]) for task in tasks.values()}
    assert len(prompts) == len(tasks)
