"""The layouts of labelled data: the fields of a row, and the rule of its labels."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.base.schema import FieldError, shown
from lmms_rpts.runs.rating_file import RatedItem, parse_saved
from lmms_rpts.tasks.fields import (
    Fields,
    LeftOut,
    RowError,
    choice,
    encoded,
    filled,
    flag,
    identity,
    list_of,
    objects,
    step_number,
    text,
    texts,
    whole,
)
from lmms_rpts.validation.chains import LabelledChain, Labels

Rule = Callable[[Fields, int], Labels]
"""Returns the labels of a row with a number of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout of labelled data; each row is a chain, in the fields named here.

    Attributes:
        fields: fields that identify a row of this layout, and of no other, as words of a text.
        context: field of the question.
        steps: field of the list of steps, or a function that returns them.
        stratum: field of the subset; where it is missing, the name of the file.
        id: field of the chain's id; where it is missing, file and number.
        question: returns the id of the question; None: its images and its text.
        images: field with the names of its images: a text or a list.
        left_out_if: why a row has nothing to judge, and whether this holds.
        chain: returns the chain of a row, where the fields above can't describe it.
        whole: returns the chains of all rows, where several rows label one step.
        answers: whether the only step is a response, and the label that of its final answer.
    """

    name: str
    fields: str = ""
    context: str = "question"
    options: str = ""
    steps: str | Callable[[Fields], tuple[str, ...]] = "steps"
    labels: Rule = lambda row, steps: ()
    stratum: str = ""
    id: str = ""
    question: Callable[[Fields], str] | None = None
    images: str = ""
    left_out_if: tuple[str, Callable[[Fields], bool]] | None = None
    chain: Callable[[Fields], LabelledChain] | None = None
    whole: Callable[[Sequence[Fields]], list[LabelledChain]] | None = None
    answers: bool = False

    def read(self, row: Fields) -> LabelledChain:
        """The chain of a row."""
        if self.chain is not None:
            return self.chain(row)
        if self.left_out_if is not None and self.left_out_if[1](row):
            raise LeftOut(self.left_out_if[0])
        steps = row.read(self.steps, texts) if isinstance(self.steps, str) else self.steps(row)
        context, images = row.read(self.context, filled), row.optional(self.images, names, ())
        if self.options in row:
            context = "\n".join((context, *row.read(self.options, names)))
        return LabelledChain(
            id=row.optional(self.id, identity, row.place),
            # Images too: many have one short question.
            question=self.question(row) if self.question else "\n".join((*images, context)),
            stratum=row.optional(self.stratum, filled, row.stem),
            context=context,
            steps=steps,
            labels=self.labels(row, len(steps)),
            images=images,
        )


def names(value: Any, field: str) -> tuple[str, ...]:
    """Names of images, or options: a text or a list; blank or empty: none."""
    if isinstance(value, str):
        return (text(value, field),) if value.strip() else ()
    return tuple(name for name in texts(value, field) if name.strip()) if value else ()


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


def every_step(field: str, meanings: Mapping[Any, bool | None]) -> Rule:
    """Every step is marked.

    Args:
        field: list with a mark for each step.
        meanings: label for each mark; None: neutral.
    """
    items = list_of(choice(meanings))

    def labels(row: Fields, steps: int) -> Labels:
        found = row.read(field, encoded(items))
        if len(found) != steps:
            name = field.rpartition(".")[2]
            raise RowError(name, f"has {len(found):,} entries for {steps:,} steps")
        return found

    return labels


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


# 0: right but without progress, so a sound inference.
_RATINGS = {1: True, 0: True, -1: False}
_FINISHED = {"found_error": True, "solution": True, "bad_problem": False, "give_up": False}


def prm800k_chain(row: Fields) -> LabelledChain:
    """PRM800K: the chosen completions with their ratings, up to a position without a choice.

    There, the first wrong completion is the last step. Steps that annotators wrote are unlabelled.
    """
    for name in ("is_quality_control_question", "is_initial_screening_question"):
        if row.read(name, flag):
            raise LeftOut("a quality-control question for annotators")
    if not row.read("label.finish_reason", choice(_FINISHED)):
        raise LeftOut("labelling was not finished")
    steps: list[tuple[str, bool | None]] = []
    cut_short = False
    for level in row.read("label.steps", objects):
        chosen = level.optional("chosen_completion", whole, None)
        written = level.value.get("human_completion")
        there = level.value.get("completions")
        found = [
            (each.read("text", text), each.optional("rating", choice(_RATINGS), None))
            for each in (objects(there, "completions") if there else ())
        ]
        if chosen is not None and not 0 <= chosen < len(found):
            said = f"is {shown(chosen)}, but there are {len(found)} completions"
            raise RowError("chosen_completion", said)
        if chosen is not None:
            steps.append(found[chosen])
        elif written is not None:
            own = written.get("text") if isinstance(written, Mapping) else written
            steps.append((text(own, "human_completion"), None))
        else:
            wrong = [pair for pair in found if pair[1] is False][:1]
            steps, cut_short = [*steps, *wrong], not wrong
            break
    labels = tuple(sound for _, sound in steps)
    if set(labels) <= {None}:
        raise LeftOut("no step is rated")
    problem = row.read("question.problem", filled)
    error = labels.index(False) if False in labels else len(labels)
    return LabelledChain(
        id=row.place,
        question=problem,
        stratum=row.stem,
        context=problem,
        steps=tuple(step for step, _ in steps),
        labels=labels,
        # The error might be at a step without a rating, or after the last one.
        located=None not in labels[:error] and not cut_short,
    )


_MARKS = {
    **dict.fromkeys(("1", "1.0", "yes", "true", "correct", "right"), True),
    **dict.fromkeys(("0", "0.0", "no", "false", "incorrect", "wrong"), False),
}


def _right(value: Any, field: str) -> bool:
    """Whether something is right, by a word, a number, or true or false."""
    return choice(_MARKS)(str(value).strip().lower(), field)


# "The consistency of the answers is: No.", "... is: <Yes>."
_CONSISTENT = re.compile(r"consistency of the answers is:?\s{0,9}<?(yes|no)\b", re.IGNORECASE)


def gradegpt_answer(row: Fields) -> LabelledChain:
    """GradeGPT's instruction data: a chat that shows a question, two answers, and the label."""
    chat = {
        each.read("role", filled): each.read("content", text)
        for each in row.read("messages", objects)
    }
    asked = chat.get("user", "").partition("Question:")[2]
    question, _, asked = asked.partition("\nReference Answer:")
    reference, _, asked = asked.partition("\nModel Response:")
    response, end, _ = asked.rpartition("\nJudgment Result:")
    found = _CONSISTENT.findall(chat.get("assistant", ""))
    if not end or not found:
        raise RowError("messages", "should have a question, two answers and a judgment")
    return _answer(row, question, reference, response, found[-1].lower() == "yes", "")


def labelled_answer(row: Fields) -> LabelledChain:
    """A response with a label that says whether its answer is right."""
    if row.optional("debatable", flag, False):
        raise LeftOut("the label is debatable")
    question, response = row.read("question", filled), row.read("response", text)
    reference, right = row.read("reference", identity), row.read("label", _right)
    return _answer(row, question, reference, response, right, row.optional("type", filled, ""))


def _answer(
    row: Fields, question: str, reference: str, response: str, right: bool, kind: str
) -> LabelledChain:
    return LabelledChain(
        id=row.optional("id", identity, row.place),
        question=question.strip(),
        stratum=kind,
        context=question.strip(),
        steps=(response.strip(),),
        labels=(right,),
        premises=((reference.strip(),),),
        located=False,
    )


_MIDDLE = 0.5
_SHOWN = ("kind", "language", "context", "premises", "conclusion")


def rated_chains(rows: Sequence[Fields]) -> list[LabelledChain]:
    """One chain per response in the rating files of one sample, with its rated inferences in order.

    A step is sound if the raters' mean is above 0.5, and undecided if it is 0.5. Steps that
    describe an image are left out: a judge is asked about them with facts that raters do not see.
    """
    items: dict[tuple[Any, ...], RatedItem] = {}
    scores: dict[tuple[Any, ...], dict[str, float]] = {}
    for row in rows:
        try:
            file = parse_saved(dict(row.value))
        except FieldError as error:
            place, _, wrong = str(error).partition(" ")
            raise RowError(place, wrong) from None
        rater = file.rater.strip()
        for at, item in enumerate(file.items):
            key = (file.sample, *item.key)
            first, own = items.setdefault(key, item), scores.setdefault(key, {})
            if any(getattr(first, name) != getattr(item, name) for name in _SHOWN):
                raise RowError(f"items[{at}]", "has other texts than another file of the sample")
            if rater in own and item.score is not None:
                raise RowError(f"items[{at}]", f"was also scored by {rater!r} in another file")
            if item.score is not None:
                own[rater] = item.score
    responses: dict[tuple[Any, ...], list[tuple[RatedItem, float]]] = {}
    for key, item in items.items():
        if item.kind == "inference" and (own := scores[key]):
            mean = math.fsum(own.values()) / len(own)
            responses.setdefault(key[:-1], []).append((item, mean))
    return list(map(_rated_chain, responses.values()))


def _rated_chain(rated: Sequence[tuple[RatedItem, float]]) -> LabelledChain:
    rated = sorted(rated, key=lambda pair: pair[0].step)
    items, means = zip(*rated, strict=True)
    first = items[0]
    if any((each.context, each.language) != (first.context, first.language) for each in items):
        raise RowError("context", f"differs between steps of document {first.doc_id}")
    return LabelledChain(
        id=f"{first.task}:{first.doc_id}:{first.repeat}",
        question=f"{first.task}:{first.doc_id}",
        stratum=first.task,
        language=first.language,
        context=text(first.context, "context"),
        steps=tuple(text(each.conclusion, "conclusion") for each in items),
        labels=tuple(None if mean == _MIDDLE else mean > _MIDDLE for mean in means),
        premises=tuple(tuple(text(one, "premises") for one in each.premises) for each in items),
        located=False,
    )


LAYOUTS: tuple[Layout, ...] = (
    Layout(
        name="processbench",
        fields="problem steps label",
        context="problem",
        labels=first_error("label", base=0, none=(-1,)),
        id="id",
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
        name="prm800k", fields="question label is_quality_control_question", chain=prm800k_chain
    ),
    Layout(
        name="visualprocessbench",
        fields="image question response",
        steps="response.steps",
        labels=every_step("response.process_correctness", {1: True, 0: None, -1: False}),
        stratum="data_source",
        images="image",
    ),
    Layout(name="gradegpt", fields="type messages source", chain=gradegpt_answer, answers=True),
    Layout(
        name="answers",
        fields="question reference response label",
        chain=labelled_answer,
        answers=True,
    ),
    Layout(name="ratings", fields="format rater items", whole=rated_chains),
)


def find_layout(fields: Iterable[str], answers: bool = False) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one.

    If layouts of answers and of steps fit, ``answers`` decides.
    """
    there = frozenset(fields)
    found = [layout for layout in LAYOUTS if there.issuperset(layout.fields.split())]
    found = [layout for layout in found if layout.answers is answers] or found
    return found[0] if len(found) == 1 else None
