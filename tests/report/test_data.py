"""The data of a report: how answers are joined, ordered, limited, and read from samples."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from PIL import Image
from pydantic import Field

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.base.schema import Several, Text, Whole
from lmms_rpts.report import data, rating
from lmms_rpts.report.data import LONGEST, bounded, report_data
from lmms_rpts.report.rating import draw_sample, rating_data
from lmms_rpts.report.write import write_report
from lmms_rpts.scoring.question import Asked, ShownQuestion
from lmms_rpts.stats.metrics import by_name
from lmms_rpts.tasks.answers import ACCURACY, AnswerRecord, GradedHow
from lmms_rpts.tasks.registry import BENCHMARKS
from tests.support.instances import make_doc, write_folder
from tests.support.pages import data_in
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table


def section_of(*places: Path) -> dict[str, Any]:
    (section,) = report_data(read_runs(places))["sections"]
    return dict(section)


def outcomes(entry: Mapping[str, Any]) -> list[str]:
    """Of each run, the outcome of the answer to check first."""
    return [entry["answers"][at]["outcome"] for at in entry["worst"] if at is not None]


# --- joining and ordering


def test_runs_are_side_by_side_and_the_worst_comes_first(tmp_path: Path) -> None:
    right, wrong = make_rome_record(1.0), make_rome_record(0.0)
    for model, records in {"a": [right, wrong, right], "b": [right, right, wrong]}.items():
        write_rome_run(tmp_path / model, {"academic": records}, model_args=f"name={model}")
    section = section_of(tmp_path / "a", tmp_path / "b")
    assert [entry["name"][-1] for entry in section["entries"]] == ["1", "2", "0"]
    cells = [outcomes(entry) for entry in section["entries"]]
    assert cells == [["wrong", "right"], ["right", "wrong"], ["right", "right"]]
    assert [run["outcomes"] for run in section["runs"]] == [{"right": 2, "wrong": 1}] * 2


@table(
    "record, outcome, flags",
    (make_rome_record(1.0), "right", []),
    (make_rome_record(0.0), "wrong", []),
    (make_rome_record(0.5), "partial", []),
    (make_rome_record(1.0, 0.0), "right", ["graders disagree"]),
    (make_rome_record(1.0, llm=0.0), "wrong", ["graders disagree"]),
    (make_rome_record(1.0, "undecided"), "right", []),
    (make_rome_record(1.0, failed="refused"), "unscored", []),
)
def test_outcomes_and_flags(tmp_path: Path, record: Any, outcome: str, flags: list[str]) -> None:
    write_rome_run(tmp_path, {"academic": [record]})
    (answer,) = section_of(tmp_path)["entries"][0]["answers"]
    assert (answer["outcome"], answer["flags"]) == (outcome, flags)


@table(
    "record, outcome",
    (make_record([1.0, 1.0]), "right_sound"),
    (make_record([0.0, 0.2]), "right_unsound"),
    (make_record([1.0, 1.0], answer="disagree"), "wrong_sound"),
    (make_record([0.0, 0.2], answer="disagree"), "wrong_unsound"),
    (make_record([], steps=()), "no_steps"),
    (make_record([1.0, None]), "unjudged"),
    (make_record([1.0, 1.0], answer=None), "unjudged"),
)
def test_outcomes_of_reasoning(tmp_path: Path, record: Any, outcome: str) -> None:
    write_run(tmp_path, {0: record})
    assert outcomes(section_of(tmp_path)["entries"][0]) == [outcome]


@table(
    "changes, statements",
    ({"statement": "The shop is open."}, {"The shop is closed.", "The shop is open."}),
    ({"ability": ["Math"]}, {"The shop is closed."}),
)
def test_data_that_changed_between_runs(
    tmp_path: Path, changes: dict[str, Any], statements: set[str]
) -> None:
    for name, doc in (("a", make_doc()), ("b", make_doc(**changes))):
        write_run(tmp_path / name, {0: make_record([1.0, 0.0], doc=doc)}, model_args=f"name={name}")
    section = section_of(tmp_path / "a", tmp_path / "b")
    assert {entry["question"]["text"] for entry in section["entries"]} == statements
    assert any("The data changed" in line for line in section["warnings"])


def test_each_instance_has_an_anchor_of_its_own(tmp_path: Path) -> None:
    for task in ("a.b", "a b", "a-b"):
        write_run(tmp_path, {0: make_record([1.0, 0.0])}, task=task)
    anchors = [entry["id"] for entry in section_of(tmp_path)["entries"]]
    assert sorted(anchors) == ["a-b-0", "a-b-0-x2", "a-b-0-x3"]


def test_numbers_of_a_run(tmp_path: Path) -> None:
    records = {0: make_record([1.0, 1.0]), 1: make_record([0.0, 0.2]), 2: make_record([1.0, None])}
    write_run(tmp_path, records, tokens={0: 10, 1: 30})
    section = section_of(tmp_path)
    (run,) = section["runs"]
    rpts = 0.2 * 0.9 / 1.9  # heights 1 and 2, decay 0.9, focus height 1
    assert run["parts"][0]["figures"]["rpts"]["value"] == pytest.approx((1 + rpts) / 2)
    assert run["tenths"] == {"right": [1, *[0] * 8, 1], "wrong": [0] * 10}
    assert run["tokens"] == [40, 2]
    assert any("1 of 3 responses have no score" in line for line in section["warnings"])


# --- how much is shown


@table(
    "limit, names",
    (6, ["a0", "a1", "g0", "a2", "g1", "a3"]),
    (4, ["a0", "a1", "g0", "g1"]),
    (3, ["a0", "a1", "g0"]),
    (1, ["a0"]),
)
def test_the_limit_takes_from_each_task_the_wrong_ones_first(
    tmp_path: Path, limit: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, unscored = make_rome_record(0.0), make_rome_record(1.0, failed="no")
    academic = [wrong, wrong, unscored, make_rome_record(1.0)]
    write_rome_run(tmp_path, {"academic": academic, "geo": [wrong, make_rome_record(0.5)]})
    monkeypatch.setattr(data, "LIMIT", limit)
    written = write_report(read_runs([tmp_path]), tmp_path / "r.html")
    (section,) = data_in(written.path)["sections"]
    short = [entry["name"].replace("question_", "") for entry in section["entries"]]
    assert [f"{each[0]}{each[-1]}" for each in short] == names
    assert section["total"] == 6
    note = f"{limit} of 6 instances of ROME are shown, those with wrong answers first"
    assert written.notes == ((note,) if limit < 6 else ())


def test_answers_images_and_texts_beyond_the_limits(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "many", {"academic": [[make_rome_record(1.0)] * 25]})
    (entry,) = section_of(tmp_path / "many")["entries"]
    assert (len(entry["answers"]), entry["hidden"]) == (20, [[0, 5]])
    names = [f"academic/{at}.png" for at in range(30)]
    record = make_rome_record(1.0, img_path=[names[0], *names])  # a name that comes twice
    write_rome_run(tmp_path / "images", {"academic": [record]})
    (entry,) = section_of(tmp_path / "images")["entries"]
    assert (len(entry["images"]), entry["more_images"]) == (20, 10)
    long = make_record([1.0, 1.0], reply="x" * 2_000_000 + " {}")
    write_run(tmp_path / "long", {0: long}, texts={0: "y" * 2_000_000})
    written = write_report(read_runs([tmp_path / "long"]), tmp_path / "r.html")
    assert written.size < 1_000_000
    assert bounded("a" * LONGEST) == "a" * LONGEST
    assert re.sub("(a+|b+)", "x", bounded("a" * LONGEST + "b" * LONGEST)) == (
        "x\n\n[… 50,000 chxrxcters left out …]\n\nx"
    )


def test_images_are_found_by_option_or_variable_and_stored_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rome_run(tmp_path / "run", {"academic": [make_rome_record(1.0)]})
    (tmp_path / "data" / "academic").mkdir(parents=True)
    for name in ("0", "1"):
        Image.new("RGB", (20, 10), "red").save(tmp_path / "data" / "academic" / f"{name}.png")
    runs = read_runs([tmp_path / "run"])
    # An --images folder of another benchmark does not hide those of the variable.
    for variable, images, placed in (
        (tmp_path, None, [None]),
        (tmp_path, tmp_path / "data", [0]),
        (tmp_path / "data", tmp_path / "run", [0]),
    ):
        monkeypatch.setenv("ROME_PATH", str(variable))
        (section,) = (page := report_data(runs, images))["sections"]
        numbers = [number for _, number in section["entries"][0]["images"]]
        assert (numbers, len(page["images"])) == (placed, sum(it is not None for it in placed))


# --- requests and replies


def test_reasons_and_requests_of_steps(tmp_path: Path) -> None:
    reply = '{{"reason": "It **rains**.", "score": {}}}'
    records = {at: make_record([0.0, 1.0], reply=reply) for at in range(2)}
    write_run(tmp_path, records, texts={0: "A *response*.", 1: "Another."})
    page = report_data(read_runs([tmp_path]))
    for entry in page["sections"][0]["entries"]:
        (answer,) = entry["answers"]
        calls = [call for step in answer["calls"] for call in step]
        assert [call["reason"] for call in calls] == ["It **rains**."] * 2
        assert "The clock shows nine." in calls[0]["user"]
        assert "instance" not in answer["record"]
        assert answer["record"]["steps"][0]["verdicts"][0]["reply"].startswith('{"reason"')
    assert page["html"][0]["It **rains**."] == "<p>It <strong>rains</strong>.</p>\n"
    assert len(page["systems"]) == 2, "instructions are stored once per kind"
    assert len(page["prompts"]) == 1, "a prompt is stored once"


# --- answers to any question


class _Question(Asked):
    id: Text = Field(description="its own id")
    sample: Whole | None = Field(default=None, description="shared by its variants")
    text: Text = Field(default="", description="the question")
    options: Several[Text] = Field(default=(), description="its options")

    @property
    def key(self) -> tuple[str, int]:
        return (self.task, self.doc_id if self.sample is None else self.sample)

    @property
    def shown(self) -> ShownQuestion:
        right = 0 if self.options else None
        return ShownQuestion(text=self.text, options=self.options, right=right)


class _Record(AnswerRecord):
    SCHEMA: ClassVar[str] = "shapes.answer"
    BENCHMARK: ClassVar[str] = "Shapes"

    instance: _Question = Field(description="the question")
    settings: GradedHow = Field(description="how the answer was graded")

    @property
    def scale(self) -> str:
        return "ROUGE-L" if self.instance.id == "caption" else ""


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"name": "shapes", "title": "Shapes", "record": _Record, "columns": ("accuracy",)}
    metrics = by_name(ACCURACY)
    more: dict[str, Any] = {"by": ("task", "id"), "foreign": None, "folder": Path("nowhere")}
    shapes = replace(BENCHMARKS["rome"], **changes, metrics=metrics, **more)
    monkeypatch.setitem(BENCHMARKS, "shapes", shapes)


def write_shapes(folder: Path, *questions: _Question, logged: Any = (), **changes: Any) -> None:
    """Answers, the first wrong, the second right, ..."""
    how = GradedHow(grader="rule", judge=None, prompt_version="")
    path = folder / "20260102_030405_samples_shapes.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for at, question in enumerate(questions):
            score = float(at % 2)
            known = {"outcome": "scored", "reason": None, "score": score, "grader": "rule"}
            grades = {"rule": {"score": score, "answer": "so", "chosen": 3}}
            fields = known | {"grades": grades, "answer": "so", "source": "response"} | changes
            record = _Record(**fields, instance=question, settings=how)
            row = {"doc_id": at, "resps": ["so"], "filtered_resps": record.to_json()}
            out.write(json.dumps(row | dict(logged)) + "\n")


@pytest.mark.usefixtures("shapes")
def test_variants_of_a_sample_and_scores_that_are_no_grades(tmp_path: Path) -> None:
    colours = ("red", "green", "blue", "gold")
    asked = [_Question(id="s", sample=0, text=f"Which ({at})?", options=colours) for at in range(3)]
    write_shapes(tmp_path, *asked, _Question(id="caption", sample=1, text="What?"))
    entries = {entry["name"]: entry for entry in section_of(tmp_path)["entries"]}
    answers = entries["s"]["answers"]
    assert [answer["which"] for answer in answers] == [f"variant {k}" for k in (1, 2, 3)]
    assert [answer["outcome"] for answer in answers] == ["wrong", "right", "wrong"]
    assert ["question" in answer for answer in answers] == [False, True, True]
    (answer,) = entries["caption"]["answers"]
    assert (answer["outcome"], answer["scale"], answer["score"]) == ("value", "ROUGE-L", 1.0)


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"content": [{"type": "text", "text": "Which?"}, {"type": "image", "url": 1}]},
    {"content": None},
    3,
]


@pytest.mark.usefixtures("shapes")
@table(
    "logged, text, gold",
    ({}, "", []),
    ({"input": "Which shape?", "target": "round"}, "Which shape?", ["round"]),
    ({"input": {"until": []}, "target": None}, "", []),
    ({"input": MESSAGES}, "Be brief.\nWhich?\n[image]", []),
)
def test_what_a_record_does_not_hold_comes_from_the_samples(
    tmp_path: Path, logged: Mapping[str, Any], text: str, gold: list[str]
) -> None:
    write_shapes(
        tmp_path, *(_Question(id=name) for name in ("circle", "", "square")), logged=logged
    )
    entries = section_of(tmp_path)["entries"]
    assert [entry["name"] for entry in entries] == ["circle", "square", "1"]
    assert {entry["question"]["text"] for entry in entries} == {text}
    assert [entry["question"]["gold"] for entry in entries] == [gold] * 3


# --- samples for raters


def test_a_sample_alternates_and_ends_with_a_whole_response(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rating, "STEPS", 11)
    for task in ("rpts_eval_en", "rpts_eval_zh"):
        # Few are broken, and many are sound or were not scored.
        scores = [[0.0, 1.0]] * 3 + [[1.0, 1.0]] * 10 + [[1.0, None]] * 10
        docs = [make_doc(task[-2:], id=at) for at in range(len(scores))]
        records = {at: make_record(it, doc=docs[at]) for at, it in enumerate(scores)}
        write_run(tmp_path, records, task=task)
    (run,) = read_runs([tmp_path])
    sample, too_long = draw_sample(run)
    kinds = Counter((it.instance.task, it.first_error is not None) for it in sample)
    assert (len(sample), too_long) == (6, 0)  # of two steps each
    assert len(kinds) == 4
    assert set(kinds.values()) <= {1, 2}
    assert all(it.rpts is not None for it in sample)
    assert [it.place for it in draw_sample(run)[0]] == [it.place for it in sample]


def test_a_page_for_raters_tells_neither_scores_nor_the_model(tmp_path: Path) -> None:
    write_folder(tmp_path / "data", 4)
    docs = [make_doc(id=at, visual_clue=[f"{at}.png"], answer="disagree") for at in range(4)]
    records = {at: make_record([1.0, 0.25], doc=doc) for at, doc in enumerate(docs)}
    records[9] = make_record([1.0, 1.0])
    records[9]["steps"][0]["conclusion"] = "x" * 1_000_000
    write_run(tmp_path / "run", records, model_args="pretrained=lab/secret-model")
    page = rating_data(read_runs([tmp_path / "run"]), tmp_path / "data" / "images")
    (section,) = page["sections"]
    assert "1" in next(note for note in page["notes"] if "too long to read" in note)
    for entry in section["entries"]:
        assert [step["kind"] for step in entry["steps"]] == ["image", "inference"]
        assert entry["steps"][0]["evidence"] == [], "not the gold facts of the image"
        assert entry["steps"][1]["evidence"] == ["what is known"]
        ((name, number),) = entry["images"]
        assert name == ""
        assert number is not None
    text = json.dumps(section)
    for hidden in ("secret", "disagree", "score", "0.25", "oracle", ".png", "reply"):
        assert hidden not in text
