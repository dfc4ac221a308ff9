"""The layouts of labelled data: the names of the fields of a row, and what its labels mean."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lmms_rpts.tasks import fields
from lmms_rpts.tasks.fields import Fields, LeftOut, RowError, choice, filled, step_number, text
from lmms_rpts.validation.chains import LabelledChain, Labels

_SOUND = {True: True, False: False, None: None}
_LANGUAGES = {"en": "en", "zh": "zh"}
_RIGHT = {
    **dict.fromkeys(("1", "1.0", "yes", "true", "correct", "right"), True),
    **dict.fromkeys(("0", "0.0", "no", "false", "incorrect", "wrong"), False),
}


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """One layout of labelled data; each row is a chain.

    Attributes:
        tells: fields that a row of this layout has, and of no other, as words of a text.
        question, steps, labels, first_error, kind, image: names of fields. ``labels`` has a mark
            for each step, ``first_error`` the number of the first wrong step from 0 (-1: none).
        marks: whether a step with this mark is sound; None: neutral.
        answers: whether the only step is a response, and its label that of its final answer.
        convert: returns a row of ``jsonl`` or ``answers`` for one that these names can't describe.
    """

    name: str
    tells: str
    question: str = "question"
    steps: str = "steps"
    labels: str = "labels"
    first_error: str = ""
    kind: str = "kind"
    image: str = "image"
    marks: Mapping[Any, bool | None] = field(default_factory=lambda: _SOUND)
    answers: bool = False
    convert: Callable[[Fields], dict[str, Any]] | None = None

    def read(self, row: Fields) -> LabelledChain:
        """The chain of a row; a RowError names a wrong field, and LeftOut what is not labelled."""
        if self.convert is not None:
            row = replace(row, value=self.convert(row))
        return _answer(row) if self.answers else self._chain(row)

    def _chain(self, row: Fields) -> LabelledChain:
        question, steps = row.read(self.question, filled), row.read(self.steps, fields.texts)
        if self.first_error:
            number, count = row.read(self.first_error, fields.whole), len(steps)
            at = count if number == -1 else step_number(number, count, self.first_error, base=0)
            labels = _up_to(at, count)
        else:
            labels = row.read(self.labels, fields.encoded(fields.list_of(choice(self.marks))))
        premises = row.optional("premises", fields.list_of(_texts), None)
        for name, values in (("labels", labels), ("premises", premises or steps)):
            if len(values) != len(steps):
                raise RowError(name, f"has {len(values):,} entries for {len(steps):,} steps")
        images = row.optional(self.image, _texts, ())
        return LabelledChain(
            id=row.optional("id", fields.identity, row.place),
            # Images too: many have one short question.
            question=row.optional("group", fields.identity, "\n".join((*images, question))),
            stratum=row.optional(self.kind, filled, row.stem),
            context=question,
            steps=steps,
            labels=labels,
            language=row.optional("language", choice(_LANGUAGES), "en"),
            premises=premises,
            located=row.optional("located", fields.flag, True),
            images=images,
        )


def _answer(row: Fields) -> LabelledChain:
    """A response with a label that says whether its answer is right."""
    if row.optional("debatable", fields.flag, False):
        raise LeftOut("the label is debatable")
    question, reference = row.read("question", filled), row.read("reference", fields.identity)
    label = row.read("label", lambda value, name: choice(_RIGHT)(str(value).strip().lower(), name))
    return LabelledChain(
        id=row.optional("id", fields.identity, row.place),
        question=question.strip(),
        stratum=row.optional("type", filled, ""),
        context=question.strip(),
        steps=(row.read("response", text).strip(),),
        labels=(label,),
        premises=((reference.strip(),),),
        located=False,
    )


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """A text or a list of texts; blank ones are left out."""
    values = [value] if isinstance(value, str) else fields.any_list(value, name)
    return tuple(each for each in (text(value, name) for value in values) if each.strip())


def _up_to(first_error: int, steps: int) -> Labels:
    """Labels where only the first wrong step is known: later ones have none."""
    return ((True,) * first_error + (False,) + (None,) * steps)[:steps]


# "Step 3: ...", as in the solutions of MR-Ben; "**Step 3:** ..." counts, too.
_NUMBERED = re.compile(r"[\s*#]{0,9}step\s{0,3}(\d{1,4})[\s*]{0,3}[:.)]", re.ASCII | re.IGNORECASE)


def mr_ben(row: Fields) -> dict[str, Any]:
    """MR-Ben: the first wrong step by the number that is written in it, from 1."""
    lines = row.value.get("Model_Solution_Steps")
    if row.value.get("Subject") == "coding" or isinstance(lines, str):
        raise LeftOut("the first error is a line of code, not a step")
    steps, name = _numbered_steps(row), "Model_Solution_First_Error_Step"
    is_right = row.read("Model_Solution_Correctness", choice({"correct": True, "incorrect": False}))
    if is_right and row.value.get(name) not in (None, "N/A"):
        raise RowError(name, "is given, but the solution is marked as correct")
    at = count = len(steps)
    if not is_right:
        at = step_number(row.read(name, fields.whole), count, name, base=1)
    return {
        "question": "\n".join((row.read("Question", filled), *row.optional("Options", _texts, ()))),
        "steps": steps,
        "labels": _up_to(at, count),
        "group": row.key or row.read("Question_UUID", fields.identity),
        "kind": row.value.get("Subject"),
    }


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


def prm800k(row: Fields) -> dict[str, Any]:
    """PRM800K: the chosen completions with their ratings, up to a position without a choice.

    There, the first wrong completion is the last step. Steps that annotators wrote are unlabelled.
    """
    for name in ("is_quality_control_question", "is_initial_screening_question"):
        if row.read(name, fields.flag):
            raise LeftOut("a quality-control question for annotators")
    if not row.read("label.finish_reason", choice(_FINISHED)):
        raise LeftOut("labelling was not finished")
    steps: list[tuple[str, bool | None]] = []
    is_complete, things = True, "completions"
    for level in row.read("label.steps", fields.objects):
        rated = [
            (each.read("text", text), each.optional("rating", choice(_RATINGS), None))
            for each in (level.read(things, fields.objects) if level.value.get(things) else ())
        ]
        chosen = level.optional("chosen_completion", fields.whole, None)
        written = level.value.get("human_completion")
        if chosen is not None:
            at = step_number(chosen, len(rated), "chosen_completion", base=0, things=things)
            steps.append(rated[at])
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
    texts = [step for step, _ in steps]
    question = row.read("question.problem", filled)
    return {"question": question, "steps": texts, "labels": labels, "located": located}


# "The consistency of the answers is: No.", "... is: <Yes>."
_CONSISTENT = re.compile(r"consistency of the answers is:?\s{0,9}<?(yes|no)\b", re.IGNORECASE)


def gradegpt(row: Fields) -> dict[str, Any]:
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
    answers = {"question": question, "reference": reference, "response": response}
    return {**answers, "label": verdicts[-1], "id": row.value.get("id")}


LAYOUTS = (
    Layout("jsonl", "question steps labels"),
    Layout("processbench", "problem steps label", question="problem", first_error="label"),
    Layout(
        "visualprocessbench",
        "image question response",
        steps="response.steps",
        labels="response.process_correctness",
        marks={1: True, 0: None, -1: False},
        kind="data_source",
    ),
    Layout("mr_ben", "Question Model_Solution_Steps", convert=mr_ben),
    Layout("prm800k", "question label is_quality_control_question", convert=prm800k),
    Layout("gradegpt", "type messages source", convert=gradegpt, answers=True),
    Layout("answers", "question reference response label", answers=True),
)


def find_layout(names: Iterable[str], answers: bool = False) -> Layout | None:
    """The layout of an object with these fields; None if none fits, or more than one.

    If layouts of answers and of steps fit, ``answers`` decides.
    """
    given = frozenset(names)
    fitting = [layout for layout in LAYOUTS if given.issuperset(layout.tells.split())]
    fitting = [layout for layout in fitting if layout.answers is answers] or fitting
    return fitting[0] if len(fitting) == 1 else None
