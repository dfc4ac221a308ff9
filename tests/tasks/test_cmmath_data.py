"""Data of CMMaTH: finding, parsing, checks before a model is loaded, conversion for lmms-eval."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.tasks import check_tasks
from lmms_rpts.tasks.cmmath import data as dataset
from lmms_rpts.tasks.cmmath.data import DATA, Problem, form_of
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.questions import Questions
from tests.support.cmmath import PROBLEMS, changed, make_doc, make_problem, write_cmmath
from tests.support.environment import VARIABLES, configure
from tests.support.lmms import TASKS_DIR
from tests.support.reference import reference
from tests.support.tables import table

FIRST = "90001"
TASKS = [
    f"cmmath{each}" for each in ("", "_en_cot", "_clp", "_steps", "_text", "_ocr", "_image_ocr")
]
TEXTS = ["cmmath_text", "cmmath_ocr", "cmmath_caption"]


@pytest.fixture(autouse=True)
def _nothing_from_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    dataset.say_once.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CMMATH_PATH", str(tmp_path / "cmmath"))
    return write_cmmath(tmp_path / "cmmath")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    said: list[str] = []
    handler = logger.add(lambda message: said.append(str(message)), format="{message}")
    yield said
    logger.remove(handler)


def write(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def error_of(*tasks: str) -> str:
    with pytest.raises(DataError) as caught:
        check_tasks(tasks or ["cmmath"])
    return str(caught.value)


# --- faults of problems --------------------------------------------------------------------------

# field, wrong value (None: no field), what is said
WRONG: list[tuple[str, Any, str]] = [
    ("question", None, "question is missing"), ("answer", None, "answer is missing"),
    ("question", " \n", "question should be a non-empty string, not ' \\n'"),
    ("question", ["?"], "question should be a non-empty string, not ['?']"),
    ("answer", ["A"], "answer should be a string, not ['A']"),
    ("answer", True, "answer should be a string, not True"),
    ("answer_type", None, "answer_type is missing"),
    ("answer_type", "blank", "answer_type should be one of choice, free_form, not 'blank'"),
    ("answer_type", ["choice"], "answer_type should be one of choice, free_form"),
    ("analysis", 3, "analysis should be a string, not 3"), ("ocr", ["A"], "ocr should be a string"),
    ("grade_id", "six", "grade_id should be a whole number, not 'six'"),
    ("grade_id", 6.5, "grade_id should be a whole number, not 6.5"),
    ("grade_group", False, "grade_group should be a whole number, not False"),
    ("knowledge_point", {"a": 1}, "knowledge_point should be a string"),
    ("skill", [], "skill should be a string, not []"), ("metadata", "x", "should be an object"),
    ("metadata", {"multimodal-category": 1}, "metadata should be a string, not 1"),
]  # fmt: skip
WRONG_IMAGES: list[tuple[Any, str]] = [
    *((each, "image should be a path or a list of paths, not") for each in (None, [], [1])),
    (["../cmmath.json"], "may be outside of"), ("/etc/passwd", "may be outside of"),
    (["none.png"], "images/none.png is missing"),
    *(([each], "annot read") for each in ("a\0.png", ".", "x" * 3000)),
]  # fmt: skip


@table("field, value, said", *WRONG)
def test_the_error_names_problem_and_remedy(
    folder: Path, field: str, value: Any, said: str
) -> None:
    write(folder / "cmmath.json", changed(PROBLEMS, FIRST, **{field: value}))
    for task in ("cmmath_ocr", "cmmath_all"):
        message = error_of(task)
        (fault,) = [line for line in message.splitlines() if "problem '" in line]
        assert fault.strip().startswith(f"problem '{FIRST}': ")
        assert said in fault
        assert "CMMATH_PATH" in message.splitlines()[-1]


@table("image, said", *WRONG_IMAGES)
def test_faults_of_images_matter_where_they_are_shown(folder: Path, image: Any, said: str) -> None:
    write(folder / "cmmath.json", changed(PROBLEMS, FIRST, image=image))
    message = error_of("cmmath_steps")
    assert f"problem '{FIRST}': " in message
    assert said in message
    check_tasks(["cmmath_ocr"])
    assert dataset.metadata["problems"] == 4


@table(
    "more, said",
    *(
        ([PROBLEMS[0] | {"problem_id": identity}], "cmmath.json, row 6: problem_id should be")
        for identity in (None, " ", True, 1.5)
    ),
    ([None], "cmmath.json, row 6 should be a JSON object in braces, not None"),
    # Also if one id is a number, or belongs to a problem without an answer.
    ([PROBLEMS[1] | {"problem_id": 90001}], "problem '90001' occurs more than once"),
    ([PROBLEMS[1] | {"problem_id": "90005"}], "problem '90005' occurs more than once"),
)
def test_problems_that_have_no_id_of_their_own(folder: Path, more: list[Any], said: str) -> None:
    write(folder / "cmmath.json", [*PROBLEMS, *more])
    assert said in error_of()


NO_ANSWER = list(enumerate(["", "暂无\n", " 暂无答案。", "$$暂无$$", "$$$$", None]))


@table(
    "content, said",
    ('[{"problem_id": ', "cmmath.json is not valid JSON: Expecting value"),
    ("[" * 100_000, "cmmath.json is not valid JSON: it is nested too deeply"),
    ("[]", "it contains no problem"),
    ('[{"a": 1}]', "cmmath.json, row 1: problem_id is missing"),
    (
        [make_problem(answer=answer, problem_id=at) for at, answer in NO_ANSWER],
        "no usable problem: none of its 6 problems has an answer",
    ),
)
@pytest.mark.usefixtures("no_garbage_collection")
def test_files_without_problems(folder: Path, content: Any, said: str) -> None:
    whole = (folder / "cmmath.json").read_text(encoding="utf-8")
    write(folder / "cmmath.json", content)
    assert said in error_of()
    with pytest.raises(DataError):
        check_tasks(["cmmath_ocr"])
    write(folder / "cmmath.json", whole)
    check_tasks(["cmmath"])


# --- where the problems are ----------------------------------------------------------------------


@table(
    "name, said",
    ("", "is not set, and CMMaTH is not on the Hub: git clone https://github.com/zzli2022/CMMaTH"),
    ("nowhere/at/all", "CMMATH_PATH='nowhere/at/all' is neither a folder nor a file"),
)
def test_no_data(monkeypatch: pytest.MonkeyPatch, name: str, said: str) -> None:
    monkeypatch.setenv("CMMATH_PATH", name)
    assert said in error_of()


def test_the_file_itself_and_other_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = DATA.load().questions
    assert [each.id for each in expected] == ["90001", "90002", "90003", "90004"]
    monkeypatch.setenv("CMMATH_PATH", str(folder / "cmmath.json"))
    assert DATA.load().questions == expected
    (folder / "cmmath.json").rename(folder / "part.json")
    monkeypatch.setenv("CMMATH_PATH", str(folder))
    assert f"CMMATH_PATH={str(folder)!r} is not a folder with cmmath.json. Set" in error_of()
    monkeypatch.setenv("CMMATH_PATH", str(folder / "part.json"))
    assert DATA.load().questions == expected


# --- what else is required -----------------------------------------------------------------------


@table("grader, errors", ("judge", False), ("both", False), ("rule", True))
def test_a_missing_judge_is_reported_before_the_data_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, grader: str, errors: bool
) -> None:
    monkeypatch.setenv("CMMATH_GRADER", grader)
    configure(monkeypatch, cmmath={"errors": errors})
    monkeypatch.setenv("CMMATH_PATH", str(tmp_path / "nowhere"))
    named = "errors = true" if errors else f"CMMATH_GRADER={grader}"
    with pytest.raises(JudgeConfigurationError, match=named):
        check_tasks(["cmmath_ocr"])


def test_problems_without_an_answer_are_counted_once(folder: Path, logged: list[str]) -> None:
    check_tasks(["cmmath", "cmmath_ocr", "cmmath_all"])
    (said,) = [line for line in logged if "have no answer" in line]
    assert "1 of 5 problems" in said
    assert str(folder) in said
    assert dataset.metadata["left_out_without_answer"] == 1

    (folder / "images" / "90005_img.png").unlink()  # of the problem without an answer
    check_tasks(["cmmath"])
    write(folder / "cmmath.json", changed(PROBLEMS, "90005", image=7))
    check_tasks(["cmmath"])


# --- parsed fields -------------------------------------------------------------------------------


def read(path: Path) -> Questions[Problem]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CMMATH_PATH", str(path))
        return DATA.load()


def only(tmp_path: Path, **fields: Any) -> Problem:
    found = read(write(tmp_path / "one.json", [make_problem(**fields)]))
    assert found.faults == ()
    (problem,) = found.questions
    return problem


def test_the_fields_of_a_document_and_what_may_be_absent(tmp_path: Path) -> None:
    assert json.loads(json.dumps(asdict(only(tmp_path)))) == make_doc()
    names = ("analysis", "ocr", "grade_id", "grade_group", "knowledge_point", "skill", "metadata")
    bare = only(tmp_path, **dict.fromkeys(names))
    absent = changed([make_problem(**dict.fromkeys(names))], FIRST)
    assert read(write(tmp_path / "bare.json", [*absent])).questions == (bare,)
    found = json.loads(json.dumps(asdict(bare)))
    assert found == make_doc(category=None, **dict.fromkeys(names[:-1])) | {
        "analysis": "",
        "ocr": "",
    }


def test_other_spellings(tmp_path: Path) -> None:
    problem = only(
        tmp_path,
        problem_id=7,
        answer=12,
        grade_id="8",
        image="7.png",
        analysis='如图<IMG src="a.png"\nalt=""/>，$$2<3$$．\n',
        unknown={"more": [1]},
    )
    assert (problem.id, problem.reference, problem.grade_id) == ("7", "12", 8)
    assert problem.img_path == ("7.png",)
    assert problem.analysis == "如图，$$2<3$$．"


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


@given(st.text(alphabet="AB12()（）.、;$\n \u3000求", max_size=60), st.text(max_size=20))
def test_every_text_has_a_form(question: str, answer: str) -> None:
    assert form_of(question, answer) in ("choice", "parts", "blank", "open")


def test_the_published_sample() -> None:
    """42 problems; counted manually: one has no answer, four have parts but are called choices."""
    found = read(reference("cmmath", "sample.json"))
    assert found.faults == ()
    assert (len(found.questions), found.left_out) == (41, 1)
    forms = {each.id: each.form for each in found.questions}
    assert [name for name, form in forms.items() if form == "parts"] == [
        *("23074", "21705", "16294", "24098")
    ]
    assert sorted(set(forms.values())) == ["blank", "choice", "parts"]
    assert sum(form == "blank" for form in forms.values()) == 8


# --- texts in place of the images ----------------------------------------------------------------

CAPTION = "一个正方形。"
SAMPLE = {"id": "90001", "caption": CAPTION}


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("captions.jsonl", [SAMPLE, SAMPLE, {"id": "90002", "caption": ""}]),
        ("captions.csv", f"problem_id,caption\n90001,{CAPTION}\n90002,\n"),
        ("", []),
    ],
)
def test_captions_of_a_file_and_of_the_data(
    folder: Path, monkeypatch: pytest.MonkeyPatch, logged: list[str], name: str, rows: Any
) -> None:
    if name:
        lines = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
        write(folder / name, lines)
        monkeypatch.setenv("CMMATH_CAPTIONS", str(folder / name))
    else:
        write(folder / "cmmath.json", changed(PROBLEMS, FIRST, caption=CAPTION))
    check_tasks(["cmmath_caption", "cmmath_inputs"])
    assert [line for line in logged if "a caption" in line] == [
        "cmmath_caption: 3 of 4 problems do not have a caption; their prompts say so\n"
    ]
    assert dataset.add_captions(load())["caption"] == [CAPTION, "", "", ""]
    found = dataset.metadata_caption
    assert (found["problems"], found["without_text"]) == (4, 3)
    assert dataset.metadata_ocr["texts_sha256"] != found["texts_sha256"]
    assert dataset.metadata_ocr["without_text"] == 1


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (None, "cmmath_caption: none of the 4 problems has a caption. Set CMMATH_CAPTIONS to"),
        ([{"id": "1", "caption": "一"}], "none of the 4 problems has a caption"),
        ([{"caption": "一"}], "line 1: has no id (id, problem_id)"),
        ([SAMPLE, SAMPLE | {"caption": "圆"}], "line 2: a second caption of problem '90001'"),
        ([{"id": "90001", "caption": 3}], "line 1: caption should be a string, not 3"),
        ("{", "x.jsonl, line 1: is "),
    ],
)
def test_captions_that_cannot_be_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, rows: Any, said: str
) -> None:
    if rows is not None:
        lines = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
        write(folder / "x.jsonl", lines)
        monkeypatch.setenv("CMMATH_CAPTIONS", str(folder / "x.jsonl"))
    message = error_of("cmmath_caption")
    assert said in message
    assert "\n" not in message
    check_tasks(["cmmath_ocr", "cmmath_text"])


def test_data_without_recognized_texts(folder: Path) -> None:
    write(folder / "cmmath.json", [each | {"ocr": ""} for each in PROBLEMS])
    assert "cmmath_ocr: none of the 4 problems has text in its field 'ocr'" in error_of(
        "cmmath_ocr"
    )


# --- documents for lmms-eval ---------------------------------------------------------------------


def load() -> Any:
    from datasets import load_dataset

    return load_dataset("json", **dataset.kwargs)["test"]


def test_documents_survive_the_json_builder(folder: Path) -> None:
    docs = dataset.attach_images(load())
    expected = [json.loads(json.dumps(asdict(each))) for each in DATA.load().questions]
    for doc, wanted in zip(docs, expected, strict=True):
        images = doc.pop("images")
        assert [image.getpixel((0, 0))[0] for image in images] == list(range(len(images)))
        assert len(images) == len(wanted["img_path"])
        assert doc == wanted
    (folder / "images").rename(folder / "elsewhere")
    docs = dataset.leave_out_images(load())
    assert "images" not in docs.column_names
    assert docs[0] == make_doc()


def test_columns_that_are_empty_at_first(folder: Path) -> None:
    """The JSON builder reads in chunks, and takes a column for null if it is null in the first."""
    big = [make_problem(problem_id=n, grade_id=None, analysis="长" * 2000) for n in range(1000)]
    last = make_problem(problem_id="last", skill="运算能力", grade_id=3)
    write(folder / "cmmath.json", [*big, last])
    found = [(doc["skill"], doc["grade_id"]) for doc in load().select([0, 1000])]
    assert found == [(None, None), ("运算能力", 3)]


def test_the_results_file_says_which_data(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dataset.metadata
    digest = before["data_sha256"]
    assert before == {
        "version": 1.0,
        "problems": 4,
        "left_out_without_answer": 1,
        "data_sha256": digest,
        "grader": "rule",
        "mistakes": False,
        "judge": None,
    }
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    assert dataset.metadata["judge"] is None
    monkeypatch.setenv("CMMATH_GRADER", "both")
    assert dataset.metadata["judge"] == "lexical"
    write(folder / "cmmath.json", changed(PROBLEMS, FIRST, answer="8"))
    assert dataset.metadata["data_sha256"] != digest
    with pytest.raises(AttributeError, match="no attribute 'metadata_music'"):
        dataset.metadata_music  # noqa: B018


def test_lmms_eval_builds_the_tasks(folder: Path) -> None:
    from lmms_eval.tasks import TaskManager, get_task_dict

    manager = TaskManager(include_path=str(TASKS_DIR), include_defaults=False)
    write(folder / "cmmath.json", [each | {"caption": CAPTION} for each in PROBLEMS])
    ((group, found),) = get_task_dict(["cmmath_all"], manager).items()
    ((_, inputs),) = get_task_dict(["cmmath_inputs"], manager).items()
    assert group.group_name == "cmmath_all"
    assert list(found) == TASKS
    assert list(inputs) == ["cmmath", "cmmath_text", "cmmath_ocr", "cmmath_caption"]
    found = found | inputs
    for name, task in found.items():
        assert len(task.test_docs()) == 4
        assert set(task.aggregation()) == {
            *("accuracy", "undecided_rate", "grader_coverage"),
            *("ssr_0.1", "ssr_0.2", "ssr_0.3", "ssr_0.6"),
        }
        assert task.higher_is_better()["undecided_rate"] is False
        doc = task.test_docs()[3]
        assert len(task.doc_to_visual(doc)) == (0 if name in TEXTS else 2)
        assert task.doc_to_target(doc) == "$$70{}^\\circ $$"
    prompts = {name: task.doc_to_text(task.test_docs()[0]) for name, task in found.items()}
    assert len(set(prompts.values())) == 8
    assert CAPTION in prompts["cmmath_caption"]
    assert "<STEP1>" in prompts["cmmath_steps"]
    assert "in English" in prompts["cmmath_en_cot"]
