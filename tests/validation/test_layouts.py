"""Layouts of published step labels: one contract for all of them, on made-up and published rows."""

from __future__ import annotations

import contextlib
import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.fields import LONGEST_TEXT, Fields, LeftOut, RowError
from lmms_rpts.validation.layouts import LAYOUTS, find_layout
from lmms_rpts.validation.loading import load_set
from tests.support.reference import reference
from tests.support.tables import table
from tests.validation.made_up import CHAINS, LAYOUT_NAMED, ROWS, A, B, C, changed, read

NAN = float("nan")
STEP_LEVEL = ("error_annotation", "error_annotations", "step_level")
PREMISES = ("premise_annotation", "steps")
CORRECTNESS = ("response", "process_correctness")
COMPLETION = ("label", "steps", 0, "completions", 0)
MR_ERROR, MR_RIGHT = ("model_output_solution_first_error_step", "model_output_solution_correctness")
MR_BEN_ERROR, MR_BEN_RIGHT = "Model_Solution_First_Error_Step", "Model_Solution_Correctness"
USEFUL = "reason_unuseful_section_numbers"
WRONG = "reason_error_section_numbers"

REQUIRED = {
    "processbench": "problem steps label",
    "bigbench_mistake": "input steps mistake_index",
    "mr_gsm8k": f"question model_output_steps {MR_ERROR} {MR_RIGHT}",
    "mr_ben": f"Question_UUID Question Model_Solution_Steps {MR_BEN_RIGHT} {MR_BEN_ERROR}",
    "stepverify": "problem student_incorrect_solution incorrect_index",
    "reasoneval": f"question model_output_step_format {MR_RIGHT} {MR_ERROR}",
    "parc": "question steps premise_annotation error_annotation",
    "prmbench": "modified_question modified_process error_steps classification",
    "deltabench": f"question sections_content {WRONG}",
    "visualprocessbench": "question response",
    "vlrmbench": "question reasoning_error task_gt category",
    "projudgebench": "question process_evaluation",
    "folio": "premises conclusion label",
    "prm800k": "is_quality_control_question is_initial_screening_question question label",
}
"""The fields without which no row is read."""


def refused(name: str, row: dict[str, Any]) -> str:
    with pytest.raises(RowError) as error:
        read(name, row)
    return str(error.value)


def test_each_layout_has_a_made_up_row() -> None:
    names = [layout.name for layout in LAYOUTS]
    assert len(set(names)) == len(names) == 15
    assert set(ROWS) == set(CHAINS) == set(REQUIRED) == set(names) - {"ratings"}
    assert find_layout({}) is None
    assert find_layout({"question", "steps"}) is None
    assert find_layout({**ROWS["folio"], **ROWS["prmbench"]}) is None


@table("name", *ROWS)
def test_a_row_is_the_chain_worked_by_hand_and_fits_no_other_layout(name: str) -> None:
    layout, row = LAYOUT_NAMED[name], ROWS[name]
    assert read(name, row) == CHAINS[name]
    assert [each.name for each in LAYOUTS if {*each.fields.split()} <= row.keys()] == [name]
    about = layout.about
    assert "arXiv" in about.title
    assert about.meaning.endswith(".")
    assert "https://" in about.source
    assert about.licence
    assert all(0 < anchor.value < 1 and anchor.source for anchor in about.anchors)
    assert bool(layout.images) == bool(CHAINS[name].images)
    for field in row:
        without = changed(name, field, to=...)
        if field in REQUIRED[name].split():
            assert re.search(f"{field}.* is missing", refused(name, without))
        else:
            read(name, without)


# name, path of the changed value, value -> labels, first error
@table(
    "name, path, value, labels, error",
    ("processbench", ("label",), -1, (True, True, True), None),
    ("processbench", ("label",), 2.0, (True, True, False), 2),  # a column with gaps
    ("bigbench_mistake", ("mistake_index",), None, (True, True, True), None),
    ("bigbench_mistake", ("mistake_index",), "2", (True, True, False), 2),
    ("mr_gsm8k", (MR_ERROR,), "3", (True, True, False), 2),
    ("mr_ben", (MR_BEN_ERROR,), "1", (False, None), 0),
    ("stepverify", ("incorrect_index",), 0, (False, None, None), 0),
    ("reasoneval", (MR_ERROR,), 1, (False, None, None), 0),
    ("prmbench", ("error_steps",), [], (True, True, True), None),
    ("prmbench", ("error_steps",), [1, 1, 3], (False, True, False), 0),
    ("deltabench", (WRONG,), [5], (True, True, True, None, False), 4),
    ("deltabench", (WRONG,), "[1]", (False, True, True, None, None), 0),
    ("deltabench", (WRONG,), [4], (True, True, True, False, None), 3),
    ("deltabench", (WRONG,), [], (True, True, True, None, None), None),
    ("deltabench", (USEFUL,), ..., (True, False, *[None] * 3), 1),
    ("visualprocessbench", CORRECTNESS, [0, 1, 1], (None, True, True), None),
    ("visualprocessbench", CORRECTNESS, [-1, 1, -1], (False, True, False), 0),
    ("vlrmbench", ("task_gt",), [0, 0, 0], (True, True, True), None),
    ("projudgebench", ("process_evaluation", 0, 1), "0", (False, False, True), 0),
    ("folio", ("label",), "False", (False,), 0),
    ("folio", ("label",), "Uncertain", (False,), 0),
)
def test_labels(
    name: str, path: tuple[Any, ...], value: Any, labels: tuple[Any, ...], error: int | None
) -> None:
    chain = read(name, changed(name, *path, to=value))
    assert (chain.labels, chain.first_error) == (labels, error)
    assert chain.located is (name != "folio" and (name != "deltabench" or error is not None))


@table(
    "name, correctness, error",
    ("mr_gsm8k", MR_RIGHT, MR_ERROR),
    ("mr_ben", MR_BEN_RIGHT, MR_BEN_ERROR),
    ("reasoneval", MR_RIGHT, MR_ERROR),
)
def test_a_correct_solution_has_no_error(name: str, correctness: str, error: str) -> None:
    for none in ("N/A", None):
        chain = read(name, {**ROWS[name], correctness: "correct", error: none})
        assert (chain.first_error, set(chain.labels), chain.located) == (None, {True}, True)
    assert "marked as correct" in refused(name, changed(name, correctness, to="correct"))
    assert "whole number" in refused(name, changed(name, error, to="N/A"))


UNRATED = [{"completions": [{"text": A, "rating": None}], "chosen_completion": 0}]


@table(
    "name, changes, reason",
    ("mr_gsm8k", {"question_type": "POT"}, "a program"),
    ("mr_ben", {"Subject": "coding"}, "a line of code"),
    ("mr_ben", {"Model_Solution_Steps": "def nuts():"}, "a line of code"),
    ("mr_ben", {"Model_Solution_Steps": ["Step 1: a", "Step 3: b"]}, "not numbered 1, 2, 3"),
    ("mr_ben", {"Model_Solution_Steps": ["Step 1: a", "Step 1: b"]}, "not numbered 1, 2, 3"),
    ("prmbench", {"error_steps": [2, 4]}, "a marked step does not exist"),
    ("deltabench", {WRONG: [], USEFUL: []}, "how far the annotators read"),
    ("vlrmbench", {"category": "redundant_det"}, "not to find wrong steps"),
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
    ("bigbench_mistake", ("mistake_index",), -1, 3),
    ("mr_gsm8k", (MR_ERROR,), 0, 4),
    ("mr_ben", (MR_BEN_ERROR,), "0", "3"),
    ("stepverify", ("incorrect_index",), -1, 3),
    ("reasoneval", (MR_ERROR,), 0, 4),
    ("prmbench", ("error_steps", 0), 0, -1),  # above: left out
    ("deltabench", (WRONG, 0), 0, 6),
    ("deltabench", (USEFUL, 0), 0, 6),
)
def test_numbers_of_steps(name: str, path: tuple[Any, ...], below: Any, above: Any) -> None:
    for value in (below, above):
        assert "are numbered from" in refused(name, changed(name, *path, to=value))
    for value in (True, NAN, 1.5, "one", "٢", [1], {}, -(10**5000)):
        refused(name, changed(name, *path, to=value))


@table(
    "name, path, value, said",
    ("processbench", ("problem",), None, "is missing"),
    ("processbench", ("problem",), " \n", "is blank"),
    ("processbench", ("problem",), "x" * 200_001, "200,001 characters"),
    ("processbench", ("problem",), ["x"], "should be a string"),
    ("processbench", ("steps",), [], "is an empty list"),
    ("processbench", ("steps",), {"0": "x"}, "should be a list"),
    ("processbench", ("steps",), [None], "should be"),
    ("mr_gsm8k", (MR_RIGHT,), "incorrect", "'correct' or 'wrong'"),
    ("mr_ben", (MR_BEN_RIGHT,), True, "'correct' or 'incorrect'"),
    ("mr_ben", ("Model_Solution_Steps", 1), "x" * 200_000, "characters"),
    ("reasoneval", ("model_output_step_format", 1), [], "is an empty list"),
    ("reasoneval", ("model_output_step_format", 1), ["x" * 200_000, "y"], "characters"),
    ("parc", (*STEP_LEVEL, 2), ..., "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "step_number"), 0, "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "has_error"), 0, "True or False"),
    ("parc", (*STEP_LEVEL, 1, "has_error"), False, "'has_error' is false"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0), "Other", "should be an object"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0, "error_type"), "Typo", "should be 'Logical_"),
    ("parc", (*PREMISES, 1), ..., "number all steps in order"),
    ("parc", (*PREMISES, 2, "premises"), [[2, "itself"]], "cite step 2"),
    ("parc", (*PREMISES, 2, "premises"), [[-1, "?"]], "cite step -1"),
    ("parc", (*PREMISES, 2, "premises"), [[1]], "pairs of a number and a text"),
    ("deltabench", ("sections_content",), "Nuts.", "has no numbered steps"),
    ("deltabench", ("sections_content",), [{"content": 1}], "should be a string"),
    ("deltabench", (WRONG,), {"2": 1}, "should be a list"),
    ("visualprocessbench", CORRECTNESS, [1, -1], "has 2 entries for 3 steps"),
    ("visualprocessbench", CORRECTNESS, [1, -1, True], "should be 1 or 0 or -1"),
    ("visualprocessbench", ("response",), "[1]", "should be an object"),
    *(
        ("visualprocessbench", ("response",), each, "a text without a valid value")
        for each in ("{1", "print(1)", "9" * 5000, "(" * 100_000, "1+" * 50_000 + "1", "\0")
    ),
    ("visualprocessbench", ("image",), [{"bytes": "x"}], "should be a string"),
    ("vlrmbench", ("task_gt",), [0, 1], "has 2 entries for 3 steps"),
    ("vlrmbench", ("reasoning_error",), "Nuts.", "has no numbered steps"),
    ("projudgebench", ("process_evaluation", 1, 1), "-1", "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1), ["text"], "a list of text, verdict and more"),
    ("projudgebench", ("image_paths",), {"a": 1}, "should be a string"),
    ("folio", ("label",), "Unknown", "should be 'True'"),
    ("prm800k", ("label", "finish_reason"), "tired", "should be 'found_error'"),
    ("prm800k", ("question", "pre_generated_steps"), "a", "should be a list"),
    ("prm800k", (*COMPLETION, "rating"), True, "should be 1 or 0 or -1"),
    ("prm800k", ("label", "steps", 0, "completions"), None, "is missing"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), 2, "there are 2 completions"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), None, "continue after a position"),
    ("prm800k", ("label", "steps", 1, "human_completion"), {"text": 1}, "should be a string"),
)
def test_faults_name_what_is_wrong(name: str, path: tuple[Any, ...], value: Any, said: str) -> None:
    assert said in refused(name, changed(name, *path, to=value))


# --- what single layouts do

FOUND = {"steps": [A, B, C], "process_correctness": [1, -1, 0]}
DELTA = {key: ROWS["deltabench"][key] for key in ("id", "task_l1", "question", WRONG)}
INHERITED = {"error_type": "Accumulation_Error"}
HALF, SUM = ROWS["prm800k"]["label"]["steps"]
HUMAN = {**HALF, "chosen_completion": None, "human_completion": {"text": "Half is 4."}}
TWO_WRONG = {**SUM, "completions": [{"text": t, "rating": -1} for t in ("No.", B)]}


@table(
    "name, path, value, expected",
    *(
        ("mr_ben", ("Model_Solution_Steps",), lines, {"steps": steps})
        for lines, steps in (
            (["a", "", "b"], ("a", "", "b")),  # no line has a number: each is a step
            (["Here:", "Step 1: a", "", "Step 2: b", "x"], ("Here:\nStep 1: a\n", "Step 2: b\nx")),
            (["**Step 1:** a", "step 2. b"], ("**Step 1:** a", "step 2. b")),
            (["Step 1: a", "Step 2 says", "Step 2: b"], ("Step 1: a\nStep 2 says", "Step 2: b")),
            (["Step ١: a", "b"], ("Step ١: a", "b")),
        )
    ),
    # rows without an id or a subset are named after the file
    ("processbench", ("id",), ..., {"id": "nuts:4"}),
    ("mr_gsm8k", ("uuid",), ..., {"id": "nuts:4"}),
    ("vlrmbench", ("id",), ..., {"id": "nuts:4"}),
    ("stepverify", ("error_category",), ..., {"stratum": "nuts"}),
    ("prmbench", ("idx",), ..., {"id": "nuts:4", "question": "Ann's nuts"}),
    # inherited errors are sound
    *(
        ("parc", (*STEP_LEVEL, 2, "errors"), [{"error_type": each} for each in kinds], expected)
        for kinds, expected in (
            (["Accumulation_Error"] * 2, {}),
            (["Accumulation_Error", "Other"], {"labels": (True, False, False)}),
            ([], {"labels": (True, False, False)}),  # an error not marked as inherited
        )
    ),
    (
        *("parc", (*STEP_LEVEL, 1, "errors"), [INHERITED]),
        {"first_error": None, "labels": (True,) * 3, "inherited": {1, 2}},
    ),
    ("parc", (*PREMISES, 0), ..., {}),  # newer copies have no step 0
    # a response may be the text of an object
    ("visualprocessbench", ("response",), json.dumps(FOUND), {}),
    ("visualprocessbench", ("response",), repr({**FOUND, "steps": (A, B, C)}), {}),
    ("visualprocessbench", ("image",), "images/nuts.png", {}),
    ("projudgebench", ("image_paths",), {"a": None}, {"images": ()}),
    ("projudgebench", ("image_paths",), {"a": "x", "b": "y"}, {"images": ("x", "y")}),
    ("folio", ("label",), "False", {"stratum": "contradicted"}),
    ("folio", ("label",), "Uncertain", {"stratum": "unsupported"}),
    # a person wrote a step: it is on the path, is never asked about, and may be the first error
    (
        *("prm800k", ("label", "steps"), [HUMAN, SUM]),
        {
            "steps": ("Half is 4.", B, "Nuts.", A, "4 and 3 make 7.", "4 and 3?"),
            "labels": (None, False, True, True, True, None),
            "premises": ((), ("Half is 4.",), (), (), ("Half is 4.",), ("Half is 4.",)),
            "places": (0, 1, 0, 0, 1, 1),
            "path": (0, 1),
            "first_error": 1,
            "located": False,
        },
    ),
    # a solution with an error in an alternative completion only
    (
        *("prm800k", ("label", "steps", 1, "chosen_completion"), 0),
        {
            "steps": (A, "4 and 3 make 7.", "Nuts.", B, "4 and 3?"),
            "first_error": None,
            "located": True,
        },
    ),
    # the draft shows which wrong step ended the chain
    ("prm800k", ("label", "steps", 1), TWO_WRONG, {"steps": (A, "No.", "Nuts.", B)}),
    # a chain that ends early without an error locates none
    *(
        (
            *("prm800k", ("label", "steps", 1, "completions"), completions),
            {"first_error": None, "located": False},
        )
        for completions in ([], [{"text": "Hm", "rating": None}], [{"text": "Yes", "rating": 1}])
    ),
)
def test_what_single_layouts_do(
    name: str, path: tuple[Any, ...], value: Any, expected: dict[str, Any]
) -> None:
    chain = read(name, changed(name, *path, to=value))
    if not expected:
        assert chain == CHAINS[name]
    assert {field: getattr(chain, field) for field in expected} == expected


@table(
    "sections",
    [{"content": A}, {"section": B, "content": B}, C],
    [{"section": A}, B, {"content": C}],
)
def test_sections_in_a_list(sections: list[Any]) -> None:
    chain = read("deltabench", {**DELTA, "section_content": sections})
    assert (chain.steps, chain.labels) == ((A, B, C), (True, False, None))


def test_solutions_of_one_question_are_grouped() -> None:
    row = Fields(ROWS["mr_ben"], "botany", 0, "the key")
    assert LAYOUT_NAMED["mr_ben"].read(row).question == "the key"
    other = {**ROWS["prmbench"], "classification": "deception", "idx": "deception_nuts_0"}
    assert read("prmbench", other).question == CHAINS["prmbench"].question
    assert read("prmbench", other).id != CHAINS["prmbench"].id
    row_with_draft = changed("prm800k", "label", "steps", 1, to=TWO_WRONG)
    row_with_draft["question"]["pre_generated_steps"] = [A, B]
    assert read("prm800k", row_with_draft).steps == (A, B, "Nuts.", "No.")


def test_texts_stay_as_they_are_without_lone_surrogates() -> None:
    odd = ["  two  ", "", "<b>&amp;</b>", "\x1b[31m", "İ ſ ٣", "a\ud800"]
    chain = read("processbench", {**ROWS["processbench"], "steps": odd})
    assert chain.steps == (*odd[:-1], "a?")


# --- the publishers' rows; five other sets are recomputed in test_reference_figures


@table(
    "name, counts, left_out",
    # chains, labelled steps, wrong ones; rows left out: counted once by independent code
    ("mr_ben", (180, 717, 119), 17),
    ("prmbench", (133, 2012, 278), 5),
    ("vlrmbench", (80, 1109, 180), 0),
    ("prm800k", (3, 34, 7), 0),
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
    wrong = [at for at in chain.on_path if chain.labels[at] is False]
    assert chain.first_error == (chain.place(wrong[0]) if wrong else None)
    assert all(chain.labels[at] for at in chain.inherited)
    for text in (chain.id, chain.context, *chain.steps):
        text.encode()


@table(
    "name, path, text",
    ("vlrmbench", ("reasoning_error",), "STEP" * (LONGEST_TEXT // 4)),
    ("vlrmbench", ("reasoning_error",), "\n        STEP" * (LONGEST_TEXT // 13)),
    ("vlrmbench", ("reasoning_error",), "STEP1:\n" * (LONGEST_TEXT // 7)),
    ("deltabench", ("sections_content",), "section " * (LONGEST_TEXT // 8)),
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
