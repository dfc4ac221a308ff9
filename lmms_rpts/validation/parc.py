"""PARC: labels with the premises of each step, and with own and inherited errors apart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain, first_wrong
from lmms_rpts.validation.fields import (
    Fields,
    RowError,
    any_list,
    choice,
    filled,
    flag,
    list_of,
    mapping,
    text,
    texts,
    whole,
)

# Whether a step with only this error is wrong itself; False: it only depends on a wrong step.
_NATIVE = {
    "Logical_Inconsistency": True,
    "Mathematical_Error": True,
    "Missing_Steps": True,
    "Other": True,
    "Accumulation_Error": False,
}


def parc_chains(row: Fields) -> Iterator[LabelledChain]:
    """The chain of a row."""
    question, steps = row.read("question", filled), row.read("steps", texts)
    numbers = list(range(len(steps) + 1))
    errors = _levels(row, "error_annotation.error_annotations.step_level", [numbers[1:]])
    native = [_native(each) for each in errors]
    # Newer copies of the data have no step 0, the question.
    levels = _levels(row, "premise_annotation.steps", [numbers, numbers[1:]])[-len(steps) :]
    labels = tuple(each is not True for each in native)
    yield LabelledChain(
        id=row.place,
        question=question,
        stratum=row.stem,
        context=question,
        steps=steps,
        labels=labels,
        premises=tuple(_premises(each, at, steps) for at, each in enumerate(levels, start=1)),
        first_error=first_wrong(labels),
        inherited=frozenset(at for at, each in enumerate(native) if each is False),
    )


def _levels(row: Fields, name: str, allowed: list[list[int]]) -> list[Fields]:
    levels = [Fields(each) for each in row.read(name, list_of(mapping))]
    if [level.read("step_number", whole) for level in levels] not in allowed:
        raise RowError(name, "should number all steps in order, without gaps")
    return levels


def _native(level: Fields) -> bool | None:
    """Whether the error of a step is its own; None: no error."""
    errors = level.read("errors", any_list)
    if not level.read("has_error", flag):
        if errors:
            raise RowError("errors", "are listed, but 'has_error' is false")
        return None
    if not errors:
        return True  # not marked as inherited
    kinds = [Fields(each) for each in level.read("errors", list_of(mapping))]
    return any(each.read("error_type", choice(_NATIVE)) for each in kinds)


def _premises(level: Fields, number: int, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Clauses of the question, and whole steps: a paraphrase may correct or hide an error."""

    def premise(pair: Any, field: str) -> str:
        if len(any_list(pair, field)) != 2:
            raise RowError(field, f"should be a pair of a number and a text, not {shown(pair)}")
        at, clause = whole(pair[0], field), text(pair[1], field)
        if not 0 <= at < number:
            raise RowError(field, f"cites step {shown(at)}, but is of step {number}")
        return steps[at - 1] if at else clause

    pairs = level.read("premises", any_list)
    return tuple(dict.fromkeys(premise(each, "premises") for each in pairs))
