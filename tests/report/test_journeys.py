"""Journeys through a report in a real browser: each opens it once and checks what readers meet."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from lmms_rpts.analysis.frames import read_runs
from lmms_rpts.report.markup import marked
from lmms_rpts.report.writing import write_report
from tests.report.hostile import ATTACKS, hostile_record, hostile_rome_record
from tests.support.browser import (
    CONTRAST,
    NO_CONTRAST,
    Opened,
    expect_accessible,
    expect_harmless,
    expect_listed,
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

SECRET = "sk-verysecret12345678"
LONG = "The clock above the door of the shop shows nine in the evening, and it is dark."
PADDED = (
    f"Image0 -> {LONG}",
    "Text0 -> The shop closes at eight.",
    "Text1 -> The shop sells bread.",
    "Conclusion0 + Conclusion1 + Conclusion2 -> <b>The shop</b> is closed.",
)
# doc_id: answer and scores of model a, of model b
ANSWERS: dict[int, tuple[tuple[str, list[Any]], tuple[str, list[Any]]]] = {
    0: (("agree", [1.0, 1.0]), ("agree", [0.9, 0.9])),  # equal
    1: (("agree", [1.0, 1.0]), ("disagree", [0.9, 0.9])),  # another answer
    2: (("agree", [0.6, 0.6]), ("agree", [0.4, 0.4])),  # another category
    3: (("agree", [1.0, 1.0]), ("agree", [0.6, 0.6])),  # RPTS by 0.4
    4: (("agree", [0.8, None]), ("disagree", [1.0, 0.0])),  # the judge failed
    5: (("agree", [1.0, 1.0, 1.0, 1.0]), ("agree", [0.0, 0.0])),  # another category
}
ORDER = ("q5", "q2", "q4", "q1", "q3", "q0")
CUT = """Array.from(document.querySelectorAll(".scroll")).filter((each) => each.clientWidth &&
  each.scrollWidth > each.clientWidth + 1).map((each) => each.getAttribute("aria-label"))"""
# Runs in one task of the browser, so that no event of a timer or of the history comes between.
DRIVER = """(actions) => {
  for (const [selector, value] of actions) {
    const found = document.querySelector(selector);
    if (value === null) { found.click(); continue; }
    found.value = value;
    found.dispatchEvent(new InputEvent("input", {bubbles: true}));
  }
  return document.querySelector("article.open")?.id;
}"""


def record(doc_id: int, run: int) -> dict[str, Any]:
    answer, scores = ANSWERS[doc_id][run]
    doc = make_doc(
        id=f"q{doc_id}",
        visual_clue=["wide.png", "tall.png"],
        ability=["OCR", "Math"] if doc_id % 2 else ["OCR"],
        relation=["guided", "adversarial"][doc_id % 2],
        context="A train leaves at noon." if doc_id == 2 else "A shop.",
    )
    if doc_id == 5 and not run:
        return make_record(scores, answer=answer, doc=doc, steps=PADDED)
    return make_record(scores, answer=answer, doc=doc)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on RPTS-Eval and ROME, and one on ReForm-Eval in five wordings."""
    folder = tmp_path_factory.mktemp("runs")
    words = ("The lamp is lit?", "Which train leaves at noon?", "Is the bridge open?")
    grades = {"a": (1.0, 0.0, 1.0), "b": (1.0, 1.0, 0.5)}
    for run, model in enumerate("ab"):
        args = f"pretrained=lab/m-{model},api_key={SECRET}"
        write_run(folder / model, {at: record(at, run) for at in ANSWERS}, model_args=args)
        # The strict rules dispute the first answer; the second was judged.
        rome = [
            make_rome_record(
                grade,
                1.0 - grade if at == 0 else grade,
                grade if at == 1 else None,
                question=words[at],
                language="en" if at else "zh",
            )
            for at, grade in enumerate(grades[model])
        ]
        geo = [make_rome_record(1.0, question="Where is it?")]
        write_rome_run(folder / model, {"academic": rome, "geo": geo}, model_args=args)
    write_reform_runs(folder / "reform", ["reform_gqa", "reform_gqa_likelihood"], {0, 2})
    (folder / "images").mkdir()
    Image.linear_gradient("L").resize((1000, 500)).save(folder / "images" / "wide.png")
    Image.new("RGB", (50, 90), "navy").save(folder / "images" / "tall.png")
    return folder


def report_of(folder: Path, output: str, *names: str) -> Path:
    found = read_runs([folder / name for name in names])
    return write_report(found, folder / output, images=folder / "images", published=True).path


@pytest.fixture(scope="module")
def report(runs: Path) -> Path:
    return report_of(runs, "report.html", "a", "b", "reform/run")


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as found:
        yield found


def go(page: Any, place: str) -> Any:
    page.evaluate("place => { location.hash = place; }", place)
    page.wait_for_selector(f"#{place.split('--')[0]}.open")
    return page.locator("article.open")


def shown(page: Any, text: str, place: str = "#instances") -> None:
    expect(page.locator(f"{place} .shown")).to_have_text(text)


def press(page: Any, keys: str) -> None:
    for key in keys.split():
        page.keyboard.press(key)


def test_the_overview_and_finding_instances(opened: Opened, report: Path) -> None:
    page = opened.page
    expect_listed(page, *ORDER)
    # Numbers, legends and how the runs were made.
    names = ["2 right, RPTS ≥ 0.5", "2 right for the wrong reason", "2 wrong, RPTS ≥ 0.5"]
    card = page.get_by_role("region", name="Summary of m-b", exact=True)
    bars = card.locator(".outcome-bar span")
    assert [each.get_attribute("title") for each in bars.all()] == names
    expect(card.get_by_role("list", name="Legend").locator("li")).to_have_text(names)
    groups = page.locator(".tables thead th:first-child").all_inner_texts()
    assert groups == ["as in the paper", "diagnostics of the chains"]
    steps = page.get_by_role("row").filter(has=page.get_by_text("steps", exact=True))
    assert steps.locator("svg").count() == 0, "counts have no bar"
    expect(page.locator("table.metadata").first).to_contain_text("pretrained=lab/m-a, api_key=***")
    assert SECRET not in report.read_text("utf-8")
    heads = [each for each in page.locator("h2:visible").all_inner_texts() if each[0] in "IJR"]
    assert heads[:3] == ["Instances", "Judge settings", "Run metadata"]
    # Sorting; instances without a value come last, in both directions.
    columns = page.locator("table.rpts thead th")
    for column, times, listed in (
        (0, 1, "q0 q1 q2 q3 q4 q5"),
        (0, 1, "q5 q4 q3 q2 q1 q0"),
        (5, 1, "q2 q5 q1 q3 q0 q4"),
        (5, 1, "q5 q1 q3 q0 q2 q4"),
    ):
        for _ in range(times):
            columns.nth(column).get_by_role("button").click()
        listing = page.locator("table.rpts tbody tr:visible th a")
        assert listing.all_inner_texts()[: len(listed.split())] == listed.split()
    expect(columns.nth(5)).to_have_attribute("aria-sort", "descending")
    # Filters and search; all filters by run look at the same run.
    for name, value, listed in (
        ("differ", "answer", "q4 q1"),
        ("differ", "rpts", "q5 q3"),
        ("differ", "outcome", "q5 q2 q4 q1"),
        ("outcome", "right_unsound", "q5 q2"),
        ("broken", "visual", "q5 q2"),
        ("relation", "=guided", "q2 q4 q0"),
        ("ability", "=Math", "q5 q1 q3"),
    ):
        page.evaluate("report.lists[0].apply(new URLSearchParams())")
        page.locator(f"#instances [name={name}]").select_option(value)
        expect_listed(page, *listed.split())
    page.evaluate("report.lists[0].apply(new URLSearchParams())")
    page.locator("#instances [name=model]").select_option(label="m-b")
    page.locator("#instances [name=outcome]").select_option("right_sound")
    expect_listed(page, "q3", "q0")
    page.locator("#instances").get_by_role("button", name="Clear").click()
    shown(page, "6 of 6 shown")
    search = page.locator("#instances [name=q]")
    for words, listed in (("TRAIN noon", "q2"), ("the judge refused", "q4")):
        search.fill(words)
        shown(page, "1 of 6 shown")
        expect_listed(page, listed)
    search.fill("nowhere to be found")
    page.locator("#instances").get_by_role("button", name="Show all").click()
    shown(page, "6 of 6 shown")


def test_opening_instances_and_the_history(opened: Opened) -> None:
    page = opened.page
    page.locator("#instances [name=outcome]").select_option("right_unsound")
    page.locator("#instances [name=q]").fill("shop")
    shown(page, "2 of 6 shown")
    query = r"\?q=shop&outcome=right_unsound"
    expect(page).to_have_url(re.compile(f"#{query}$"))
    page.get_by_role("link", name="q5", exact=True).click()
    article = page.locator("article.open")
    expect(page.locator("article.instance:visible")).to_have_count(1)
    expect(page.locator("#overview")).to_be_hidden()
    expect(page.locator("table.metadata").first).to_be_hidden()
    expect_title(page, "q5")
    expect(article.locator("h1")).to_be_focused()
    expect(article.locator(".place")).to_have_text("1 of 2")
    expect(page).to_have_url(re.compile(f"#rpts-eval-en-5{query}$"))
    # The next one is the next that the filters show; a copied link shows the same.
    article.get_by_role("link", name="Next").click()
    expect_title(page, "q2")
    expect(article.get_by_role("link", name="Next")).to_have_count(0)
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("article.open .place")).to_have_text("2 of 2")
    press(other, "Escape")
    expect_listed(other, "q5", "q2")
    expect(other.locator("#instances [name=q]")).to_have_value("shop")
    other.close()
    page.go_back()
    expect_title(page, "q5")
    page.go_back()
    expect_listed(page, "q5", "q2")
    page.go_forward()
    expect_title(page, "q5")
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(article).to_have_count(0)
    expect(page.locator("#overview h1")).to_be_in_viewport()
    page.go_back()
    page.locator("a.skip").focus()
    press(page, "Enter")
    expect(article.locator("h1")).to_be_focused()
    page.get_by_role("link", name="All instances").click()
    expect_listed(page, "q5", "q2")
    expect(page).to_have_url(re.compile(f"#instances{query}$"))
    # A filter that was just set is in the history; a double click goes on twice.
    page.locator("#instances").get_by_role("button", name="Clear").click()
    shown(page, "6 of 6 shown")
    row = "table.rpts a[href='#rpts-eval-en-2']"
    actions = [["#instances [name=outcome]", "right_unsound"], [row, None]]
    assert page.evaluate(DRIVER, actions) == "rpts-eval-en-2"
    expect(article.locator(".place")).to_have_text("2 of 2")
    page.go_back()
    expect_listed(page, "q5", "q2")
    page.locator("#instances").get_by_role("button", name="Clear").click()
    page.get_by_role("link", name="q5", exact=True).click()
    article.locator(".next").dblclick()
    expect(article.locator("h1")).to_contain_text("q4")
    # A deep link to a step, and addresses that lead nowhere.
    go(page, "rpts-eval-en-0--m1-s0")
    expect(page.locator("#rpts-eval-en-0--m1-s0")).to_be_in_viewport()
    article.locator(".card.run").nth(1).locator(".tree .step").nth(1).click()
    expect(page).to_have_url(re.compile("#rpts-eval-en-0--m1-s1"))
    expect(page.locator("#rpts-eval-en-0--m1-s1")).to_be_in_viewport()
    for place in (
        "instances?outcome=nothing&sort=__proto__&dir=up&model=99&broken=%zz",
        "constructor?q=",
        "%zz?%zz=%zz",
        "?" + "q=x&" * 5000,
        "<img src=x onerror=window.hacked=1>?ability=<script>window.hacked=1</script>",
        "rpts-eval-en-0--m0-s99?differ=toString",
    ):
        page.evaluate("place => { location.hash = place; }", place)
        page.evaluate("location.hash = ''")
        page.locator("#instances").get_by_role("button", name="Clear").click()
        shown(page, "6 of 6 shown")
        assert page.evaluate("window.hacked") is None


def test_keys(opened: Opened) -> None:
    page = opened.page
    link = lambda name: page.get_by_role("link", name=name, exact=True)  # noqa: E731
    page.get_by_role("button", name="instance").first.click()
    press(page, "j j k j")
    expect(link("q1")).to_be_focused()
    press(page, "Enter")
    heading = page.locator("article.open h1")
    expect(page.locator("article.open .place")).to_have_text("2 of 6")
    for name in ("q2", "q3", "q4", "q5", "q5"):
        press(page, "j")
        expect(heading).to_contain_text(name)
    press(page, "k")
    expect(heading).to_contain_text("q4")
    press(page, "ArrowLeft ArrowRight ArrowLeft Control+j Alt+k Meta+j")
    expect(heading).to_contain_text("q3")
    # In a scrollable area the arrow keys scroll.
    page.locator("article.open .tree-scroll").first.focus()
    press(page, "ArrowRight ArrowLeft")
    expect(heading).to_contain_text("q3")
    press(page, "Escape")
    expect(link("q3")).to_be_focused()
    press(page, "/")
    search = page.locator("#instances [name=q]")
    expect(search).to_be_focused()
    page.keyboard.type("j?/k")
    expect(search).to_have_value("j?/k")
    search.fill("q4")
    press(page, "Enter")
    expect(link("q4")).to_be_focused()
    # No instance is open: Esc and the arrows do nothing.
    press(page, "Escape ArrowRight ?")
    expect(page).to_have_url(re.compile(r"#instances\?q=q4&sort=instance$"))
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    for key in ("j", "k", "/", "Esc", "?", "Enter"):
        expect(dialog.get_by_text(key, exact=True).first).to_be_visible()
    press(page, "j Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Shortcuts").click()
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Close").click()
    press(page, "?")
    expect(dialog).to_be_hidden()


def test_images_and_previews(opened: Opened, report: Path) -> None:
    page = opened.page
    article = go(page, "rpts-eval-en-0")
    images, dialog = article.locator(".images img"), page.locator("dialog.zoom")
    large, caption = dialog.locator("img"), page.locator(".zoom-caption")

    def scale() -> float:
        style = large.evaluate("each => each.style.transform")
        return float(re.search(r"scale\(([\d.]+)\)", style)[1])  # type: ignore[index]

    # Embedded once, larger than its display size.
    assert images.nth(0).get_attribute("width") == "480"
    assert images.nth(0).evaluate("each => each.decode().then(() => each.naturalWidth)") == 640
    uris = re.findall(r'src="(data:image[^"]+)"', report.read_text("utf-8"))
    assert len(uris) == 2 * len(ANSWERS)
    images.nth(0).click()
    expect(caption).to_have_text("Image 0: wide.png (1 of 2)")
    assert large.bounding_box()["width"] > 1000
    page.mouse.move(900, 500)
    wait_until_drawn(page)
    page.mouse.wheel(0, -200)
    expect(page.locator(".stage.zoomed")).to_be_visible()
    before = large.get_attribute("style")
    page.mouse.down()
    page.mouse.move(940, 530)
    page.mouse.up()
    expect(large).not_to_have_attribute("style", before)
    page.get_by_role("button", name="Fit to the window").click()
    press(page, "+ ArrowDown")
    assert scale() > 1
    assert "translate(0px, -80px)" in large.get_attribute("style")
    press(page, "0 -")
    assert scale() == 1
    press(page, "ArrowRight ArrowRight ArrowLeft j")
    expect(caption).to_have_text("Image 1: tall.png (2 of 2)")
    press(page, "Escape")
    # The shortcuts of the page did nothing; the focus is on the image.
    expect(article.locator("h1")).to_contain_text("q0")
    expect(images.nth(1)).to_be_focused()
    # Leaves show what they name, by mouse and by keyboard.
    preview, card = page.locator("#preview"), article.locator(".card.run").first
    card.locator(".tree [data-leaf='text:0']").first.hover()
    expect(preview).to_have_text("The shop closes at eight.")
    page.mouse.move(1, 1)
    expect(preview).to_be_hidden()
    leaf = card.locator(".tree [data-leaf='image:0']").first
    leaf.focus()
    expect(preview.locator("img")).to_have_attribute("alt", "Image 0: wide.png")
    expect(leaf).to_have_attribute("aria-describedby", "preview")
    press(page, "Escape")
    expect(preview).to_be_hidden()
    expect(article).to_have_count(1)
    card.locator(".premises [data-leaf='text:0']").first.focus()
    expect(preview).to_have_text("The shop closes at eight.")
    leaf.focus()
    press(page, "Enter")
    expect(dialog).to_be_visible()


def test_the_tree_and_the_steps(opened: Opened, browser: Any, runs: Path, tmp_path: Path) -> None:
    page = opened.page
    page.context.add_init_script(
        "navigator.clipboard.writeText = async text => { window.copied = text; }"
    )
    page.reload()
    article = go(page, "rpts-eval-en-5")
    card = article.locator(".card.run").first
    assert "RPTS 1.00" in article.locator(".verdicts").inner_text()
    expect(card.locator("article.judged .flag.restates")).to_have_count(2)
    expect(card.locator(".tree .flag.restates")).to_have_count(2)
    other = article.locator(".card.run").nth(1)
    expect(other.locator(".step.first")).to_have_count(1)
    expect(other).to_contain_text("First error: Conclusion 0", use_inner_text=True)
    # Leaves and steps by keyboard, in the order of the picture.
    card.locator(".tree-scroll").focus()
    reached = []
    for _ in range(3):
        press(page, "Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert (reached[0], reached[2]) == ("Image 0", "Text 0")
    assert reached[1].startswith("Conclusion 0 1.00")
    press(page, "Escape")  # the preview of the leaf
    # All texts are in their boxes.
    wider = """Array.from(document.querySelectorAll(".open svg :is(.step, .leaf)"), (box) => {
      const room = box.querySelector("rect").getBoundingClientRect();
      return Array.from(box.querySelectorAll("text"), (each) => each.getBoundingClientRect())
        .filter((each) => each.left < room.left + 1 || each.right > room.right - 1
          || each.top < room.top - 1 || each.bottom > room.bottom + 1);
    }).flat().length"""
    assert page.evaluate(wider) == 0
    # A saved picture needs neither the page nor its style.
    with page.expect_download() as download:
        card.get_by_role("button", name="Save picture (SVG)").click()
    assert download.value.suggested_filename == "rpts-eval-en-5--m0.svg"
    saved = tmp_path / "saved.svg"
    download.value.save_as(saved)
    text = saved.read_text("utf-8")
    words = "".join(texts_of_svg(text))
    assert LONG in words
    assert "<b>The shop</b> is closed." in words
    assert not re.search(r"var\(|href|tabindex|data-leaf|<script", text)
    with watched(browser, saved) as alone:
        fill = "getComputedStyle(document.querySelector('.step > rect')).fill"
        assert alone.page.evaluate(fill) == "rgb(155, 213, 199)"
    # The record as it was saved.
    details = article.locator(".record").nth(1)
    details.locator("summary").click()
    details.get_by_role("button", name="Copy").click()
    expect(details.get_by_role("status")).to_have_text("Copied")
    (samples,) = (runs / "b").rglob("*_samples_rpts_eval_en.jsonl")
    written = json.loads(json.loads(samples.read_text().splitlines()[5])["filtered_resps"])
    raw = details.locator("pre.raw").text_content()
    assert json.loads(raw) == written
    assert raw.startswith('{\n  "schema": "lmms_rpts.rpts",\n')
    assert page.evaluate("window.copied") == raw
    # What the judge could not say.
    article = go(page, "rpts-eval-en-4")
    open_details(page)
    expect(article.locator(".card.run").first).to_contain_text("the judge refused")


def test_graded_answers_have_their_own_tables(opened: Opened) -> None:
    page, rome = opened.page, "#graded-rome"
    place = page.locator(rome)
    rows = page.locator(f"{rome} tbody tr[data-entry]:visible th a")

    def listed(*names: str) -> None:
        expect(rows).to_have_text([re.compile(f"question_{name}$") for name in names])

    text = place.inner_text()
    assert "ROME by subtask" in text
    assert "0.875" in text  # m-b: 1, 1, 0.5 and 1
    assert page.locator("h1:visible").count() == 1
    listed("academic_1", "academic_2", "academic_0", "geo_0")
    for name, value, names in (
        ("flag", "disagreements", ["academic_0"]),
        ("outcome", "wrong", ["academic_1"]),
        ("by.subtask", "=geo", ["geo_0"]),
        ("by.subtask", "=academic", ["academic_1", "academic_2", "academic_0"]),
    ):
        page.evaluate("report.lists[1].apply(new URLSearchParams())")
        place.locator(f"[name='{name}']").select_option(value)
        listed(*names)
    rows.first.click()
    article = page.locator("article.open")
    for part in ("#overview", "#instances", rome, "#graded-reform"):
        expect(page.locator(part)).to_be_hidden()
    expect(article.locator("h1")).to_be_focused()
    article.get_by_text("Judge request and reply").first.click()
    expect(article.get_by_text("GRADE: 0.0")).to_be_visible()
    # The neighbours come from the answer's own table, as it is filtered.
    expect(article.get_by_role("link", name="Previous")).to_be_hidden()
    for name in ("academic_2", "academic_0"):
        article.get_by_role("link", name="Next").click()
        expect(article.locator("h1")).to_contain_text(name)
    expect(article.get_by_role("link", name="Next")).to_have_count(0)
    press(page, "Escape")
    expect(rows.last).to_be_focused()
    place.get_by_role("button", name="Clear").click()
    # Text that only the page of the instance shows is found as well.
    place.locator("[name=q]").fill("grade: 0.0")
    listed("academic_1")
    # Two models, and the wordings of one sample, stand side by side.
    for anchor, count in (("rome-academic-1", 2), ("reform-gqa-0", 5)):
        cards = go(page, anchor).locator(".card.run")
        assert cards.count() == count
        first, second = cards.nth(0).bounding_box(), cards.nth(1).bounding_box()
        assert first["y"] == second["y"]
        assert first["x"] + first["width"] <= second["x"]


def test_a_window_of_1280_pixels(browser: Any, tmp_path: Path, saved: Path) -> None:
    path = write_report(read_runs([saved]), tmp_path / "r.html").path
    with watched(browser, path) as found:
        page = found.page
        assert page.evaluate(CUT) == [], "tables that are cut off"
        for place in ("rpts-demo-0", "rpts-demo-4"):
            for tree in go(page, place).locator(".card.run .tree").all():
                box = tree.bounding_box()
                assert 0 < box["y"] < box["y"] + box["height"] <= 900, (place, box)
                assert 0.7 <= float(tree.evaluate("each => each.style.zoom")) <= 1
        # The images of all benchmarks are numbered from 0, as steps cite them.
        for place in ("rpts-demo-4", "rome-geo-1", "cmmath-0"):
            names = go(page, place).locator(".images .leaf.image").all_inner_texts()
            assert names == [f"Image {at}" for at in range(len(names))] != []
        # What has no gold reasoning does not speak of it.
        article = go(page, "rpts-demo-0")
        open_details(page)
        asked = " ".join(article.locator(".asked").first.inner_text().split())
        assert re.search(
            r"image shows\? [\d.]+ .+ system .+ user Facts about the picture: 1\. <<<", asked
        )
        go(page, "rome-geo-1")
        assert "gold" not in page.locator("article.open").inner_text()


def test_small_windows_and_touch(browser: Any, report: Path) -> None:
    for width, place in ((320, ""), (320, "#rpts-eval-en-4"), (320, "#rome-academic-1")):
        found = open_page(browser, report, place, viewport={"width": width, "height": 640})
        expect_harmless(found)
        found.page.context.close()
    size = {"width": 400, "height": 800}
    page = open_page(browser, report, viewport=size, has_touch=True).page
    rows = page.get_by_role("row").filter(has=page.locator("code", has_text="evidence_coverage"))
    assert rows.get_by_role("cell").count() == 2
    table = page.locator("table.rpts")
    cells = [table.locator(f"tbody td:has(> .{kind})").first for kind in ("chip", "score")]
    for cell in (*rows.get_by_role("cell").all(), *cells):
        box = cell.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 400
    for hidden in ("[data-column=kind]", "td.kind", "[data-column=disagree]", "td.disagree"):
        expect(table.locator(hidden).first).to_be_hidden()
    article = go(page, "rpts-eval-en-0")
    article.locator(".card.run .premises [data-leaf='image:0']").first.tap()
    preview = page.locator("#preview")
    expect(preview.locator("img")).to_be_visible()
    article.locator("h1").tap()
    expect(preview).to_be_hidden()
    page.context.close()


def test_without_scripts_all_can_be_read(browser: Any, report: Path, tmp_path: Path) -> None:
    page = open_page(browser, report, java_script_enabled=False).page
    assert page.locator("article.instance:visible").count() == 6 + 4 + 4
    assert page.locator("form.controls:visible").count() == 0
    page.get_by_role("link", name="q4", exact=True).click()
    assert "the judge refused" in page.locator("#rpts-eval-en-4").inner_text()
    assert "Which train leaves at noon?" in page.locator("#rome-academic-1").text_content()
    page.context.close()
    # Of long tables, scripts show 500 rows at a time.
    few = [make_rome_record(1.0)] * 502
    write_rome_run(tmp_path, {"academic": few, "geo": [make_rome_record(0.0)]})
    path = write_report(read_runs([tmp_path]), tmp_path / "r.html").path
    rows = "tbody tr[data-entry]:visible"
    page = open_page(browser, path, java_script_enabled=False).page
    assert page.locator(rows).count() == 503
    page.context.close()
    with watched(browser, path) as found:
        page = found.page
        shown(page, "503 of 503 chosen, the first 500 shown", "#graded-rome")
        assert page.locator(rows).count() == 500
        go(page, "rome-academic-500")
        expect(page.locator("article.open .place")).to_have_text("502 of 503")
        press(page, "j Escape")
        page.get_by_role("button", name="Show 500 more").click()
        assert page.locator(rows).count() == 503
        shown(page, "503 of 503 shown", "#graded-rome")


def test_print_and_colours(browser: Any, report: Path) -> None:
    page = open_page(browser, report, "#rpts-eval-en-5").page
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) != light
    page.reload()
    assert page.evaluate(ground) != light
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(ground) == light
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    article = page.locator("article.open")
    assert article.locator("details:not([open], .record, .prompt-of)").count() == 0
    assert article.locator("details.record[open]").count() == 0
    assert page.locator(".bar-top").is_hidden()
    assert article.locator(".reply").first.is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.context.close()


# What a reader does, and what then appears.
STATES: dict[str, tuple[str, Callable[[Any], None], str]] = {
    "overview": ("", lambda page: None, "table.rpts"),
    "help": ("", lambda page: page.keyboard.press("?"), "dialog.help"),
    "all": ("rpts-eval-en-5", open_details, "article.open .record-tools button"),
    "unjudged": ("rpts-eval-en-4", open_details, "article.open .record-tools button"),
    "rome": ("rome-academic-1", open_details, "article.open .reply"),
    "wordings": ("reform-gqa-0", open_details, "article.open .chains"),
    "likelihoods": ("reform-gqa-likelihood-1", open_details, "article.open .likelihoods"),
    "zoom": (
        "rpts-eval-en-2",
        lambda page: page.locator("article.open .images img").first.click(),
        "dialog.zoom",
    ),
    "preview": (
        "rpts-eval-en-2",
        lambda page: page.locator("article.open .tree [data-leaf]").first.focus(),
        "#preview",
    ),
}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light")])
def test_no_accessibility_violations(browser: Any, report: Path, width: int, scheme: str) -> None:
    """axe-core, the checker of the accessibility rules of the W3C.

    Dark colours change contrasts alone, a small window everything else. Rules for the whole page
    need a look at some states only.
    """
    size = {"width": width, "height": 900}
    page = open_page(browser, report, color_scheme=scheme, viewport=size).page
    options = CONTRAST if scheme == "dark" else NO_CONTRAST if width == 400 else {}
    for name, (place, act, appears) in STATES.items():
        if width == 400 and not appears.startswith(("table", "article")):
            continue
        if place:
            go(page, place)
        act(page)
        expect(page.locator(appears).first).to_be_visible()
        wait_until_drawn(page)
        inside = "article.open" if appears.startswith("article") else appears
        whole = name == "overview" or (name in ("all", "rome") and scheme == "light")
        expect_accessible(page, None if whole else inside, **options)
        press(page, "Escape Escape")
    page.context.close()


def test_hostile_text_shows_as_text(tmp_path: Path, browser: Any) -> None:
    records = {at: hostile_record(text, at) for at, text in enumerate(ATTACKS)}
    write_run(tmp_path / "rpts", records, texts=dict(enumerate(ATTACKS)))
    rome = [hostile_rome_record(text) for text in ATTACKS]
    write_rome_run(tmp_path / "rome", {"academic": rome})
    label = "".join(each for each in ATTACKS if len(each) < 1000)
    found_runs = read_runs([tmp_path / "rpts", tmp_path / "rome"])
    every = [replace(run, label=label) for run in found_runs]
    path = write_report(every, tmp_path / "r.html", title=label, images=tmp_path).path
    found = open_page(browser, path)
    page = found.page
    assert marked(ATTACKS[0])[:20] in page.locator("h1").first.inner_text()
    for at, text in enumerate(ATTACKS):
        for place, times in ((f"rpts-eval-en-{at}", 15), (f"rome-academic-{at}", 5)):
            go(page, place)
            open_details(page)
            expect_only_text(found, text, times)
            assert page.locator("article.open").count() == 1
    page.evaluate("location.hash = ''")
    expect(page.locator("article.open")).to_have_count(0)
    expect_harmless(found)
    assert page.locator("#evil").count() == 0
    page.context.close()
