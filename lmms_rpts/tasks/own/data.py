"""The data of own tasks: the model of a question, and the reader of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row
from lmms_rpts.base.schema import FieldError, Line, Several, Text, shown, wrong
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.scoring.question import (
    ANSWER_FORMS,
    STANCES,
    Gold,
    Question,
    Relation,
    form_of,
    gold_answer_faults,
    gold_faults,
)
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.own.prompts import lettered
from lmms_rpts.tasks.questions import Identity, QuestionFiles, Questions, Source

FIELDS = (
    *("id", "question", "answer", "images", "context", "texts", "reasoning", "options"),
    *("tolerance", "language", "ability", "relation"),
)
"""The fields of an instance in a file; ``statement`` is a synonym of ``question``."""

REMEDY = "Fix the data; docs/your-own-data.md lists the fields."

_NEAR = 0.8
_STANCES = {each: each for each in STANCES} | {"同意": "agree", "不同意": "disagree"}


def _answer(value: object) -> str:
    """A text, or a number in plain digits: ``4``, ``0.0000001``."""
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return format(Decimal(repr(value)), "f")
    if not isinstance(value, str) or not value.strip():
        raise wrong("a string or a number", value)
    return storable(value)


def _gold(value: object) -> str | tuple[str, ...]:
    if not isinstance(value, list | tuple):
        return _answer(value)
    if not value:
        raise wrong("a string or a number, or a list of these", value)
    return tuple(map(_answer, value)) if len(value) > 1 else _answer(value[0])


_Answer = Annotated[str, PlainValidator(_answer)]
_listed = BeforeValidator(lambda value: [value] if isinstance(value, str | int | float) else value)


class OwnQuestion(Question):
    """An instance in a file; unknown fields are ignored.

    Its ``form`` is that of the file's answers; ``mixed`` becomes the form of its own answer.
    """

    own_id: Identity = Field(alias="id")
    statement: Line = Field(validation_alias="question")
    answer: Annotated[Gold, PlainValidator(_gold)] = ""
    visual_clue: Annotated[tuple[Line, ...], _listed] = Field((), validation_alias="images")
    background: Text = Field("", validation_alias="context")
    context: Text = Field("", validation_alias="cited")
    textual_clue: Several[Text] = Field((), validation_alias="texts")
    reasoning: Several[Text] = ()
    options: tuple[_Answer, ...] = ()
    ability: Annotated[tuple[_Answer, ...], _listed] = ()
    relation: Relation | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _complete(cls, fields: Any, handler: Callable[[Any], OwnQuestion]) -> OwnQuestion:
        """The question with its form, and with all that steps may cite as its context.

        That includes the question, unless it is a statement to agree with, and the options, since
        an answer may be the letter of one; the prompt shows ``background`` alone.
        """
        question = handler(fields)
        form, answer, options = question.form, question.answer, question.options
        if isinstance(answer, str) and (form == "agree" or (form == "mixed" and not options)):
            answer = _STANCES.get(answer.strip().lower(), answer)
        if form == "mixed":
            form = form_of(answer, options)
        cited = () if form == "agree" else (question.statement, *lettered(options))
        parts = filter(str.strip, (question.background, *cited))
        made = question.model_copy(
            update={"form": form, "answer": answer, "context": "\n".join(parts)}
        )
        if faults := list(_faults(made)):
            raise FieldError("; ".join(faults))
        return made


def _faults(question: OwnQuestion) -> Iterator[str]:
    """Why its answer cannot be graded, or its gold reasoning cannot be used."""
    kind = next((each for each in ANSWER_FORMS if each == question.form), None)
    if not question.answer and kind != "none":
        yield "answer is missing (without answers, the form of the answers should be none)"
    elif kind == "agree" and question.answer not in STANCES:
        yield f"answer should be agree or disagree, not {shown(question.answer)}"
    elif kind is not None:
        for fault in gold_answer_faults(question.answer, question.options, kind):
            yield f"answer {fault}"
    yield from gold_faults({"reasoning": question.reasoning, "visual_clue": question.visual_clue})


@dataclass(frozen=True, slots=True)
class OwnData:
    """The file of the instances of a task, the folder of their images, and their defaults.

    A task has a module ``utils.py`` beside its YAML, which makes one of these: its
    ``dataset_kwargs`` are ``!function utils.DATA``.

    Attributes:
        answer: form of the answers: one of ``ANSWER_FORMS``, or ``function``, which grades them.
        language: language of the prompts of instances without one.
    """

    data: Path
    images: Path
    answer: str
    language: Language = "en"

    def __post_init__(self) -> None:
        if self.answer not in (known := (*ANSWER_FORMS, "function")):
            raise DataError(
                f"{self.data} cannot be evaluated: answer should be one of {', '.join(known)}, not "
                f"{shown(self.answer)}"
            )

    def load(self) -> Questions[OwnQuestion]:
        """The questions, with their images checked."""
        if not self.data.is_file():
            raise DataError(
                f"Cannot read the file of instances {self.data}: No such file. Name it in "
                "utils.py, beside the YAML file"
            )
        questions = files_of(self).load()
        questions.check()
        return questions

    def source(self, part: str = "") -> Source:
        """Where the questions are."""
        return Source(self.data, (self.data,), REMEDY, self.images, self.images)

    def prepare(self, entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
        """Set the defaults of a row, in which null is missing; returns the fault of its names."""
        for name in [name for name, value in entry.items() if value is None]:
            del entry[name]
        faults = list(_misspelt(entry))
        if "statement" in entry and "question" in entry:
            faults.append("question and statement mean the same: remove one")
        if "statement" in entry:
            entry["question"] = entry["statement"]
        entry.setdefault("id", row.number)
        entry.setdefault("language", self.language)
        entry |= {"form": self.answer}
        return "", "; ".join(faults)


@lru_cache(maxsize=64)  # lmms-eval executes utils.py again and again, but unchanged files are kept
def files_of(data: OwnData) -> QuestionFiles[OwnQuestion]:
    """How the file of own data is read."""
    return QuestionFiles(
        what="instance",
        kind=OwnQuestion,
        source=data.source,
        identity="id",
        prepare=data.prepare,
        visual=False,
    )


def _misspelt(names: Iterable[str]) -> Iterator[str]:
    """The faults of unknown names that are near one of a field that is missing or is a list."""
    given = set(names)
    known = {each for each in FIELDS if each not in given} | {"images", "options"}
    for name in sorted(given - {"statement", *FIELDS}):
        if near := get_close_matches(name.lower(), known, n=1, cutoff=_NEAR):
            yield f"{shown(name)} is unknown: did you mean {near[0]!r}?"
