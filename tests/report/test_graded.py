"""Graded answers in reports: how they are joined, selected, read from samples and escaped."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import pytest
from PIL import Image
from playwright.sync_api import expect
from pydantic import Field

from lmms_rpts.base.schema import Model, Share, Text
from lmms_rpts.report.entries import MOST_ANSWERS, MOST_IMAGES, GradedView
from lmms_rpts.report.pages import bounded, cell_parts
from lmms_rpts.report.writing import write_report
from lmms_rpts.runs.logged import read_logged
from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.reading import read_runs_of
from lmms_rpts.runs.record import Asked, Record
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.all_runs import read_all_runs, sort_runs
from lmms_rpts.tasks.benchmark import Benchmark, benchmarks
from lmms_rpts.tasks.grade_types import Grading
from tests.report.test_hostile import ATTACKS
from tests.support.browser import expect_harmless, expect_only_text, open_details, open_page
from tests.support.cmmath_runs import make_cmmath_record, write_cmmath_run
from tests.support.graded_runs import write_reform_runs
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.saved_runs import SAVED
from tests.support.tables import table


def view_of(name: str, runs: list[AnyRun], limit: int | None = None) -> GradedView:
    benchmark = benchmarks()[name]
    return GradedView(benchmark, resolve_name(str(benchmark.grades)), runs, limit, set())


def rome_view(folder: Path, records: Any, limit: int | None = None) -> GradedView:
    write_rome_run(folder, records)
    return view_of("rome", list(read_all_runs([folder])["rome"]), limit)


# --- which files are read ------------------------------------------------------------------------


def test_a_folder_of_several_benchmarks_is_told_apart() -> None:
    found = read_all_runs([SAVED])
    assert [run.label for run in found["rpts"]] == ["careful", "cmmath_rpts", "lucky"]
    sizes = {name: [len(run.responses) for run in runs] for name, runs in found.items()}
    assert {**sizes, "rpts": 3} == {"rpts": 3, "rome": [12], "cmmath": [20]}
    assert sort_runs(found.every) == found


def test_each_path_must_hold_something(tmp_path: Path) -> None:
    other = tmp_path / "20260102_030405_samples_mmmu.jsonl"
    other.write_text('{"doc_id": 0, "filtered_resps": "A"}\n')
    for path, said in {
        tmp_path: "neither RPTS scores nor graded answers of ROME, CMMaTH, ReForm-Eval. Score",
        other: "was not scored by rpts_aggregate",
        tmp_path / "nowhere": "does not exist",
    }.items():
        with pytest.raises(RunError, match=re.escape(said)):
            read_all_runs([SAVED / "rome", path])


# --- how runs are joined -------------------------------------------------------------------------


def test_runs_are_side_by_side_and_the_worst_comes_first(tmp_path: Path) -> None:
    right, wrong = make_rome_record(1.0), make_rome_record(0.0)
    for model, records in {"a": [right, wrong, right], "b": [right, right, wrong]}.items():
        write_rome_run(tmp_path / model, {"academic": records}, model_args=f"name={model}")
    runs = read_all_runs([tmp_path / "a", tmp_path / "b"])["rome"]
    view = view_of("rome", list(runs))
    assert [entry.name for entry in view.entries] == [
        "question_academic_1",
        "question_academic_2",
        "question_academic_0",
    ]
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
    (make_rome_record(1.0, failed="refused"), "unscored", ()),
)
def test_outcomes_and_flags_of_rome(
    tmp_path: Path, record: Any, outcome: str, flags: tuple[str, ...]
) -> None:
    (entry,) = rome_view(tmp_path, {"academic": [record]}).entries
    (answer,) = entry.answers
    assert (answer.outcome, answer.flags) == (outcome, flags)


def test_undecided_answers_of_cmmath_are_flagged_and_not_wrong(tmp_path: Path) -> None:
    records = [
        make_cmmath_record("undecided", why="two numbers"),
        make_cmmath_record("incorrect", judged=1.0),
    ]
    write_cmmath_run(tmp_path, {"cmmath": records})
    view = view_of("cmmath", list(read_all_runs([tmp_path])["cmmath"]))
    found = {
        entry.name: (entry.answers[0].outcome, entry.answers[0].flags) for entry in view.entries
    }
    assert found == {"1": ("unscored", ("undecided",)), "2": ("right", ("disagreements",))}
    rule = view.entries[0].answers[0].shown.grades[0]
    assert (rule.word, rule.reason, rule.found) == ("undecided", "two numbers", "12")


def test_wordings_of_a_sample_are_on_one_page(tmp_path: Path) -> None:
    run = write_reform_runs(tmp_path, ["reform_gqa", "reform_coco_caption"], {0, 2, 4})
    view = view_of("reform", list(read_all_runs([run])["reform"]))
    pages = {entry.anchor: entry for entry in view.entries}
    assert sorted(pages) == [
        f"reform-{name}-{at}" for name in ("coco-caption", "gqa") for at in (0, 1)
    ]
    entry = pages["reform-gqa-0"]
    assert [each.shown.variant for each in entry.answers] == [f"wording {k}" for k in range(1, 6)]
    assert [each.outcome for each in entry.answers] == ["right", "wrong"] * 2 + ["right"]
    # Two duplicates are wrong, with different options: the entropy of shares 3/5, 1/5 and 1/5 is
    # 0.6 ln(5/3) + 0.4 ln 5 = 0.950.
    (cell,) = entry.by_run
    assert cell is not None
    assert (cell.right, cell.of) == (3, 5)
    assert cell.facts == {"instability": "0.950 of at most 1.609", "most frequent answer": "3 of 5"}
    caption = pages["reform-coco-caption-0"].answers[0]
    assert (caption.outcome, caption.scale, caption.score) == ("value", "ROUGE-L", 1.0)


def test_likelihoods_are_shown_for_each_option(tmp_path: Path) -> None:
    run = write_reform_runs(tmp_path, ["reform_gqa_likelihood"], ())
    written = write_report(list(read_all_runs([run]).every), tmp_path / "r.html", with_images=False)
    html = written.path.read_text("utf-8")
    first = html[html.index('id="reform-gqa-likelihood-0"') :]
    rows = re.findall(r'<th scope="row" dir="auto">([^<]*)(.*?)</th>(.*?)</tr>', first)[:4]
    numbers = [re.findall(r">([-0-9.]+)<", cells) for _, _, cells in rows]
    # The smallest of the LOSSES is chosen, whatever its sign.
    assert numbers == [["-3.000"] * 2, ["-1.500"] * 2, ["-2.250"] * 2, ["-9.000"] * 2]
    marks = [(text.strip(), "right" in tags, "chosen" in tags) for text, tags, _ in rows]
    assert marks == [
        ("a red sheet", True, False),
        ("a green sheet", False, False),
        ("a blue sheet", False, False),
        ("a gold sheet", False, True),
    ]
    assert "negative log-likelihood" in html


def test_the_image_of_a_sample_is_found_in_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_reform_runs(tmp_path, ["reform_gqa", "reform_ic15_grounded"], {0})
    runs = list(read_all_runs([run]).every)
    monkeypatch.delenv("REFORM_PATH", raising=False)
    data = tmp_path / "data"
    for folder, environ, images in ((data, None, 4), (None, str(data), 4), (tmp_path, None, 0)):
        if environ:
            monkeypatch.setenv("REFORM_PATH", environ)
        written = write_report(runs, tmp_path / "r.html", images=folder)
        assert (written.images, written.images_wanted) == (images, 4)
        monkeypatch.delenv("REFORM_PATH", raising=False)


def test_images_of_rome_are_found_by_option_or_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_rome_run(tmp_path / "run", {"academic": [make_rome_record(1.0)]})
    (tmp_path / "data" / "academic").mkdir(parents=True)
    Image.new("RGB", (20, 10), "red").save(tmp_path / "data" / "academic" / "1.png")
    runs = list(read_all_runs([tmp_path / "run"]).every)
    monkeypatch.setenv("ROME_PATH", str(tmp_path))
    assert write_report(runs, tmp_path / "r.html").images == 0
    # An --images folder of another benchmark does not hide those of the variable.
    assert write_report(runs, tmp_path / "r.html", images=tmp_path / "data").images == 1
    monkeypatch.setenv("ROME_PATH", str(tmp_path / "data"))
    assert write_report(runs, tmp_path / "r.html", images=tmp_path / "run").images == 1


@table(
    "more, note",
    (0, None),
    (1, "1 more image is not included."),
    (1_480, "1,480 more images are not included."),
)
def test_images_that_a_question_does_not_show_are_counted(
    tmp_path: Path, more: int, note: str | None
) -> None:
    names = [f"academic/{at}.png" for at in range(MOST_IMAGES + more)]
    # A name that comes twice is one image.
    record = make_rome_record(1.0, images=[names[0], *names])
    write_rome_run(tmp_path, {"academic": [record]})
    written = write_report(list(read_all_runs([tmp_path]).every), tmp_path / "r.html")
    assert written.images_wanted == MOST_IMAGES
    html = written.path.read_text("utf-8")
    assert html.count('<p class="no-image">') == MOST_IMAGES
    assert re.findall("[0-9,]+ more images? [^<]*", html) == ([note] if note else [])


@table(
    "task, options, gold, notes",
    ("reform_gqa_likelihood", 100, 0, []),
    # In the list of the options, and in the table of their likelihoods.
    ("reform_gqa_likelihood", 101, 0, ["and 1 more"] * 2),
    ("reform_gqa_likelihood", 1_600, 0, ["and 1,500 more"] * 2),
    ("reform_gqa", 0, 20, []),
    ("reform_gqa", 0, 23, ["and 3 more"]),
)
def test_options_and_gold_answers_that_are_not_shown_are_counted(
    tmp_path: Path, task: str, options: int, gold: int, notes: list[str]
) -> None:
    """They were left out without a note."""
    (path,) = write_reform_runs(tmp_path, [task], {0}).glob("*.jsonl")
    row = json.loads(path.read_text("utf-8").splitlines()[0])
    written = row["filtered_resps"]
    record = json.loads(written if isinstance(written, str) else written[0])
    record["instance"] |= {
        "options": [f"option {at}" for at in range(options)],
        "right": 0 if options else None,
        "answers": [f"answer {at}" for at in range(gold)],
    }
    row["filtered_resps"] = json.dumps(record)
    path.write_text(json.dumps(row) + "\n", "utf-8")
    runs = list(read_all_runs([tmp_path / "run"]).every)
    html = write_report(runs, tmp_path / "r.html", with_images=False).path.read_text("utf-8")
    page = html[html.index("<article") :]
    assert re.findall("and [0-9,]+ more", page) == notes
    listed = re.findall("<li [^>]*><span[^>]*>(?:<b>[^<]*</b> )?option", page)
    assert len(listed) == min(options, 100)
    assert len(re.findall("<b[^>]*>answer ", page)) == min(gold, 20)


# --- how much is shown ----------------------------------------------------------------------------


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
    wrong, unscored, part = (
        make_rome_record(0.0),
        make_rome_record(1.0, failed="no"),
        make_rome_record(0.5),
    )
    right = make_rome_record(1.0)
    records = {"academic": [wrong, wrong, unscored, right], "geo": [wrong, part]}
    view = rome_view(tmp_path, records, limit)
    short = [entry.name.replace("question_", "") for entry in view.entries]
    assert [f"{each[0]}{each[-1]}" for each in short] == names
    assert view.total == 6


def test_a_report_says_what_it_leaves_out(tmp_path: Path) -> None:
    write_rome_run(tmp_path / "run", {"academic": [make_rome_record(0.0)] * 5})
    runs = list(read_all_runs([tmp_path / "run"]).every)
    written = write_report(runs, tmp_path / "r.html", limit=2)
    assert written.instances == 2
    (said,) = written.left_out
    assert said.startswith("2 of 5 questions of ROME are shown, those with wrong answers first.")
    assert "2 of 5 questions are shown" in written.path.read_text("utf-8")
    assert write_report(runs, tmp_path / "r.html", limit=0).left_out == ()
    assert write_report(runs, tmp_path / "pages", limit=3).instances == 3
    assert len(list((tmp_path / "pages" / "instances").iterdir())) == 3


def test_any_number_of_responses_fits_on_a_page(tmp_path: Path) -> None:
    many = [make_rome_record(1.0)] * (MOST_ANSWERS + 5)
    (entry,) = rome_view(tmp_path, {"academic": [many]}).entries
    assert len(entry.answers) == MOST_ANSWERS
    (cell,) = entry.by_run
    assert cell is not None
    assert (cell.of, cell.left_out) == (MOST_ANSWERS + 5, 5)


@table(
    "text, shown",
    ("short", "short"),
    ("x" * 100, "x" * 100),
    ("a" * 60 + "b" * 60, "a" * 50 + "\n\n[… 20 characters left out …]\n\n" + "b" * 50),
)
def test_long_texts_are_cut_in_their_middle(text: str, shown: str) -> None:
    assert bounded(text, 100) == shown


@table(
    "text, parts",
    ("0.667 [0.35, 0.88]", ("0.667", "[0.35, 0.88]")),
    ("0.667 ± 0.010", ("0.667", "± 0.010")),
    ("12", ("12", "")),
    ("–", ("–", "")),
)
def test_cells_are_a_value_and_its_spread(text: str, parts: tuple[str, str]) -> None:
    assert cell_parts(text) == parts


# --- benchmarks of other packages ----------------------------------------------------------------


class _Question(Asked):
    id: Text = Field(description="its own id")


class _Grading(Model):
    judge: Text = Field(default="rule", description="who graded")


class _Record(Record):
    SCHEMA: ClassVar[str] = "shapes.answer"
    BENCHMARK: ClassVar[str] = "Shapes"
    FILTER: ClassVar[str] = "shapes_grade"

    score: Share | None = Field(description="1 or 0")
    instance: _Question = Field(description="the question")
    settings: _Grading = Field(description="how the answer was graded")


_GRADING = Grading(
    title="Shapes",
    metrics=by_name(Metric("accuracy", lambda record: record.score)),
    breakdowns={"initial": lambda record: (record.instance.id[:1] or None,)},
    columns=("accuracy",),
)


def shapes(tmp_path: Path, **logged: Any) -> GradedView:
    rows = []
    for at, name in enumerate(("circle", "", "square")):
        record = _Record(
            outcome="scored",
            reason=None,
            score=at % 2,
            instance=_Question(id=name),
            settings=_Grading(),
        )
        rows.append({"doc_id": at, "resps": ["so"], "filtered_resps": record.to_json()} | logged)
    path = tmp_path / "20260102_030405_samples_shapes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    runs: list[AnyRun] = list(read_runs_of(_Record, [path]))
    benchmark = Benchmark(name="shapes", title="Shapes", folder=tmp_path)
    return GradedView(benchmark, _GRADING, runs, None, set())


@table(
    "logged, text, gold",
    ({}, "", ()),
    ({"input": "Which shape?", "target": "round"}, "Which shape?", ("round",)),
    ({"input": "a prompt", "doc": {"question": "Which?"}}, "Which?", ()),
    ({"input": "a prompt", "doc": {"question": 7}}, "a prompt", ()),
    ({"input": {"until": []}, "target": None}, "", ()),
    (
        {
            "input": [
                {"role": "system", "content": "Be brief."},
                {"content": [{"type": "text", "text": "Which?"}, {"type": "image", "url": 1}]},
                {"content": None},
                3,
            ]
        },
        "Be brief.\nWhich?",
        (),
    ),
)
def test_what_a_record_does_not_hold_comes_from_the_samples(
    tmp_path: Path, logged: dict[str, Any], text: str, gold: tuple[str, ...]
) -> None:
    view = shapes(tmp_path, **logged)
    assert [entry.name for entry in view.entries] == ["circle", "square", "1"]
    assert {entry.question.text for entry in view.entries} == {text}
    assert {entry.question.gold for entry in view.entries} == {gold}
    (grade,) = view.entries[0].answers[0].shown.grades
    assert (grade.grader, grade.value) == ("rule", 0.0)


def test_broken_lines_of_samples_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "20260102_030405_samples_t.jsonl"
    nested = "[" * 100_000
    lines = ["no JSON", nested, "[]", '{"doc_id": true, "input": "x"}', '{"doc_id": 1.0}']
    path.write_text("\n".join([*lines, '{"doc_id": 1, "input": "Which \\ud800?"}']), "utf-8")
    assert read_logged([path], {("t", 1)})["t", 1].question == "Which ??"
    assert read_logged([path], {("t", 2)}) == {}


# --- hostile text ---------------------------------------------------------------------------------


def hostile_record(text: str) -> dict[str, Any]:
    record = make_rome_record(
        1.0,
        0.0,
        llm=0.0,
        consistent=False,
        answer=text,
        question=text,
        reference=text,
        evaluator=text,
        evaluator_kwargs={text: [text]},
        language=text,
        image_type=text,
        images=[text, "../../etc/passwd"],
    )
    record["grades"]["llm"]["reply"] = record["consistency"]["reply"] = text
    record["settings"] |= {"judge": text, "prompt_version": text}
    return record


def test_hostile_text_shows_as_text(tmp_path: Path, browser: Any) -> None:
    for at, text in enumerate(ATTACKS):
        folder = tmp_path / str(at)
        write_rome_run(folder, {"academic": [hostile_record(text), hostile_record(text)]})
        (run,) = read_all_runs([folder])["rome"]
        odd = tuple(
            each.model_copy(
                update={"instance": each.instance.model_copy(update={"subtask": text, "id": text})}
            )
            for each in run.responses
        )
        write_report([replace(run, label=text, responses=odd)], folder / "r.html", title=text)
        found = open_page(browser, folder / "r.html", "#rome-academic-0")
        page = found.page
        open_details(page)
        expect_only_text(found, text, 5)
        assert page.locator("article.instance").count() == 1, "hostile text opened another article"
        page.evaluate("location.hash = ''")
        expect(page.locator("article.open")).to_have_count(0)
        expect_harmless(found)
        page.context.close()


def test_every_link_of_a_mixed_report_leads_somewhere(tmp_path: Path) -> None:
    write_run(tmp_path / "rpts", {0: make_record([1.0, 0.0])})
    write_rome_run(tmp_path / "rome", {"academic": [make_rome_record(0.0)] * 3})
    found = read_all_runs([tmp_path / "rpts", tmp_path / "rome"]).every
    html = write_report(list(found), tmp_path / "r.html").path.read_text("utf-8")
    ids = re.findall(r' id="([^"]+)"', html)
    assert len(set(ids)) == len(ids)
    targets = re.findall(r'href="#([^"]+)"', html)
    assert set(targets) <= set(ids)
    assert {"overview", "instances", "graded-rome"} <= set(targets)
