"""Layouts of published step labels: made-up rows, and the resulting chains."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lmms_rpts.validation.layouts import LAYOUTS, find_layout, layout_named
from lmms_rpts.validation.layouts.chains import join_numbered
from lmms_rpts.validation.rows import LeftOut, Row, RowError
from tests.support.tables import table
from tests.validation.made_up import ASKED, CHAINS, ROWS, A, B, C, changed, read

NAMES = [layout.name for layout in LAYOUTS]


def test_each_layout_has_a_made_up_row() -> None:
    assert len(set(NAMES)) == len(NAMES) == 15
    assert set(ROWS) == set(CHAINS) == set(NAMES) - {"ratings"}  # has its own tests


@table("name", *ROWS)
def test_a_row_is_the_chain_worked_by_hand(name: str) -> None:
    assert read(name, ROWS[name]) == CHAINS[name]


@table("name", *ROWS)
def test_a_row_fits_its_own_layout_and_no_other(name: str) -> None:
    found = [layout.name for layout in LAYOUTS if layout.fields <= ROWS[name].keys()]
    assert found == [name]
    layout = find_layout(ROWS[name])
    assert layout is not None
    assert layout.name == name


def test_what_fits_none_or_two_layouts_is_of_no_layout() -> None:
    assert find_layout({}) is None
    assert find_layout({"question", "steps"}) is None
    assert find_layout({**ROWS["folio"], **ROWS["prmbench"]}) is None


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert layout_named("parc").name == "parc"
    with pytest.raises(LookupError, match="Did you mean processbench"):
        layout_named("ProcesBench")
    with pytest.raises(LookupError, match="Known sets: parc, processbench"):
        layout_named("zzz")


@table("name", *ROWS)
def test_a_layout_says_where_it_is_from(name: str) -> None:
    layout = layout_named(name)
    assert "arXiv" in layout.title
    assert layout.labels.endswith(".")
    assert "https://" in layout.source
    assert layout.licence
    assert all(0 < anchor.value < 1 and anchor.source for anchor in layout.anchors)
    assert layout.images == bool(CHAINS[name].images)


# name, path of the changed value, value -> labels, first error
@table(
    "name, path, value, labels, error",
    ("processbench", ("label",), -1, (True, True, True), None),
    ("processbench", ("label",), 0, (False, None, None), 0),
    ("processbench", ("label",), 2, (True, True, False), 2),
    ("processbench", ("label",), 2.0, (True, True, False), 2),  # a column with gaps
    ("bigbench_mistake", ("mistake_index",), None, (True, True, True), None),
    ("bigbench_mistake", ("mistake_index",), 0, (False, None, None), 0),
    ("bigbench_mistake", ("mistake_index",), 2, (True, True, False), 2),
    ("mr_gsm8k", ("model_output_solution_first_error_step",), 1, (False, None, None), 0),
    ("mr_gsm8k", ("model_output_solution_first_error_step",), "3", (True, True, False), 2),
    ("mr_ben", ("Model_Solution_First_Error_Step",), "1", (False, None), 0),
    ("stepverify", ("incorrect_index",), 0, (False, None, None), 0),
    ("stepverify", ("incorrect_index",), 2, (True, True, False), 2),
    ("reasoneval", ("model_output_solution_first_error_step",), 1, (False, None, None), 0),
    ("reasoneval", ("model_output_solution_first_error_step",), 3, (True, True, False), 2),
    ("prmbench", ("error_steps",), [], (True, True, True), None),
    ("prmbench", ("error_steps",), [3], (True, True, False), 2),
    ("prmbench", ("error_steps",), [1, 1, 3], (False, True, False), 0),
    ("deltabench", ("reason_error_section_numbers",), [5], (True, True, True, None, False), 4),
    ("deltabench", ("reason_error_section_numbers",), "[1]", (False, True, True, None, None), 0),
    ("deltabench", ("reason_error_section_numbers",), [4], (True, True, True, False, None), 3),
    ("deltabench", ("reason_error_section_numbers",), [], (True, True, True, None, None), None),
    ("deltabench", ("reason_unuseful_section_numbers",), [], (True, False, *[None] * 3), 1),
    ("deltabench", ("reason_unuseful_section_numbers",), ..., (True, False, *[None] * 3), 1),
    (
        "visualprocessbench",
        ("response", "process_correctness"),
        [0, 1, 1],
        (None, True, True),
        None,
    ),
    (
        "visualprocessbench",
        ("response", "process_correctness"),
        [-1, 1, -1],
        (False, True, False),
        0,
    ),
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
        assert chain.first_error is None
        assert set(chain.labels) == {True}
        assert chain.located


@table(
    "name, path, value, reason",
    ("mr_gsm8k", ("question_type",), "POT", "a program"),
    ("mr_ben", ("Subject",), "coding", "a line of code"),
    ("mr_ben", ("Model_Solution_Steps",), "def nuts():", "a line of code"),
    ("mr_ben", ("Model_Solution_Steps",), ["Step 1: a", "Step 3: b"], "not numbered 1, 2, 3"),
    ("mr_ben", ("Model_Solution_Steps",), ["Step 1: a", "Step 1: b"], "not numbered 1, 2, 3"),
    ("prmbench", ("error_steps",), [2, 4], "a marked step does not exist"),
    ("vlrmbench", ("category",), "redundant_det", "not to find wrong steps"),
    ("prm800k", ("is_quality_control_question",), True, "quality-control question"),
    ("prm800k", ("is_initial_screening_question",), True, "quality-control question"),
    ("prm800k", ("label", "finish_reason"), "bad_problem", "not finished"),
    ("prm800k", ("label", "finish_reason"), "give_up", "not finished"),
)
def test_rows_that_can_not_be_asked(
    name: str, path: tuple[Any, ...], value: Any, reason: str
) -> None:
    with pytest.raises(LeftOut, match=reason):
        read(name, changed(name, *path, to=value))


def test_sections_without_a_mark_are_left_out() -> None:
    row = {**ROWS["deltabench"], "reason_error_section_numbers": []}
    with pytest.raises(LeftOut, match="how far the annotators read"):
        read("deltabench", {**row, "reason_unuseful_section_numbers": []})


def test_only_useless_sections_locate_no_error() -> None:
    assert not read(
        "deltabench", changed("deltabench", "reason_error_section_numbers", to=[])
    ).located


@table(
    "sections",
    [{"content": A}, {"section": B, "content": B}, C],
    [{"section": A}, B, {"content": C}],
)
def test_sections_in_a_list(sections: list[Any]) -> None:
    row = {**ROWS["deltabench"], "section_content": sections}
    del row["sections_content"], row["reason_unuseful_section_numbers"]
    chain = read("deltabench", row)
    assert chain.steps == (A, B, C)
    assert chain.labels == (True, False, None)


# Lines of a solution -> its steps
@table(
    "lines, steps",
    (["a", "", "b"], ("a", "", "b")),  # no line has a number: each is a step
    (["Step 1: a", "Step 2: b"], ("Step 1: a", "Step 2: b")),
    (["Here:", "Step 1: a", "", "Step 2: b", "So: A"], ("Here:\nStep 1: a\n", "Step 2: b\nSo: A")),
    (["**Step 1:** a", "step 2. b"], ("**Step 1:** a", "step 2. b")),
    (["Step 1: a", "Step 2 says so"], ("Step 1: a\nStep 2 says so",)),
    (["Step ١: a"], ("Step ١: a",)),
)
def test_lines_without_a_number_belong_to_the_step_before(
    lines: list[str], steps: tuple[str, ...]
) -> None:
    assert join_numbered(lines, "steps") == steps


def test_solutions_of_one_question_hang_together() -> None:
    (chain,) = layout_named("mr_ben").read(Row(ROWS["mr_ben"], "botany", 0, "the key"))
    assert chain.question == "the key"
    other = {**ROWS["prmbench"], "classification": "deception", "idx": "deception_nuts_0"}
    assert read("prmbench", other).question == CHAINS["prmbench"].question
    assert read("prmbench", other).id != CHAINS["prmbench"].id
    nameless = read("prmbench", changed("prmbench", "idx", to=...))
    assert (nameless.id, nameless.question) == ("nuts:4", "Ann's nuts")


# Error types at a step of PARC -> sound, inherited
@table(
    "kinds, sound, inherited",
    (["Accumulation_Error"], True, True),
    (["Accumulation_Error", "Accumulation_Error"], True, True),
    (["Accumulation_Error", "Other"], False, False),
    (["Other"], False, False),
    (["Missing_Steps"], False, False),
    (["Logical_Inconsistency"], False, False),
    ([], False, False),  # an error not marked as inherited
)
def test_inherited_errors_are_sound(kinds: list[str], sound: bool, inherited: bool) -> None:
    level = {"step_number": 3, "has_error": True, "errors": [{"error_type": k} for k in kinds]}
    path = ("error_annotation", "error_annotations", "step_level", 2)
    chain = read("parc", changed("parc", *path, to=level))
    assert chain.labels[2] is sound
    assert (2 in chain.inherited) is inherited


def test_an_inherited_error_is_no_first_error() -> None:
    path = ("error_annotation", "error_annotations", "step_level", 1, "errors")
    chain = read("parc", changed("parc", *path, to=[{"error_type": "Accumulation_Error"}]))
    assert (chain.first_error, chain.labels, chain.inherited) == (None, (True,) * 3, {1, 2})


def test_newer_copies_of_parc_have_no_step_0() -> None:
    assert read("parc", changed("parc", "premise_annotation", "steps", 0, to=...)) == CHAINS["parc"]


@table(
    "response",
    {"steps": [A, B, C], "process_correctness": [1.0, -1, 0]},
    json.dumps({"steps": [A, B, C], "process_correctness": [1, -1, 0]}),
    str({"steps": [A, B, C], "process_correctness": [1, -1, 0]}),
    repr({"steps": (A, B, C), "process_correctness": (1, -1, 0)}),
)
def test_a_response_may_be_the_text_of_an_object(response: Any) -> None:
    row = changed("visualprocessbench", "response", to=response)
    assert read("visualprocessbench", row) == CHAINS["visualprocessbench"]


def test_one_picture_may_be_a_text() -> None:
    row = changed("visualprocessbench", "image", to="images/nuts.png")
    assert read("visualprocessbench", row) == CHAINS["visualprocessbench"]


@table("paths, images", (None, ()), ({}, ()), ({"a": None}, ()), ({"a": "x", "b": "y"}, ("x", "y")))
def test_paths_of_pictures(paths: Any, images: tuple[str, ...]) -> None:
    assert read("projudgebench", changed("projudgebench", "image_paths", to=paths)).images == images


@table(
    "label, stratum", ("True", "entailed"), ("False", "contradicted"), ("Uncertain", "unsupported")
)
def test_strata_of_folio(label: str, stratum: str) -> None:
    chain = read("folio", changed("folio", "label", to=label))
    assert chain.stratum == stratum
    assert not chain.located


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
    row = changed("prm800k", "label", "steps", 1, "chosen_completion", to=0)
    chain = read("prm800k", row)
    assert chain.steps == (A, "4 and 3 make 7.", "Nuts.", B, "4 and 3?")
    assert (chain.first_error, chain.located) == (None, True)
    assert chain.has_error  # in an alternative completion


def test_the_draft_tells_which_wrong_step_ended_the_chain() -> None:
    wrong = [{"text": "No.", "rating": -1}, {"text": B, "rating": -1}]
    row = changed("prm800k", "label", "steps", 1, "completions", to=wrong)
    assert read("prm800k", row).steps == (A, "No.", "Nuts.", B)
    row["question"]["pre_generated_steps"] = [A, B]
    assert read("prm800k", row).steps == (A, B, "Nuts.", "No.")


@table("completions", [], [{"text": "Hm", "rating": None}], [{"text": "Yes", "rating": 1}])
def test_a_chain_that_breaks_off_without_an_error_locates_none(completions: list[Any]) -> None:
    row = changed("prm800k", "label", "steps", 1, "completions", to=completions)
    chain = read("prm800k", row)
    assert (chain.first_error, chain.located) == (None, False)


def test_prm800k_without_a_rating_is_left_out() -> None:
    steps = [{"completions": [{"text": A, "rating": None}], "chosen_completion": 0}]
    with pytest.raises(LeftOut, match="no step is rated"):
        read("prm800k", changed("prm800k", "label", "steps", to=steps))


def test_texts_stay_as_they_are() -> None:
    odd = ["  two  ", "", "<b>&amp;</b>", "\x1b[31m", "İ ſ ٣"]
    chain = read("processbench", {**ROWS["processbench"], "problem": ASKED, "steps": odd})
    assert chain.steps == tuple(odd)


def test_lone_surrogates_are_replaced() -> None:
    chain = read("processbench", changed("processbench", "steps", to=["a\ud800", "b", "c"]))
    assert chain.steps[0] == "a?"


def test_an_out_of_range_number_names_the_range() -> None:
    with pytest.raises(RowError, match="numbered from 1 to 3"):
        read("prmbench", changed("prmbench", "error_steps", to=[0]))
