"""Journeys through a report in a real browser: each opens it once and checks what readers meet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.report.write import write_report
from tests.report.hostile import ATTACKS, hostile_record, hostile_rome_record
from tests.support.browser import (
    CONTRAST,
    NO_CONTRAST,
    Opened,
    expect_accessible,
    expect_harmless,
    expect_only_text,
    expect_title,
    open_details,
    open_page,
    wait_until_drawn,
    watched,
)
from tests.support.graded_runs import write_reform_runs
from tests.support.instances import make_doc
from tests.support.pictures import texts_of_svg
from tests.support.rome_runs import make_rome_record, write_rome_run
from tests.support.runs import make_record, write_run

STEPS = (
    "Image0 -> The clock above the door shows nine.",
    "Text0 -> The shop closes at eight.",
    "Text1 -> The shop sells bread.",
    "Conclusion0 + Conclusion1 + Conclusion2 -> It is late.",
    "Conclusion3 + Conclusion0 + Text9 -> <b>The shop</b> is closed.",
)
# Of each model, by doc_id: answer and scores.
A = [*[("agree", [1.0, 1.0])] * 4, ("agree", [0.8, None]), ("agree", [0.0, 1, 1, 1, 1])]
B = [("agree", [0.9, 0.9]), ("disagree", [0.9, 0.9]), ("agree", [0.4, 0.4])]
B += [("agree", [0.6, 0.6]), ("disagree", [1.0, 0.0]), ("agree", [0.0, 0.0])]
# The strict rules dispute the first answer; the second was judged.
ROME = {
    "a": [make_rome_record(1.0, 0.0), make_rome_record(0.0, 0.0, 0.0), make_rome_record(1.0)],
    "b": [make_rome_record(1.0, 0.0), make_rome_record(1.0, 1.0, 1.0), make_rome_record(0.5)],
}


def record(doc_id: int, answer: str, scores: list[Any]) -> dict[str, Any]:
    doc = make_doc(
        id=f"q{doc_id}",
        visual_clue=["wide.png", "tall.png"],
        ability=["OCR", "Math"] if doc_id % 2 else ["OCR"],
        relation=["guided", "adversarial"][doc_id % 2],
        context="A train leaves at noon." if doc_id == 2 else "A shop.",
    )
    reply = '{{"reason": "The clock shows eight.", "score": {}}}'
    more: dict[str, Any] = {"steps": STEPS} if len(scores) == len(STEPS) else {}
    return make_record(scores, answer=answer, doc=doc, reply=reply, **more)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on RPTS-Eval and ROME, and one on ReForm-Eval in five wordings."""
    folder = tmp_path_factory.mktemp("runs")
    for model, answers in {"a": A, "b": B}.items():
        args = f"pretrained=lab/m-{model}"
        records = {at: record(at, *answer) for at, answer in enumerate(answers)}
        write_run(folder / model, records, model_args=args)
        rome = {"academic": ROME[model], "geo": [make_rome_record(1.0)]}
        write_rome_run(folder / model, rome, model_args=args)
    write_reform_runs(folder / "reform", ["reform_gqa", "reform_gqa_likelihood"], {0, 2})
    (folder / "images").mkdir()
    Image.linear_gradient("L").resize((1000, 500)).save(folder / "images" / "wide.png")
    Image.new("RGB", (50, 90), "navy").save(folder / "images" / "tall.png")
    return folder


@pytest.fixture(scope="module")
def report(runs: Path) -> Path:
    chosen = read_runs([runs / name for name in ("a", "b", "reform/run")])
    return write_report(chosen, runs / "report.html", images=runs / "images").path


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as page:
        yield page


def go(page: Any, place: str) -> None:
    page.evaluate("place => { location.hash = place; }", place)
    wait_until_drawn(page)


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def listed(page: Any, names: str, section: str = "#rpts") -> None:
    links = page.locator(f"{section} .instances tbody th a")
    expect(links).to_have_text([re.compile(f"{name}$") for name in names.split()])


def choose(place: Any, **filters: str) -> None:
    """Clears the filters, and chooses these."""
    place.get_by_role("button", name="Clear").click()
    for name, value in filters.items():
        label = place.locator("label", has_text=re.compile(f"^{name.replace('_', ' ')}"))
        label.locator("select").select_option(value)


def test_the_overview_and_finding_instances(opened: Opened) -> None:
    page, place = opened.page, opened.page.locator("#rpts")
    listed(page, "q5 q2 q4 q1 q3 q0")
    expect(place.get_by_text("judge openai:oracle: not validated")).to_be_visible()
    order = (".run-cards", ".list", "details")
    tops = [place.locator(each).first.bounding_box()["y"] for each in order]
    assert tops == sorted(tops)
    card = place.get_by_role("region", name="RPTS-Eval: summary of m-b", exact=True)
    outcomes = ["2 right, RPTS ≥ 0.5", "2 right for the wrong reason", "2 wrong, RPTS ≥ 0.5"]
    expect(card.get_by_role("listitem")).to_have_text(outcomes)
    # Histograms to be compared have one scale: an answer is as high in all of them.
    bars = place.locator("svg.chart rect").evaluate_all(
        "all => all.map(each => each.getAttribute('height') / each.nextSibling.textContent)"
    )
    assert bars == pytest.approx([bars[0]] * len(bars))
    # Filters and search; all filters by answer look at the same answer.
    for filters, names in (
        ({"Outcome": "right_unsound"}, "q5 q2"),
        ({"First_error": "visual"}, "q5 q2"),
        ({"Relation": "guided"}, "q2 q4 q0"),
        ({"Ability": "Math"}, "q5 q1 q3"),
        ({"Model": "1", "Outcome": "right_sound"}, "q3 q0"),
    ):
        choose(place, **filters)
        listed(page, names)
    choose(place)
    for words, name in (("TRAIN noon", "q2"), ("the judge refused", "q4")):
        place.get_by_label("Search").fill(words)
        expect(place.locator(".shown")).to_have_text("1 of 6 instances")
        listed(page, name)


def test_opening_instances_the_history_and_keys(opened: Opened) -> None:
    page, place = opened.page, opened.page.locator("#rpts")
    choose(place, Outcome="right_unsound")
    page.get_by_role("link", name="q5").first.click()
    expect(place).to_have_count(0)
    expect_title(page, "q5")
    expect(page.locator("h1")).to_be_focused()
    # The next one is the next that the filters show.
    expect(page.locator(".crumbs")).to_contain_text("1 of 2")
    page.get_by_role("link", name="Next").click()
    expect_title(page, "q2")
    expect(page.get_by_role("link", name="Next")).to_have_count(0)
    page.go_back()
    expect_title(page, "q5")
    for key, name in (("j", "q2"), ("k", "q5"), ("ArrowRight", "q2"), ("ArrowLeft", "q5")):
        press(page, key)
        expect_title(page, name)
    press(page, "Escape")
    listed(page, "q5 q2")
    expect(page.get_by_role("link", name="q5").first).to_be_focused()
    press(page, "j Enter")
    expect_title(page, "q2")
    press(page, "/")
    expect(place.get_by_label("Search")).to_be_focused()
    press(page, "q Escape ?")
    expect(page.get_by_role("dialog")).to_contain_text("go back to all instances")
    press(page, "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # A deep link to a step, and addresses that lead nowhere.
    go(page, "rpts-eval-en-0--1-s0")
    expect(page.locator(".target h3")).to_contain_text("Conclusion 0")
    expect(page.locator(".target")).to_be_in_viewport()
    for nowhere in ("rpts-eval-en-99", "%ff", "<img>"):
        go(page, nowhere)
        expect(place).to_have_count(1)


def test_an_instance_its_tree_and_the_judge(opened: Opened, tmp_path: Path) -> None:
    page = opened.page
    go(page, "rpts-eval-en-5")
    card = page.locator("section.card[id='rpts-eval-en-5--0']")
    expect(card.locator(".problem").first).to_contain_text("First error: Conclusion 0, height 1")
    expect(card.locator(".problem").first).to_contain_text("depend on it: Conclusion 4.")
    # The judge's reason is visible under each step below 0.5, and only there.
    steps = card.locator("article.judged")
    expect(steps.nth(0).get_by_text("Judge: The clock shows eight.")).to_be_visible()
    expect(card.get_by_text("Judge: ")).to_have_count(1)
    expect(steps.nth(4)).to_contain_text("Text 9 does not exist: there are only 2 texts")
    steps.nth(0).get_by_text("Judge request and reply").click()
    expect(steps.nth(0).get_by_text("Facts about the picture")).to_be_visible()
    # The tree: the root on top, evidence at the bottom; no line crosses a box.
    boxes = sorted(card.locator("svg a").all(), key=lambda box: box.bounding_box()["y"])
    names = [box.text_content()[:12] for box in boxes]
    assert names[0] == "Conclusion 4"
    assert names.index("Conclusion 3") < names.index("Conclusion 0")
    assert sorted(names[-3:]) == ["Image 0", "Text 0", "Text 1"]
    crossing = """tree => [...tree.querySelectorAll("path")].flatMap(path => {
      const length = path.getTotalLength(), matrix = path.getScreenCTM();
      const points = [...Array(60).keys()].map(k =>
        path.getPointAtLength((k + 0.5) * length / 60).matrixTransform(matrix));
      return [...tree.querySelectorAll("a")].filter(box => {
        const { left, right, top, bottom } = box.getBoundingClientRect();
        return points.some(({ x, y }) => x > left && x < right && y > top + 3 && y < bottom - 3);
      });
    }).length"""
    assert card.locator("svg").evaluate(crossing) == 0
    assert card.locator("svg path[stroke-width='3']").count() == 1, "the path of the first error"
    # A citation leads to what it cites.
    steps.nth(1).get_by_role("link", name="Text 0").click()
    expect(page.locator(".target")).to_have_text("The shop closes at eight.")
    # A saved picture needs neither the page nor its style.
    with page.expect_download() as download:
        card.get_by_role("button", name="Save picture (SVG)").click()
    saved = tmp_path / "saved.svg"
    download.value.save_as(saved)
    words = texts_of_svg(saved.read_text("utf-8"))
    assert {"Conclusion 0", "0.00", "first wrong step", "<b>The shop</b> is "} <= {*words}
    with watched(page.context.browser, saved):
        pass
    card.get_by_text("Raw record").click()
    expect(card.locator(".record pre")).to_contain_text('"first_error": {')


def test_graded_answers(opened: Opened) -> None:
    page, place = opened.page, opened.page.locator("#rome")
    assert "0.88" in place.inner_text()  # m-b: 1, 1, 0.5 and 1
    choose(place, Check="graders disagree")
    listed(page, "academic_0", "#rome")
    choose(place, Subtask="academic")
    listed(page, "academic_1 academic_2 academic_0", "#rome")
    place.locator("tbody a").first.click()
    card = page.locator(".card[id='rome-academic-1--0']")
    heads = ["rules wrong", "strict rules wrong", "openai:oracle wrong counts"]
    expect(card.locator("article.judged h3")).to_have_text(heads)
    card.get_by_text("Judge request and reply").first.click()
    expect(card.get_by_text("GRADE: 0.0").first).to_be_visible()
    # The five wordings of a sample stand side by side.
    go(page, "reform-gqa-0")
    expect(page.locator(".chains > .card")).to_have_count(5)
    first, second = (page.locator(".chains > .card").nth(at).bounding_box() for at in (0, 1))
    assert first["y"] == second["y"]
    assert first["x"] + first["width"] <= second["x"]
    go(page, "reform-gqa-likelihood-0")
    options = page.get_by_role("group", name="Options").first.get_by_role("row")
    expect(options.nth(1)).to_contain_text("-3.000")
    expect(options.filter(has_text="chosen")).to_have_count(1)


def test_long_lists_are_drawn_in_slices(browser: Any, tmp_path: Path) -> None:
    write_rome_run(tmp_path, {"academic": [make_rome_record(1.0)] * 150})
    path = write_report(read_runs([tmp_path]), tmp_path / "r.html").path
    with watched(browser, path) as opened:
        page = opened.page
        rows = page.locator(".instances tbody tr")
        expect(page.locator(".shown")).to_have_text("150 of 150 instances, the first 100 shown")
        expect(rows).to_have_count(100)
        page.get_by_role("button", name="Show 100 more").click()
        expect(rows).to_have_count(150)


def test_print_and_colours(browser: Any, report: Path) -> None:
    page = open_page(browser, report, "#rpts-eval-en-5", color_scheme="dark").page
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    assert page.locator("details:not([open], .record)").count() == 0
    assert page.locator("details.record[open]").count() == 0
    assert page.locator("header").is_hidden()


CUT = """Array.from(document.querySelectorAll(".scroll:has(table)")).filter(each =>
  each.checkVisibility() && each.scrollWidth > each.clientWidth + 1).map(each => each.ariaLabel)"""


# Dark colours change contrasts alone, a small window everything else.
@pytest.mark.parametrize(("width", "options"), [(1280, {}), (1920, CONTRAST), (400, NO_CONTRAST)])
def test_axe_finds_nothing(browser: Any, report: Path, width: int, options: dict[str, Any]) -> None:
    scheme = "dark" if options is CONTRAST else "light"
    size = {"width": width, "height": 900}
    opened = open_page(browser, report, color_scheme=scheme, viewport=size)
    page = opened.page
    for place in ("", "rpts-eval-en-5", "rpts-eval-en-4", "rome-academic-1", "reform-gqa-0"):
        go(page, place)
        open_details(page)
        expect_accessible(page, **options)
        expect_harmless(opened)
        assert width > 400 or page.evaluate(CUT) == [], f"tables that are cut off in {place}"
    go(page, "rpts-eval-en-2")
    for open_dialog in (lambda: press(page, "?"), page.locator(".enlarge").first.click):
        open_dialog()
        expect_accessible(page, "dialog", **options)
        press(page, "Escape")


def test_rating(browser: Any, tmp_path: Path) -> None:
    write_run(tmp_path, {at: make_record([1.0, 0.2], doc=make_doc(id=at)) for at in range(2)})
    path = write_report(read_runs([tmp_path]), tmp_path / "rate.html", rate=True).path
    with watched(browser, path) as opened:
        page = opened.page
        expect_accessible(page)
        expect(page.get_by_role("heading", name="Is this in the image?")).to_be_visible()
        press(page, "1")
        expect(page.get_by_role("heading", name="Does the conclusion follow?")).to_be_visible()
        expect(page.locator(".instance li").first).to_have_text("what is known")
        page.get_by_role("button", name="unsure").click()
        press(page, "3 k k")
        page.reload()  # what was rated is kept
        expect(page.get_by_role("status")).to_have_text("Step 2 of 4, 3 rated")
        expect(page.get_by_role("button", name="unsure")).to_have_attribute("aria-pressed", "true")
        page.once("dialog", lambda dialog: dialog.accept("Ann Lee"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Save").click()
        assert download.value.suggested_filename == "ratings-Ann-Lee.json"
        download.value.save_as(tmp_path / "ratings.json")
    saved = json.loads((tmp_path / "ratings.json").read_text("utf-8"))
    first, *_ = ratings = saved.pop("ratings")
    assert saved == {"format": "lmms-rpts-ratings", "version": 1, "rater": "Ann Lee"}
    assert [(each["step"], each["score"]) for each in ratings] == [(0, 1), (1, 0.5), (0, 0)]
    assert first["conclusion"] == "The clock shows nine."
    assert [*first] == ["task", "doc_id", "id", "repeat", "step", "conclusion", "score"]


def test_hostile_text_shows_as_text(tmp_path: Path, browser: Any) -> None:
    records = {at: hostile_record(text, at) for at, text in enumerate(ATTACKS)}
    write_run(tmp_path / "rpts", records, texts=dict(enumerate(ATTACKS)))
    rome = [hostile_rome_record(text) for text in ATTACKS]
    write_rome_run(tmp_path / "rome", {"academic": rome})
    label = "".join(each for each in ATTACKS if len(each) < 1000)
    read = read_runs([tmp_path / "rpts", tmp_path / "rome"])
    chosen = [replace(run, label=label) for run in read]
    with watched(
        browser, write_report(chosen, tmp_path / "r.html", images=tmp_path).path
    ) as opened:
        expect_only_text(opened, ATTACKS[0], 1)
        for at, text in enumerate(ATTACKS):
            for place, times in ((f"rpts-eval-en-{at}", 10), (f"rome-academic-{at}", 4)):
                go(opened.page, place)
                open_details(opened.page)
                expect_only_text(opened, text, times)
        assert opened.page.locator("#evil").count() == 0
    rated = write_report(chosen[:1], tmp_path / "rate.html", rate=True).path
    with watched(browser, rated) as opened:
        for _ in ATTACKS:
            press(opened.page, "1")
            expect_harmless(opened)
        assert opened.page.evaluate("window.hacked") is None
