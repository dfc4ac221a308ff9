"""Fields of custom instances: their checks, and the documents for the filters."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any, get_args

from lmms_rpts.escaping import storable
from lmms_rpts.filters.documents import (
    LANGUAGE,
    RELATION,
    SOME_TEXT,
    STANCES,
    TEXT,
    TEXTS,
    FieldCheck,
    field_faults,
    gold_faults,
    is_text,
    is_texts,
)
from lmms_rpts.grading.grader import AnswerKind, gold_fault, infer_kind
from lmms_rpts.schema import shown
from lmms_rpts.tasks.own.prompts import lettered

FORMS = ("agree", "choice", "number", "text", "mixed", "none")
"""Types of answers, which determine how they are graded; ``none``: not graded."""

FUNCTION = "function"
"""The form of answers that a custom function grades."""

NO_ANSWERS = " (answer: none in the YAML if there are no answers)"
"""Advice in the message on a missing answer."""

_GRADED_BY_RULES: tuple[AnswerKind, ...] = get_args(AnswerKind)
_NEARLY = 0.8
_LONGEST_NAME = 60


def _is_number(value: object) -> bool:
    if type(value) is int:
        return abs(value) < 10**300
    return type(value) is float and math.isfinite(value)


def _is_line(value: object) -> bool:
    return is_text(value) and bool(str(value).strip())


def _is_answer(value: object) -> bool:
    return _is_line(value) or _is_number(value)


_CHECKS: dict[str, FieldCheck] = {
    "id": (lambda value: type(value) is int or _is_line(value), "a whole number or a text"),
    "question": SOME_TEXT,
    "statement": SOME_TEXT,
    "answer": (_is_answer, "a string or a number"),
    "images": (
        lambda value: (
            _is_line(value) or (isinstance(value, list) and all(_is_line(each) for each in value))
        ),
        "a file name or a list of file names",
    ),
    "context": TEXT,
    "texts": TEXTS,
    "reasoning": TEXTS,
    "options": (
        lambda value: isinstance(value, list) and all(_is_answer(each) for each in value),
        "a list of strings or numbers",
    ),
    "tolerance": (
        lambda value: _is_number(value) and 0 <= value <= 1,  # type: ignore[operator]
        "a number from 0 to 1",
    ),
    "language": (LANGUAGE[0], f"{LANGUAGE[1]} (the language of the prompt; texts may be in any)"),
    "ability": (lambda value: is_text(value) or is_texts(value), "a string or a list of strings"),
    "relation": RELATION,
}
FIELDS = tuple(_CHECKS)
"""The names of all fields of an instance; others are ignored."""


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """An instance in the form for filters and prompts.

    Attributes:
        context: what steps may cite: the context of the instance, and the question after it unless
            it is a statement to agree or disagree with.
        background: only the context of the instance, for the prompt.
        form: one of ``FORMS``, or ``FUNCTION``.
        answer, options: empty if there are none.
        tolerance: maximum relative error of a number.
    """

    id: str
    language: str
    form: str
    statement: str
    context: str
    background: str
    textual_clue: tuple[str, ...]
    visual_clue: tuple[str, ...]
    reasoning: tuple[str, ...]
    answer: str
    options: tuple[str, ...]
    tolerance: float
    ability: tuple[str, ...]
    relation: str | None


def record_faults(record: Mapping[str, Any], form: str) -> Iterator[str]:
    """The faults of an instance, each in one sentence without its full stop.

    Args:
        record: an object of the file; null counts as missing.
        form: type of its answer.
    """
    given = {name: value for name, value in record.items() if value is not None}
    yield from _name_faults(given)
    faults = list(_missing(given, form))
    faults += field_faults(given, {}, _CHECKS)
    faults += [
        f"{name!r} contains half a character (a lone surrogate), which cannot be saved"
        for name in FIELDS
        if _is_broken(given.get(name))
    ]
    yield from faults or _value_faults(given, form)


def as_document(record: Mapping[str, Any], form: str, number: int, language: str) -> OwnDocument:
    """The document of an instance without faults.

    Args:
        number: number of the instance in its file, from 0: its id if it has none.
        language: language of the prompt if the instance sets none.
    """
    given = {name: value for name, value in record.items() if value is not None}
    question, context = str(_question(given, form)), str(given.get("context", ""))
    options = tuple(written(each) for each in given.get("options", ()))
    # Steps may cite the question, and an answer may be the letter of an option.
    parts = (context,) if form == "agree" else (context, question, *lettered(options))
    abilities = given.get("ability", [])
    images = given.get("images", [])
    return OwnDocument(
        id=str(given.get("id", number)),
        language=given.get("language", language),
        form=infer_kind(written(given.get("answer", "")), options) if form == "mixed" else form,
        statement=question,
        context="\n".join(part for part in parts if part.strip()),
        background=context,
        textual_clue=tuple(given.get("texts", ())),
        visual_clue=(images,) if isinstance(images, str) else tuple(images),
        reasoning=tuple(given.get("reasoning", ())),
        answer=written(given.get("answer", "")),
        options=options,
        tolerance=float(given.get("tolerance", 0.0)),
        ability=(abilities,) if isinstance(abilities, str) else tuple(abilities),
        relation=given.get("relation"),
    )


def written(value: object) -> str:
    """A text, or a number in plain digits: ``4``, ``0.0000001``."""
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f")
    return str(value)


def image_names(record: Mapping[str, Any]) -> list[str] | None:
    """The names of an instance's images; None if the field has another type."""
    found = record.get("images")
    if found is None:
        return []
    return ([found] if isinstance(found, str) else found) if _CHECKS["images"][0](found) else None


@lru_cache(maxsize=4096)
def nearest(name: str, known: tuple[str, ...], cutoff: float = 0.6) -> str | None:
    """The most similar of these names; None if none is similar."""
    if len(name) > _LONGEST_NAME:
        return None
    near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=cutoff)
    return near[0] if near else None


def _question(record: Mapping[str, Any], form: str) -> Any:
    names = ("statement", "question") if form == "agree" else ("question", "statement")
    return next((record[name] for name in names if name in record), None)


def _missing(record: Mapping[str, Any], form: str) -> Iterator[str]:
    if _question(record, form) is None:
        wanted = "'statement' (or 'question')" if form == "agree" else "'question'"
        yield f"the field {wanted} is missing"
    if "question" in record and "statement" in record:
        yield "'question' and 'statement' mean the same: remove one"
    if form != "none" and "answer" not in record:
        yield f"the field 'answer' is missing{NO_ANSWERS}"


def _name_faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Misspelt names of fields that are missing; other unknown fields are allowed."""
    for name in record:
        near = None if name in _CHECKS else nearest(name, FIELDS, _NEARLY)
        if near is not None and near not in record:
            yield f"unknown field {shown(name)}: did you mean {near!r}?"


def _value_faults(record: Mapping[str, Any], form: str) -> Iterator[str]:
    answer = record.get("answer")
    if form == "agree" and answer not in STANCES:
        yield f"'answer' should be agree or disagree, not {shown(answer)}"
    graded = next((each for each in _GRADED_BY_RULES if each == form), None)
    if form == "mixed":
        graded = infer_kind(written(answer), [written(each) for each in record.get("options", ())])
    if graded is not None:
        options = [written(each) for each in record.get("options", ())]
        fault = gold_fault(graded, written(answer), options)
        if fault:
            yield f"'answer' cannot be graded as a {form}: {fault}"
    images = image_names(record) or []
    yield from gold_faults({"reasoning": record.get("reasoning", []), "visual_clue": images})


def _is_broken(value: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return any(isinstance(each, str) and storable(each) != each for each in texts)
