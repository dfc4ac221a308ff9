"""The report as a viewer: zoom, keys, addresses, previews, raw records, disagreement."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.report.pages import MOST_RAW
from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.browser import (
    Opened,
    expect_accessible,
    expect_listed,
    expect_title,
    open_page,
    wait_until_drawn,
    watched,
)
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table

# doc_id: (answer, scores) of model a, of model b
ANSWERS: dict[int, tuple[tuple[str, list[float]], tuple[str, list[float]]]] = {
    0: (("agree", [1.0, 1.0]), ("agree", [0.9, 0.9])),  # equal
    1: (("agree", [1.0, 1.0]), ("disagree", [0.9, 0.9])),  # another answer
    2: (("agree", [0.6, 0.6]), ("agree", [0.4, 0.4])),  # unsound in one
    3: (("agree", [1.0, 1.0]), ("agree", [0.6, 0.6])),  # RPTS by 0.4
}
SECRET = "sk-verysecret12345678"


def record(doc_id: int, run: int) -> dict[str, Any]:
    answer, scores = ANSWERS[doc_id][run]
    doc = make_doc(id=f"q{doc_id}", visual_clue=["wide.png", "tall.png"], ability=["OCR", "Math"])
    return make_record(scores, answer=answer, doc=doc)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("viewer")
    for run, model in enumerate("ab"):
        records = {doc_id: record(doc_id, run) for doc_id in ANSWERS}
        write_run(folder / model, records, model_args=f"pretrained=lab/m-{model},api_key={SECRET}")
    (folder / "images").mkdir()
    Image.effect_noise((1000, 500), 60).convert("RGB").save(folder / "images" / "wide.png")
    Image.new("RGB", (50, 90), "navy").save(folder / "images" / "tall.png")
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> Path:
    runs = read_runs([folder / "a", folder / "b"])
    return write_report(runs, folder / "report.html", images=folder / "images").path


@pytest.fixture(scope="module")
def pages(folder: Path) -> Path:
    runs = read_runs([folder / "a", folder / "b"])
    return write_report(runs, folder / "pages", images=folder / "images").path


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as found:
        yield found


def go(page: Any, place: str) -> None:
    page.evaluate("place => { location.hash = place; }", place)


def scale(page: Any) -> float:
    style = page.locator("dialog.zoom img").evaluate("each => each.style.transform")
    return float(re.search(r"scale\(([\d.]+)\)", style)[1])  # type: ignore[index]


# --- images


def test_an_image_opens_large(opened: Opened) -> None:
    page = opened.page
    go(page, "rpts-eval-en-0")
    images = page.locator("article.open .images img")
    assert images.nth(0).get_attribute("width") == "480"
    # Embedded once, larger than its display size.
    assert images.nth(0).evaluate("each => each.decode().then(() => each.naturalWidth)") == 640
    images.nth(0).click()
    dialog = page.locator("dialog.zoom")
    expect(dialog).to_be_visible()
    expect(dialog.locator("img")).to_have_attribute("alt", "Image 0: wide.png")
    assert dialog.locator("img").bounding_box()["width"] > 1000
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page).to_have_url(re.compile("#rpts-eval-en-0$"))
    expect(images.nth(0)).to_be_focused()


def test_an_enlarged_image_by_keyboard(opened: Opened) -> None:
    page = opened.page
    go(page, "rpts-eval-en-0")
    images = page.locator("article.open .images img")
    images.nth(0).focus()
    page.keyboard.press("Enter")
    caption = page.locator(".zoom-caption")
    expect(caption).to_have_text("Image 0: wide.png (1 of 2)")
    page.keyboard.press("+")
    assert scale(page) > 1
    page.keyboard.press("ArrowDown")
    assert "translate(0px, -80px)" in page.locator("dialog.zoom img").get_attribute("style")
    page.keyboard.press("0")
    assert scale(page) == 1
    page.keyboard.press("-")
    assert scale(page) == 1
    page.keyboard.press("ArrowRight")
    expect(caption).to_have_text("Image 1: tall.png (2 of 2)")
    page.keyboard.press("ArrowRight")
    expect(caption).to_have_text("Image 0: wide.png (1 of 2)")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    # The shortcuts of the page did nothing; the focus is back on the image.
    expect(page.locator("article.open h1")).to_contain_text("q0")
    expect(images.nth(1)).to_be_focused()


def test_an_enlarged_image_by_mouse(opened: Opened) -> None:
    page = opened.page
    go(page, "rpts-eval-en-0")
    page.locator("article.open .images img").nth(0).click()
    page.mouse.move(900, 500)
    wait_until_drawn(page)
    page.mouse.wheel(0, -200)
    expect(page.locator(".stage.zoomed")).to_be_visible()
    image = page.locator("dialog.zoom img")
    before = image.get_attribute("style")
    assert before
    page.mouse.down()
    page.mouse.move(940, 530)
    page.mouse.up()
    expect(image).not_to_have_attribute("style", before)
    page.get_by_role("button", name="Fit to the window").click()
    assert scale(page) == 1
    page.get_by_role("button", name="Next image").click()
    expect(page.locator(".zoom-caption")).to_contain_text("tall.png")
    page.get_by_role("button", name="Close the image").click()
    expect(page.locator("dialog.zoom")).to_be_hidden()


def test_no_picture_is_embedded_twice(report: Path) -> None:
    uris = re.findall(r'src="(data:image[^"]+)"', report.read_text(encoding="utf-8"))
    assert len(uris) == 2 * len(ANSWERS)


def test_images_of_a_folder_are_larger(browser: Any, pages: Path) -> None:
    found = open_page(browser, pages.parent / "instances" / "rpts-eval-en-0.html")
    page = found.page
    image = page.locator(".images img").first
    assert image.evaluate("each => each.decode().then(() => each.naturalWidth)") == 1000
    page.locator(".images a").first.click()
    expect(page.locator("dialog.zoom")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect_title(page, "rpts_eval_en q3")
    page.keyboard.press("Escape")
    expect(page.locator("#table")).to_be_visible()
    assert found.complaints == []
    page.context.close()


# --- keys


def test_keys_of_the_table_and_of_instances(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("button", name="instance").click()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="q0", exact=True)).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    heading = page.locator("article.open h1")
    expect(heading).to_contain_text("q1")
    expect(page.locator("article.open .place")).to_have_text("2 of 4")
    for key, name in (
        ("ArrowRight", "q2"),
        ("j", "q3"),
        ("j", "q3"),
        ("k", "q2"),
        ("ArrowLeft", "q1"),
    ):
        page.keyboard.press(key)
        expect(heading).to_contain_text(name)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="q1", exact=True)).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("j?/k")
    expect(page.get_by_label("Search")).to_have_value("j?/k")
    page.get_by_label("Search").fill("")
    page.keyboard.press("Enter")
    expect(page.locator("#table tbody tr:visible th a").first).to_be_focused()
    expect(page.locator("dialog[open]")).to_have_count(0)


def test_keys_with_modifiers_do_nothing(opened: Opened) -> None:
    page = opened.page
    go(page, "rpts-eval-en-0")
    heading = page.locator("article.open h1")
    before = heading.inner_text()
    for key in ("Control+j", "Alt+k", "Meta+j"):
        page.keyboard.press(key)
    # In a scrollable area the arrow keys scroll.
    page.locator("article.open .tree-scroll").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert heading.inner_text() == before


def test_help(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(dialog).to_be_visible()
    for key in ("j", "k", "/", "Esc", "?", "Enter"):
        expect(dialog.get_by_text(key, exact=True).first).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Shortcuts").click()
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.keyboard.press("?")
    expect(dialog).to_be_hidden()


# --- addresses


def test_the_address_holds_the_view(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Models disagree").select_option("outcome")
    page.locator("[name=ability]").select_option("=Math")
    page.locator("#table thead th").nth(5).get_by_role("button").click()
    page.locator("#table thead th").nth(5).get_by_role("button").click()
    page.get_by_label("Search").fill("clock nine")
    expect(page).to_have_url(
        re.compile(r"#\?q=clock\+nine&differ=outcome&ability=Math&sort=rpts&dir=desc$")
    )
    expect_listed(page, "q1", "q2")
    page.get_by_role("link", name="q2", exact=True).click()
    expect(page).to_have_url(
        re.compile(
            r"#rpts-eval-en-2\?q=clock\+nine&differ=outcome&ability=Math&sort=rpts&dir=desc$"
        )
    )
    # A copied link shows the same.
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("article.open h1")).to_contain_text("q2")
    expect(other.locator("article.open .place")).to_have_text("2 of 2")
    other.keyboard.press("Escape")
    expect_listed(other, "q1", "q2")
    expect(other.get_by_label("Search")).to_have_value("clock nine")
    expect(other.locator("#table thead th").nth(5)).to_have_attribute("aria-sort", "descending")


def test_back_and_forward(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Outcome").select_option("right_unsound")
    expect_listed(page, "q2")
    page.get_by_role("link", name="q2", exact=True).click()
    expect(page.locator("article.open")).to_have_count(1)
    page.go_back()
    expect_listed(page, "q2")
    page.go_back()
    expect(page.locator("#instances .shown")).to_have_text("4 of 4 shown")
    page.go_forward()
    expect_listed(page, "q2")
    page.go_forward()
    expect(page.locator("article.open h1")).to_contain_text("q2")
    page.get_by_role("link", name="All instances").click()
    # A link in the page keeps the filters.
    expect_listed(page, "q2")
    expect(page).to_have_url(re.compile(r"#instances\?outcome=right_unsound$"))


@pytest.mark.parametrize(
    "place",
    [
        "#instances?outcome=nothing&sort=__proto__&dir=up&model=99&broken=%zz",
        "#constructor?q=",
        "#%zz?%zz=%zz",
        "#?" + "q=x&" * 5000,
        "#<img src=x onerror=window.hacked=1>?ability=<script>window.hacked=1</script>",
        "#javascript:window.hacked=1",
        "#rpts-eval-en-0--m0-s99?differ=toString",
    ],
)
def test_hostile_addresses_do_nothing(browser: Any, report: Path, place: str) -> None:
    found = open_page(browser, report, place)
    page = found.page
    assert page.evaluate("window.hacked") is None
    go(page, "")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#instances .shown")).to_have_text("4 of 4 shown")
    assert found.complaints == []
    page.context.close()


# --- raw records


def test_a_raw_record_is_what_was_saved(opened: Opened, folder: Path) -> None:
    page = opened.page
    page.context.add_init_script(
        "navigator.clipboard.writeText = async text => { window.copied = text; }"
    )
    page.reload()
    go(page, "rpts-eval-en-1")
    details = page.locator("article.open .record").nth(1)
    details.locator("summary").click()
    (samples,) = (folder / "b").rglob("*_samples_*.jsonl")
    saved = json.loads(json.loads(samples.read_text().splitlines()[1])["filtered_resps"])
    details.get_by_role("button", name="Copy").click()
    expect(details.get_by_role("status")).to_have_text("Copied")
    shown = details.locator("pre.raw").text_content()
    assert json.loads(shown) == saved
    assert shown.startswith('{\n  "schema": "lmms_rpts.rpts",\n')
    assert page.evaluate("window.copied") == shown


def test_a_record_that_is_too_long_is_named(tmp_path: Path) -> None:
    long = make_record([1.0, 1.0], reply="x" * MOST_RAW + " {}")
    write_run(tmp_path, {0: long})
    path = write_report(read_runs([tmp_path]), tmp_path / "r.html").path
    assert "too long for the page" in path.read_text()
    assert RptsRecord.parse(long).to_json() not in path.read_text()


# --- metadata


def test_the_overview_shows_how_runs_were_made(opened: Opened, report: Path) -> None:
    table = opened.page.locator("table.metadata")
    expect(table.get_by_text("pretrained=lab/m-a, api_key=***")).to_be_visible()
    assert SECRET not in report.read_text()


def test_settings_and_metadata_are_after_the_instances(opened: Opened, report: Path) -> None:
    text = report.read_text()
    heads = ["<h2>Instances<", "<h2>Judge settings<", "<h2>Run metadata<"]
    places = [text.index(each) for each in heads]
    assert places == sorted(places)
    table = opened.page.locator("table.metadata")
    expect(table).to_be_visible()
    go(opened.page, "rpts-eval-en-0")
    expect(table).to_be_hidden()


def test_without_results_there_is_no_metadata(tmp_path: Path) -> None:
    samples = write_run(tmp_path, {0: make_record([1.0, 1.0])})
    next(tmp_path.rglob("*_results.json")).unlink()
    assert (
        "Run metadata"
        not in write_report(read_runs([samples]), tmp_path / "r.html").path.read_text()
    )


# --- disagreement


def test_instances_on_which_models_disagree(opened: Opened) -> None:
    page = opened.page
    field = page.get_by_label("Models disagree")
    for value, names in {
        "answer": ["q1"],
        "soundness": ["q2"],
        "rpts": ["q3"],
        "outcome": ["q2", "q1"],
        "": ["q2", "q1", "q3", "q0"],
    }.items():
        field.select_option(value)
        expect_listed(page, *names)
    cells = page.locator("#table tbody tr td.disagree")
    expect(cells).to_have_text(["category", "answer", "RPTS 0.40", ""])


def test_one_run_has_nothing_to_disagree_with(browser: Any, folder: Path) -> None:
    path = write_report(read_runs([folder / "a"]), folder / "one.html", with_images=False).path
    page = open_page(browser, path).page
    assert page.get_by_label("Models disagree").count() == 0
    assert page.locator("#table thead th").count() == 7
    page.context.close()


@table("kinds, shown", ({}, 0), ({"ability": ["OCR"]}, 1), ({"relation": "guided"}, 1))
def test_kinds_have_a_column_if_there_are_any(
    tmp_path: Path, kinds: dict[str, Any], shown: int
) -> None:
    doc = make_doc(**{"ability": [], "relation": None} | kinds)
    samples = write_run(tmp_path, {0: make_record([1.0, 1.0], doc=doc)})
    text = write_report(read_runs([samples]), tmp_path / "r.html").path.read_text()
    assert (
        text.count('<th scope="col" data-column="kind"')
        == text.count('class="faint kind"')
        == shown
    )


# --- previews


def test_a_leaf_shows_what_it_names(opened: Opened) -> None:
    page = opened.page
    go(page, "rpts-eval-en-0")
    preview = page.locator("#preview")
    page.locator("article.open .card.run .tree [data-leaf='text:0']").first.hover()
    expect(preview).to_have_text("The shop closes at eight.")
    page.mouse.move(1, 1)
    expect(preview).to_be_hidden()
    leaf = page.locator("article.open .card.run .tree [data-leaf='image:0']").first
    leaf.focus()
    expect(preview.locator("img")).to_have_attribute("alt", "Image 0: wide.png")
    expect(leaf).to_have_attribute("aria-describedby", "preview")
    page.keyboard.press("Escape")
    expect(preview).to_be_hidden()
    expect(page.locator("article.open")).to_have_count(1)
    box = page.locator("article.open .premises [data-leaf='text:0']").first
    box.focus()
    expect(preview).to_have_text("The shop closes at eight.")
    leaf.focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog.zoom")).to_be_visible()


def test_a_leaf_by_touch(browser: Any, report: Path) -> None:
    size = {"width": 390, "height": 800}
    found = open_page(browser, report, "#rpts-eval-en-0", viewport=size, has_touch=True)
    page = found.page
    page.locator("article.open .card.run .premises [data-leaf='image:0']").first.tap()
    preview = page.locator("#preview")
    expect(preview.locator("img")).to_be_visible()
    # The box gets its place once more when its image has been loaded.
    page.wait_for_function(
        """() => {
          const box = document.querySelector("#preview"), around = box.getBoundingClientRect();
          const image = box.querySelector("img");
          return image.complete && image.naturalWidth && around.left >= 0 && around.right <= 390;
        }"""
    )
    page.locator("article.open h1").tap()
    expect(preview).to_be_hidden()
    assert found.complaints == []
    page.context.close()


# --- accessibility


# What a reader does, and what then appears.
STATES = {
    "overview": (lambda page: None, "#table"),
    "help": (lambda page: page.keyboard.press("?"), "dialog.help"),
    "zoom": (lambda page: page.locator("article.open .images img").first.click(), "dialog.zoom"),
    "preview": (
        lambda page: page.locator("article.open .tree [data-leaf]").first.focus(),
        "#preview",
    ),
    "record": (
        lambda page: page.locator("article.open .record summary").first.click(),
        "article.open .record-tools button",
    ),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_no_accessibility_violations_in_any_state(
    browser: Any, report: Path, state: str, scheme: str
) -> None:
    place = "" if state == "overview" else "#rpts-eval-en-2"
    page = open_page(browser, report, place, color_scheme=scheme).page
    act, appears = STATES[state]
    act(page)
    expect(page.locator(appears)).to_be_visible()
    wait_until_drawn(page)
    expect_accessible(page)
    page.context.close()
