"""The layout of rating files: chains, labels by the raters' mean, and reliability."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_rpts.tasks.fields import Fields, RowError
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import rated_chains
from tests.support.ratings import file_with, item_with
from tests.support.tables import table

IMAGE = item_with(kind="image", premises=[])


def row_of(*items: Any, **changes: Any) -> Fields:
    return Fields(file_with(*items, **changes), "ratings", 0)


def chains_of(*rows: Fields) -> list[LabelledChain]:
    return rated_chains(rows)


def test_one_chain_for_each_response() -> None:
    one, two = chains_of(
        row_of(
            item_with(step=3, conclusion="So it is shut.", premises=["A.", "B."], score=0.25),
            item_with(step=1, score=0.75),
            IMAGE | {"step": 0, "conclusion": "The clock shows nine."},
            item_with(step=2, conclusion="Between.", score=0.5),
            item_with(step=4, conclusion="Skipped.", score=None),
            item_with(doc_id=4, repeat=1, conclusion="Another."),
            IMAGE | {"doc_id": 5, "conclusion": "Images alone."},
        )
    )
    assert one == LabelledChain(
        id="rpts_eval_en:0:0",
        question="rpts_eval_en:0",
        stratum="rpts_eval_en",
        context="A shop.",
        steps=("The shop is closed.", "Between.", "So it is shut."),
        labels=(True, None, False),
        premises=(
            ("The clock shows nine.", "The shop closes at eight."),
            ("The clock shows nine.", "The shop closes at eight."),
            ("A.", "B."),
        ),
        located=False,
    )
    assert (two.id, two.question, two.labels) == ("rpts_eval_en:4:1", "rpts_eval_en:4", (True,))


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
    assert [chain.labels for chain in chains_of(*rows)] == [(label,)]


def test_each_sample_has_chains_of_its_own() -> None:
    found = chains_of(
        row_of(item_with(score=1.0), item_with(step=2, score=0.0)),
        row_of(item_with(score=0.0), item_with(doc_id=1), rater="Bob"),
        row_of(item_with(score=0.25), rater="Eve", sample="another"),
    )
    assert [chain.labels for chain in found] == [(None, False), (True,), (False,)]
    for nothing in (row_of(), row_of(IMAGE), row_of(item_with(score=None))):
        assert chains_of(nothing) == []


@table(
    "rows, message",
    ([row_of(item_with(score=2))], r"'items\[0\].score' should be less than or equal to 1"),
    ([row_of(item_with(), item_with())], r"'items\[1\]' is the same step"),
    ([row_of(item_with(), version=7)], "'version' is 7"),
    ([row_of(item_with(), rater="")], "'rater' should be a non-empty string"),
    ([row_of(items=7)], "'items' should be a list"),
    ([row_of(item_with(), item_with(step=2, context="Other."))], "'context' differs"),
    ([row_of(item_with(conclusion="x" * 300_000))], "'conclusion' has 300,000 characters"),
    ([row_of(item_with()), row_of(item_with())], "scored by 'Ann' in another file"),
    ([row_of(item_with()), row_of(item_with(conclusion="B"), rater="B")], "has other texts"),
)
def test_faults_name_their_field(rows: list[Fields], message: str) -> None:
    with pytest.raises(RowError, match=message):
        chains_of(*rows)
