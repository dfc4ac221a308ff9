"""The layouts of labelled data: the names of the fields of a row, and what its labels mean."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.base.schema import shown
from lmms_rpts.tasks import fields
from lmms_rpts.tasks.fields import Fields, LeftOut, RowError, choice, filled, text
from lmms_rpts.validation.chains import LabelledChain, Labels

_LANGUAGES = {"en": "en", "zh": "zh"}


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One layout of labelled data; each row is a chain.

    Attributes:
        tells: fields that a row of this layout has, and of no other, as words of a text.
        question, steps, labels, first_error, kind, image: names of fields. ``labels`` has a mark
            for each step, ``first_error`` the number of the first wrong step from 0 (-1: none).
        marks: whether a step with this mark is sound; None: neutral.
        chain: returns the chain of a row that names of fields can't describe.
        answers: whether the only step is a response, and its label that of its final answer.
    """

    name: str
    tells: str
    question: str = "question"
    steps: str = "steps"
    labels: str = ""
    first_error: str = ""
    kind: str = "kind"
    image: str = "image"
    marks: Mapping[Any, bool | None] | None = None
    chain: Callable[[Fields], LabelledChain] | None = None
    answers: bool = False

    def read(self, row: Fields) -> LabelledChain:
        """The chain of a row; a RowError names a wrong field, and LeftOut what is not labelled."""
        if self.chain is not None:
            return self.chain(row)
        question, steps = row.read(self.question, filled), row.read(self.steps, fields.texts)
        if self.marks is None:
            number, field = row.read(self.first_error, fields.whole), self.first_error
            error = None if number == -1 else fields.step_number(number, len(steps), field, base=0)
            labels = _up_to(error, len(steps))
        else:
            labels = row.read(self.labels, fields.encoded(fields.list_of(choice(self.marks))))
            _check_length(labels, self.labels, steps)
        premises = row.optional("premises", fields.list_of(_texts), None)
        if premises is not None:
            _check_length(premises, "premises", steps)
        images = row.optional(self.image, _texts, ())
        return _chain(
            row,
            question,
            steps,
            labels,
            id=row.optional("id", fields.identity, row.place),
            # Images too: many have one short question.
            question=row.optional("group", fields.identity, "\n".join((*images, question))),
            stratum=row.optional(self.kind, filled, row.stem),
            language=row.optional("language", choice(_LANGUAGES), "en"),
            premises=premises,
            images=images,
        )


def _chain(
    row: Fields, context: str, steps: tuple[str, ...], labels: Labels, **more: Any
) -> LabelledChain:
    """A chain with these fields; its id is its place, and its question the context."""
    usual = {"id": row.place, "question": context, "stratum": row.stem}
    return LabelledChain(**{**usual, **more}, context=context, steps=steps, labels=labels)


def _texts(value: Any, field: str) -> tuple[str, ...]:
    """A text or a list of texts; blank ones are left out."""
    values = [value] if isinstance(value, str) else fields.any_list(value, field)
    return tuple(each for each in (text(value, field) for value in values) if each.strip())


def _check_length(values: Sequence[Any], field: str, steps: Sequence[str]) -> None:
    if len(values) != len(steps):
        name = field.rpartition(".")[2]
        raise RowError(name, f"has {len(values):,} entries for {len(steps):,} steps")


def _up_to(first_error: int | None, steps: int) -> Labels:
    """Labels where only the first wrong step is known: later ones have none."""
    if first_error is None:
        return (True,) * steps
    return (*(True,) * first_error, False, *(None,) * (steps - first_error - 1))


# "Step 3: ...", as in the solutions of MR-Ben; "**Step 3:** ..." counts, too.
_NUMBERED = re.compile(r"[\s*#]{0,9}step\s{0,3}(\d{1,4})[\s*]{0,3}[:.)]", re.ASCII | re.IGNORECASE)


def mr_ben_chain(row: Fields) -> LabelledChain:
    """MR-Ben: the first wrong step by the number that is written in it, from 1."""
    lines = row.value.get("Model_Solution_Steps")
    if row.value.get("Subject") == "coding" or isinstance(lines, str):
        raise LeftOut("the first error is a line of code, not a step")
    steps, field = _numbered_steps(row), "Model_Solution_First_Error_Step"
    is_right = row.read("Model_Solution_Correctness", choice({"correct": True, "incorrect": False}))
    value = row.value.get(field)
    if is_right and value not in (None, "N/A"):
        raise RowError(field, f"is {shown(value)}, but the solution is marked as correct")
    error = None
    if not is_right:
        error = fields.step_number(row.read(field, fields.whole), len(steps), field, base=1)
    return _chain(
        row,
        "\n".join((row.read("Question", filled), *row.optional("Options", _texts, ()))),
        steps,
        _up_to(error, len(steps)),
        question=row.key or row.read("Question_UUID", fields.identity),
        stratum=row.optional("Subject", filled, row.stem),
    )


def _numbered_steps(row: Fields) -> tuple[str, ...]:
    """Lines joined to steps: a line without a number belongs to the step before it.

    ``["Step 1: ...", "", "Step 2: ...", "Solution: A"]`` are two steps. If no line has a number,
    each line is a step.
    """
    lines = row.read("Model_Solution_Steps", fields.texts)
    matches = [_NUMBERED.match(line) for line in lines]
    starts = [at for at, match in enumerate(matches) if match]
    if not starts:
        return lines
    if [int(match[1]) for match in matches if match] != list(range(1, len(starts) + 1)):
        raise LeftOut("the steps are not numbered 1, 2, 3 and so on")
    bounds = itertools.pairwise([0, *starts[1:], len(lines)])
    return tuple(text("\n".join(lines[a:b]), "Model_Solution_Steps") for a, b in bounds)


# 0: right but without progress, so a sound inference.
_RATINGS = {1: True, 0: True, -1: False}
_FINISHED = {"found_error": True, "solution": True, "bad_problem": False, "give_up": False}


def prm800k_chain(row: Fields) -> LabelledChain:
    """PRM800K: the chosen completions with their ratings, up to a position without a choice.

    There, the first wrong completion is the last step. Steps that annotators wrote are unlabelled.
    """
    for name in ("is_quality_control_question", "is_initial_screening_question"):
        if row.read(name, fields.flag):
            raise LeftOut("a quality-control question for annotators")
    if not row.read("label.finish_reason", choice(_FINISHED)):
        raise LeftOut("labelling was not finished")
    steps: list[tuple[str, bool | None]] = []
    is_complete = True
    for level in row.read("label.steps", fields.objects):
        rated = [
            (each.read("text", text), each.optional("rating", choice(_RATINGS), None))
            for each in (level.optional("completions", fields.objects, ()))
        ]
        chosen = level.optional("chosen_completion", choice(dict(enumerate(rated))), None)
        written = level.value.get("human_completion")
        if chosen is not None:
            steps.append(chosen)
        elif written is not None:
            own = written.get("text") if isinstance(written, Mapping) else written
            steps.append((text(own, "human_completion"), None))
        else:
            wrong = [pair for pair in rated if pair[1] is False][:1]
            steps, is_complete = [*steps, *wrong], bool(wrong)
            break
    labels = tuple(label for _, label in steps)
    if set(labels) <= {None}:
        raise LeftOut("no step is rated")
    # The error might be at a step without a rating, or after the last one.
    before = labels[: labels.index(False)] if False in labels else labels
    located = None not in before and is_complete
    problem = row.read("question.problem", filled)
    return _chain(row, problem, tuple(step for step, _ in steps), labels, located=located)


_MARKS = {
    **dict.fromkeys(("1", "1.0", "yes", "true", "correct", "right"), True),
    **dict.fromkeys(("0", "0.0", "no", "false", "incorrect", "wrong"), False),
}
# "The consistency of the answers is: No.", "... is: <Yes>."
_CONSISTENT = re.compile(r"consistency of the answers is:?\s{0,9}<?(yes|no)\b", re.IGNORECASE)


def gradegpt_answer(row: Fields) -> LabelledChain:
    """GradeGPT's instruction data: a chat that shows a question, two answers, and the label."""
    messages = row.read("messages", fields.objects)
    chat = {each.read("role", filled): each.read("content", text) for each in messages}
    asked = chat.get("user", "").partition("Question:")[2]
    question, _, asked = asked.partition("\nReference Answer:")
    reference, _, asked = asked.partition("\nModel Response:")
    response, end, _ = asked.rpartition("\nJudgment Result:")
    verdicts = _CONSISTENT.findall(chat.get("assistant", ""))
    if not end or not verdicts:
        raise RowError("messages", "should have a question, two answers and a judgment")
    return _answer(row, question, reference, response, verdicts[-1].lower() == "yes", "")


def labelled_answer(row: Fields) -> LabelledChain:
    """A response with a label that says whether its answer is right."""
    if row.optional("debatable", fields.flag, False):
        raise LeftOut("the label is debatable")
    label = row.read("label", lambda value, name: choice(_MARKS)(str(value).strip().lower(), name))
    reference, response = row.read("reference", fields.identity), row.read("response", text)
    kind = row.optional("type", filled, "")
    return _answer(row, row.read("question", filled), reference, response, label, kind)


def _answer(
    row: Fields, question: str, reference: str, response: str, label: bool, kind: str
) -> LabelledChain:
    own_id, premises = row.optional("id", fields.identity, row.place), ((reference.strip(),),)
    known = {"id": own_id, "stratum": kind, "premises": premises, "located": False}
    return _chain(row, question.strip(), (response.strip(),), (label,), **known)


_SOUND = {True: True, False: False, None: None}
LAYOUTS = (
    Layout("jsonl", "question steps labels", labels="labels", marks=_SOUND),
    Layout("processbench", "problem steps label", question="problem", first_error="label"),
    Layout(
        "visualprocessbench",
        "image question response",
        steps="response.steps",
        labels="response.process_correctness",
        marks={1: True, 0: None, -1: False},
        kind="data_source",
    ),
    Layout("mr_ben", "Question Model_Solution_Steps", chain=mr_ben_chain),
    Layout("prm800k", "question label is_quality_control_question", chain=prm800k_chain),
    Layout("gradegpt", "type messages source", chain=gradegpt_answer, answers=True),
    Layout("answers", "question reference response label", chain=labelled_answer, answers=True),
)


def find_layout(names: Iterable[str], answers: bool = False) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one.

    If layouts of answers and of steps fit, ``answers`` decides.
    """
    given = frozenset(names)
    fitting = [layout for layout in LAYOUTS if given.issuperset(layout.tells.split())]
    fitting = [layout for layout in fitting if layout.answers is answers] or fitting
    return fitting[0] if len(fitting) == 1 else None
