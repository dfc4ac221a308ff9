"""Sets in which annotators marked only the first wrong step of a solution."""

from __future__ import annotations

from collections.abc import Iterator

from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Anchor, Layout
from lmms_rpts.validation.layouts.chains import (
    error_from_one,
    join_numbered,
    located_chain,
    text_or,
)
from lmms_rpts.validation.rows import (
    LeftOut,
    Row,
    RowError,
    as_list,
    as_texts,
    as_whole,
    bounded,
    step_number,
)

_CORRECT_OR_WRONG = {"correct": True, "wrong": False}
_CORRECT_OR_INCORRECT = {"correct": True, "incorrect": False}


def _read_processbench(row: Row) -> Iterator[LabelledChain]:
    steps = row.texts("steps")
    label = row.whole("label")
    yield located_chain(
        row,
        context=row.text("problem"),
        steps=steps,
        error=None if label == -1 else step_number(label, len(steps), "label", base=0),
        stratum=row.stem,
        id=row.identity("id"),
    )


PROCESSBENCH = Layout(
    name="processbench",
    title="ProcessBench (arXiv 2412.06559)",
    fields=frozenset({"problem", "steps", "label"}),
    read=_read_processbench,
    labels="Three or more experts marked the first wrong step. Sound: the steps before it, and "
    "all steps of a solution without errors.",
    licence="Apache-2.0",
    source="git clone https://github.com/ljxzs-jjlzs/ProcessBench "
    "(a copy of https://huggingface.co/datasets/Qwen/ProcessBench)",
    path="code/dataset",
)


def _read_bigbench_mistake(row: Row) -> Iterator[LabelledChain]:
    steps = row.texts("steps")
    if "mistake_index" not in row.value:
        raise RowError("mistake_index", "is missing")
    marked = row.get("mistake_index")
    error = None
    if marked is not None:
        number = as_whole(marked, "mistake_index")
        error = step_number(number, len(steps), "mistake_index", base=0)
    yield located_chain(row, context=row.text("input"), steps=steps, error=error, stratum=row.stem)


_BBM = "Table 4 of arXiv 2311.08516"

BIGBENCH_MISTAKE = Layout(
    name="bigbench_mistake",
    title="BIG-Bench Mistake (arXiv 2311.08516)",
    fields=frozenset({"input", "steps", "mistake_index"}),
    read=_read_bigbench_mistake,
    labels="Three or more human annotators marked the first mistake, by majority (Dyck "
    "languages: mostly a program). Sound: the steps before it, and all steps of a chain "
    "without a mark.",
    licence="Apache-2.0",
    source="git clone https://github.com/WHGTyen/BIG-Bench-Mistake",
    path=".",
    anchors=(
        Anchor("GPT-4, asked step by step", "accuracy of location", 0.5287, _BBM),
        Anchor("GPT-4, asked once per chain", "accuracy of location", 0.3980, _BBM),
        Anchor("GPT-4, chain of thought", "accuracy of location", 0.4340, _BBM),
    ),
)


def _read_mr_gsm8k(row: Row) -> Iterator[LabelledChain]:
    kind = row.text("question_type")
    if kind == "POT":
        raise LeftOut("the solution is a program")
    steps = row.texts("model_output_steps")
    correct = row.choice("model_output_solution_correctness", _CORRECT_OR_WRONG)
    name = "model_output_solution_first_error_step"
    yield located_chain(
        row,
        context=row.text("question"),
        steps=steps,
        error=error_from_one(row, name, len(steps), correct=correct),
        stratum=kind,
        id=row.identity("uuid"),
    )


_MR_GSM8K = "README of dvlab-research/MR-GSM8K"

MR_GSM8K = Layout(
    name="mr_gsm8k",
    title="MR-GSM8K (arXiv 2312.17080)",
    fields=frozenset({"question", "question_type", "model_output_steps"}),
    read=_read_mr_gsm8k,
    labels="Human annotators marked the first wrong step. Sound: the steps before it, and all "
    "steps of a correct solution. Programs (POT) are left out.",
    licence="MIT",
    source="git clone https://github.com/dvlab-research/MR-GSM8K",
    path="dataset",
    anchors=(
        Anchor("GPT-4-Turbo, no examples", "MCC", 0.633, _MR_GSM8K),
        Anchor("GPT-4-Turbo, no examples", "accuracy of the step", 0.488, _MR_GSM8K),
        Anchor("GPT-4-Turbo, no examples", "MR-Score", 0.505, _MR_GSM8K),
        Anchor("GPT-4-Turbo, three examples", "MR-Score", 0.530, _MR_GSM8K),
    ),
)


def _read_mr_ben(row: Row) -> Iterator[LabelledChain]:
    subject = row.text("Subject")
    if subject == "coding" or isinstance(row.get("Model_Solution_Steps"), str):
        raise LeftOut("the first error is a line of code, not a step")
    name = "Model_Solution_Steps"
    # The error is given by the number written in the step, "Step 2: ...", not by its index in the
    # list: there are lines without a number, some of them blank, between the steps.
    steps = join_numbered(row.texts(name), name)
    correct = row.choice("Model_Solution_Correctness", _CORRECT_OR_INCORRECT)
    options = f"\n{row.text('Options')}" if "Options" in row else ""
    yield located_chain(
        row,
        context=row.text("Question") + options,
        steps=steps,
        error=error_from_one(row, "Model_Solution_First_Error_Step", len(steps), correct=correct),
        stratum=subject,
        question=row.key or row.identity("Question_UUID"),
    )


MR_BEN = Layout(
    name="mr_ben",
    title="MR-Ben (arXiv 2406.13975)",
    fields=frozenset({"Question", "Model_Solution_Steps", "Model_Solution_First_Error_Step"}),
    read=_read_mr_ben,
    labels="Human annotators marked the first wrong step by its number; lines without a number"
    " belong to the step before them. Sound: the steps before the error, and all steps of"
    " a correct solution. Coding is left out: its labels mark lines of code.",
    licence="MIT",
    source="git clone https://github.com/dvlab-research/Mr-Ben",
    path="data",
)


def _read_stepverify(row: Row) -> Iterator[LabelledChain]:
    steps = row.texts("student_incorrect_solution")
    error = step_number(row.whole("incorrect_index"), len(steps), "incorrect_index", base=0)
    yield located_chain(
        row,
        context=row.text("problem"),
        steps=steps,
        error=error,
        stratum=text_or(row, "error_category", row.stem),
    )


STEPVERIFY = Layout(
    name="stepverify",
    title="Stepwise verification of tutors (arXiv 2407.09136)",
    fields=frozenset({"problem", "student_incorrect_solution", "incorrect_index"}),
    read=_read_stepverify,
    labels="Teachers marked the first wrong step of students' solutions, all of which are "
    "wrong. Sound: the steps before it. Some errors are steps after the right answer.",
    licence="CC BY-SA 4.0",
    source="git clone https://github.com/eth-lre/verify-then-generate",
    path="dataset/dataset.json",
)


def _read_reasoneval(row: Row) -> Iterator[LabelledChain]:
    name = "model_output_step_format"
    parts = bounded(as_list(row.items(name), name), name)
    steps = tuple("\n".join(as_texts(part, f"{name}[{at}]")) for at, part in enumerate(parts))
    correct = row.choice("model_output_solution_correctness", _CORRECT_OR_WRONG)
    error = "model_output_solution_first_error_step"
    yield located_chain(
        row,
        context=row.text("question"),
        steps=as_texts(steps, name),
        error=error_from_one(row, error, len(steps), correct=correct),
        stratum=text_or(row, "generator", row.stem),
    )


_REASONEVAL = "score files of GAIR-NLP/ReasonEval, recomputed"

REASONEVAL = Layout(
    name="reasoneval",
    title="MR-MATH of ReasonEval, invalid steps (arXiv 2404.05692)",
    fields=frozenset({"question", "model_output_step_format", "model_output_solution_correctness"}),
    read=_read_reasoneval,
    labels="Human annotators marked the first wrong step of solutions that all reach the right"
    " answer. Sound: the steps before it, and all steps of a correct solution.",
    licence="none stated",
    source="git clone https://github.com/GAIR-NLP/ReasonEval",
    path="dataset/mr-math_invalid_errors.json",
    anchors=(
        Anchor("ReasonEval, Llemma-34B", "AUC over steps", 0.928, _REASONEVAL),
        Anchor("ReasonEval, Llemma-34B", "macro F1 over steps", 0.775, _REASONEVAL),
        Anchor("ReasonEval, WizardMath-7B-v1.1", "AUC over steps", 0.895, _REASONEVAL),
        Anchor("ReasonEval, WizardMath-7B-v1.1", "macro F1 over steps", 0.739, _REASONEVAL),
        Anchor("Math-Shepherd, Mistral-7B", "AUC over steps", 0.772, _REASONEVAL),
        Anchor("Math-Shepherd, Mistral-7B", "macro F1 over steps", 0.600, _REASONEVAL),
        Anchor("GPT-4", "first-error F1", 0.528, _REASONEVAL),
        Anchor("GPT-3.5-Turbo", "first-error F1", 0.285, _REASONEVAL),
    ),
)
