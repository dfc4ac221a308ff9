"""What a report shows: how answers are joined, ordered, limited, and read from samples."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from PIL import Image
from pydantic import Field

from lmms_rpts.analysis.reading import read_all_runs, read_runs, sort_runs
from lmms_rpts.base.schema import Several, Text, Whole
from lmms_rpts.report.entries import MOST_ANSWERS, MOST_IMAGES, RptsView, View
from lmms_rpts.report.markup import marked
from lmms_rpts.report.pages import MOST_RAW, bounded, cell_parts, label_heights
from lmms_rpts.report.writing import write_report
from lmms_rpts.runs.answers import ACCURACY, AnswerRecord, GradedHow
from lmms_rpts.runs.metrics import by_name
from lmms_rpts.runs.reading import RunError, read_logged
from lmms_rpts.runs.record import Asked, ShownQuestion
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.registry import BENCHMARKS
from tests.support.instances import make_doc
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table


def view_of(name: str, *places: Path, limit: int | None = None) -> View:
    return View(BENCHMARKS[name], read_all_runs(places)[name], limit, set())


def html_of(*places: Path, **options: Any) -> str:
    runs = read_runs(places)
    options = {"with_images": False} | options
    return write_report(runs, places[0] / "r.html", **options).path.read_text("utf-8")


# --- joining and ordering


def test_a_folder_of_several_benchmarks_is_told_apart(tmp_path: Path, saved: Path) -> None:
    found = read_all_runs([saved])
    assert [run.label for run in found["rpts"]] == ["careful", "lucky"]
    sizes = {name: [len(run.responses) for run in runs] for name, runs in found.items()}
    assert sizes.items() >= {"rpts": [14, 14], "rome": [12]}.items()
    assert sort_runs(read_runs([saved])) == found
    other = tmp_path / "20260102_030405_samples_mmmu.jsonl"
    other.write_text('{"doc_id": 0, "filtered_resps": "A"}\n')
    for path, said in {
        tmp_path: "neither RPTS scores nor graded answers",
        other: "was not scored by rpts_aggregate",
        tmp_path / "nowhere": "does not exist",
    }.items():
        with pytest.raises(RunError, match=re.escape(said)):
            read_all_runs([saved / "rome", path])


def test_runs_are_side_by_side_and_the_worst_comes_first(tmp_path: Path) -> None:
    right, wrong = make_rome_record(1.0), make_rome_record(0.0)
    for model, records in {"a": [right, wrong, right], "b": [right, right, wrong]}.items():
        write_rome_run(tmp_path / model, {"academic": records}, model_args=f"name={model}")
    view = view_of("rome", tmp_path / "a", tmp_path / "b")
    assert [entry.name[-1] for entry in view.entries] == ["1", "2", "0"]
    cells = [[cell and cell.worst.outcome for cell in entry.by_run] for entry in view.entries]
    assert cells == [["wrong", "right"], ["right", "wrong"], ["right", "right"]]
    assert [dict(each) for each in view.outcomes] == [{"right": 2, "wrong": 1}] * 2


@table(
    "record, outcome, flags",
    (make_rome_record(1.0), "right", ()),
    (make_rome_record(0.0), "wrong", ()),
    (make_rome_record(0.5), "partial", ()),
    (make_rome_record(1.0, 0.0), "right", ("disagreements",)),
    (make_rome_record(1.0, llm=0.0), "wrong", ("disagreements",)),
    (make_rome_record(1.0, "undecided"), "right", ()),
    (make_rome_record(1.0, failed="refused"), "unscored", ()),
)
def test_outcomes_and_flags(
    tmp_path: Path, record: Any, outcome: str, flags: tuple[str, ...]
) -> None:
    write_rome_run(tmp_path, {"academic": [record]})
    (answer,) = view_of("rome", tmp_path).entries[0].answers
    assert (answer.outcome, answer.flags) == (outcome, flags)


@table(
    "changes, statements",
    ({"statement": "The shop is open."}, ["The shop is closed.", "The shop is open."]),
    ({"ability": ["Math"]}, ["The shop is closed."]),
)
def test_data_that_changed_between_runs(
    tmp_path: Path, changes: dict[str, Any], statements: list[str]
) -> None:
    for name, doc in (("a", make_doc()), ("b", make_doc(**changes))):
        write_run(tmp_path / name, {0: make_record([1.0, 0.0], doc=doc)}, model_args=f"name={name}")
    view = RptsView(read_runs([tmp_path / "a", tmp_path / "b"]))
    assert [entry.instance.statement for entry in view.entries] == statements
    assert any("The data changed" in each for each in view.warnings)


def test_each_has_an_anchor_of_its_own_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    for task in ("a.b", "a b", "a-b"):
        write_run(tmp_path / "rpts", {0: make_record([1.0, 0.0])}, task=task)
    write_rome_run(tmp_path / "rome", {"academic": [make_rome_record(0.0)] * 3})
    html = html_of(tmp_path / "rpts", tmp_path / "rome")
    anchors = re.findall(r'<article class="instance" id="([A-Za-z0-9-]+)"', html)
    assert len({*anchors}) == 6
    ids = re.findall(r' id="([^"]+)"', html)
    assert len({*ids}) == len(ids)
    targets = {*re.findall(r'href="#([^"]+)"', html)}
    assert targets <= {*ids}
    assert {"overview", "instances", "graded-rome", "graded-rome-instances"} <= targets


# --- how much is shown


@table(
    "limit, names",
    (None, ["a0", "a1", "g0", "a2", "g1", "a3"]),
    (6, ["a0", "a1", "g0", "a2", "g1", "a3"]),
    (4, ["a0", "a1", "g0", "g1"]),
    (3, ["a0", "a1", "g0"]),
    (1, ["a0"]),
)
def test_the_limit_takes_from_each_task_the_wrong_ones_first(
    tmp_path: Path, limit: int | None, names: list[str]
) -> None:
    wrong, unscored = make_rome_record(0.0), make_rome_record(1.0, failed="no")
    academic = [wrong, wrong, unscored, make_rome_record(1.0)]
    write_rome_run(tmp_path, {"academic": academic, "geo": [wrong, make_rome_record(0.5)]})
    view = view_of("rome", tmp_path, limit=limit)
    short = [entry.name.replace("question_", "") for entry in view.entries]
    assert [f"{each[0]}{each[-1]}" for each in short] == names
    assert view.total == 6


def test_a_report_says_what_it_leaves_out(tmp_path: Path) -> None:
    write_rome_run(tmp_path, {"academic": [make_rome_record(0.0)] * 5})
    runs = read_runs([tmp_path])
    written = write_report(runs, tmp_path / "r.html", limit=2)
    assert written.instances == 2
    (said,) = written.left_out
    assert said.startswith("2 of 5 documents of ROME are shown, those with wrong answers first.")
    assert "2 of 5 documents are shown" in written.path.read_text("utf-8")
    assert write_report(runs, tmp_path / "r.html", limit=0).left_out == ()


def test_answers_images_and_records_beyond_the_limits_are_counted(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "many", {"academic": [[make_rome_record(1.0)] * (MOST_ANSWERS + 5)]})
    (entry,) = view_of("rome", tmp_path / "many").entries
    (cell,) = entry.by_run
    assert cell is not None
    assert (len(entry.answers), cell.of, cell.left_out) == (MOST_ANSWERS, MOST_ANSWERS + 5, 5)
    for more, note in {0: [], 1: ["1 more image is"], 1480: ["1,480 more images are"]}.items():
        names = [f"academic/{at}.png" for at in range(MOST_IMAGES + more)]
        # A name that comes twice is one image.
        record = make_rome_record(1.0, img_path=[names[0], *names])
        write_rome_run(tmp_path / str(more), {"academic": [record]})
        html = html_of(tmp_path / str(more), with_images=True)
        assert html.count('<p class="no-image">') == MOST_IMAGES
        assert re.findall("[0-9,]+ more images? (?:is|are)", html) == note
    long = make_record([1.0, 1.0], reply="x" * MOST_RAW + " {}")
    write_run(tmp_path / "long", {0: long})
    html = html_of(tmp_path / "long")
    assert "too long for the page" in html
    assert RptsRecord.parse(long).to_json() not in html


# --- images


def test_images_are_found_by_option_or_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rome_run(tmp_path / "run", {"academic": [make_rome_record(1.0)]})
    (tmp_path / "data" / "academic").mkdir(parents=True)
    Image.new("RGB", (20, 10), "red").save(tmp_path / "data" / "academic" / "1.png")
    # An --images folder of another benchmark does not hide those of the variable.
    for place, variables, images, found, wanted in (
        (tmp_path / "run", {"ROME_PATH": tmp_path}, None, 0, 1),
        (tmp_path / "run", {"ROME_PATH": tmp_path}, tmp_path / "data", 1, 1),
        (tmp_path / "run", {"ROME_PATH": tmp_path / "data"}, tmp_path / "run", 1, 1),
    ):
        runs = read_runs([place])
        with monkeypatch.context() as patch:
            patch.delenv("ROME_PATH", raising=False)
            for name, value in variables.items():
                patch.setenv(name, str(value))
            written = write_report(runs, tmp_path / "r.html", images=images)
        assert (written.images, written.images_wanted) == (found, wanted), (place, images)


# --- texts


@table(
    "text, shown",
    ("plain\ttext\r\n", "plain\ttext\r\n"),
    ("\u202e53\u202c", "[U+202E]53[U+202C]"),
    ("nul\x00bell\x07esc\x1b[31m", "nul␀bell␇esc␛[31m"),
    ("a\x7fb\x85c\u200fd\u2066e", "a[U+007F]b[U+0085]c[U+200F]d[U+2066]e"),
    ("👩\u200d👧 שלום", "👩\u200d👧 שלום"),
)
def test_hidden_characters_are_marked(text: str, shown: str) -> None:
    assert marked(text) == shown


@table(
    "text, shown",
    ("x" * 100, "x" * 100),
    ("a" * 60 + "b" * 60, "a" * 50 + "\n\n[… 20 characters left out …]\n\n" + "b" * 50),
)
def test_long_texts_are_cut_in_their_middle(text: str, shown: str) -> None:
    assert bounded(text, 100) == shown


@table(
    "text, parts",
    ("0.667 [0.35, 0.88]", ("0.667", "[0.35, 0.88]")),
    ("0.667 ± 0.010", ("0.667", "± 0.010")),
    ("–", ("–", "")),
)
def test_cells_are_a_value_and_its_spread(text: str, parts: tuple[str, str]) -> None:
    assert cell_parts(text) == parts


@table("apart", 0.0, 0.01, 0.05, 0.2)
def test_labels_of_models_near_one_point_do_not_overlap(apart: float) -> None:
    def seen(accuracy: float, rpts: float) -> Any:
        values = {"accuracy": accuracy, "rpts": rpts}
        return SimpleNamespace(metrics={k: SimpleNamespace(value=v) for k, v in values.items()})

    for count in (1, 2, 5, 9):
        points = [seen(0.8, max(0.0, 0.5 - at * apart)) for at in range(count)]
        heights = label_heights(points, ["model"] * count)
        assert all(abs(b - a) >= 14 for a, b in combinations(heights, 2))
        assert min(heights) >= 12
        # A label that covers no other stays beside its point: at 12 + 166 * 0.5 - 9.
        assert heights[0] == 86
        assert label_heights([*points, seen(0.1, 0.5)], ["model"] * (count + 1))[-1] == 86


def test_pages_of_records_of_all_kinds(tmp_path: Path) -> None:
    below = {0: make_record([0.4999, 0.4999])}
    steps = ("Text0 -> The shop closes at eight.", "Text1 -> The shop sells bread.")
    several = [make_record([1.0, 1.0]), make_record([0.0, 0.2])]
    reasoning = ["Let me see.", "Image0 -> The clock shows nine.", "Conclusion0 -> Closed."]
    gold = make_doc(reasoning=reasoning, ability=[])
    pages = {}
    for name, records in {
        "below": below,
        "restating": {0: make_record([1.0, 1.0], steps=steps)},
        "several": {0: several},
        "gold": {0: make_record([1.0, 1.0], doc=gold)},
    }.items():
        samples = write_run(tmp_path / name, records)
        if name == "gold":
            next(samples.parent.rglob("*_results.json")).unlink()
        pages[name] = html_of(tmp_path / name)
    assert "0.4999" in pages["below"], "a score below the threshold is not rounded up to it"
    assert "score 0.50" not in pages["below"]
    assert pages["restating"].count('<span class="flag restates">restates</span>') == 2
    assert "1 of 2 responses" in pages["several"]
    (runs,) = re.findall('data-runs="([^"]*)"', pages["several"])
    found = json.loads(runs.replace("&#34;", '"'))
    assert found == [{"outcome": ["right_sound", "right_unsound"], "broken": ["visual"]}]
    assert 'dir="auto">Let me see.</li>' in pages["gold"]
    assert "<b>1</b> Conclusion0 -&gt; Closed.</li>" in pages["gold"]
    for absent in (
        "Run metadata",
        'scope="col" data-column="kind"',
        'class="faint kind"',
        "Models disagree",
    ):
        assert absent not in pages["gold"]
    assert 'scope="col" data-column="kind"' in pages["several"]


# --- answers to any question


class _Question(Asked):
    id: Text = Field(description="its own id")
    sample: Whole | None = Field(default=None, description="shared by its variants")
    text: Text = Field(default="", description="the question")
    options: Several[Text] = Field(default=(), description="its options")
    golds: Several[Text] = Field(default=(), description="the right answers")

    @property
    def key(self) -> tuple[str, int]:
        return (self.task, self.doc_id if self.sample is None else self.sample)

    @property
    def shown(self) -> ShownQuestion:
        right = 0 if self.options else None
        return ShownQuestion(text=self.text, options=self.options, right=right, gold=self.golds)


class _Record(AnswerRecord):
    SCHEMA: ClassVar[str] = "shapes.answer"
    BENCHMARK: ClassVar[str] = "Shapes"
    FILTER: ClassVar[str] = "shapes_grade"

    instance: _Question = Field(description="the question")
    settings: GradedHow = Field(description="how the answer was graded")

    @property
    def scale(self) -> str:
        return "ROUGE-L" if self.instance.id == "caption" else ""


@pytest.fixture
def shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = {"name": "shapes", "title": "Shapes", "record": _Record, "columns": ("accuracy",)}
    metrics = by_name(ACCURACY)
    found = replace(BENCHMARKS["rome"], **changes, metrics=metrics, by=("task", "id"), foreign=None)
    monkeypatch.setitem(BENCHMARKS, "shapes", found)


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
def test_variants_of_a_sample_and_likelihoods_of_options(tmp_path: Path) -> None:
    colours = ("red", "green", "blue", "gold")
    asked = [_Question(id="s", sample=0, text=f"Which ({at})?", options=colours) for at in range(3)]
    caption = _Question(id="caption", sample=1, text="What?", golds=("a dog",))
    losses = {"loss": (-3.0, -1.5, -2.25, -9.0), "per_token": (0.0, 1.0, 2.0, 3.0)}
    write_shapes(tmp_path, *asked, caption, numbers=losses)
    pages = {entry.name: entry for entry in view_of("shapes", tmp_path).entries}
    assert [each.variant for each in pages["s"].answers] == [f"variant {k}" for k in (1, 2, 3)]
    assert [each.outcome for each in pages["s"].answers] == ["wrong", "right", "wrong"]
    (cell,) = pages["s"].by_run
    assert cell is not None
    assert (cell.right, cell.of) == (1, 3)
    (answer,) = pages["caption"].answers
    assert (answer.outcome, answer.scale, answer.score) == ("value", "ROUGE-L", 1.0)
    html = html_of(tmp_path)
    first = html[html.index('<article class="instance" id="shapes-0"') :]
    rows = re.findall(r'<th scope="row" dir="auto">([^<]*)(.*?)</th>(.*?)</tr>', first)[:4]
    assert [re.findall(r">([-0-9.]+)<", cells)[0] for *_, cells in rows] == [
        f"{value:.3f}" for value in losses["loss"]
    ]
    marks = [(text.split()[0], "right" in tags, "chosen" in tags) for text, tags, _ in rows]
    assert marks == [(each, each == "red", each == "gold") for each in colours]


@pytest.mark.usefixtures("shapes")
def test_what_rules_left_undecided_is_flagged_and_not_wrong(tmp_path: Path) -> None:
    unread = {"rule": {"score": None, "answer": "12", "rule": "two numbers"}}
    unscored = {"outcome": "unscored", "reason": "two numbers", "score": None, "grader": None}
    write_shapes(tmp_path, _Question(id="x"), **unscored, grades=unread)
    view = view_of("shapes", tmp_path)
    (answer,) = view.entries[0].answers
    assert (answer.outcome, answer.flags) == ("unscored", ("undecided",))
    (told,) = view.warnings
    assert told.endswith("from 0.000 (all of them wrong) to 1.000 (all right)")
    assert '<span class="chip g-unscored">undecided</span>' in html_of(tmp_path)


@pytest.mark.usefixtures("shapes")
@table(
    "options, gold, notes",
    (100, 0, []),
    # In the list of the options, and in the table of their likelihoods.
    (1_600, 0, ["and 1,500 more"] * 2),
    (0, 20, []),
    (0, 23, ["and 3 more"]),
)
def test_options_and_gold_answers_that_are_not_shown_are_counted(
    tmp_path: Path, options: int, gold: int, notes: list[str]
) -> None:
    """They were left out without a note."""
    listed = tuple(f"option {at}" for at in range(options))
    golds = tuple(f"answer {at}" for at in range(gold))
    question = _Question(id="x", text="Which?", options=listed, golds=golds)
    write_shapes(tmp_path, question, numbers={"loss": (1.0,) * options} if options else {})
    html = html_of(tmp_path)
    page = html[html.index("<article") :]
    assert re.findall("and [0-9,]+ more", page) == notes
    shown = re.findall("<li [^>]*><span[^>]*>(?:<b>[^<]*</b> )?option", page)
    assert len(shown) == min(options, 100)
    assert len(re.findall("<b[^>]*>answer ", page)) == min(gold, 20)


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"content": [{"type": "text", "text": "Which?"}, {"type": "image", "url": 1}]},
    {"content": None},
    3,
]


@pytest.mark.usefixtures("shapes")
@table(
    "logged, text, gold",
    ({}, "", ()),
    ({"input": "Which shape?", "target": "round"}, "Which shape?", ("round",)),
    ({"input": "a prompt", "doc": {"question": "Which?"}}, "Which?", ()),
    ({"input": "a prompt", "doc": {"question": 7}}, "a prompt", ()),
    ({"input": {"until": []}, "target": None}, "", ()),
    ({"input": MESSAGES}, "Be brief.\nWhich?\n[image]", ()),
)
def test_what_a_record_does_not_hold_comes_from_the_samples(
    tmp_path: Path, logged: Mapping[str, Any], text: str, gold: tuple[str, ...]
) -> None:
    names = ("circle", "", "square")
    write_shapes(tmp_path, *(_Question(id=name) for name in names), logged=logged)
    view = view_of("shapes", tmp_path)
    assert [entry.name for entry in view.entries] == ["circle", "square", "1"]
    assert {entry.question.text for entry in view.entries} == {text}
    assert {entry.question.gold for entry in view.entries} == {gold}


def test_broken_lines_of_samples_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "20260102_030405_samples_t.jsonl"
    nested = "[" * 100_000
    lines = ["no JSON", nested, "[]", '{"doc_id": true, "input": "x"}', '{"doc_id": 1.0}']
    path.write_text("\n".join([*lines, '{"doc_id": 1, "input": "Which \\ud800?"}']), "utf-8")
    assert read_logged([path], {("t", 1)})["t", 1].question == "Which �?"
    assert read_logged([path], {("t", 2)}) == {}
