"""Layouts of labelled data: one contract for all of them, on made-up and published rows."""

from __future__ import annotations

import contextlib
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from lmms_rpts.tasks.fields import LONGEST_TEXT, Fields, LeftOut, RowError
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import LAYOUTS, find_layout
from lmms_rpts.validation.loading import load_set
from tests.support.reference import reference
from tests.support.tables import table

FOLDER = Path(__file__).parent
CASES = [json.loads(line) for line in (FOLDER / "rows.jsonl").read_text("utf-8").splitlines()]
"""A made-up row of each layout, with the publishers' fields, and its chain worked by hand."""
ROWS: dict[str, dict[str, Any]] = {case["name"]: case["row"] for case in CASES}
CHAINS = {it["name"]: TypeAdapter(LabelledChain).validate_python(it["chain"]) for it in CASES}
NAMED = {layout.name: layout for layout in LAYOUTS}
ERROR, RIGHT, STEPS = (
    f"Model_Solution_{it}" for it in ("First_Error_Step", "Correctness", "Steps")
)


def changed(name: str, *path: Any, to: Any) -> dict[str, Any]:
    """The made-up row of a layout with one value changed; ``...`` removes it."""
    row = copy.deepcopy(ROWS[name])
    inner: Any = row
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = to
    if to is ...:
        del inner[path[-1]]
    return row


def read(name: str, row: dict[str, Any]) -> LabelledChain:
    """The chain of the fifth row of ``nuts.json``."""
    return NAMED[name].read(Fields(row, "nuts", 4))


def refused(name: str, row: dict[str, Any]) -> str:
    with pytest.raises(RowError) as error:
        read(name, row)
    return str(error.value)


@table("name", *NAMED)
def test_a_row_is_the_chain_worked_by_hand_and_fits_no_other_layout(name: str) -> None:
    row = ROWS[name]
    assert read(name, row) == CHAINS[name]
    assert [it.name for it in LAYOUTS if {*it.tells.split()} <= row.keys()] == [name]
    assert find_layout(row) is NAMED[name]
    assert find_layout({**ROWS["processbench"], **ROWS["mr_ben"]}) is None


@table("row", *(FOLDER / "changed_rows.jsonl").read_text("utf-8").splitlines())
def test_changed_rows(row: str) -> None:
    """``changed_rows.jsonl``: a changed value of a made-up row, and its chain or the error."""
    case = json.loads(row)
    value = ... if case.get("removed") else case["value"]
    changed_row = changed(case["name"], *case["path"], to=value)
    if "error" in case:
        assert case["error"] in refused(case["name"], changed_row)
        return
    chain = read(case["name"], changed_row)
    assert case["expected"] or chain == CHAINS[case["name"]]
    fields = {field: getattr(chain, field) for field in case["expected"]}
    assert json.loads(json.dumps(fields)) == case["expected"]


@table(
    "name, field, values",
    # Counted from 0 and from 1: a step that does not exist, and what is no number
    ("processbench", "label", (-2, 3, True, float("nan"), 1.5, "one", "٢", [1], -(10**5000))),
    ("mr_ben", ERROR, ("-1", "0", "3", -1, True, "N/A", {}, ...)),
    ("mr_ben", RIGHT, ("correct", ...)),  # but an error is given
    # 0 and 1 would not say which is wrong, and which is neutral
    ("jsonl", "labels", ([1, 0, 1], [True, True], "no", ["true"] * 3, ...)),
    ("visualprocessbench", "response", ("9" * 5000, "(" * 100_000, "1+" * 10_000 + "1", ...)),
    ("processbench", "problem", ("x" * 200_001, " ", 5, ...)),
    ("answers", "reference", (...,)),
    ("prm800k", "label", (...,)),
)
def test_wrong_and_missing_values_are_refused(
    name: str, field: str, values: tuple[Any, ...]
) -> None:
    assert all(refused(name, changed(name, field, to=value)) for value in values)


UNRATED = [{"completions": [{"text": "a", "rating": None}], "chosen_completion": 0}]


@table(
    "name, changes, reason",
    ("answers", {"debatable": True}, "debatable"),
    ("mr_ben", {"Subject": "coding"}, "a line of code"),
    ("mr_ben", {STEPS: "def nuts():"}, "a line of code"),
    ("mr_ben", {STEPS: ["Step 1: a", "Step 3: b"]}, "not numbered 1, 2, 3"),
    ("prm800k", {"is_quality_control_question": True}, "quality-control question"),
    ("prm800k", {"label": {"finish_reason": "bad_problem"}}, "not finished"),
    ("prm800k", {"label": {"finish_reason": "solution", "steps": UNRATED}}, "no step is rated"),
)
def test_rows_that_are_left_out(name: str, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LeftOut, match=reason):
        read(name, {**ROWS[name], **changes})


@table(
    "name, counts, left_out",
    # chains, labelled steps, wrong ones; rows left out: counted once by independent code
    ("mr_ben", (180, 717, 119), 17),
    ("prm800k", (3, 19, 2), 0),
    ("processbench", (200, 892, 127), 0),
)
def test_counts_of_published_rows(name: str, counts: tuple[int, ...], left_out: int) -> None:
    labelled = load_set(reference("step_labels", name))
    labels = [chain.labels[at] for chain in labelled.chains for at in chain.asked]
    assert (len(labelled.chains), len(labels), labels.count(False)) == counts
    assert (labelled.name, sum(labelled.left_out.values())) == (name, left_out)


TEXTS = st.text(st.characters(), max_size=12)  # lone surrogates too
WORDS = ("N/A", "correct", "1", "True", "{}", "Step 1: x", 10**400, "*" * LONGEST_TEXT)
LEAVES = st.none() | st.booleans() | st.integers(-3, 5) | st.floats() | TEXTS
VALUES = st.recursive(LEAVES | st.sampled_from(WORDS), lambda it: st.lists(it, max_size=4))


@given(st.data())
def test_any_row_is_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ROWS)))
    row = copy.deepcopy(ROWS[name])
    value: Any = row
    while keys := (list(value) if isinstance(value, dict) else list(range(len(value)))):
        key = data.draw(st.sampled_from(keys))
        if not isinstance(value[key], dict | list) or data.draw(st.booleans()):
            value[key] = data.draw(VALUES)
            break
        value = value[key]
    with contextlib.suppress(RowError, LeftOut):
        chain = read(name, row)
        assert len(chain.labels) == len(chain.steps) > 0
        for text in (chain.id, chain.context, *chain.steps):
            text.encode()
