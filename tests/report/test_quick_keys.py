"""Keys, links and filters in quick succession: nothing that a person did is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.browser import Opened, expect_listed, expect_title, watched
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run

# RPTS of q0, q1, ...: those at odd places are right, but unsound.
SCORES = [[1.0, 1.0], [0.2, 0.2]] * 3
# Runs in one task of the browser, so that no event of a timer or of the history comes between.
DRIVER = """(actions) => {
  const press = (key) => document.activeElement.dispatchEvent(
    new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
  const input = (field, value) => {
    field.value = value;
    field.dispatchEvent(new InputEvent("input", {bubbles: true}));
  };
  for (const [kind, what, value] of actions) {
    if (kind === "press") press(what);
    else if (kind === "click") document.querySelector(what).click();
    else input(document.querySelector(what), value);
  }
  const open = document.querySelector("article.open");
  return open && open.id;
}"""
ROW = "#table a[href='#rpts-eval-en-{}']"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    docs = [make_doc(id=f"q{at}") for at in range(len(SCORES))]
    records = {at: make_record(SCORES[at], doc=doc) for at, doc in enumerate(docs)}
    return write_run(folder, records).parent


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    return write_report(read_runs([run]), run / "report.html", with_images=False).path


@pytest.fixture(scope="module")
def index(run: Path) -> Path:
    return write_report(read_runs([run]), run / "pages", with_images=False).path


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as found:
        found.page.get_by_role("button", name="instance").click()
        yield found


def expect_open(page: Any, name: str) -> None:
    expect(page.locator("article.open h1")).to_contain_text(name)


def at_once(page: Any, *actions: tuple[str, ...]) -> str | None:
    """The instance that is open after these actions."""
    found: str | None = page.evaluate(DRIVER, [list(each) for each in actions])
    return found


# --- the index page of a folder


def test_keys_of_the_index_page(browser: Any, index: Path) -> None:
    with watched(browser, index) as found:
        page = found.page
        page.get_by_role("button", name="instance").click()
        for keys, name in (("j", "q0"), ("jjj", "q3"), ("k", "q2"), ("kkkkk", "q0")):
            for key in keys:
                page.keyboard.press(key)
            expect(page.get_by_role("link", name=name, exact=True)).to_be_focused()
        page.keyboard.press("/")
        expect(page.get_by_label("Search")).to_be_focused()
        page.keyboard.type("q4")
        page.keyboard.press("Enter")
        expect(page.get_by_role("link", name="q4", exact=True)).to_be_focused()
        expect_listed(page, "q4")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        page.keyboard.press("j")
        page.keyboard.press("Escape")
        # No instance is open here: Esc and the arrows do nothing more.
        for key in ("Escape", "ArrowRight", "ArrowLeft"):
            page.keyboard.press(key)
        expect(page).to_have_url(re.compile(r"/index\.html#\?q=q4&sort=instance$"))
        page.locator("#table tbody tr:visible th a").focus()
        page.keyboard.press("Enter")
        expect_title(page, "rpts_eval_en q4 ")
        page.go_back()
        expect_listed(page, "q4")


# --- one file


def test_a_filter_that_was_just_set_is_in_the_history(opened: Opened) -> None:
    page = opened.page
    for field, value, listed in (
        ("#search", "q3", ["q3"]),
        ("#by-outcome", "right_unsound", ["q1", "q3", "q5"]),
    ):
        open_now = at_once(page, ("input", field, value), ("click", ROW.format(3)))
        assert open_now == "rpts-eval-en-3"
        place = page.locator("article.open .place")
        expect(place).to_have_text(f"{listed.index('q3') + 1} of {len(listed)}")
        page.go_back()
        expect_listed(page, *listed)
        page.go_forward()
        expect_open(page, "q3")
        page.keyboard.press("Escape")
        expect_listed(page, *listed)
        page.get_by_role("button", name="Clear").click()


def test_next_clicked_twice_goes_on_twice(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="q1", exact=True).click()
    page.locator("article.open .next").dblclick()
    expect_open(page, "q3")
    for name in ("q2", "q1"):
        page.go_back()
        expect_open(page, name)
    page.go_back()
    expect(page.locator("article.open")).to_have_count(0)
    page.go_forward()
    page.go_forward()
    expect_open(page, "q2")


def test_a_part_of_the_report_is_shown_from_an_instance(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="q4", exact=True).click()
    page.get_by_role("link", name="Overview", exact=True).click()
    expect(page.locator("article.open")).to_have_count(0)
    expect(page.locator("#overview h1")).to_be_in_viewport()
    page.go_back()
    expect_open(page, "q4")


def test_the_link_to_the_content_keeps_the_address(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="q4", exact=True).click()
    page.locator("a.skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("article.open h1")).to_be_focused()
    expect(page).to_have_url(re.compile("#rpts-eval-en-4[?]"))
