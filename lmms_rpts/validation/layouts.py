"""The layouts of published step labels, as a table: the fields of a row, the rule of its labels."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lmms_rpts.base.fields import (
    Fields,
    LeftOut,
    Reader,
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
from lmms_rpts.base.schema import Model, Several, Text, shown
from lmms_rpts.runs.validity import PublishedFigure
from lmms_rpts.validation.chains import LabelledChain, Labels, first_wrong
from lmms_rpts.validation.special_layouts import (
    alternatives,
    folio_chain,
    gradegpt_answer,
    labelled_answer,
    names,
    parc_chain,
    prm800k_chain,
    rated_chains,
)

Rule = Callable[[Fields, int], Labels]
"""Returns the labels of a row with a number of steps."""


class About(Model):
    """What is published about a set; ``sets.json`` has one for each layout.

    Attributes:
        title: the authors' name for it, and the paper.
        meaning: one line: who labelled what, and the meaning of "sound" in this set.
        licence: licence of the data.
        source: how to get the data: a ``git clone`` command if they are in a repository.
        path: path of the data within the source.
        anchors: published figures, measured with the authors' own protocol.
    """

    title: Text
    meaning: Text
    licence: Text
    source: Text
    path: Text = ""
    anchors: Several[PublishedFigure] = ()


@cache
def _catalogue() -> dict[str, About]:
    content = Path(__file__).with_name("sets.json").read_bytes()
    return TypeAdapter(dict[str, About]).validate_json(content)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout of published step labels; each row is a chain, in the fields named here.

    Attributes:
        fields: fields that identify a row of this layout, and of no other, as words of a text.
        steps: field of the list of steps, or a function that cuts a text into steps.
        stratum: field of the subset; where it is missing, the name of the file.
        id: returns the id of the chain; None: file and number.
        question: returns the id of the question; None: its images and its text.
        images: field with the names of its images: a text, a list or an object.
        folders: where the publishers have these images, relative to the folder of the file.
        left_out_if: why a row has nothing to judge, and whether this holds.
        located: whether the labels say where the first error is, or that there is none.
        chain: returns the chain of a row, where the fields above can't describe it.
        fixed_premises: whether only the given premises can be used, as they are no earlier steps.
        whole: returns the chains of all rows and a remark, where several rows label one step.
        answers: whether the only step is a response, and the label that of its final answer.
    """

    name: str
    fields: str = ""
    context: str = "question"
    options: str = ""
    steps: str | Callable[[Fields], tuple[str, ...]] = "steps"
    labels: Rule = lambda row, steps: ()
    stratum: str = ""
    id: Callable[[Fields], str | None] | None = None
    question: Callable[[Fields], str | None] | None = None
    images: str = ""
    folders: tuple[str, ...] = ("", "images")
    left_out_if: tuple[str, Callable[[Fields], bool]] | None = None
    located: Callable[[Labels], bool] = lambda labels: True
    chain: Callable[[Fields], LabelledChain] | None = None
    fixed_premises: bool = False
    whole: Callable[[Sequence[Fields]], tuple[list[LabelledChain], str]] | None = None
    answers: bool = False

    @property
    def about(self) -> About:
        """What is published about the set."""
        return _catalogue()[self.name]

    def read(self, row: Fields) -> LabelledChain:
        """The chain of a row."""
        if self.chain is not None:
            return self.chain(row)
        if self.left_out_if is not None and self.left_out_if[1](row):
            raise LeftOut(self.left_out_if[0])
        steps = row.read(self.steps, texts) if isinstance(self.steps, str) else self.steps(row)
        context, images = row.read(self.context, filled), row.optional(self.images, names, ())
        question = self.question(row) if self.question else None
        if self.options in row:
            context = "\n".join((context, *row.read(self.options, names)))
        labels = self.labels(row, len(steps))
        return LabelledChain(
            id=(self.id(row) if self.id else None) or row.place,
            # Images too: many have one short question.
            question=question or "\n".join((*images, context)),
            stratum=row.optional(self.stratum, filled, row.stem),
            context=context,
            steps=steps,
            labels=labels,
            first_error=first_wrong(labels),
            located=self.located(labels),
            images=images,
        )


def first_error(
    field: str, *, base: int, none: Sequence[Any] = (), verdict: tuple[str, str, str] | None = None
) -> Rule:
    """Only the first wrong step is marked: the steps before it are sound, later ones unlabelled.

    Args:
        field: number of this step.
        base: number of the first step.
        none: values for a solution without a wrong step.
        verdict: a field that says whether the solution is right, with its words for right and
            wrong; without it, ``none`` says so.
    """

    def labels(row: Fields, steps: int) -> Labels:
        value = row.value.get(field)
        sound = field in row.value and value in none
        if verdict is not None:
            name, right, wrong = verdict
            marked = value is not None and not sound
            sound = row.read(name, choice({right: True, wrong: False}))
            if sound and marked:
                raise RowError(field, f"is {shown(value)}, but the solution is marked as correct")
        if sound:
            return (True,) * steps
        at = step_number(row.read(field, whole), steps, field, base=base)
        return (*(True,) * at, False, *(None,) * (steps - at - 1))

    return labels


def every_step(
    field: str, meanings: Mapping[Any, bool | None], mark: Reader[Any] = lambda value, field: value
) -> Rule:
    """Every step is marked.

    Args:
        field: list with an item for each step.
        meanings: label for each mark; None: neutral.
        mark: returns the mark in an item.
    """
    items = list_of(lambda value, field: choice(meanings)(mark(value, field), field))

    def labels(row: Fields, steps: int) -> Labels:
        found = row.read(field, encoded(items))
        if len(found) != steps:
            name = field.rpartition(".")[2]
            raise RowError(name, f"has {len(found):,} entries for {steps:,} steps")
        return found

    return labels


def _cut(written: str, mark: re.Pattern[str], field: str) -> tuple[str, ...]:
    """Split a text into steps, before each mark (its first group is the number) with the next one.

    Text before the first mark belongs to the first step. Steps keep their marks, but not the
    white space around the step.
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


# MR-GSM8K, and ReasonEval after it
_MODEL_OUTPUT = first_error(
    "model_output_solution_first_error_step",
    base=1,
    none=("N/A",),
    verdict=("model_output_solution_correctness", "correct", "wrong"),
)
_mpbench = partial(Layout, images="image", folders=("", "image", "images"))

LAYOUTS: tuple[Layout, ...] = (
    Layout(
        name="parc", fields="question steps premise_annotation error_annotation", chain=parc_chain
    ),
    Layout(
        name="processbench",
        fields="problem steps label",
        context="problem",
        labels=first_error("label", base=0, none=(-1,)),
        id=_named("id"),
    ),
    Layout(
        name="bigbench_mistake",
        fields="input steps mistake_index",
        context="input",
        labels=first_error("mistake_index", base=0, none=(None,)),
    ),
    Layout(
        name="mr_ben",
        fields="Question Model_Solution_Steps Model_Solution_First_Error_Step",
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
        fields="question question_type model_output_steps",
        steps="model_output_steps",
        labels=_MODEL_OUTPUT,
        stratum="question_type",
        id=_named("uuid"),
        left_out_if=(
            "the solution is a program",
            lambda row: row.value.get("question_type") == "POT",
        ),
    ),
    Layout(
        name="prm800k", fields="question label is_quality_control_question", chain=prm800k_chain
    ),
    Layout(
        name="prmbench",
        fields="modified_question modified_process error_steps",
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
    ),
    Layout(
        name="reasoneval",
        fields="question model_output_step_format model_output_solution_correctness",
        steps=lambda row: row.read(
            "model_output_step_format",
            list_of(lambda lines, field: text("\n".join(texts(lines, field)), field)),
        ),
        labels=_MODEL_OUTPUT,
        stratum="generator",
    ),
    Layout(
        name="stepverify",
        fields="problem student_incorrect_solution incorrect_index",
        context="problem",
        steps="student_incorrect_solution",
        labels=first_error("incorrect_index", base=0),
        stratum="error_category",
    ),
    Layout(
        name="deltabench",
        fields="question reason_error_section_numbers",
        steps=_deltabench_steps,
        labels=_deltabench_labels,
        stratum="task_l1",
        id=_named("id"),
        located=lambda labels: False in labels,
    ),
    Layout(name="folio", fields="premises conclusion label", chain=folio_chain),
    Layout(
        name="visualprocessbench",
        fields="image question response",
        steps="response.steps",
        labels=every_step("response.process_correctness", {1: True, 0: None, -1: False}),
        stratum="data_source",
        images="image",
    ),
    Layout(
        name="vlrmbench",
        fields="image question task_gt",
        # Not 'step_list': that is the solution before errors were inserted.
        steps=lambda row: _cut(row.read("reasoning_error", filled), _STEP, "reasoning_error"),
        labels=every_step("task_gt", {0: True, 1: False}),
        stratum="category",
        id=_named("category", "id"),
        images="image",
        folders=("../meta_data/Image", "Image", ""),
        left_out_if=(
            "the task is not to find wrong steps",
            lambda row: row.read("category", filled) not in _VLRMBENCH_TASKS,
        ),
    ),
    Layout(
        name="projudgebench",
        fields="question student_solution process_evaluation",
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
    _mpbench(
        name="mpbench",
        fields="question steps error_steps",
        options="choices",
        labels=_prmbench_labels,
        stratum="category",
        id=_named("id"),
    ),
    _mpbench(
        name="mpbench_answers", fields="question solutions correct", chain=alternatives("solutions")
    ),
    _mpbench(
        name="mpbench_search",
        fields="question steps candidates correct",
        chain=alternatives("candidates"),
    ),
    Layout(name="gradegpt", fields="type messages source", chain=gradegpt_answer, answers=True),
    Layout(
        name="answers",
        fields="question reference response label",
        chain=labelled_answer,
        answers=True,
    ),
    Layout(name="ratings", fields="format rater items", whole=rated_chains, fixed_premises=True),
)


def find_layout(fields: Iterable[str], answers: bool = False) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one.

    If layouts of answers and of steps fit, ``answers`` decides.
    """
    there = frozenset(fields)
    found = [layout for layout in LAYOUTS if there.issuperset(layout.fields.split())]
    found = [layout for layout in found if layout.answers is answers] or found
    return found[0] if len(found) == 1 else None
