"""The table of the layouts of published step labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lmms_rpts.runs.rating_file import FORMAT
from lmms_rpts.runs.validity import PublishedFigure
from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain, Labels
from lmms_rpts.validation.fields import (
    Fields,
    LeftOut,
    RowError,
    any_list,
    choice,
    encoded,
    filled,
    identity,
    list_of,
    step_number,
    text,
    texts,
    whole,
)
from lmms_rpts.validation.layout import Layout, every_step, first_error
from lmms_rpts.validation.parc import parc_chains
from lmms_rpts.validation.prm800k import prm800k_chains
from lmms_rpts.validation.ratings import merge_ratings, rated_chains


def _cut(written: str, mark: re.Pattern[str], field: str) -> tuple[str, ...]:
    """Split a text into steps, before each mark that has the next number.

    Text before the first mark belongs to the first step. Steps keep their marks, but not the
    white space around the step.

    Args:
        mark: a pattern whose first group is the number.
    """
    starts: list[int] = []
    for found in mark.finditer(written):
        if int(found[1]) == len(starts) + 1:
            starts.append(found.start())
    if not starts:
        raise RowError(field, "has no numbered steps")
    bounds = [0, *starts[1:], len(written)]
    return tuple(written[a:b].strip() for a, b in itertools.pairwise(bounds))


# "Step 3: ...", as in the solutions of MR-Ben; "**Step 3:** ..." counts, too.
_NUMBERED = re.compile(r"[\s*#]{0,9}step\s{0,3}(\d{1,4})[\s*]{0,3}[:.)]", re.ASCII | re.IGNORECASE)


def _mr_ben_steps(row: Fields) -> tuple[str, ...]:
    """Join lines to steps: a line without a number belongs to the step before it.

    The first error is given by the number written in the step, not by its index in the list:
    ``["Step 1: ...", "", "Step 2: ...", "Solution: A"]`` are two steps. If no line has a number,
    each line is a step.
    """
    lines = row.read("Model_Solution_Steps", texts)
    found = [_NUMBERED.match(line) for line in lines]
    starts = [at for at, match in enumerate(found) if match]
    if not starts:
        return lines
    if [int(match[1]) for match in found if match] != list(range(1, len(starts) + 1)):
        raise LeftOut("the steps are not numbered 1, 2, 3 and so on")
    bounds = [0, *starts[1:], len(lines)]
    joined = ("\n".join(lines[a:b]) for a, b in itertools.pairwise(bounds))
    return tuple(text(each, "Model_Solution_Steps") for each in joined)


def _prmbench_problem(row: Fields) -> str | None:
    """``circular_nuts_0``: the problem nuts_0 in the class circular, one of several."""
    prefix = row.read("classification", filled) + "_"
    found = row.optional("idx", identity, "").removeprefix(prefix)
    return found or None


def _prmbench_labels(row: Fields, steps: int) -> Labels:
    numbers = [whole(each, "error_steps") for each in row.read("error_steps", any_list)]
    # 5 of 138 rows: a model wrote the errors and marked steps that do not exist. Its other numbers
    # may be shifted, too.
    if any(number > steps for number in numbers):
        raise LeftOut("a marked step does not exist")
    wrong = {step_number(each, steps, "error_steps", base=1) for each in numbers}
    return tuple(at not in wrong for at in range(steps))


# "section12: ...", the marks of sections within one text of DeltaBench.
_SECTION = re.compile(r"^[ \t]{0,8}section ?(\d{1,4}) ?:", re.ASCII | re.IGNORECASE | re.MULTILINE)


def _deltabench_steps(row: Fields) -> tuple[str, ...]:
    name = "sections_content" if "section_content" not in row else "section_content"
    if isinstance(row.value.get(name), str):
        return _cut(row.read(name, text), _SECTION, name)

    def section(value: Any, field: str) -> str:
        if isinstance(value, Mapping):
            value = value.get("content", value.get("section"))
        return text(value, field)

    return row.read(name, list_of(section))


def _deltabench_labels(row: Fields, steps: int) -> Labels:
    """Annotators read up to the last section that they marked.

    Later sections have blank labels in 'sections_labeled_info', and the published metric drops a
    judge's verdicts on them.
    """
    marks = []
    for name in ("reason_error_section_numbers", "reason_unuseful_section_numbers"):
        optional = name not in row and name != "reason_error_section_numbers"
        numbers = () if optional else row.read(name, encoded(any_list))
        marks.append({step_number(whole(n, name), steps, name, base=1) for n in numbers})
    wrong, useless = marks
    if not wrong and not useless:
        raise LeftOut("no section is marked, so how far the annotators read is unknown")
    last = max(wrong | useless)
    return tuple(
        None if at > last or at in useless - wrong else at not in wrong for at in range(steps)
    )


_FOLIO = {"True": "entailed", "False": "contradicted", "Uncertain": "unsupported"}


def _folio_chains(row: Fields) -> Iterable[LabelledChain]:
    premises, stratum = row.read("premises", texts), row.read("label", choice(_FOLIO))
    yield LabelledChain(
        id=row.place,
        question="\n".join(premises),
        stratum=stratum,
        context="",
        steps=(row.read("conclusion", filled),),
        labels=(stratum == "entailed",),
        premises=(premises,),
        first_error=None if stratum == "entailed" else 0,
        located=False,
    )


# "STEP12: ...", the marks of steps within one text of VLRMBench.
_STEP = re.compile(r"^[ \t]{0,8}STEP ?(\d{1,4}) ?:", re.ASCII | re.MULTILINE)

# The other files of VLRMBench mark redundant steps, or have no step labels.
_VLRMBENCH_TASKS = (
    "attribute_hallucination",
    "detail_error",
    "existence_hallucination",
    "image_ref_error",
    "location_error",
    "most_confidence",
    "step_correctness",
)


def _judged(item: Any, field: str) -> Sequence[Any]:
    """A step of ProJudgeBench: text, verdict, kind of error, explanation."""
    if len(any_list(item, field)) < 2:
        raise RowError(field, f"should be a list of text, verdict and more, not {shown(item)}")
    return any_list(item, field)


def _named(*names: str) -> Callable[[Fields], str | None]:
    """The ids in the fields, joined; None without the last of them."""

    def read(row: Fields) -> str | None:
        return ":".join(row.read(name, identity) for name in names) if names[-1] in row else None

    return read


def _published(source: str, *figures: tuple[str, str, float]) -> tuple[PublishedFigure, ...]:
    return tuple(
        PublishedFigure(judge=judge, metric=metric, value=value, source=source)
        for judge, metric, value in figures
    )


LAYOUTS: tuple[Layout, ...] = (
    Layout(
        name="parc",
        title="PARC / PERL (arXiv 2502.02362)",
        fields=frozenset({"question", "steps", "premise_annotation", "error_annotation"}),
        meaning="A strong model labelled every step; human annotators checked a tenth. Wrong: the "
        "step itself has an error (logic, mathematics, missing steps, other). A step that "
        "is wrong only because it depends on a wrong one is sound, and counted as "
        "inherited.",
        licence="MIT",
        source="git clone https://github.com/SagnikMukherjee/PARC",
        path="datasets",
        chains=parc_chains,
    ),
    Layout(
        name="processbench",
        title="ProcessBench (arXiv 2412.06559)",
        fields=frozenset({"problem", "steps", "label"}),
        meaning="Three or more experts marked the first wrong step. Sound: the steps before it, "
        "and all steps of a solution without errors.",
        licence="Apache-2.0",
        source="git clone https://github.com/ljxzs-jjlzs/ProcessBench "
        "(a copy of https://huggingface.co/datasets/Qwen/ProcessBench)",
        path="code/dataset",
        context="problem",
        labels=first_error("label", base=0, none=(-1,)),
        id=_named("id"),
    ),
    Layout(
        name="bigbench_mistake",
        title="BIG-Bench Mistake (arXiv 2311.08516)",
        fields=frozenset({"input", "steps", "mistake_index"}),
        meaning="Three or more human annotators marked the first mistake, by majority (Dyck "
        "languages: mostly a program). Sound: the steps before it, and all steps of a chain "
        "without a mark.",
        licence="Apache-2.0",
        source="git clone https://github.com/WHGTyen/BIG-Bench-Mistake",
        path=".",
        context="input",
        labels=first_error("mistake_index", base=0, none=(None,)),
        anchors=_published(
            "Table 4 of arXiv 2311.08516",
            ("GPT-4, asked step by step", "accuracy of location", 0.5287),
            ("GPT-4, asked once per chain", "accuracy of location", 0.3980),
            ("GPT-4, chain of thought", "accuracy of location", 0.4340),
        ),
    ),
    Layout(
        name="mr_ben",
        title="MR-Ben (arXiv 2406.13975)",
        fields=frozenset({"Question", "Model_Solution_Steps", "Model_Solution_First_Error_Step"}),
        meaning="Human annotators marked the first wrong step by its number; lines without a number"
        " belong to the step before them. Sound: the steps before the error, and all steps of"
        " a correct solution. Coding is left out: its labels mark lines of code.",
        licence="MIT",
        source="git clone https://github.com/dvlab-research/Mr-Ben",
        path="data",
        context="Question",
        options="Options",
        steps=_mr_ben_steps,
        labels=first_error(
            "Model_Solution_First_Error_Step",
            base=1,
            none=("N/A",),
            verdict=("Model_Solution_Correctness", "correct", "incorrect"),
        ),
        stratum="Subject",
        question=lambda row: row.key or row.read("Question_UUID", identity),
        left_out_if=(
            "the first error is a line of code, not a step",
            lambda row: (
                row.value.get("Subject") == "coding"
                or isinstance(row.value.get("Model_Solution_Steps"), str)
            ),
        ),
    ),
    Layout(
        name="mr_gsm8k",
        title="MR-GSM8K (arXiv 2312.17080)",
        fields=frozenset({"question", "question_type", "model_output_steps"}),
        meaning="Human annotators marked the first wrong step. Sound: the steps before it, and all "
        "steps of a correct solution. Programs (POT) are left out.",
        licence="MIT",
        source="git clone https://github.com/dvlab-research/MR-GSM8K",
        path="dataset",
        steps="model_output_steps",
        labels=first_error(
            "model_output_solution_first_error_step",
            base=1,
            none=("N/A",),
            verdict=("model_output_solution_correctness", "correct", "wrong"),
        ),
        stratum="question_type",
        id=_named("uuid"),
        left_out_if=(
            "the solution is a program",
            lambda row: row.value.get("question_type") == "POT",
        ),
        anchors=_published(
            "README of dvlab-research/MR-GSM8K",
            ("GPT-4-Turbo, no examples", "MCC", 0.633),
            ("GPT-4-Turbo, no examples", "accuracy of the step", 0.488),
            ("GPT-4-Turbo, no examples", "MR-Score", 0.505),
            ("GPT-4-Turbo, three examples", "MR-Score", 0.530),
        ),
    ),
    Layout(
        name="prm800k",
        title="PRM800K (arXiv 2305.20050)",
        fields=frozenset({"question", "label", "is_quality_control_question"}),
        meaning="A human annotator rated each completion. Wrong: -1; sound: 1, and 0 (right, but no"
        " progress). The premises of a completion are the steps chosen before it. "
        "Quality-control questions, bad problems and abandoned ones are left out.",
        licence="MIT",
        source="git clone https://github.com/openai/prm800k (the data need git-lfs)",
        path="prm800k/data",
        chains=prm800k_chains,
    ),
    Layout(
        name="prmbench",
        title="PRMBench (arXiv 2501.03124), and Socratic-PRMBench, which has the same fields",
        fields=frozenset({"modified_question", "modified_process", "error_steps"}),
        meaning="A model inserted errors into sound solutions; human annotators checked them. "
        "Wrong: the listed steps, including redundant and circular ones. Sound: all others,"
        " even if they depend on a wrong one.",
        licence="Apache-2.0",
        source="git clone https://github.com/ssmisya/PRMBench "
        "(https://huggingface.co/datasets/hitsmy/PRMBench_Preview)",
        path="mr_eval/tasks/prmtest_classified/data",
        context="modified_question",
        steps="modified_process",
        labels=_prmbench_labels,
        stratum="classification",
        id=lambda row: (
            f"{row.value['classification']}:{problem}"
            if (problem := _prmbench_problem(row))
            else None
        ),
        question=lambda row: (
            _prmbench_problem(row) or row.optional("original_question", filled, None)
        ),
        anchors=_published(
            "README of ssmisya/PRMBench, 2025-01",
            ("Gemini-2.0-thinking-exp", "PRMScore", 0.688),
            ("o1-mini (394 rows)", "PRMScore", 0.688),
            ("GPT-4o", "PRMScore", 0.668),
            ("Qwen2.5-Math-PRM-7B", "PRMScore", 0.655),
            ("ReasonEval-34B", "PRMScore", 0.605),
            ("Math-Shepherd", "PRMScore", 0.470),
        ),
    ),
    Layout(
        name="reasoneval",
        title="MR-MATH of ReasonEval, invalid steps (arXiv 2404.05692)",
        fields=frozenset(
            {"question", "model_output_step_format", "model_output_solution_correctness"}
        ),
        meaning="Human annotators marked the first wrong step of solutions that all reach the right"
        " answer. Sound: the steps before it, and all steps of a correct solution.",
        licence="none stated",
        source="git clone https://github.com/GAIR-NLP/ReasonEval",
        path="dataset/mr-math_invalid_errors.json",
        steps=lambda row: row.read(
            "model_output_step_format",
            list_of(lambda lines, field: text("\n".join(texts(lines, field)), field)),
        ),
        labels=first_error(
            "model_output_solution_first_error_step",
            base=1,
            none=("N/A",),
            verdict=("model_output_solution_correctness", "correct", "wrong"),
        ),
        stratum="generator",
        anchors=_published(
            "score files of GAIR-NLP/ReasonEval, recomputed",
            ("ReasonEval, Llemma-34B", "AUC over steps", 0.928),
            ("ReasonEval, Llemma-34B", "macro F1 over steps", 0.775),
            ("ReasonEval, WizardMath-7B-v1.1", "AUC over steps", 0.895),
            ("ReasonEval, WizardMath-7B-v1.1", "macro F1 over steps", 0.739),
            ("Math-Shepherd, Mistral-7B", "AUC over steps", 0.772),
            ("Math-Shepherd, Mistral-7B", "macro F1 over steps", 0.600),
            ("GPT-4", "first-error F1", 0.528),
            ("GPT-3.5-Turbo", "first-error F1", 0.285),
        ),
    ),
    Layout(
        name="stepverify",
        title="Stepwise verification of tutors (arXiv 2407.09136)",
        fields=frozenset({"problem", "student_incorrect_solution", "incorrect_index"}),
        meaning="Teachers marked the first wrong step of students' solutions, all of which are "
        "wrong. Sound: the steps before it. Some errors are steps after the right answer.",
        licence="CC BY-SA 4.0",
        source="git clone https://github.com/eth-lre/verify-then-generate",
        path="dataset/dataset.json",
        context="problem",
        steps="student_incorrect_solution",
        labels=first_error("incorrect_index", base=0),
        stratum="error_category",
    ),
    Layout(
        name="deltabench",
        title="DeltaBench (arXiv 2502.19361)",
        fields=frozenset({"question", "reason_error_section_numbers"}),
        meaning="Human annotators labelled sections of long reasoning, up to the last one that "
        "they marked. Wrong: the section itself has an error. Sections that are merely useless "
        "count as neutral, and those after the last mark as unlabelled.",
        licence="none stated",
        source="git clone https://github.com/OpenStellarTeam/DeltaBench",
        path="data/Deltabench_v1.jsonl",
        steps=_deltabench_steps,
        labels=_deltabench_labels,
        stratum="task_l1",
        id=_named("id"),
        located=lambda labels: False in labels,
    ),
    Layout(
        name="folio",
        title="FOLIO (arXiv 2209.00840)",
        fields=frozenset({"premises", "conclusion", "label"}),
        meaning="Human annotators wrote premises and conclusions; a logic prover verified the "
        "labels. Sound: the conclusion follows. Wrong: the premises contradict it, or do "
        "not decide it.",
        licence="CC BY-SA 4.0",
        source="git clone https://github.com/Yale-LILY/FOLIO",
        path="data/v0.0/folio-validation.jsonl",
        chains=_folio_chains,
    ),
    Layout(
        name="visualprocessbench",
        title="VisualProcessBench (arXiv 2503.10291)",
        fields=frozenset({"image", "question", "response"}),
        meaning="Human annotators labelled every step, including those after an error. Neutral "
        "steps, without reasoning, are not counted. The publishers do not say whether a "
        "step that inherits an error is wrong.",
        licence="MIT",
        source="https://huggingface.co/datasets/OpenGVLab/VisualProcessBench",
        path="test.jsonl",
        steps="response.steps",
        labels=every_step("response.process_correctness", {1: True, 0: None, -1: False}),
        stratum="data_source",
        images="image",
        anchors=_published(
            "Table 3 of arXiv 2503.10291",
            ("Gemini-2.0-Flash", "macro F1", 0.623),
            ("VisualPRM-8B", "macro F1", 0.620),
            ("Qwen2.5-VL-72B", "macro F1", 0.605),
            ("GPT-4o", "macro F1", 0.603),
            ("InternVL2.5-8B", "macro F1", 0.480),
            ("random", "macro F1", 0.500),
        ),
    ),
    Layout(
        name="vlrmbench",
        title="VLRMBench (arXiv 2503.07478)",
        fields=frozenset({"image", "question", "task_gt"}),
        meaning="A model inserted errors into solutions; human annotators checked them. Wrong: the "
        "marked steps. Sound: all others, even if they depend on a wrong one.",
        licence="Apache-2.0",
        source="git clone https://github.com/JCruan519/VLRMBench "
        "(images: https://huggingface.co/datasets/Winston-Yuan/VLRMBench)",
        path="benchmark_data",
        # Not 'step_list': that is the solution before errors were inserted.
        steps=lambda row: _cut(row.read("reasoning_error", filled), _STEP, "reasoning_error"),
        labels=every_step("task_gt", {0: True, 1: False}),
        stratum="category",
        id=_named("category", "id"),
        images="image",
        left_out_if=(
            "the task is not to find wrong steps",
            lambda row: row.read("category", filled) not in _VLRMBENCH_TASKS,
        ),
    ),
    Layout(
        name="projudgebench",
        title="ProJudgeBench (arXiv 2503.06553)",
        fields=frozenset({"question", "student_solution", "process_evaluation"}),
        meaning="Experts labelled every step of solutions in four sciences, including those after "
        "an error. The publishers do not say whether a step that inherits an error is "
        "wrong.",
        licence="CC BY-NC 4.0",
        source="https://huggingface.co/datasets/julyai/ProJudgeBench",
        path="test.parquet",
        steps=lambda row: row.read(
            "process_evaluation",
            encoded(list_of(lambda item, field: text(_judged(item, field)[0], field))),
        ),
        labels=every_step(
            "process_evaluation",
            {"1": True, "0": False},
            lambda item, field: _judged(item, field)[1],
        ),
        stratum="subject",
        images="image_paths",
    ),
    Layout(
        name="ratings",
        title="Human ratings (lmms-rpts rate)",
        fields=frozenset({"format", "rater", "items"}),
        meaning="Your raters scored every inference. Sound: their mean is above 0.5.",
        licence="that of the rated run's data",
        source=f"lmms-rpts rate RUN -o rate.html; the page saves files of the format {FORMAT}",
        chains=rated_chains,
        fixed_premises=True,
        merge=merge_ratings,
    ),
)


def find_layout(fields: Iterable[str]) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one."""
    there = frozenset(fields)
    found = [layout for layout in LAYOUTS if layout.fields <= there]
    return found[0] if len(found) == 1 else None
