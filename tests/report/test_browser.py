"""The report in a real browser: finding, opening and reading instances."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.browser import (
    Opened,
    expect_accessible_file,
    expect_listed,
    expect_title,
    open_page,
    watched,
)
from tests.support.instances import make_doc, write_folder
from tests.support.runs import make_record, write_run

# doc_id: (answer, scores of the two steps) of the two models
ANSWERS: dict[int, dict[str, tuple[str, list[float | None]]]] = {
    0: {"a": ("agree", [1.0, 0.9]), "b": ("agree", [0.1, 0.9])},
    1: {"a": ("disagree", [1.0, 1.0]), "b": ("disagree", [0.2, 0.2])},
    2: {"a": ("agree", [0.8, 0.0]), "b": ("agree", [1.0, 1.0])},
    3: {"a": ("agree", [0.8, None]), "b": ("disagree", [1.0, 0.0])},
    4: {"a": ("agree", [0.7, 0.7]), "b": ("agree", [0.0, 0.0])},
}
STATEMENTS = {
    0: "The shop is closed.",
    1: "The lamp is lit.",
    2: "A train leaves at noon.",
    3: "The bridge is open.",
    4: "Water boils on the stove.",
}


def records(model: str) -> dict[int, Any]:
    return {
        doc_id: make_record(
            answers[model][1],
            answer=answers[model][0],
            doc=make_doc(
                id=f"q{doc_id}",
                statement=STATEMENTS[doc_id],
                visual_clue=[f"{doc_id % 3}.png"],
                ability=["OCR"] if doc_id % 2 else ["OCR", "Math"],
                relation=["guided", "adversarial"][doc_id % 2],
            ),
        )
        for doc_id, answers in ANSWERS.items()
    }


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for model in "ab":
        write_run(folder / model, records(model), model_args=f"pretrained=lab/model-{model}")
    write_folder(folder / "data", 3)
    return folder


@pytest.fixture(scope="module")
def report(runs: Path) -> Path:
    found = read_runs([runs / "a", runs / "b"])
    return write_report(found, runs / "report.html", images=runs / "data" / "images").path


@pytest.fixture(scope="module")
def folder_report(runs: Path) -> Path:
    found = read_runs([runs / "a", runs / "b"])
    return write_report(found, runs / "report", images=runs / "data" / "images").path


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as found:
        yield found


def test_right_for_the_wrong_reason_comes_first(opened: Opened) -> None:
    expect_listed(opened.page, "q4", "q2", "q0", "q1", "q3")
    expect(opened.page.locator("#instances .shown")).to_have_text("5 of 5 shown")


def test_sorting(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("button", name="instance").click()
    expect_listed(page, "q0", "q1", "q2", "q3", "q4")
    page.get_by_role("button", name="instance").click()
    expect_listed(page, "q4", "q3", "q2", "q1", "q0")
    page.get_by_role("button", name="statement").click()
    expect_listed(page, "q2", "q3", "q1", "q0", "q4")
    score = page.locator("#table thead th").nth(5)
    score.get_by_role("button").click()
    expect(score).to_have_attribute("aria-sort", "ascending")
    # Unscored instances come last, in both directions.
    expect_listed(page, "q2", "q4", "q0", "q1", "q3")
    score.get_by_role("button").click()
    expect_listed(page, "q1", "q0", "q4", "q2", "q3")


def test_searching(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Search").fill("TRAIN noon")
    expect(page.locator("#instances .shown")).to_have_text("1 of 5 shown")
    expect_listed(page, "q2")
    page.get_by_label("Search").fill("the judge refused")
    expect(page.get_by_role("link", name="q3", exact=True)).to_be_visible()
    expect_listed(page, "q3")
    page.get_by_label("Search").fill("nowhere to be found")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#instances .shown")).to_have_text("5 of 5 shown")


def test_filtering(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Outcome").select_option("right_unsound")
    expect(page.locator("#instances .shown")).to_have_text("3 of 5 shown")
    expect_listed(page, "q4", "q2", "q0")
    page.locator("#by-run").select_option(label="model-a")
    expect(page.locator("#instances .shown")).to_have_text("1 of 5 shown")
    expect_listed(page, "q2")
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#instances .shown")).to_have_text("5 of 5 shown")
    page.get_by_label("First error").select_option("visual")
    page.locator("[data-dimension=relation]").select_option("guided")
    page.locator("[data-dimension=ability]").select_option("Math")
    expect(page.locator("#instances .shown")).to_have_text("2 of 5 shown")
    expect_listed(page, "q4", "q0")


def test_opening_an_instance_and_going_on(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Outcome").select_option("right_unsound")
    expect(page.locator("#instances .shown")).to_have_text("3 of 5 shown")
    page.get_by_role("link", name="q4", exact=True).click()
    expect(page.locator("article.instance:visible")).to_have_count(1)
    expect(page.locator("#overview")).to_be_hidden()
    expect_title(page, "q4")
    expect(page.locator("article.open h1")).to_be_focused()
    article = page.locator("article.instance.open")
    expect(article.locator(".step.first")).to_have_count(1)
    expect(article).to_contain_text("First error: Conclusion 0", use_inner_text=True)
    article.get_by_text("Judge request and reply").nth(2).click()
    expect(article.locator("pre.reply:visible")).to_have_count(1)
    # The next instance is the next one that the filter shows.
    article.get_by_role("link", name="Next").click()
    expect_title(page, "q2")
    page.locator("article.open").get_by_role("link", name="Next").click()
    expect_title(page, "q0")
    expect(page.locator("article.open").get_by_role("link", name="Next")).to_have_count(0)
    page.go_back()
    expect_title(page, "q2")
    page.keyboard.press("Escape")
    expect(page.locator("article.instance:visible")).to_have_count(0)
    expect_listed(page, "q4", "q2", "q0")


def test_a_deep_link_opens_its_step(browser: Any, report: Path) -> None:
    found = open_page(browser, report, "#rpts-eval-en-0--m1-s0")
    page = found.page
    expect(page.locator("article.open h1")).to_have_text("rpts_eval_en · q0")
    expect(page.locator("#rpts-eval-en-0--m1-s0")).to_be_in_viewport()
    page.locator("article.open .card.run").nth(1).locator(".tree .step").nth(1).click()
    expect(page).to_have_url(re.compile("#rpts-eval-en-0--m1-s1$"))
    expect(page.locator("#rpts-eval-en-0--m1-s1")).to_be_visible()
    page.evaluate("location.hash = '#no-such-%zz-place'")
    expect(page.locator("#overview")).to_be_visible()
    assert found.complaints == []
    page.context.close()


def test_without_scripts_all_can_be_read(browser: Any, report: Path) -> None:
    page = open_page(browser, report, java_script_enabled=False).page
    assert page.locator("article.instance:visible").count() == 5
    assert page.locator("form.controls").is_hidden()
    page.get_by_role("link", name="q3", exact=True).click()
    text = page.locator("#rpts-eval-en-3").inner_text()
    assert "The bridge is open." in text
    assert "the judge refused" in text
    page.context.close()


def test_several_responses_to_an_instance(browser: Any, tmp_path: Path) -> None:
    """The table shows the response that needs attention most; filters find all of them."""
    write_run(tmp_path, {0: [make_record([1.0, 1.0]), make_record([0.0, 0.2])]})
    written = write_report(read_runs([tmp_path]), tmp_path / "report.html")
    page = open_page(browser, written.path).page
    assert "1 of 2 responses" in page.locator("#table tbody").inner_text()
    for outcome in ("right_unsound", "right_sound"):
        page.get_by_label("Outcome").select_option(outcome)
        # The address is written after the rows have been filtered.
        expect(page).to_have_url(re.compile(f"outcome={outcome}$"))
        expect(page.locator("#instances .shown")).to_have_text("1 of 1 shown")
    page.get_by_label("Outcome").select_option("wrong_sound")
    expect(page.locator("#instances .shown")).to_have_text("0 of 1 shown")
    page.context.close()


def test_a_very_narrow_window(browser: Any, report: Path) -> None:
    for place in ("", "#rpts-eval-en-4"):
        page = open_page(browser, report, place, viewport={"width": 320, "height": 640}).page
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        page.context.close()


def test_a_phone_shows_all_models_and_the_outcomes(browser: Any, report: Path) -> None:
    page = open_page(browser, report, viewport={"width": 400, "height": 800}).page
    assert page.locator(".bar-top").bounding_box()["height"] < 60, "one row"
    rows = page.get_by_role("row").filter(has=page.locator("code", has_text="evidence_coverage"))
    assert rows.get_by_role("cell").count() == 2
    shown = [
        *rows.get_by_role("cell").all(),
        page.locator("#table tbody tr td:has(> .chip)").first,
        page.locator("#table tbody tr td:has(> .score)").first,
    ]
    for cell in shown:
        box = cell.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 400
    for hidden in ("kind", "disagree"):
        expect(
            page.locator(f"#table [data-column={hidden}], #table td.{hidden}").first
        ).to_be_hidden()
    page.context.close()


def test_the_bars_of_outcomes_have_names(opened: Opened) -> None:
    card = opened.page.get_by_role("region", name="Summary of model-b")
    names = ["1 right, RPTS ≥ 0.5", "2 right for the wrong reason"]
    names += ["1 wrong, RPTS ≥ 0.5", "1 wrong, RPTS < 0.5"]
    assert [
        each.get_attribute("title") for each in card.locator(".outcome-bar span").all()
    ] == names
    expect(card.get_by_role("list", name="Legend").locator("li")).to_have_text(names)


def test_colours_can_be_chosen(opened: Opened) -> None:
    page = opened.page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_print_shows_what_is_open_with_all_its_details(browser: Any, report: Path) -> None:
    page = open_page(browser, report, "#rpts-eval-en-4").page
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.locator("article.open details:not([open]):not(.record)").count() == 0
    assert page.locator("article.open details.record[open]").count() == 0
    assert page.locator(".bar-top").is_hidden()
    assert page.locator("article.open pre.reply").first.is_visible()
    assert page.pdf().startswith(b"%PDF")
    page.context.close()


def test_a_folder_of_pages(browser: Any, folder_report: Path) -> None:
    found = open_page(browser, folder_report)
    page = found.page
    page.get_by_role("link", name="q4", exact=True).click()
    expect_title(page, "q4")
    # decode() fails for an image that can't be displayed.
    page.evaluate(
        "Promise.all(Array.from(document.images, (each) => {"
        " each.loading = 'eager'; return each.decode(); })).then(() => null)"
    )
    assert page.locator("img").count() > 0
    page.get_by_role("link", name="Next").click()
    expect_title(page, "q2")
    page.locator(".card.run .tree .step").first.click()
    page.get_by_role("link", name="All instances").click()
    page.get_by_label("Search").fill("boils")
    expect(page.locator("#instances .shown")).to_have_text("1 of 5 shown")
    assert found.complaints == []
    assert all(url.startswith(("file:", "data:")) for url in found.requests)
    page.context.close()


@pytest.mark.parametrize("place", ["", "#rpts-eval-en-4", "#rpts-eval-en-3"])
@pytest.mark.parametrize("width", [1280, 390])
def test_no_accessibility_violations(browser: Any, report: Path, place: str, width: int) -> None:
    """axe-core, the checker of the accessibility rules of the W3C."""
    expect_accessible_file(browser, report, place, width)
