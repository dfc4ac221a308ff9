"""A made-up row of each layout, with the publishers' fields, and the resulting chain."""

from __future__ import annotations

import copy
from typing import Any

from lmms_rpts.base.fields import Fields
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layouts import LAYOUTS

A, B, C = "Half of 8 is 4.", "4 and 3 make 8.", "So there are 8."
ASKED = "Ann has half of 8 nuts and finds 3. How many has she?"

ROWS: dict[str, dict[str, Any]] = {
    "processbench": {
        "id": "nuts-0",
        "generator": "a model",
        "problem": ASKED,
        "steps": [A, B, C],
        "final_answer_correct": False,
        "label": 1,
    },
    "bigbench_mistake": {
        "input": ASKED,
        "steps": [A, B, C],
        "target": "7",
        "answer": "8",
        "mistake_index": 1,
    },
    "mr_gsm8k": {
        "uuid": "nuts",
        "question": ASKED,
        "model_output_steps": [A, B, C],
        "model_output_solution_correctness": "wrong",
        "model_output_solution_first_error_step": 2,
        "question_type": "original",
    },
    "mr_ben": {
        "Question_UUID": "nuts",
        "Subject": "college_botany",
        "Question": ASKED,
        "Options": "A: 7 \nB: 8 ",
        "Sampled_Model": "a model",
        "Model_Solution_Steps": [f"Step 1: {A}", "", f"Step 2: {B}", "- added", "Solution: B"],
        "Model_Solution_Correctness": "incorrect",
        "Model_Solution_First_Error_Step": "2",
    },
    "stepverify": {
        "problem": ASKED,
        "student_incorrect_solution": [A, B, C],
        "incorrect_index": 1,
        "incorrect_step": B,
        "error_category": "Calculation",
    },
    "reasoneval": {
        "id": 3,
        "question": ASKED,
        "generator": "a model",
        "model_output_step_format": [[A], [B, "(added)"], [C]],
        "model_output_answer_correctness": "correct",
        "model_output_solution_correctness": "wrong",
        "model_output_solution_first_error_step": 2,
    },
    "parc": {
        "question": ASKED,
        "steps": [A, B, C],
        "premise_annotation": {
            "steps": [
                {"step_number": 0, "original_step": ASKED, "premises": []},
                {"step_number": 1, "original_step": A, "premises": [[0, "Half of 8 nuts"]]},
                {
                    "step_number": 2,
                    "original_step": B,
                    "premises": [[1, "It is 4"], [0, "She finds 3"], [1, "4"]],
                },
                {"step_number": 3, "original_step": C, "premises": [[2, "The sum is 8"]]},
            ]
        },
        "error_annotation": {
            "error_annotations": {
                "step_level": [
                    {"step_number": 1, "has_error": False, "errors": []},
                    {
                        "step_number": 2,
                        "has_error": True,
                        "errors": [
                            {"error_type": "Accumulation_Error", "error_description": ""},
                            {"error_type": "Mathematical_Error", "error_description": "7"},
                        ],
                    },
                    {
                        "step_number": 3,
                        "has_error": True,
                        "errors": [{"error_type": "Accumulation_Error"}],
                    },
                ]
            }
        },
    },
    "prmbench": {
        "original_question": "Ann's nuts",
        "modified_question": ASKED,
        "original_process": ["4 and 3 make 7."],
        "modified_process": [A, B, C],
        "modified_steps": [2],
        "error_steps": [3, 2],
        "idx": "circular_nuts_0",
        "question": ASKED,
        "classification": "circular",
    },
    "deltabench": {
        "id": "nuts",
        "task_l1": "math",
        "question": ASKED,
        "sections_content": f"section1: {A}\n\n\nsection2: {B}\nsection1: no\n\n\nsection3: {C}\n\n"
        "section4: Well.\n\n\nsection5: Done.",
        "reason_error_section_numbers": [2],
        "reason_unuseful_section_numbers": [4],
    },
    "visualprocessbench": {
        "image": ["images/nuts.png"],
        "question": ASKED,
        "answer": "7",
        "response": {"steps": [A, B, C], "process_correctness": [1, -1, 0]},
        "policy_model": "a model",
        "data_source": "NutVerse",
    },
    "vlrmbench": {
        "id": "abc",
        "image": ["nuts/1.png", "nuts/2.png"],
        "question": ASKED,
        "step_list": ["STEP1: Half of 8 is 4.", "STEP2: 4 and 3 make 7.", "STEP3: So 7."],
        "reasoning_error": f"STEP1:  {A}\nSTEP2:  {B}\nSTEP7: no\nSTEP3:  {C}",
        "task_gt": [0, 1, 1],
        "category": "detail_error",
    },
    "projudgebench": {
        "id": "s-1",
        "subject": "botany",
        "data_type": "multi_image",
        "question": ASKED,
        "image_paths": {"image_1": "nuts.png", "image_2": None},
        "student_solution": f"{A} {B} {C}",
        "process_evaluation": [
            [A, "1", "", ""],
            [B, "0", "Calculation Error", "It is 7."],
            [C, "1", "", ""],
        ],
    },
    "folio": {
        "premises": ["All nuts float.", "This is a nut."],
        "premises-FOL": [],
        "conclusion": "This floats.",
        "label": "True",
    },
    "prm800k": {
        "labeler": "someone",
        "generation": None,
        "is_quality_control_question": False,
        "is_initial_screening_question": False,
        "question": {"problem": ASKED, "ground_truth_answer": "7"},
        "label": {
            "steps": [
                {
                    "completions": [
                        {"text": "Nuts.", "rating": 0, "flagged": False},
                        {"text": A, "rating": 1, "flagged": False},
                    ],
                    "human_completion": None,
                    "chosen_completion": 1,
                },
                {
                    "completions": [
                        {"text": "4 and 3 make 7.", "rating": 1, "flagged": None},
                        {"text": B, "rating": -1, "flagged": None},
                        {"text": "4 and 3?", "rating": None, "flagged": None},
                    ],
                    "human_completion": None,
                    "chosen_completion": None,
                },
            ],
            "finish_reason": "found_error",
        },
    },
}


def chain(**differences: Any) -> LabelledChain:
    """The chain of most rows: the second of three steps is the first wrong one."""
    usual: dict[str, Any] = {
        "id": "nuts:4",
        "question": ASKED,
        "stratum": "nuts",
        "context": ASKED,
        "steps": (A, B, C),
        "labels": (True, False, None),
        "first_error": 1,
    }
    return LabelledChain(**usual | differences)


CHAINS: dict[str, LabelledChain] = {
    "processbench": chain(id="nuts-0"),
    "bigbench_mistake": chain(),
    "mr_gsm8k": chain(id="nuts", stratum="original"),
    "mr_ben": chain(
        question="nuts",
        stratum="college_botany",
        context=f"{ASKED}\nA: 7 \nB: 8 ",
        steps=(f"Step 1: {A}\n", f"Step 2: {B}\n- added\nSolution: B"),
        labels=(True, False),
    ),
    "stepverify": chain(stratum="Calculation"),
    "reasoneval": chain(stratum="a model", steps=(A, f"{B}\n(added)", C)),
    "parc": chain(
        labels=(True, False, True),
        premises=(("Half of 8 nuts",), (A, "She finds 3"), (B,)),
        inherited=frozenset({2}),
    ),
    "prmbench": chain(
        id="circular:nuts_0", question="nuts_0", stratum="circular", labels=(True, False, False)
    ),
    "deltabench": chain(
        id="nuts",
        stratum="math",
        steps=(
            f"section1: {A}",
            f"section2: {B}\nsection1: no",
            f"section3: {C}",
            "section4: Well.",
            "section5: Done.",
        ),
        labels=(True, False, True, None, None),
    ),
    "visualprocessbench": chain(
        question=f"images/nuts.png\n{ASKED}", stratum="NutVerse", images=("images/nuts.png",)
    ),
    "vlrmbench": chain(
        id="detail_error:abc",
        question=f"nuts/1.png\nnuts/2.png\n{ASKED}",
        stratum="detail_error",
        steps=(f"STEP1:  {A}", f"STEP2:  {B}\nSTEP7: no", f"STEP3:  {C}"),
        labels=(True, False, False),
        images=("nuts/1.png", "nuts/2.png"),
    ),
    "projudgebench": chain(
        question=f"nuts.png\n{ASKED}",
        stratum="botany",
        labels=(True, False, True),
        images=("nuts.png",),
    ),
    "folio": chain(
        question="All nuts float.\nThis is a nut.",
        stratum="entailed",
        context="",
        steps=("This floats.",),
        labels=(True,),
        premises=(("All nuts float.", "This is a nut."),),
        first_error=None,
        located=False,
    ),
    "prm800k": chain(
        steps=(A, B, "Nuts.", "4 and 3 make 7.", "4 and 3?"),
        labels=(True, False, True, True, None),
        premises=((), (A,), (), (A,), (A,)),
        places=(0, 1, 0, 1, 1),
        path=(0, 1),
    ),
}

LAYOUT_NAMED = {layout.name: layout for layout in LAYOUTS}


def changed(name: str, *path: Any, to: Any) -> dict[str, Any]:
    """The made-up row of a layout with one value changed; ``...`` removes it."""
    copied = copy.deepcopy(ROWS[name])
    inner: Any = copied
    for key in path[:-1]:
        inner = inner[key]
    if to is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return copied


def read(name: str, row: dict[str, Any]) -> LabelledChain:
    """The only chain of a row that is the fifth in ``nuts.json``."""
    return LAYOUT_NAMED[name].read(Fields(row, "nuts", 4))
