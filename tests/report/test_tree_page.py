"""Trees in a real browser: links, leaves, and pictures that are saved and opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.browser import Opened, open_page
from tests.support.instances import make_doc
from tests.support.pictures import texts_of_svg
from tests.support.runs import make_record, write_run

LONG = "The clock above the door of the shop shows nine in the evening, and it is dark."
STEPS = (f"Image0 -> {LONG}", "Conclusion0 + Text0 + Context -> <b>The shop</b> is closed.")
PLACE = "#rpts-eval-en-0"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trees")
    write_run(folder / "run", {0: make_record([0.2, 0.9], steps=STEPS, doc=make_doc(id="q0"))})
    return write_report(read_runs([folder / "run"]), folder / "report.html").path


@pytest.fixture(params=["light", "dark"])
def opened(browser: Any, report: Path, request: pytest.FixtureRequest) -> Iterator[Opened]:
    found = open_page(browser, report, PLACE, color_scheme=request.param)
    yield found
    found.page.context.close()
    assert found.complaints == []


def test_a_saved_picture_opens_alone(opened: Opened, browser: Any, tmp_path: Path) -> None:
    page = opened.page
    card = page.locator("article.open .card.run")
    with page.expect_download() as download:
        card.get_by_role("button", name="Save picture (SVG)").click()
    assert download.value.suggested_filename == "rpts-eval-en-0--m0.svg"
    saved = tmp_path / "saved.svg"
    download.value.save_as(saved)
    text = saved.read_text(encoding="utf-8")
    shown = "".join(texts_of_svg(text))
    assert LONG in shown
    assert "<b>The shop</b> is closed." in shown
    assert "first wrong step" in shown
    for part in ("var(", "href", "tabindex", "data-leaf", "<script"):
        assert part not in text
    alone = open_page(browser, saved)
    fills = "Array.from(document.querySelectorAll('.step > rect'), (r) => getComputedStyle(r).fill)"
    assert alone.page.evaluate(fills) == ["rgb(248, 202, 179)", "rgb(174, 219, 208)"]
    assert alone.page.evaluate("document.querySelector('title').textContent").endswith("as a tree")
    assert alone.complaints == []
    alone.page.context.close()


def test_steps_and_leaves_are_reached_by_keyboard(opened: Opened) -> None:
    page = opened.page
    tree = page.locator("article.open .card.run .tree-scroll")
    tree.focus()
    reached = []
    for _ in range(5):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.textContent.trim()"))
    assert reached[0] == "Image 0"
    assert reached[1].startswith("Conclusion 0 0.20 first wrong step")
    assert reached[2:4] == ["Text 0", "Context"]
    page.keyboard.press("Enter")
    expect(page.locator(f"{PLACE}--m0-s1")).to_be_in_viewport()
    expect(page.locator("article.open [data-leaf='text:0']").first).to_be_visible()
    link = page.locator("article.open .card.run").get_by_role("link", name="Conclusion 1 0.90")
    expect(link).to_have_count(1)


def test_no_text_is_wider_than_its_box(opened: Opened) -> None:
    wider = opened.page.evaluate(
        """Array.from(document.querySelectorAll(".tree-svg .step, .tree-svg .leaf"), (box) => {
          const room = box.querySelector("rect").getBoundingClientRect();
          return Array.from(box.querySelectorAll("text"), (each) => each.getBoundingClientRect())
            .filter((each) => each.left < room.left + 2 || each.right > room.right - 2
              || each.top < room.top || each.bottom > room.bottom);
        }).flat().length"""
    )
    assert wider == 0
