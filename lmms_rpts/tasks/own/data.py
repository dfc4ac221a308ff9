"""The data of own tasks: the model of an instance, the reader of a file, and the documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, PlainValidator, ValidationError

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import Row, read_rows
from lmms_rpts.base.schema import Line, Model, Share, Text, all_faults, shown, wrong
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
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.images import named_faults
from lmms_rpts.tasks.own.prompts import lettered
from lmms_rpts.tasks.questions import Identity, Questions, Source

FUNCTION = "function"
"""The form of answers that a custom function grades."""

REMEDY = "Fix the data; docs/your-own-data.md lists the fields."
NO_ANSWERS = " (answer none, in utils.py and in the YAML, if there are no answers)"
"""Advice in the message on a missing answer."""

_NEAR = 0.8
_STANCES = {each: each for each in STANCES} | {"同意": "agree", "不同意": "disagree"}


def written(value: object) -> str:
    """A text, or a number in plain digits: ``4``, ``0.0000001``."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return str(value)


def _answer(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value):
        return written(value)
    if not isinstance(value, str) or not value.strip():
        raise wrong("a string or a number", value)
    return storable(value)


def _several(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _gold(value: object) -> str | tuple[str, ...]:
    if not isinstance(value, list | tuple):
        return _answer(value)
    if not value:
        raise wrong("a string or a number, or a list of these", value)
    return tuple(map(_answer, value)) if len(value) > 1 else _answer(value[0])


def stance_of(answer: str) -> str:
    """``agree`` or ``disagree`` for a stance in English or Chinese, else the answer."""
    return _STANCES.get(answer.strip().lower(), answer)


_Answer = Annotated[str, PlainValidator(_answer)]


class Instance(Model):
    """One row of a file of instances; unknown fields are ignored, and null counts as missing."""

    id: Identity | None = None
    question: Line
    answer: Annotated[Gold, PlainValidator(_gold)] = ""
    images: Annotated[tuple[Line, ...], BeforeValidator(_several)] = ()
    context: Text = ""
    texts: tuple[Text, ...] = ()
    reasoning: tuple[Text, ...] = ()
    options: tuple[_Answer, ...] = ()
    tolerance: Share = 0.0
    language: Language | None = None
    ability: Annotated[tuple[Text, ...], BeforeValidator(_several)] = ()
    relation: Relation | None = None


FIELDS = ("statement", *Instance.model_fields)
"""The names of all fields of an instance; ``statement`` is a synonym of ``question``."""


@dataclass(frozen=True, slots=True)
class OwnData:
    """The file of the instances of a task, the folder of their images, and their defaults.

    A task has a module ``utils.py`` beside its YAML, which makes one of these and names the parts
    to which the YAML refers (``!function utils.process_docs``).

    Attributes:
        answer: type of the answers: one of ``ANSWER_FORMS``, or ``FUNCTION``.
        language: language of the prompts of instances without one.
    """

    data: Path
    images: Path
    answer: str
    language: Language = "en"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("answer", self.answer, (*ANSWER_FORMS, FUNCTION)),
            ("language", self.language, get_args(Language)),
        ):
            if value not in known:
                raise DataError(
                    f"{self.data} cannot be evaluated: {name} should be one of {', '.join(known)}, "
                    f"not {shown(value)}"
                )

    def load(self) -> Questions[Question]:
        """The questions, with their images checked."""
        remedy, folder = REMEDY, self.images
        source = Source(self.data, (self.data,), remedy, folder, folder)
        return Questions(source, load(self), what="instance")


def load(source: OwnData) -> tuple[Question, ...]:
    """The documents of a task, with their images checked."""
    if not source.data.is_file():
        raise DataError(
            f"Cannot read the file of instances {source.data}: No such file. Name it in utils.py, "
            "beside the YAML file"
        )
    # Unchanged files are checked once: lmms-eval reads a task's configuration several times.
    found = source.data.stat()
    images = source.images.stat().st_mtime_ns if source.images.is_dir() else 0
    documents, faults = _loaded(source, (found.st_mtime_ns, found.st_size, images))
    raise_faults(source.data, faults, REMEDY)
    return documents


@lru_cache(maxsize=8)
def _loaded(
    source: OwnData, stamp: tuple[int, ...]
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    rows = list(read_rows(source.data))
    instances, faults = check_instances(rows, source.answer)
    named = [(f"{label(row)}: images", each.images) for row, each in instances if each.images]
    if named and not source.images.is_dir():
        faults.append(
            f"the folder of images {source.images} is missing: create it, or name another one in "
            "utils.py"
        )
    else:
        faults += named_faults(named, source.images, source.images)
    documents = (
        as_question(each, source.answer, source.language, row.number) for row, each in instances
    )
    return tuple(documents), tuple(faults)


def check_instances(
    rows: Sequence[Row], form: str, sources: Mapping[str, str] | None = None
) -> tuple[list[tuple[Row, Instance]], list[str]]:
    """The instances of rows, and the faults of all others, each with its row.

    Args:
        form: type of the answers.
        sources: for rows with other names: the name of each field there, for messages.
    """
    found: list[tuple[Row, Instance]] = []
    faults = [] if rows else ["it has no instance: write one JSON object per line"]
    ids: dict[str, str] = {}
    for row in rows:
        instance, wrongs = (None, [row.fault]) if row.fault else check_fields(row.fields, form)
        if row.fault:
            faults.append(f"{row.place} {row.fault}")
        else:
            faults += (f"{label(row)}: {_named(each, sources)}" for each in wrongs)
        own = row.fields.get("id")
        key = str(row.number if own is None else own)
        if (first := ids.setdefault(key, row.place)) != row.place and not row.fault:
            counted = " (its number, since it has no id)" if own is None else ""
            faults.append(f"{row.place}: the id {shown(key)}{counted} is also the id of {first}")
        if instance is not None:
            found.append((row, instance))
    return found, faults


def check_fields(fields: Mapping[str, Any], form: str) -> tuple[Instance | None, list[str]]:
    """The instance with these fields, or its faults, each a clause that begins with the field."""
    given = {name: value for name, value in fields.items() if value is not None}
    faults = list(misspelt(given, FIELDS))
    if "statement" in given and "question" in given:
        faults.append("question and statement mean the same: remove one")
    if "statement" in given:
        given["question"] = given["statement"]
    try:
        instance = Instance.model_validate(given)
    except ValidationError as error:
        faults += all_faults(error)
    if form != "none" and "answer" not in given:
        faults.append(f"answer is missing{NO_ANSWERS}")
    if not faults:
        faults += _value_faults(instance, form)
    return (None, faults) if faults else (instance, [])


def misspelt(given: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """The faults of unknown names that are near the name of something that is missing."""
    names, known = set(given), set(known)
    for name in sorted(names - known):
        near = get_close_matches(name.lower(), known - names, n=1, cutoff=_NEAR)
        if near:
            yield f"{shown(name)} is unknown: did you mean {near[0]!r}?"


# The columns of a document for prompts and filters, with their types.
_ROW: Mapping[str, Any] = {
    **dict.fromkeys(("id", "language", "form", "statement", "context", "background"), str),
    **dict.fromkeys(("textual_clue", "visual_clue", "reasoning"), tuple[str, ...]),
    "answer": str,
    "options": tuple[str, ...],
    "tolerance": float,
    "ability": tuple[str, ...],
    "relation": str,
}


def row_of(question: Question) -> dict[str, Any]:
    """The document of a question, for prompts and filters."""
    return {name: getattr(question, name) for name in _ROW}


def as_question(instance: Instance, form: str, language: Language, number: int) -> Question:
    """The question of an instance, which has its number in the file as its id if it has none.

    Steps may cite the question as part of the context, unless it is a statement to agree with;
    the prompt shows the rest of the context alone.
    """
    question, options, answer = instance.question, instance.options, instance.answer
    if isinstance(answer, str) and (form == "agree" or (form == "mixed" and not options)):
        answer = stance_of(answer)
    form = form_of(answer, options) if form == "mixed" else form
    # Steps may cite the question, and an answer may be the letter of an option.
    cited = () if form == "agree" else (question, *lettered(options))
    return Question(
        id=str(number) if instance.id is None else instance.id,
        language=instance.language or language,
        form=form,
        statement=question,
        context="\n".join(part for part in (instance.context, *cited) if part.strip()),
        background=instance.context,
        textual_clue=instance.texts,
        visual_clue=instance.images,
        reasoning=instance.reasoning,
        answer=answer,
        options=options,
        tolerance=instance.tolerance,
        ability=instance.ability,
        relation=instance.relation,
    )


def label(row: Row) -> str:
    """The place of a row, and its id if it has one, for messages."""
    own = row.fields.get("id")
    return row.place if own is None else f"{row.place} (id {shown(own)})"


def _value_faults(instance: Instance, form: str) -> Iterator[str]:
    question = as_question(instance, form, "en", 0)
    if form == "agree" and question.answer not in STANCES:
        yield f"answer should be agree or disagree, not {shown(instance.answer)}"
    elif kind := next((each for each in ANSWER_FORMS if each == question.form), None):
        for fault in gold_answer_faults(question.answer, question.options, kind):
            yield f"answer {fault}"
    yield from gold_faults({"reasoning": instance.reasoning, "visual_clue": instance.images})


def _named(fault: str, sources: Mapping[str, str] | None) -> str:
    """A fault that names the field of the user's file, and advises an option instead of a key."""
    if sources is None:
        return fault
    field = next((each for each in FIELDS if fault.startswith(each)), "")
    source = sources.get(field, field)
    title = shown(source) + (f" ({field})" if source != field else "")
    fault = fault.replace(NO_ANSWERS, "; without answers: --answer none")
    return title + fault.removeprefix(field) if field else fault
