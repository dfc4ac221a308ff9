"""Graded answers in a real browser: finding, opening and reading them, alone and next to RPTS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.all_runs import read_all_runs
from tests.support.browser import Opened, expect_accessible_file, expect_title, open_page, watched
from tests.support.graded_runs import write_reform_runs
from tests.support.rome_runs import make_rome_record as record
from tests.support.rome_runs import write_rome_run
from tests.support.runs import make_record, write_run
from tests.support.tables import table

WORDS = ("The lamp is lit?", "Which train leaves at noon?", "Is the bridge open?")


def rome_records(grades: tuple[float, ...]) -> list[Any]:
    """The strict rules dispute the first answer; the second was judged."""
    return [
        record(
            grade,
            1.0 - grade if at == 0 else grade,
            grade if at == 1 else None,
            question=WORDS[at],
            reference="ABC"[at],
            language="en" if at else "zh",
            answer=f"Final Answer: {'XYZ'[at]}",
        )
        for at, grade in enumerate(grades)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for model, grades in {"a": (1.0, 0.0, 1.0), "b": (1.0, 1.0, 0.5)}.items():
        write_rome_run(
            folder / model,
            {"academic": rome_records(grades), "geo": [record(1.0, question="Where is it?")]},
            model_args=f"pretrained=lab/model-{model}",
        )
    write_run(folder / "rpts", {0: make_record([1.0, 0.1])})
    write_reform_runs(folder / "reform", ["reform_gqa", "reform_gqa_likelihood"], {0, 2})
    return folder


def report_of(places: list[Path], output: Path) -> Path:
    return write_report(list(read_all_runs(places).every), output, with_images=False).path


@pytest.fixture(scope="module")
def alone(runs: Path) -> Path:
    return report_of([runs / "a", runs / "b"], runs / "alone.html")


@pytest.fixture(scope="module")
def mixed(runs: Path) -> Path:
    places = [runs / "rpts", runs / "a", runs / "b", runs / "reform" / "run"]
    return report_of(places, runs / "mixed.html")


@pytest.fixture
def opened(browser: Any, alone: Path) -> Iterator[Opened]:
    with watched(browser, alone) as found:
        yield found


def expect_listed(page: Any, *names: str) -> None:
    links = page.locator("#graded-rome tbody tr[data-entry]:visible th a")
    expect(links).to_have_text([re.compile(f"question_{name}$") for name in names])


def test_the_overview_has_the_numbers_of_grades(opened: Opened) -> None:
    page = opened.page
    text = page.locator("#graded-rome").inner_text()
    assert "ROME by subtask" in text
    # model-b: 1, 1, 0.5 and 1.
    assert "0.875" in text
    assert page.locator("h1:visible").count() == 1
    expect_listed(page, "academic_1", "academic_2", "academic_0", "geo_0")


def test_filters_and_search(opened: Opened) -> None:
    page = opened.page
    shown = page.locator("#graded-rome .shown")
    expect(shown).to_have_text("4 of 4 shown")
    page.locator("select[name=flag]").select_option("disagreements")
    expect_listed(page, "academic_0")
    page.locator("select[name=flag]").select_option("")
    page.locator("select[name=outcome]").select_option("wrong")
    expect_listed(page, "academic_1")
    page.locator("select[name=model]").select_option(label="model-b")
    page.get_by_role("button", name="Show all").click()
    expect(shown).to_have_text("4 of 4 shown")
    page.locator("select[data-by=subtask]").select_option("=geo")
    expect_listed(page, "geo_0")
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Search").fill("NOON train")
    expect_listed(page, "academic_1")
    # Text that only the page of the instance shows is found as well.
    page.get_by_label("Search").fill("grade: 0.0")
    expect_listed(page, "academic_1")


def test_opening_and_going_on(opened: Opened) -> None:
    page = opened.page
    page.locator("select[data-by=subtask]").select_option("=academic")
    expect_listed(page, "academic_1", "academic_2", "academic_0")
    page.get_by_role("link", name="question_academic_1").click()
    expect(page.locator("article.instance:visible")).to_have_count(1)
    expect(page.locator(".graded-section:visible")).to_have_count(0)
    expect(page.locator("article.open h1")).to_be_focused()
    article = page.locator("article.instance.open")
    assert "Judge request" in article.inner_text()
    article.get_by_text("Judge reply").first.click()
    expect(article.get_by_text("GRADE: 0.0")).to_be_visible()
    article.get_by_role("link", name="Next").click()
    expect(page.locator("article.open h1")).to_have_text(re.compile("academic_2"))
    page.locator("article.open").get_by_role("link", name="Next").click()
    expect(page.locator("article.open h1")).to_have_text(re.compile("academic_0"))
    expect(page.locator("article.open").get_by_role("link", name="Next")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(page.locator("article.instance:visible")).to_have_count(0)
    expect_listed(page, "academic_1", "academic_2", "academic_0")
    expect(page.get_by_role("link", name="question_academic_0")).to_be_focused()


def test_next_to_rpts_each_has_its_own_table(browser: Any, mixed: Path) -> None:
    found = open_page(browser, mixed)
    page = found.page
    expect(page.locator("#table tbody tr")).to_have_count(1)
    expect(page.locator("#graded-rome tbody tr[data-entry]")).to_have_count(4)
    expect(page.locator("#graded-reform tbody tr[data-entry]")).to_have_count(4)
    page.get_by_role("link", name="question_academic_1").click()
    expect(page.locator("article.instance:visible")).to_have_count(1)
    for part in ("#overview", "#instances", "#graded-rome", "#graded-reform"):
        expect(page.locator(part)).to_be_hidden()
    # The neighbours come from the answer's own table.
    article = page.locator("article.open")
    expect(article.get_by_role("link", name="Previous")).to_be_hidden()
    article.get_by_role("link", name="Next").click()
    expect(page.locator("article.open h1")).to_have_text(re.compile("academic_2"))
    page.keyboard.press("Escape")
    expect(page.locator("#graded-rome")).to_be_visible()
    page.locator("#table tbody th a").click()
    expect(page.locator("article.open h1")).to_have_text(re.compile("rpts_eval_en"))
    page.keyboard.press("Escape")
    expect(page.locator("#overview")).to_be_visible()
    assert found.complaints == []
    page.context.close()


def test_a_folder_of_pages(browser: Any, runs: Path) -> None:
    index = report_of([runs / "rpts", runs / "a"], runs / "pages")
    found = open_page(browser, index)
    page = found.page
    page.get_by_role("link", name="question_academic_1").click()
    expect_title(page, "rome_academic question_academic_1")
    page.get_by_role("link", name="Next").click()
    expect_title(page, "question_academic_0")
    page.get_by_role("link", name="All questions of ROME").click()
    expect(page.locator("#graded-rome .shown")).to_have_text("4 of 4 shown")
    assert found.complaints == []
    page.context.close()


@table("place", "", "#rome-academic-1", "#reform-gqa-0", "#reform-gqa-likelihood-1", parts=4)
@table("width", 1280, 400)
def test_no_accessibility_violations(browser: Any, mixed: Path, place: str, width: int) -> None:
    """axe-core, the checker of the accessibility rules of the W3C."""
    expect_accessible_file(browser, mixed, place, width)
