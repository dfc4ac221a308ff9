"""The page of a validation: figures, warnings, worst errors, hostile texts, also in a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from lmms_rpts.report.frame import Frame
from lmms_rpts.report.validity_page import render_validity, write_validity_page
from lmms_rpts.report.writing import ReportError
from lmms_rpts.runs.validity import Bin, Interval, JudgedChain, PublishedFigure, ValidatedSet
from lmms_rpts.validation.run import Miss, Validation
from lmms_rpts.validation.terms import METRICS
from tests.report.hostile import ATTACKS
from tests.support.browser import (
    expect_accessible_file,
    expect_only_text,
    open_details,
    open_page,
    watched,
)
from tests.support.tables import table
from tests.support.validations import (
    interval,
    make_chain,
    make_miss,
    make_set,
    make_validation,
    without,
)

BLIND = make_set(
    "vlrmbench",
    blind=True,
    premises="given",
    metrics={**without("f1_first"), "auc": interval(0.55), "acc_ok": Interval(value=None)},
    chains=(
        JudgedChain(
            id="b", question="b", stratum="", labels=(False,), scores=(0.9,), first_error=0
        ),
    ),
    baselines={"shortness": {"auc": interval(0.626)}, "of my own": {"auc": interval(0.5)}},
)


def text_of(html: str) -> str:
    """The text between the tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", html).split())


@pytest.fixture(scope="module")
def both() -> Validation:
    """Two sets, one of them text-only and beaten by a baseline; misses of all kinds."""
    long = make_miss(1, "word " * 400, premises=tuple(f"Premise {at}." for at in range(11)))
    chinese = replace(make_miss(0), chain=make_chain("每个盒子有十二个杯子。", language="zh"))
    return make_validation(
        (make_set(), (make_miss(1), long, make_miss(0), chinese)),
        (BLIND, (make_miss(1, reply=None, premises=()),)),
        stopped="the judge budget leaves no room",
    )


@pytest.fixture(scope="module")
def page_text(both: Validation) -> str:
    return text_of(render_validity(both))


@table(
    "said",
    "Validity of the judge openai:some-judge",
    "Date 2026-11-22",
    "at most 400 per data set",
    "0.811 0.78 to 0.84",
    "400 chains, 2,081 steps, 207 of them wrong",
    "sampled from 3,400 chains",
    "text-only: without its images",
    "given by the data set",
    "does not exceed that of shortness, 0.626",
    "no sound chains",
    "Judging stopped early, so the metrics may cover only part of the steps: the judge budget",
    "812,404 input tokens",
    "cost 0.41",
    "critic-large F1 0.879 a paper, table 3",
    "label : 3",
    "asks about a picture : 12",
    "0123456789abcdef",
    "of my own",
    "Overlooked errors: scored as sound, labelled wrong",
    "False alarms: scored as wrong, labelled sound",
    "(this judge returns only a score)",
    "The first 3",
    "(none)",
)
def test_what_it_says(page_text: str, said: str) -> None:
    assert said in page_text


def test_a_judge_that_beats_the_baselines_is_not_doubted() -> None:
    text = text_of(render_validity(make_validation()))
    assert "does not exceed" not in text
    assert "its interval begins" not in text


def test_metrics_without_a_value() -> None:
    sets = [(make_set(metric, metrics=without(metric)), ()) for metric in METRICS]
    parts = re.split(r'id="set-\d+"', render_validity(make_validation(*sets)))[1:]
    for part, metric in zip(parts, METRICS, strict=True):
        title = re.escape(METRICS[metric].title)
        row = re.search(rf'<th scope="row">{title}<span.*?</tr>', part, re.DOTALL)
        assert row, metric
        assert '<span class="value">–</span>' in row[0], metric


def test_metrics_and_names_of_others() -> None:
    found = make_set(
        metrics={"odd_new_metric": interval(0.3)},
        baselines={"my_rule": {"odd_new_metric": interval(0.2)}},
        own_metrics={"MR-Score": Interval(value=None)},
        usage=None,
        bins=(),
        published=(),
        thresholds=(),
        sha256={},
        skipped={},
        left_out={},
    )
    text = text_of(render_validity(make_validation((found, ()))))
    assert "Other figures odd new metric 0.300" in text
    assert "MR-Score –" in text


def test_no_set() -> None:
    validation = make_validation()
    empty = Validation(validation.validity.model_copy(update={"sets": ()}), ())
    assert "No data set was validated." in text_of(render_validity(empty))


def test_a_score_below_the_mark_is_not_rounded_up_to_it() -> None:
    found = (make_set(), (make_miss(0, score=0.4996),))
    assert "labelled sound, score 0.4996" in text_of(render_validity(make_validation(found)))


def test_inherited_errors_and_places_of_alternatives() -> None:
    chain = make_chain(inherited=frozenset({0}), places=(0, 0, 1), path=(1, 2), images=("a.png",))
    found = (make_set(), (replace(make_miss(0), chain=chain),))
    text = text_of(render_validity(make_validation(found)))
    assert "Step 1 of 2, arithmetic ." in text
    assert "The step depends on an earlier error" in text
    assert "With 1 image." in text


def test_the_file_is_written_whole_and_its_size_returned(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "validity.html"
    size = write_validity_page(make_validation(), path, title="A title of my own")
    assert path.stat().st_size == size
    assert '<h1 tabindex="-1">A title of my own</h1>' in path.read_text(encoding="utf-8")
    with pytest.raises(ReportError, match="Cannot write to"):
        write_validity_page(make_validation(), path / "below-a-file.html")
    assert [each.name for each in path.parent.iterdir()] == ["validity.html"]


def test_charts_of_odd_figures() -> None:
    charts: Any = Frame().environment.get_template("charts.jinja").module
    assert charts.bar(Interval(value=None), rival=0.5) == ""
    bar = charts.bar(Interval(value=7.0, low=-3.0, high=9.0), height=18, rival=-1.0)
    assert 'width="130"' in bar
    assert "M0.0 9H130.0" in bar  # the whisker stays within the bar
    assert charts.reliability((), "x").count("<circle") == 0
    bins = (Bin(score=0.0, sound=0.0, n=0), Bin(score=1.0, sound=1.0, low=0.5, high=1.0, n=100))
    diagram = charts.reliability(bins, "<x>")
    assert diagram.count("<circle") == 2
    assert "&lt;x&gt;" in diagram
    assert 'r="11"' in diagram


def test_reading_in_a_browser(browser: Any, both: Validation, tmp_path: Path) -> None:
    path = tmp_path / "validity.html"
    write_validity_page(both, path)
    with watched(browser, path) as found:
        page = found.page
        page.get_by_role("link", name="vlrmbench").click()
        expect(page.locator("#set-2")).to_be_in_viewport()
        assert page.locator("details.miss[open]").count() == 0
        long = page.locator("#set-1 details.miss").nth(1)
        long.locator("summary").first.click()
        expect(long).to_have_attribute("open", "")
        expect(long.locator("pre:visible")).to_have_count(0)
        long.get_by_text("The whole text").first.click()
        expect(long.locator("pre:visible")).to_have_count(1)
        assert page.locator("#set-1 [lang=zh]").count() > 0
        page.get_by_role("button", name="Dark colours").click()
    page = open_page(browser, path, java_script_enabled=False).page
    assert page.locator("section.set:visible").count() == 3
    assert "Five boxes hold" in page.locator("#set-1").inner_text()
    page.context.close()
    for width, schemes in ((400, ("light",)), (1280, ("light", "dark"))):
        expect_accessible_file(browser, path, "", width, schemes)


def hostile(text: str) -> tuple[ValidatedSet, tuple[Miss, ...]]:
    """A set with this text in all its fields."""
    figures = make_set(
        text,
        layout=text,
        licence=text,
        sha256={text: text},
        skipped={text: 1},
        left_out={text: 1},
        metrics={text: interval(0.5), "auc": interval(0.4)},
        own_metrics={text: interval(0.5)},
        baselines={text: {text: interval(0.5)}},
        published=(PublishedFigure(judge=text, metric=text, value=0.5, source=text),),
        chains=(),
    )
    chain = make_chain(text, stratum=text, language=text, images=(text,))
    misses = tuple(
        replace(make_miss(step, text), chain=chain, premises=(text,) * 3, reply=text)
        for step in (0, 1)
    )
    return figures, misses


def test_hostile_text_shows_as_text(tmp_path: Path, browser: Any) -> None:
    whole = "".join(each for each in ATTACKS if len(each) < 1000)
    fields = dict.fromkeys(("judge", "prompt_version", "created", "lmms_rpts"), whole)
    validation = make_validation(*map(hostile, ATTACKS), stopped=whole, **fields)
    write_validity_page(validation, tmp_path / "v.html", title=whole)
    found = open_page(browser, tmp_path / "v.html", viewport={"width": 400, "height": 900})
    open_details(found.page, "main")
    for text in ATTACKS:
        expect_only_text(found, text, 8, "main")
    found.page.context.close()


def test_a_reply_of_a_million_characters(tmp_path: Path) -> None:
    validation = make_validation((make_set(), (make_miss(1, reply="<b>x" * 250_000),)))
    size = write_validity_page(validation, tmp_path / "large.html")
    assert 200_000 < size < 1_000_000  # 200,000 characters are shown, their brackets escaped
    html = (tmp_path / "large.html").read_text("utf-8")
    assert "The whole text (1,000,000 characters, the first 200,000 are shown)" in html
    assert "&lt;b&gt;x" * 1000 in html
