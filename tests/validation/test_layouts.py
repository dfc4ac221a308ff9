"""Layouts of published step labels: one contract for all of them, on made-up and published rows."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.fields import LONGEST_TEXT, Fields, LeftOut, RowError
from lmms_rpts.validation.layouts import LAYOUTS, find_layout
from lmms_rpts.validation.loading import load_set
from tests.support.reference import reference
from tests.support.tables import table
from tests.validation.made_up import CHAINS, LAYOUT_NAMED, ROWS, A, changed, read

NAN = float("nan")
MR_BEN_ERROR, MR_BEN_RIGHT = "Model_Solution_First_Error_Step", "Model_Solution_Correctness"

REQUIRED = {
    "processbench": "problem steps label",
    "mr_ben": f"Question_UUID Question Model_Solution_Steps {MR_BEN_RIGHT} {MR_BEN_ERROR}",
    "visualprocessbench": "question response",
    "gradegpt": "messages",
    "answers": "question reference response label",
    "prm800k": "is_quality_control_question is_initial_screening_question question label",
}
"""The fields without which no row is read."""


def refused(name: str, row: dict[str, Any]) -> str:
    with pytest.raises(RowError) as error:
        read(name, row)
    return str(error.value)


def test_each_layout_has_a_made_up_row() -> None:
    names = [layout.name for layout in LAYOUTS]
    assert len(set(names)) == len(names) == 7
    assert set(ROWS) == set(CHAINS) == set(REQUIRED) == set(names) - {"ratings"}
    assert find_layout({}) is None
    assert find_layout({"question", "steps"}) is None
    assert find_layout({**ROWS["processbench"], **ROWS["mr_ben"]}) is None


@table("name", *ROWS)
def test_a_row_is_the_chain_worked_by_hand_and_fits_no_other_layout(name: str) -> None:
    layout, row = LAYOUT_NAMED[name], ROWS[name]
    assert read(name, row) == CHAINS[name]
    assert [each.name for each in LAYOUTS if {*each.fields.split()} <= row.keys()] == [name]
    assert bool(layout.images) == bool(CHAINS[name].images)
    for field in row:
        without = changed(name, field, to=...)
        if field in REQUIRED[name].split():
            assert re.search(f"{field}.* is missing", refused(name, without))
        else:
            read(name, without)


@table("row", *Path(__file__).with_name("changed_rows.jsonl").read_text("utf-8").splitlines())
def test_changed_rows(row: str) -> None:
    """``changed_rows.jsonl``: a changed value of a made-up row, and its chain or the error."""
    case = json.loads(row)
    value = ... if case.get("removed") else case["value"]
    changed_row = changed(case["name"], *case["path"], to=value)
    if "error" in case:
        assert case["error"] in refused(case["name"], changed_row)
        return
    chain = read(case["name"], changed_row)
    if not case["expected"]:
        assert chain == CHAINS[case["name"]]
    found = {field: getattr(chain, field) for field in case["expected"]}
    assert json.loads(json.dumps(found, default=sorted)) == case["expected"]


@table(
    "name, path, value, said",
    ("processbench", ("problem",), "x" * 200_001, "200,001 characters"),
    ("mr_ben", ("Model_Solution_Steps", 1), "x" * 200_000, "characters"),
    *(
        ("visualprocessbench", ("response",), each, "a text without a valid value")
        for each in ("9" * 5000, "(" * 100_000, "1+" * 10_000 + "1")
    ),
)
def test_long_values_are_refused(name: str, path: tuple[Any, ...], value: Any, said: str) -> None:
    assert said in refused(name, changed(name, *path, to=value))


@table("name, correctness, error", ("mr_ben", MR_BEN_RIGHT, MR_BEN_ERROR))
def test_a_correct_solution_has_no_error(name: str, correctness: str, error: str) -> None:
    for none in ("N/A", None):
        chain = read(name, {**ROWS[name], correctness: "correct", error: none})
        assert (chain.first_error, set(chain.labels), chain.located) == (None, {True}, True)
    assert "marked as correct" in refused(name, changed(name, correctness, to="correct"))
    assert "whole number" in refused(name, changed(name, error, to="N/A"))


UNRATED = [{"completions": [{"text": A, "rating": None}], "chosen_completion": 0}]


@table(
    "name, changes, reason",
    ("answers", {"debatable": True}, "debatable"),
    ("mr_ben", {"Subject": "coding"}, "a line of code"),
    ("mr_ben", {"Model_Solution_Steps": "def nuts():"}, "a line of code"),
    ("mr_ben", {"Model_Solution_Steps": ["Step 1: a", "Step 3: b"]}, "not numbered 1, 2, 3"),
    ("mr_ben", {"Model_Solution_Steps": ["Step 1: a", "Step 1: b"]}, "not numbered 1, 2, 3"),
    ("prm800k", {"is_quality_control_question": True}, "quality-control question"),
    ("prm800k", {"is_initial_screening_question": True}, "quality-control question"),
    ("prm800k", {"label": {"finish_reason": "bad_problem"}}, "not finished"),
    ("prm800k", {"label": {"finish_reason": "solution", "steps": UNRATED}}, "no step is rated"),
)
def test_rows_that_are_left_out(name: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        read(name, {**ROWS[name], **changes})


# A step number that does not exist, counted from 0 or from 1, and values that are not numbers.
@table(
    "name, path, below, above",
    ("processbench", ("label",), -2, 3),
    ("mr_ben", (MR_BEN_ERROR,), "0", "3"),
)
def test_numbers_of_steps(name: str, path: tuple[Any, ...], below: Any, above: Any) -> None:
    for value in (below, above):
        assert "are numbered from" in refused(name, changed(name, *path, to=value))
    for value in (True, NAN, 1.5, "one", "٢", [1], {}, -(10**5000)):
        refused(name, changed(name, *path, to=value))


# --- what single layouts do


def test_solutions_of_one_question_are_grouped() -> None:
    row = Fields(ROWS["mr_ben"], "botany", 0, "the key")
    assert LAYOUT_NAMED["mr_ben"].read(row).question == "the key"


def test_texts_stay_as_they_are_without_lone_surrogates() -> None:
    odd = ["  two  ", "", "<b>&amp;</b>", "\x1b[31m", "İ ſ ٣", "a\ud800"]
    chain = read("processbench", {**ROWS["processbench"], "steps": odd})
    assert chain.steps == (*odd[:-1], "a�")


# --- the publishers' rows; ProcessBench is recomputed in test_reference_figures


@table(
    "name, counts, left_out",
    # chains, labelled steps, wrong ones; rows left out: counted once by independent code
    ("mr_ben", (180, 717, 119), 17),
    ("prm800k", (3, 19, 2), 0),
)
def test_counts_of_published_rows(name: str, counts: tuple[int, ...], left_out: int) -> None:
    found = load_set(reference("step_labels", name))
    labels = [chain.labels[at] for chain in found.chains for at in chain.asked]
    assert (len(found.chains), len(labels), labels.count(False)) == counts
    assert sum(found.left_out.values()) == left_out
    assert found.layout is LAYOUT_NAMED[name]
    for chain in found.chains:
        assert_consistent(chain)


# --- hostile rows


def assert_consistent(chain: Any) -> None:
    """What holds for every chain."""
    assert len(chain.labels) == len(chain.steps) > 0
    assert chain.premises is None or len(chain.premises) == len(chain.steps)
    for text in (chain.id, chain.context, *chain.steps):
        text.encode()


@table(
    "name, path, text",
    ("mr_ben", ("Model_Solution_Steps", 0), " " * LONGEST_TEXT),
    ("mr_ben", ("Model_Solution_Steps", 0), "*" * (LONGEST_TEXT - 5) + "step1"),
)
def test_long_texts_are_read_or_refused(name: str, path: tuple[Any, ...], text: str) -> None:
    with contextlib.suppress(RowError, LeftOut):
        read(name, changed(name, *path, to=text))


TEXTS = st.text(st.characters(), max_size=12)  # lone surrogates too
WORDS = ("N/A", "correct", "1", "True", "<b>x</b>", "{}", "Step 1: x", 10**400)
LEAVES = st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | TEXTS
VALUES = st.recursive(
    LEAVES | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(st.data())
def test_changed_rows_are_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ROWS)))
    row = copy.deepcopy(ROWS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        value: Any = row
        while keys := (list(value) if isinstance(value, dict) else list(range(len(value)))):
            key = data.draw(st.sampled_from(keys))
            if not isinstance(value[key], dict | list) or data.draw(st.booleans()):
                value[key] = data.draw(VALUES)
                break
            value = value[key]
    with contextlib.suppress(RowError, LeftOut):
        assert_consistent(read(name, row))
