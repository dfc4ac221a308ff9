"""Layouts of published step labels: one contract for all of them, on made-up rows."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.base.fields import LONGEST_TEXT, Fields, LeftOut, RowError
from lmms_rpts.validation.layouts import LAYOUTS, find_layout
from tests.support.tables import table
from tests.validation.made_up import ASKED, CHAINS, LAYOUT_NAMED, ROWS, A, B, C, changed, read

NAN = float("nan")
STEP_LEVEL = ("error_annotation", "error_annotations", "step_level")
PREMISES = ("premise_annotation", "steps")
CORRECTNESS = ("response", "process_correctness")
COMPLETION = ("label", "steps", 0, "completions", 0)
MR_ERROR = "model_output_solution_first_error_step"

# layout -> text fields, path of the list of steps, other fields without which no row is read
REQUIRED: dict[str, tuple[list[str], tuple[str, ...], list[str]]] = {
    "processbench": (["problem"], ("steps",), ["label"]),
    "bigbench_mistake": (["input"], ("steps",), ["mistake_index"]),
    "mr_gsm8k": (
        ["question"],
        ("model_output_steps",),
        [MR_ERROR, "model_output_solution_correctness"],
    ),
    "mr_ben": (
        ["Question"],
        ("Model_Solution_Steps",),
        ["Question_UUID", "Model_Solution_First_Error_Step", "Model_Solution_Correctness"],
    ),
    "stepverify": (["problem"], ("student_incorrect_solution",), ["incorrect_index"]),
    "reasoneval": (
        ["question"],
        ("model_output_step_format",),
        [MR_ERROR, "model_output_solution_correctness"],
    ),
    "parc": (["question"], ("steps",), ["premise_annotation", "error_annotation"]),
    "prmbench": (["modified_question", "classification"], ("modified_process",), ["error_steps"]),
    "deltabench": (["question"], ("sections_content",), ["reason_error_section_numbers"]),
    "visualprocessbench": (["question"], ("response", "steps"), ["response"]),
    "vlrmbench": (["question", "category", "reasoning_error"], ("task_gt",), []),
    "projudgebench": (["question"], ("process_evaluation",), []),
    "folio": (["conclusion"], ("premises",), ["label"]),
    "prm800k": (
        [],
        ("label", "steps"),
        ["is_quality_control_question", "is_initial_screening_question", "question"],
    ),
}


def refused(name: str, row: dict[str, Any]) -> str:
    with pytest.raises(RowError) as error:
        read(name, row)
    return str(error.value)


def test_each_layout_has_a_made_up_row() -> None:
    names = [layout.name for layout in LAYOUTS]
    assert len(set(names)) == len(names) == 15
    assert set(ROWS) == set(CHAINS) == set(REQUIRED) == set(names) - {"ratings"}


@table("name", *ROWS)
def test_a_row_is_the_chain_worked_by_hand_and_fits_no_other_layout(name: str) -> None:
    assert read(name, ROWS[name]) == CHAINS[name]
    assert [each.name for each in LAYOUTS if {*each.fields.split()} <= ROWS[name].keys()] == [name]


@table("name", *ROWS)
def test_a_layout_names_its_source(name: str) -> None:
    about = LAYOUT_NAMED[name].about
    assert "arXiv" in about.title
    assert about.meaning.endswith(".")
    assert "https://" in about.source
    assert about.licence
    assert all(0 < anchor.value < 1 and anchor.source for anchor in about.anchors)
    assert bool(LAYOUT_NAMED[name].images) == bool(CHAINS[name].images)


def test_fields_of_no_layout_or_of_two() -> None:
    assert find_layout({}) is None
    assert find_layout({"question", "steps"}) is None
    assert find_layout({**ROWS["folio"], **ROWS["prmbench"]}) is None


@table("name", *REQUIRED)
def test_fields_that_are_missing_or_of_another_type(name: str) -> None:
    fields, steps, others = REQUIRED[name]
    for field in fields:
        for absent in (..., None):
            assert "is missing" in refused(name, changed(name, field, to=absent))
        assert "is blank" in refused(name, changed(name, field, to=" \n"))
        assert "200,001 characters" in refused(name, changed(name, field, to="x" * 200_001))
        for value in (1, True, NAN, ["x"], {"x": "y"}):
            assert "should be a string" in refused(name, changed(name, field, to=value))
    assert "is missing" in refused(name, changed(name, *steps, to=...))
    assert "is an empty list" in refused(name, changed(name, *steps, to=[]))
    for value in (1, True, NAN, {"0": "x"}):
        assert "should be a list" in refused(name, changed(name, *steps, to=value))
    for value in ([None], [True]):
        assert "should be" in refused(name, changed(name, *steps, to=value))
    refused(name, changed(name, *steps, to=[{"x": 1}]))
    for field in others:
        assert field in refused(name, changed(name, field, to=...)), field


# name, path of the changed value, value -> labels, first error
@table(
    "name, path, value, labels, error",
    ("processbench", ("label",), -1, (True, True, True), None),
    ("processbench", ("label",), 0, (False, None, None), 0),
    ("processbench", ("label",), 2.0, (True, True, False), 2),  # a column with gaps
    ("bigbench_mistake", ("mistake_index",), None, (True, True, True), None),
    ("bigbench_mistake", ("mistake_index",), 0, (False, None, None), 0),
    ("bigbench_mistake", ("mistake_index",), "2", (True, True, False), 2),
    ("mr_gsm8k", (MR_ERROR,), 1, (False, None, None), 0),
    ("mr_gsm8k", (MR_ERROR,), "3", (True, True, False), 2),
    ("mr_ben", ("Model_Solution_First_Error_Step",), "1", (False, None), 0),
    ("stepverify", ("incorrect_index",), 0, (False, None, None), 0),
    ("stepverify", ("incorrect_index",), 2, (True, True, False), 2),
    ("reasoneval", (MR_ERROR,), 1, (False, None, None), 0),
    ("reasoneval", (MR_ERROR,), 3, (True, True, False), 2),
    ("prmbench", ("error_steps",), [], (True, True, True), None),
    ("prmbench", ("error_steps",), [3], (True, True, False), 2),
    ("prmbench", ("error_steps",), [1, 1, 3], (False, True, False), 0),
    ("deltabench", ("reason_error_section_numbers",), [5], (True, True, True, None, False), 4),
    ("deltabench", ("reason_error_section_numbers",), "[1]", (False, True, True, None, None), 0),
    ("deltabench", ("reason_error_section_numbers",), [4], (True, True, True, False, None), 3),
    ("deltabench", ("reason_error_section_numbers",), [], (True, True, True, None, None), None),
    ("deltabench", ("reason_unuseful_section_numbers",), [], (True, False, *[None] * 3), 1),
    ("deltabench", ("reason_unuseful_section_numbers",), ..., (True, False, *[None] * 3), 1),
    ("visualprocessbench", CORRECTNESS, [0, 1, 1], (None, True, True), None),
    ("visualprocessbench", CORRECTNESS, [-1, 1, -1], (False, True, False), 0),
    ("vlrmbench", ("task_gt",), [0, 0, 0], (True, True, True), None),
    ("vlrmbench", ("task_gt",), [1, 0, 1], (False, True, False), 0),
    ("projudgebench", ("process_evaluation", 1, 1), "1", (True, True, True), None),
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
    "name, correctness",
    ("mr_gsm8k", "model_output_solution_correctness"),
    ("mr_ben", "Model_Solution_Correctness"),
    ("reasoneval", "model_output_solution_correctness"),
)
def test_a_correct_solution_has_no_error(name: str, correctness: str) -> None:
    error = next(key for key in ROWS[name] if key.lower().endswith("first_error_step"))
    for none in ("N/A", None):
        chain = read(name, {**ROWS[name], correctness: "correct", error: none})
        assert (chain.first_error, set(chain.labels), chain.located) == (None, {True}, True)


@table(
    "name, path, value, reason",
    ("mr_gsm8k", ("question_type",), "POT", "a program"),
    ("mr_ben", ("Subject",), "coding", "a line of code"),
    ("mr_ben", ("Model_Solution_Steps",), "def nuts():", "a line of code"),
    ("mr_ben", ("Model_Solution_Steps",), ["Step 1: a", "Step 3: b"], "not numbered 1, 2, 3"),
    ("mr_ben", ("Model_Solution_Steps",), ["Step 1: a", "Step 1: b"], "not numbered 1, 2, 3"),
    ("prmbench", ("error_steps",), [2, 4], "a marked step does not exist"),
    ("deltabench", ("reason_error_section_numbers",), "no mark", "how far the annotators read"),
    ("vlrmbench", ("category",), "redundant_det", "not to find wrong steps"),
    ("prm800k", ("is_quality_control_question",), True, "quality-control question"),
    ("prm800k", ("is_initial_screening_question",), True, "quality-control question"),
    ("prm800k", ("label", "finish_reason"), "bad_problem", "not finished"),
    ("prm800k", ("label", "finish_reason"), "give_up", "not finished"),
    (
        "prm800k",
        ("label", "steps"),
        [{"completions": [{"text": A, "rating": None}], "chosen_completion": 0}],
        "no step is rated",
    ),
)
def test_rows_that_are_left_out(name: str, path: tuple[Any, ...], value: Any, reason: str) -> None:
    row = changed(name, *path, to=value)
    if value == "no mark":
        row |= {path[0]: [], "reason_unuseful_section_numbers": []}
    with pytest.raises(LeftOut, match=reason):
        read(name, row)


# A step number that does not exist, counted from 0 or from 1, and values that are not numbers.
@table(
    "name, path, below, above",
    ("processbench", ("label",), -2, 3),
    ("bigbench_mistake", ("mistake_index",), -1, 3),
    ("mr_gsm8k", (MR_ERROR,), 0, 4),
    ("mr_ben", ("Model_Solution_First_Error_Step",), "0", "3"),
    ("stepverify", ("incorrect_index",), -1, 3),
    ("reasoneval", (MR_ERROR,), 0, 4),
    ("prmbench", ("error_steps", 0), 0, -1),  # above: left out
    ("deltabench", ("reason_error_section_numbers", 0), 0, 6),
    ("deltabench", ("reason_unuseful_section_numbers", 0), 0, 6),
)
def test_numbers_of_steps(name: str, path: tuple[Any, ...], below: Any, above: Any) -> None:
    for value in (below, above):
        assert "are numbered from" in refused(name, changed(name, *path, to=value))
    for value in (True, False, NAN, float("inf"), 1.5, "one", "1.0", "٢", [1], {}, -(10**5000)):
        refused(name, changed(name, *path, to=value))


TEXT_OF_VALUE = [
    *("{1", "print(1)", "{[]: 1}", "9" * 5000, "[" * 100_000, "(" * 100_000, "\0"),
    *("-" * 100_000 + "1", "1+" * 50_000 + "1", '{"a":' * 30_000, "a" + ".a" * 50_000),
]


@table(
    "name, path, value, said",
    ("mr_gsm8k", (MR_ERROR,), "N/A", "whole number"),
    ("mr_gsm8k", ("model_output_solution_correctness",), "correct", "marked as correct"),
    ("mr_gsm8k", ("model_output_solution_correctness",), "incorrect", "'correct' or 'wrong'"),
    ("mr_ben", ("Model_Solution_Correctness",), "correct", "marked as correct"),
    ("mr_ben", ("Model_Solution_Correctness",), True, "'correct' or 'incorrect'"),
    ("reasoneval", ("model_output_step_format", 1), [], "is an empty list"),
    ("reasoneval", ("model_output_step_format", 1), [2], "should be a string"),
    ("reasoneval", ("model_output_step_format", 1), ["x" * 200_000, "y"], "characters"),
    ("mr_ben", ("Model_Solution_Steps", 1), "x" * 200_000, "characters"),
    ("parc", STEP_LEVEL, [], "is an empty list"),
    ("parc", (*STEP_LEVEL, 2), ..., "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "step_number"), 0, "number all steps in order"),
    ("parc", (*STEP_LEVEL, 0, "has_error"), 0, "True or False"),
    ("parc", (*STEP_LEVEL, 1, "has_error"), False, "'has_error' is false"),
    ("parc", (*STEP_LEVEL, 1, "errors"), None, "is missing"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0), "Other", "should be an object"),
    ("parc", (*STEP_LEVEL, 1, "errors", 0, "error_type"), "Typo", "should be 'Logical_"),
    ("parc", (*PREMISES, 1), ..., "number all steps in order"),
    ("parc", (*PREMISES, 2, "premises"), [[2, "itself"]], "cite step 2"),
    ("parc", (*PREMISES, 2, "premises"), [[-1, "?"]], "cite step -1"),
    ("parc", (*PREMISES, 2, "premises"), [[1]], "pairs of a number and a text"),
    ("parc", (*PREMISES, 2, "premises"), [[True, "a"]], "whole number"),
    ("parc", (*PREMISES, 2, "premises"), [[0, 1]], "should be a string"),
    ("prmbench", ("idx",), [1], "should be a string"),
    ("deltabench", ("sections_content",), "Nuts.", "has no numbered steps"),
    ("deltabench", ("sections_content",), [{"content": 1}], "should be a string"),
    ("deltabench", ("reason_error_section_numbers",), "2", "should be a list"),
    ("deltabench", ("reason_error_section_numbers",), {"2": 1}, "should be a list"),
    ("visualprocessbench", CORRECTNESS, [1, -1], "has 2 entries for 3 steps"),
    ("visualprocessbench", CORRECTNESS, [1, -1, 0, 1], "has 4 entries for 3 steps"),
    ("visualprocessbench", CORRECTNESS, [1, -1, 2], "should be 1 or 0 or -1"),
    ("visualprocessbench", CORRECTNESS, [1, -1, True], "should be 1 or 0 or -1"),
    ("visualprocessbench", ("response",), [1], "should be an object"),
    ("visualprocessbench", ("response",), "[1]", "should be an object"),
    *(
        ("visualprocessbench", ("response",), each, "a text without a valid value")
        for each in TEXT_OF_VALUE
    ),
    ("visualprocessbench", ("response",), "x" * 200_001, "200,001 characters"),
    ("visualprocessbench", ("image",), [{"bytes": "x"}], "should be a string"),
    ("visualprocessbench", ("image",), 1, "should be a list"),
    ("visualprocessbench", ("data_source",), 1, "should be a string"),
    ("vlrmbench", ("task_gt",), [0, 1], "has 2 entries for 3 steps"),
    ("vlrmbench", ("task_gt",), [0, 1, -1], "should be 0 or 1"),
    ("vlrmbench", ("reasoning_error",), "Nuts.", "has no numbered steps"),
    ("projudgebench", ("process_evaluation", 1, 1), "-1", "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1, 1), True, "should be '1' or '0'"),
    ("projudgebench", ("process_evaluation", 1, 0), 1, "should be a string"),
    ("projudgebench", ("process_evaluation", 1), ["text"], "a list of text, verdict and more"),
    ("projudgebench", ("process_evaluation", 1), "ab", "should be a list"),
    ("projudgebench", ("image_paths",), {"a": 1}, "should be a string"),
    ("folio", ("label",), True, "should be 'True'"),
    ("folio", ("label",), "Unknown", "should be 'True'"),
    ("prm800k", ("is_quality_control_question",), 0, "True or False"),
    ("prm800k", ("label", "finish_reason"), None, "is missing"),
    ("prm800k", ("label", "finish_reason"), "tired", "should be 'found_error'"),
    ("prm800k", ("question", "problem"), 1, "should be a string"),
    ("prm800k", ("question", "pre_generated_steps"), "a", "should be a list"),
    ("prm800k", (*COMPLETION, "rating"), 2, "should be 1 or 0 or -1"),
    ("prm800k", (*COMPLETION, "rating"), True, "should be 1 or 0 or -1"),
    ("prm800k", (*COMPLETION, "text"), None, "is missing"),
    ("prm800k", COMPLETION, "text", "should be an object"),
    ("prm800k", ("label", "steps", 0, "completions"), None, "is missing"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), 2, "there are 2 completions"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), -1, "there are 2 completions"),
    ("prm800k", ("label", "steps", 0, "chosen_completion"), None, "continue after a position"),
    ("prm800k", ("label", "steps", 1, "human_completion"), {"text": 1}, "should be a string"),
)
def test_faults(name: str, path: tuple[Any, ...], value: Any, said: str) -> None:
    assert said in refused(name, changed(name, *path, to=value))


# --- what single layouts do


@table(
    "sections",
    [{"content": A}, {"section": B, "content": B}, C],
    [{"section": A}, B, {"content": C}],
)
def test_sections_in_a_list(sections: list[Any]) -> None:
    row = {**ROWS["deltabench"], "section_content": sections}
    del row["sections_content"], row["reason_unuseful_section_numbers"]
    chain = read("deltabench", row)
    assert (chain.steps, chain.labels) == ((A, B, C), (True, False, None))


# Lines of a solution -> its steps
@table(
    "lines, steps",
    (["a", "", "b"], ("a", "", "b")),  # no line has a number: each is a step
    (["Step 1: a", "Step 2: b"], ("Step 1: a", "Step 2: b")),
    (["Here:", "Step 1: a", "", "Step 2: b", "So: A"], ("Here:\nStep 1: a\n", "Step 2: b\nSo: A")),
    (["**Step 1:** a", "step 2. b"], ("**Step 1:** a", "step 2. b")),
    (["Step 1: a", "Step 2 says so", "Step 2: b"], ("Step 1: a\nStep 2 says so", "Step 2: b")),
    (["Step ١: a", "b"], ("Step ١: a", "b")),
)
def test_lines_without_a_number_belong_to_the_step_before(
    lines: list[str], steps: tuple[str, ...]
) -> None:
    assert read("mr_ben", changed("mr_ben", "Model_Solution_Steps", to=lines)).steps == steps


def test_solutions_of_one_question_are_grouped() -> None:
    row = Fields(ROWS["mr_ben"], "botany", 0, "the key")
    assert LAYOUT_NAMED["mr_ben"].read(row).question == "the key"
    other = {**ROWS["prmbench"], "classification": "deception", "idx": "deception_nuts_0"}
    assert read("prmbench", other).question == CHAINS["prmbench"].question
    assert read("prmbench", other).id != CHAINS["prmbench"].id
    nameless = read("prmbench", changed("prmbench", "idx", to=...))
    assert (nameless.id, nameless.question) == ("nuts:4", "Ann's nuts")


@table(
    "name, field, found",
    ("processbench", "id", ("nuts:4", "nuts")),
    ("mr_gsm8k", "uuid", ("nuts:4", "original")),
    ("vlrmbench", "id", ("nuts:4", "detail_error")),
    ("projudgebench", "subject", ("nuts:4", "nuts")),
    ("stepverify", "error_category", ("nuts:4", "nuts")),
)
def test_rows_without_an_id_or_a_subset_are_named_after_the_file(
    name: str, field: str, found: tuple[str, str]
) -> None:
    chain = read(name, changed(name, field, to=...))
    assert (chain.id, chain.stratum) == found


# Error types at a step of PARC -> sound, inherited
@table(
    "kinds, sound, inherited",
    (["Accumulation_Error"], True, True),
    (["Accumulation_Error", "Accumulation_Error"], True, True),
    (["Accumulation_Error", "Other"], False, False),
    (["Missing_Steps"], False, False),
    (["Logical_Inconsistency"], False, False),
    ([], False, False),  # an error not marked as inherited
)
def test_inherited_errors_are_sound(kinds: list[str], sound: bool, inherited: bool) -> None:
    level = {"step_number": 3, "has_error": True, "errors": [{"error_type": k} for k in kinds]}
    chain = read("parc", changed("parc", *STEP_LEVEL, 2, to=level))
    assert chain.labels[2] is sound
    assert (2 in chain.inherited) is inherited


def test_an_inherited_error_is_no_first_error() -> None:
    path = (*STEP_LEVEL, 1, "errors")
    chain = read("parc", changed("parc", *path, to=[{"error_type": "Accumulation_Error"}]))
    assert (chain.first_error, chain.labels, chain.inherited) == (None, (True,) * 3, {1, 2})


def test_newer_copies_of_parc_have_no_step_0() -> None:
    assert read("parc", changed("parc", *PREMISES, 0, to=...)) == CHAINS["parc"]


@table(
    "response",
    {"steps": [A, B, C], "process_correctness": [1.0, -1, 0]},
    json.dumps({"steps": [A, B, C], "process_correctness": [1, -1, 0]}),
    repr({"steps": (A, B, C), "process_correctness": (1, -1, 0)}),
)
def test_a_response_may_be_the_text_of_an_object(response: Any) -> None:
    row = changed("visualprocessbench", "response", to=response)
    assert read("visualprocessbench", row) == CHAINS["visualprocessbench"]


@table(
    "name, value, images",
    ("visualprocessbench", "images/nuts.png", ("images/nuts.png",)),
    ("visualprocessbench", [], ()),
    ("projudgebench", None, ()),
    ("projudgebench", {"a": None}, ()),
    ("projudgebench", {"a": "x", "b": "y"}, ("x", "y")),
)
def test_names_of_images(name: str, value: Any, images: tuple[str, ...]) -> None:
    assert read(name, changed(name, LAYOUT_NAMED[name].images, to=value)).images == images


@table(
    "label, stratum", ("True", "entailed"), ("False", "contradicted"), ("Uncertain", "unsupported")
)
def test_strata_of_folio(label: str, stratum: str) -> None:
    assert read("folio", changed("folio", "label", to=label)).stratum == stratum


def test_a_person_wrote_a_step_of_prm800k() -> None:
    """It has no rating: it is on the path, is never asked about, and may be the first error."""
    first, second = ROWS["prm800k"]["label"]["steps"]
    for written in ({"text": "Half is 4.", "rating": None}, "Half is 4."):
        steps = [{**first, "chosen_completion": None, "human_completion": written}, second]
        chain = read("prm800k", changed("prm800k", "label", "steps", to=steps))
        assert chain.steps == ("Half is 4.", B, "Nuts.", A, "4 and 3 make 7.", "4 and 3?")
        assert chain.labels == (None, False, True, True, True, None)
        assert chain.premises == ((), ("Half is 4.",), (), (), ("Half is 4.",), ("Half is 4.",))
        assert (chain.path, chain.places) == ((0, 1), (0, 1, 0, 0, 1, 1))
        assert (chain.first_error, chain.located) == (1, False)


def test_a_solution_of_prm800k_without_an_error() -> None:
    chain = read("prm800k", changed("prm800k", "label", "steps", 1, "chosen_completion", to=0))
    assert chain.steps == (A, "4 and 3 make 7.", "Nuts.", B, "4 and 3?")
    assert (chain.first_error, chain.located) == (None, True)
    assert chain.has_error  # in an alternative completion


def test_the_draft_shows_which_wrong_step_ended_the_chain() -> None:
    wrong = [{"text": "No.", "rating": -1}, {"text": B, "rating": -1}]
    row = changed("prm800k", "label", "steps", 1, "completions", to=wrong)
    assert read("prm800k", row).steps == (A, "No.", "Nuts.", B)
    row["question"]["pre_generated_steps"] = [A, B]
    assert read("prm800k", row).steps == (A, B, "Nuts.", "No.")


@table("completions", [], [{"text": "Hm", "rating": None}], [{"text": "Yes", "rating": 1}])
def test_a_chain_that_ends_early_without_an_error_locates_none(completions: list[Any]) -> None:
    row = changed("prm800k", "label", "steps", 1, "completions", to=completions)
    chain = read("prm800k", row)
    assert (chain.first_error, chain.located) == (None, False)


def test_texts_stay_as_they_are_without_lone_surrogates() -> None:
    odd = ["  two  ", "", "<b>&amp;</b>", "\x1b[31m", "İ ſ ٣", "a\ud800"]
    chain = read("processbench", {**ROWS["processbench"], "problem": ASKED, "steps": odd})
    assert chain.steps == (*odd[:-1], "a?")


# --- hostile rows


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
def test_long_texts_are_read_or_refused(name: str, path: tuple[Any, ...], text: str) -> None:
    with contextlib.suppress(RowError, LeftOut):
        read(name, changed(name, *path, to=text))


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


def check(name: str, row: dict[str, Any]) -> None:
    """Reads a row with a layout, and checks the invariants of its chains."""
    try:
        chain = LAYOUT_NAMED[name].read(Fields(row, "nuts", 4))
    except (RowError, LeftOut):
        return
    assert len(chain.labels) == len(chain.steps) > 0
    assert chain.premises is None or len(chain.premises) == len(chain.steps)
    wrong = [at for at in chain.on_path if chain.labels[at] is False]
    assert chain.first_error == (chain.place(wrong[0]) if wrong else None)
    assert all(chain.labels[at] for at in chain.inherited)
    for text in (chain.id, chain.context, *chain.steps):
        text.encode()


@given(st.dictionaries(st.sampled_from(FIELDS) | TEXTS, VALUES, max_size=12))
def test_any_object_is_read_or_refused(row: dict[str, Any]) -> None:
    find_layout(row)
    for name in ROWS:
        check(name, row)


@given(st.data())
def test_changed_rows_are_read_or_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(ROWS)))
    row = copy.deepcopy(ROWS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        _change(data, row)
    check(name, row)


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
