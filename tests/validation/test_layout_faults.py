"""Layouts of published step labels: invalid rows, and rows that try to break the readers."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.validation.layouts import LAYOUTS, find_layout, layout_named
from lmms_rpts.validation.rows import LONGEST_TEXT, MOST_STEPS, LeftOut, Row, RowError
from tests.support.tables import table
from tests.validation.made_up import ROWS, changed, read

NAN = float("nan")
STEP_LEVEL = ("error_annotation", "error_annotations", "step_level")
PREMISES = ("premise_annotation", "steps")
CORRECTNESS = ("response", "process_correctness")
COMPLETION = ("label", "steps", 0, "completions", 0)
FIRST_ERROR = "model_output_solution_first_error_step"

TEXT_FIELDS = {
    "processbench": ["problem"],
    "bigbench_mistake": ["input"],
    "mr_gsm8k": ["question", "question_type"],
    "mr_ben": ["Question", "Subject"],
    "stepverify": ["problem"],
    "reasoneval": ["question"],
    "parc": ["question"],
    "prmbench": ["modified_question", "classification"],
    "deltabench": ["question"],
    "visualprocessbench": ["question"],
    "vlrmbench": ["question", "category", "reasoning_error"],
    "projudgebench": ["question", "subject"],
    "folio": ["conclusion"],
}
STEP_FIELDS = {
    "processbench": ("steps",),
    "bigbench_mistake": ("steps",),
    "mr_gsm8k": ("model_output_steps",),
    "mr_ben": ("Model_Solution_Steps",),
    "stepverify": ("student_incorrect_solution",),
    "reasoneval": ("model_output_step_format",),
    "parc": ("steps",),
    "prmbench": ("modified_process",),
    "deltabench": ("sections_content",),
    "visualprocessbench": ("response", "steps"),
    "projudgebench": ("process_evaluation",),
    "folio": ("premises",),
    "prm800k": ("label", "steps"),
}
NEEDED = {
    "processbench": ["id", "label"],
    "bigbench_mistake": ["mistake_index"],
    "mr_gsm8k": ["uuid", FIRST_ERROR, "model_output_solution_correctness"],
    "mr_ben": ["Question_UUID", "Model_Solution_First_Error_Step", "Model_Solution_Correctness"],
    "stepverify": ["incorrect_index"],
    "reasoneval": [FIRST_ERROR, "model_output_solution_correctness"],
    "parc": ["premise_annotation", "error_annotation"],
    "prmbench": ["error_steps"],
    "deltabench": ["reason_error_section_numbers"],
    "visualprocessbench": ["image", "response"],
    "vlrmbench": ["id", "image", "task_gt"],
    "folio": ["label"],
    "prm800k": ["is_quality_control_question", "is_initial_screening_question", "question"],
}


def refused(name: str, row: dict[str, Any]) -> str:
    with pytest.raises(RowError) as error:
        read(name, row)
    return str(error.value)


@table("name, fields", *TEXT_FIELDS.items())
def test_texts(name: str, fields: list[str]) -> None:
    for field in fields:
        assert "is missing" in refused(name, changed(name, field, to=...))
        assert "is missing" in refused(name, changed(name, field, to=None))
        assert "is blank" in refused(name, changed(name, field, to=" \n"))
        assert "200,001 characters" in refused(name, changed(name, field, to="x" * 200_001))
        for value in (1, True, NAN, ["x"], {"x": "y"}):
            assert "should be a string" in refused(name, changed(name, field, to=value))


@table("name, path", *STEP_FIELDS.items())
def test_lists_of_steps(name: str, path: tuple[str, ...]) -> None:
    assert "is missing" in refused(name, changed(name, *path, to=...))
    assert "is an empty list" in refused(name, changed(name, *path, to=[]))
    for value in (1, True, NAN, {"0": "x"}):
        assert "should be a list" in refused(name, changed(name, *path, to=value))
    for value in ([1], [None], [True]):
        assert "should be" in refused(name, changed(name, *path, to=value))
    refused(name, changed(name, *path, to=[{"x": 1}]))
    many = ["x"] * (MOST_STEPS + 1)
    assert "2,001 entries" in refused(name, changed(name, *path, to=many))


@table("name, fields", *NEEDED.items())
def test_fields_that_are_not_there(name: str, fields: list[str]) -> None:
    for field in fields:
        refused(name, changed(name, field, to=...))


# A step number that does not exist, counted from 0 or from 1, and values that are not numbers.
@table(
    "name, path, below, above",
    ("processbench", ("label",), -2, 3),
    ("bigbench_mistake", ("mistake_index",), -1, 3),
    ("mr_gsm8k", (FIRST_ERROR,), 0, 4),
    ("mr_ben", ("Model_Solution_First_Error_Step",), "0", "3"),
    ("stepverify", ("incorrect_index",), -1, 3),
    ("reasoneval", (FIRST_ERROR,), 0, 4),
    ("prmbench", ("error_steps", 0), 0, None),  # above: left out
    ("deltabench", ("reason_error_section_numbers", 0), 0, 6),
    ("deltabench", ("reason_unuseful_section_numbers", 0), 0, 6),
)
def test_numbers_of_steps(name: str, path: tuple[Any, ...], below: Any, above: Any) -> None:
    assert "are numbered from" in refused(name, changed(name, *path, to=below))
    if above is not None:
        assert "are numbered from" in refused(name, changed(name, *path, to=above))
    for value in (True, False, NAN, float("inf"), 1.5, "one", "1.0", "٢", [1], {}, -(10**5000)):
        refused(name, changed(name, *path, to=value))


@table(
    "name, path, value, said",
    ("mr_gsm8k", (FIRST_ERROR,), "N/A", "whole number"),
    ("mr_gsm8k", ("model_output_solution_correctness",), "correct", "marked as correct"),
    ("mr_gsm8k", ("model_output_solution_correctness",), "incorrect", "'correct' or 'wrong'"),
    ("mr_ben", ("Model_Solution_Correctness",), "correct", "marked as correct"),
    ("mr_ben", ("Model_Solution_Correctness",), "wrong", "'correct' or 'incorrect'"),
    ("mr_ben", ("Model_Solution_Correctness",), True, "'correct' or 'incorrect'"),
    ("reasoneval", ("model_output_step_format", 1), [], "is an empty list"),
    ("reasoneval", ("model_output_step_format", 1), [2], "should be a string"),
    ("reasoneval", ("model_output_step_format", 1), ["x" * 200_000, "y"], "characters"),
    ("mr_ben", ("Model_Solution_Steps", 1), "x" * 200_000, "characters"),
    ("parc", STEP_LEVEL, [], "is an empty list"),
    ("parc", (*STEP_LEVEL, 2), ..., "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "step_number"), 0, "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "step_number"), "1", "whole number"),
    ("parc", (*STEP_LEVEL, 0, "has_error"), 0, "true or false"),
    ("parc", (*STEP_LEVEL, 0, "has_error"), ..., "is missing"),
    ("parc", (*STEP_LEVEL, 1, "has_error"), False, "'has_error' is false"),
    ("parc", (*STEP_LEVEL, 1, "errors"), None, "is missing"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0), "Other", "should be an object"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0, "error_type"), "Typo", "should be 'Logical_"),
    ("parc", (*PREMISES, 3), ..., "number all steps in order"),
    ("parc", (*PREMISES, 1), {"step_number": 2, "premises": []}, "number all steps in order"),
    ("parc", (*PREMISES, 2, "premises"), [[2, "itself"]], "of step 2 cite step 2"),
    ("parc", (*PREMISES, 2, "premises"), [[3, "forward"]], "of step 2 cite step 3"),
    ("parc", (*PREMISES, 2, "premises"), [[-1, "?"]], "of step 2 cite step -1"),
    ("parc", (*PREMISES, 2, "premises"), [[1]], "pairs of a number and a text"),
    ("parc", (*PREMISES, 2, "premises"), ["ab"], "should be a list"),
    ("parc", (*PREMISES, 2, "premises"), [["1", "a"]], "whole number"),
    ("parc", (*PREMISES, 2, "premises"), [[True, "a"]], "whole number"),
    ("parc", (*PREMISES, 2, "premises"), [[0, 1]], "should be a string"),
    ("parc", (*PREMISES, 2, "premises"), None, "is missing"),
    ("prmbench", ("idx",), [1], "should be a string"),
    ("deltabench", ("sections_content",), "Nuts.", "has no numbered steps"),
    ("deltabench", ("sections_content",), [{"content": 1}], "a text as its content"),
    ("deltabench", ("reason_error_section_numbers",), "2", "should be a list"),
    ("deltabench", ("reason_error_section_numbers",), "[2", "a text without a valid value"),
    ("deltabench", ("reason_error_section_numbers",), {"2": 1}, "should be a list"),
    ("visualprocessbench", CORRECTNESS, [1, -1], "has 2 entries for 3 steps"),
    ("visualprocessbench", CORRECTNESS, [1, -1, 0, 1], "has 4 entries for 3 steps"),
    ("visualprocessbench", CORRECTNESS, [1, -1, 2], "should be 1 or 0 or -1"),
    ("visualprocessbench", CORRECTNESS, [1, -1, True], "whole number"),
    ("visualprocessbench", CORRECTNESS, [1, -1, NAN], "whole number"),
    ("visualprocessbench", CORRECTNESS, [1, -1, "1"], "whole number"),
    ("visualprocessbench", ("response",), [1], "should be an object"),
    ("visualprocessbench", ("response",), "[1]", "should be an object"),
    ("visualprocessbench", ("response",), "{1", "a text without a valid value"),
    ("visualprocessbench", ("response",), "print(1)", "a text without a valid value"),
    ("visualprocessbench", ("response",), "{[]: 1}", "a text without a valid value"),
    ("visualprocessbench", ("response",), "9" * 5000, "a text without a valid value"),
    ("visualprocessbench", ("response",), "[" * 100_000, "a text without a valid value"),
    ("visualprocessbench", ("response",), "(" * 100_000, "a text without a valid value"),
    ("visualprocessbench", ("response",), "-" * 100_000 + "1", "a text without a valid value"),
    ("visualprocessbench", ("response",), "1+" * 50_000 + "1", "a text without a valid value"),
    ("visualprocessbench", ("response",), '{"a":' * 30_000, "a text without a valid value"),
    ("visualprocessbench", ("response",), "a" + ".a" * 50_000, "a text without a valid value"),
    ("visualprocessbench", ("response",), "\0", "a text without a valid value"),
    ("visualprocessbench", ("response",), "x" * 200_001, "200,001 characters"),
    ("visualprocessbench", ("image",), [], "is an empty list"),
    ("visualprocessbench", ("image",), [{"bytes": "x"}], "should be a string"),
    ("visualprocessbench", ("image",), 1, "should be a list"),
    ("visualprocessbench", ("data_source",), 1, "should be a string"),
    ("vlrmbench", ("task_gt",), [0, 1], "has 2 entries for 3 steps"),
    ("vlrmbench", ("task_gt",), [0, 1, -1], "should be 0 or 1"),
    ("vlrmbench", ("task_gt",), [0, 1, False], "whole number"),
    ("vlrmbench", ("task_gt",), "Yes", "should be a list"),
    ("vlrmbench", ("reasoning_error",), "Nuts.", "has no numbered steps"),
    ("projudgebench", ("process_evaluation", 1, 1), "-1", "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1, 1), 0, "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1, 1), True, "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1, 0), 1, "should be a string"),
    ("projudgebench", ("process_evaluation", 1), ["text"], "a list of text, verdict and more"),
    ("projudgebench", ("process_evaluation", 1), "ab", "should be a list"),
    ("projudgebench", ("image_paths",), ["x"], "should be an object"),
    ("projudgebench", ("image_paths",), {"a": 1}, "should be a string"),
    ("folio", ("label",), True, "should be 'True'"),
    ("folio", ("label",), "true", "should be 'True'"),
    ("folio", ("label",), "Unknown", "should be 'True'"),
    ("prm800k", ("is_quality_control_question",), 0, "true or false"),
    ("prm800k", ("label", "finish_reason"), None, "is missing"),
    ("prm800k", ("label", "finish_reason"), "tired", "should be 'found_error'"),
    ("prm800k", ("label",), [], "should be an object"),
    ("prm800k", ("question", "problem"), 1, "should be a string"),
    ("prm800k", ("question", "pre_generated_steps"), "a", "should be a list"),
    ("prm800k", (*COMPLETION, "rating"), 2, "should be -1, 0, 1 or null"),
    ("prm800k", (*COMPLETION, "rating"), True, "whole number"),
    ("prm800k", (*COMPLETION, "rating"), NAN, "whole number"),
    ("prm800k", (*COMPLETION, "rating"), "1", "whole number"),
    ("prm800k", (*COMPLETION, "text"), None, "should be a string"),
    ("prm800k", COMPLETION, "text", "should be an object"),
    ("prm800k", ("label", "steps", 0, "completions"), None, "is missing"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), 2, "there are 2 completions"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), -1, "there are 2 completions"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), True, "whole number"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), None, "continue after a position"),
    ("prm800k", ("label", "steps", 1, "human_completion"), 1, "should be a string"),
    ("prm800k", ("label", "steps", 1, "human_completion"), {"text": 1}, "should be a string"),
)
def test_faults(name: str, path: tuple[Any, ...], value: Any, said: str) -> None:
    assert said in refused(name, changed(name, *path, to=value))


def test_too_many_completions() -> None:
    many = [{"text": "x", "rating": 1}] * (MOST_STEPS - 1)
    row = changed("prm800k", "label", "steps", 0, "completions", to=many)
    assert "2,002 texts" in refused("prm800k", row)


@table(
    "name, path, text",
    ("vlrmbench", ("reasoning_error",), "STEP" * (LONGEST_TEXT // 4)),
    ("vlrmbench", ("reasoning_error",), "\n" * LONGEST_TEXT),
    ("vlrmbench", ("reasoning_error",), "\n        STEP" * (LONGEST_TEXT // 13)),
    ("vlrmbench", ("reasoning_error",), "STEP1:\n" * (LONGEST_TEXT // 7)),
    ("deltabench", ("sections_content",), "section " * (LONGEST_TEXT // 8)),
    ("mr_ben", ("Model_Solution_Steps", 0), " " * LONGEST_TEXT),
    ("mr_ben", ("Model_Solution_Steps", 0), "*" * (LONGEST_TEXT - 5) + "step1"),
)
def test_long_texts_are_read_at_once(name: str, path: tuple[Any, ...], text: str) -> None:
    with contextlib.suppress(RowError, LeftOut):
        read(name, changed(name, *path, to=text))


def test_deep_nesting() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for name, row in ROWS.items():
        for field in row:
            with contextlib.suppress(RowError, LeftOut):
                read(name, {**row, field: deep})
    while deep:  # unnested iteratively: a destructor cannot go deeper than the stack
        deep = deep[0]


TEXTS = st.text(st.characters(), max_size=12)  # lone surrogates too
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 5)
    | st.floats()
    | TEXTS
    | st.sampled_from(["N/A", "correct", "1", "True", "<b>x</b>", "{}", "Step 1: x", 10**400])
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
FIELDS = sorted({field for row in ROWS.values() for field in row})


def read_all(row: dict[str, Any]) -> None:
    find_layout(row)
    for layout in LAYOUTS:
        read_with(layout.name, row)


def read_with(name: str, row: dict[str, Any]) -> None:
    """Reads a row with a layout, and checks the invariants of any chain."""
    try:
        chains = list(layout_named(name).read(Row(row, "nuts", 4, "")))
    except (RowError, LeftOut):
        return
    for chain in chains:
        assert len(chain.labels) == len(chain.steps) > 0
        assert chain.premises is None or len(chain.premises) == len(chain.steps)
        wrong = [at for at in chain.on_path if chain.labels[at] is False]
        assert chain.first_error == (chain.place(wrong[0]) if wrong else None)
        assert all(chain.labels[at] for at in chain.inherited)
        for text in (chain.id, chain.context, *chain.steps):
            text.encode()


@given(st.dictionaries(st.sampled_from(FIELDS) | TEXTS, VALUES, max_size=12))
def test_any_object_is_read_or_refused(row: dict[str, Any]) -> None:
    read_all(row)


@given(st.data())
def test_changed_rows_are_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ROWS)))
    row = copy.deepcopy(ROWS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data, row)
    read_with(name, row)


def _change(data: st.DataObject, value: Any) -> None:
    """Replaces a value at a random depth."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(value[key], dict | list) or data.draw(st.booleans()):
            value[key] = data.draw(VALUES)
            return
        value = value[key]
