"""The guarded score in a report: next to RPTS, with reasons, sorted and filtered."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.entries import RptsView
from lmms_rpts.report.frame import Frame
from lmms_rpts.report.pages import Pages
from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.rpts_eval.runs import read_runs
from tests.support.browser import Opened, expect_accessible_file, expect_listed, watched
from tests.support.guarded import guarded_record, old_record
from tests.support.instances import make_doc
from tests.support.runs import write_run
from tests.support.tables import table

PADDED = (
    "Image0 -> The clock shows nine.",
    "Text0 -> The shop closes at eight.",
    "Text1 -> The shop sells bread.",
    "Conclusion0 + Conclusion1 + Conclusion2 -> The shop is closed.",
)


def doc(number: int) -> dict[str, Any]:
    return make_doc(id=f"q{number}", statement=f"Statement {number}.")


def html_of(folder: Path) -> str:
    return "".join(Pages([RptsView(read_runs([folder]))], "t", "none").single())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """q0: equal; q1: 0.6 lower, irrelevant root; q2: higher; q3: an old record; q4: judge failed.

    q2 has a guarded score of (0.5 + 1) / 2; its RPTS with decay 0.9 is (0.5 + 0.9) / 1.9.
    """
    folder = tmp_path_factory.mktemp("guarded")
    records = {
        0: guarded_record([0.9, 0.9], doc=doc(0)),
        1: guarded_record([1, 1, 1, 1], 0.2, steps=PADDED, doc=doc(1)),
        2: guarded_record([0.5, 1.0], doc=doc(2)),
        3: old_record([1.0, 1.0], doc=doc(3)),
        4: guarded_record([1.0, 1.0], None, doc=doc(4)),
    }
    write_run(folder / "a", records)
    write_run(
        folder / "b",
        {at: guarded_record([1.0, 1.0], doc=doc(at)) for at in range(5)},
        model_args="pretrained=lab/model-b",
    )
    return write_report(read_runs([folder / "a", folder / "b"]), folder / "report.html").path


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Opened]:
    with watched(browser, report) as found:
        yield found


def test_sorting_by_guarded_score_and_difference(opened: Opened) -> None:
    page = opened.page
    heads = page.locator("#table thead th")
    expect(heads).to_have_text(
        [
            *("instance", "statement", "kind", "disagree"),
            *("model-a", "RPTS", "guarded", "difference"),
            *("model-b", "RPTS", "guarded", "difference"),
        ]
    )
    heads.nth(6).get_by_role("button").click()
    expect_listed(page, "q1", "q2", "q0", "q3", "q4")
    # Instances without a value come last, in both directions.
    heads.nth(7).get_by_role("button").click()
    expect_listed(page, "q2", "q0", "q1", "q3", "q4")
    heads.nth(7).get_by_role("button").click()
    expect_listed(page, "q1", "q0", "q2", "q3", "q4")
    cells = page.locator("#table tbody tr:visible td:nth-child(8)")
    expect(cells).to_have_text(["+0.60 (differ)", "0.00", "−0.01", "–", "–"])


def test_choosing_those_that_differ(opened: Opened) -> None:
    page = opened.page
    page.get_by_label("Guarded").select_option("apart")
    expect(page.locator("#instances .shown")).to_have_text("1 of 5 shown")
    expect_listed(page, "q1")
    page.locator("#by-run").select_option(label="model-b")
    expect(page.locator("#instances .shown")).to_have_text("0 of 5 shown")
    page.get_by_role("button", name="Show all").click()
    expect(page.locator("#instances .shown")).to_have_text("5 of 5 shown")


def test_the_page_of_one_that_differs(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="q1", exact=True).click()
    article = page.locator("article.instance.open")
    card = article.locator(".card.run").first
    assert "RPTS 1.00, guarded 0.40" in article.locator(".verdicts").inner_text()
    expect(card.locator(".differs p")).to_have_text("The guarded score is 0.60 lower than RPTS:")
    expect(card.locator(".differs li")).to_have_text(
        ["the evidence does not lead to the final answer", "2 of 4 steps only restate"]
    )
    expect(card.locator("article.judged .flag.restates")).to_have_count(2)
    expect(card.locator(".tree .flag.restates")).to_have_count(2)
    root = card.locator("article.judged.root")
    root.locator("summary").click()
    expect(root.locator("pre.reply")).to_have_text("Score: 0.2")
    expect(root).to_contain_text("Does Conclusion 3 entail the final answer?")
    expect(root.locator("li")).to_have_count(0)
    expect(article.locator(".card.run").nth(1).locator(".differs")).to_have_count(0)


def test_the_judge_failed_at_the_root(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="q4", exact=True).click()
    root = page.locator("article.open article.judged.root").first
    root.locator("summary").click()
    expect(root).to_contain_text("the judge refused")
    expect(root.locator(".score").first).to_have_text("–")


@pytest.mark.parametrize("place", ["", "#rpts-eval-en-1"])
@pytest.mark.parametrize("width", [1280, 400])
def test_no_accessibility_violations_or_overflow(
    browser: Any, report: Path, place: str, width: int
) -> None:
    expect_accessible_file(browser, report, place, width)


def test_records_of_before_show_a_dash(tmp_path: Path) -> None:
    write_run(tmp_path, {0: old_record([1.0, 1.0], steps=PADDED[1:3])})
    html = html_of(tmp_path)
    assert "RPTS 1.00, guarded –" in html
    assert "judged root" not in html
    assert '<div class="differs">' not in html
    assert 'data-apart="-"' in html
    # The diagnosis of the chain is available nevertheless.
    assert html.count('<span class="flag restates">restates</span>') == 2
    assert html.count('<g class="flag restates">') == 2


def test_metrics_stand_in_groups_and_counts_have_no_bar(tmp_path: Path) -> None:
    write_run(tmp_path, {0: guarded_record([1.0] * 4, steps=PADDED)})
    html = html_of(tmp_path)
    names = ["as published", "guarded", "diagnostics of the chains"]
    places = [html.index(f'role="columnheader">{name}</th>') for name in names]
    order = [
        places[0],
        html.index("<code>rpts<"),
        places[1],
        html.index("<code>rpts_<wbr>guarded<"),
    ]
    order += [places[2], html.index("<code>evidence_<wbr>coverage<"), html.index("<code>steps<")]
    assert order == sorted(order)
    row = html[html.index("<code>steps<") :].split("</tr>")[0]
    assert "4.000" in row
    assert "<svg" not in row


@table(
    "value, shown",
    (None, "–"),
    (0.0, "0.00"),
    (-0.001, "0.00"),
    (0.004, "0.00"),
    (0.456, "+0.46"),
    (-0.3, "−0.30"),
)
def test_differences_as_people_write_them(value: float | None, shown: str) -> None:
    assert Frame().environment.globals["signed"](value) == shown
