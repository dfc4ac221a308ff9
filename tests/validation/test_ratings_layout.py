"""The layout of rating files: chains, labels by the raters' mean, and reliability."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_rpts.validation.layouts.ratings import LAYOUT, merge, read, reliability
from lmms_rpts.validation.rows import LeftOut, Row, RowError
from tests.support.ratings import file_with, item_with
from tests.support.tables import table


def row_of(*items: Any, **changes: Any) -> Row:
    return Row(file_with(*items, **changes), "ratings", 0)


def test_one_chain_for_each_response() -> None:
    row = row_of(
        item_with(step=3, conclusion="So it is shut.", premises=["A.", "B."], score=0.25),
        item_with(step=1, score=0.75),
        item_with(step=0, kind="image", premises=[], conclusion="The clock shows nine."),
        item_with(step=2, conclusion="Between.", score=0.5),
        item_with(step=4, conclusion="Skipped.", score=None),
        item_with(doc_id=4, repeat=1, conclusion="Another."),
        item_with(doc_id=5, step=0, kind="image", premises=[], conclusion="Images alone."),
    )
    one, two = read(row)
    assert one.steps == ("The shop is closed.", "Between.", "So it is shut.")
    assert one.labels == (True, None, False)
    assert one.premises is not None
    assert one.premises[2] == ("A.", "B.")
    assert (one.id, one.question, one.stratum) == (
        *("rpts_eval_en:0:0", "rpts_eval_en:0"),
        "rpts_eval_en",
    )
    assert (one.context, one.language, one.located) == ("A shop.", "en", False)
    assert one.first_error is None
    assert one.asked == (0, 2)
    assert (two.id, two.question, two.labels) == (
        *("rpts_eval_en:4:1", "rpts_eval_en:4"),
        (True,),
    )


@table(
    "scores, label",
    ([0.0], False),
    ([0.5], None),
    ([0.51], True),
    ([1.0, 0.0], None),
    ([0.75, 0.5], True),
    ([0.25, 0.5, 0.5], False),
    ([0.0, 0.5, 1.0], None),
    ([1.0, 0.25, 0.25], None),
    ([None, 1.0], True),
)
def test_labels_follow_the_mean_of_raters(scores: list[float | None], label: bool | None) -> None:
    rows = [row_of(item_with(score=each), rater=f"r{at}") for at, each in enumerate(scores)]
    (merged,) = merge(rows)
    (chain,) = read(merged)
    assert chain.labels == (label,)


def test_files_of_one_sample_become_one_row() -> None:
    rows = [
        row_of(item_with(score=1.0), item_with(step=2, score=0.0)),
        row_of(item_with(score=0.0), item_with(doc_id=1), rater="Bob"),
        row_of(item_with(score=0.25), rater="Eve", sample="another"),
    ]
    one, two = merge(rows)
    assert one.value["rater"] == "Ann, Bob"
    assert [each["score"] for each in one.value["items"]] == [0.5, 0.0, 1.0]
    assert [each["scores"] for each in one.value["items"]] == [
        {"Ann": 1.0, "Bob": 0.0},
        {"Ann": 0.0},
        {"Bob": 1.0},
    ]
    assert two.value["rater"] == "Eve"
    assert LAYOUT.merge is merge


def test_reliability_of_raters() -> None:
    rows = [
        row_of(item_with(score=1.0), item_with(step=2, score=0.5)),
        row_of(item_with(score=0.5), item_with(step=2, score=0.5), rater="Bob"),
    ]
    for given in (rows, merge(rows)):
        found = reliability(given)
        assert found is not None
        assert (found.raters, found.steps, found.mae) == (2, 2, 0.25)
        # Observed 2 * 0.25 / 4, expected: mean 0.625, 2 * 4 * 0.1875 / 12.
        assert found.alpha == pytest.approx(1 - 0.125 / 0.125)
    assert reliability(rows[:1]) is None


def test_rows_know_their_layout() -> None:
    assert LAYOUT.fields <= set(file_with())
    assert LAYOUT.name == "ratings"


def test_nothing_to_ask() -> None:
    image = item_with(kind="image", premises=[])
    for row in (row_of(), row_of(image), row_of(item_with(score=None))):
        with pytest.raises(LeftOut):
            list(read(row))
        (merged,) = merge([row])
        assert merged.value["rater"] == "Ann"


@table(
    "rows, message",
    ([row_of(item_with(score=2))], r"'items\[0\].score' should be a number from 0 to 1"),
    ([row_of(item_with(step="1"))], r"'items\[0\].step' should be a whole number"),
    ([row_of(item_with(), item_with())], r"'items\[1\]' is the same step"),
    ([row_of(item_with(), version=7)], "'version' is 7"),
    ([row_of(item_with(), rater="")], "'rater' is blank"),
    ([row_of(item_with(), rater=7)], "'rater' should be a string"),
    ([row_of(items=7)], "'items' should be a list"),
    ([row_of(item_with(), item_with(step=2, context="Other."))], "'context' differs"),
    ([row_of(item_with(conclusion="x" * 300_000))], "'conclusion' has 300,000 characters"),
    ([row_of(item_with()), row_of(item_with())], "scored by 'Ann' in another file"),
    ([row_of(item_with()), row_of(item_with(conclusion="B"), rater="B")], "has other texts"),
    ([row_of(item_with(scores={"A": 2}))], "should be an object of numbers"),
    ([row_of(item_with(scores=[1]))], "should be an object of numbers"),
)
def test_what_does_not_fit_names_its_field(rows: list[Row], message: str) -> None:
    with pytest.raises(RowError, match=message):
        [chain for row in merge(rows) for chain in read(row)]
