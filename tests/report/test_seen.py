"""What a reader sees at first sight: nothing is cut off, covered, or shown as something else."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lmms_rpts.base.escaping import marked
from lmms_rpts.report.entries import RptsView
from lmms_rpts.report.pages import label_heights
from lmms_rpts.report.writing import write_report
from lmms_rpts.tasks.all_runs import read_all_runs
from tests.support.browser import open_details, open_page
from tests.support.saved_runs import SAVED
from tests.support.tables import table

CUT = """Array.from(document.querySelectorAll(".scroll")).filter((each) => each.clientWidth &&
  each.scrollWidth > each.clientWidth + 1).map((each) => each.getAttribute("aria-label"))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models and a benchmark without gold reasoning by RPTS, ROME, and CMMaTH."""
    folder = tmp_path_factory.mktemp("seen")
    return write_report(list(read_all_runs([SAVED]).every), folder / "report.html").path


def test_a_window_of_1280_pixels(browser: Any, report: Path) -> None:
    found = open_page(browser, report)
    page = found.page
    assert page.evaluate(CUT) == [], "tables that are cut off"
    for place in ("rpts-demo-0", "rpts-demo-4", "cmmath-rpts-0"):
        page.evaluate("place => { location.hash = place; }", place)
        page.wait_for_selector(f"#{place}.open .chains")
        for tree in page.locator("article.open .card.run .tree").all():
            box = tree.bounding_box()
            assert 0 < box["y"] < box["y"] + box["height"] <= 900, (place, box)
    # The images of all benchmarks are numbered from 0, as steps cite them.
    for place in ("rpts-demo-4", "rome-geo-1", "cmmath-0"):
        page.evaluate("place => { location.hash = place; }", place)
        page.wait_for_selector(f"#{place}.open .chains")
        names = page.locator("article.open .images .leaf.image").all_inner_texts()
        assert names == [f"Image {at}" for at in range(len(names))] != []
    # A gold text is shown once; what has no gold reasoning does not speak of it.
    page.evaluate("location.hash = 'rpts-demo-0'")
    open_details(page)
    card = page.locator("#rpts-demo-0--m0")
    asked = " ".join(card.locator(".asked").first.inner_text().split())
    assert "image shows? Compared with: gold reasoning, step 0 Score" in asked
    assert found.complaints == []
    page.context.close()


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


def test_labels_of_models_at_one_point_do_not_overlap() -> None:
    (careful,) = RptsView(read_all_runs([SAVED / "careful"])["rpts"]).overviews
    for count in (2, 5, 9):
        heights = sorted(label_heights([careful] * count, ["model"] * count))
        assert all(b - a >= 14 for a, b in pairwise(heights))
        assert heights[0] >= 12
    assert label_heights([careful], ["model"]) == label_heights([careful] * 2, ["model"] * 2)[:1]
