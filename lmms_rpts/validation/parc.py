"""PARC: labels with the premises of each step, and with own and inherited errors apart."""

from __future__ import annotations

from collections.abc import Iterator

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain, first_wrong
from lmms_rpts.validation.fields import (
    Fields,
    RowError,
    any_list,
    choice,
    filled,
    flag,
    objects,
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


def _levels(row: Fields, name: str, allowed: list[list[int]]) -> tuple[Fields, ...]:
    levels = row.read(name, objects)
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
    # An error that is not marked as inherited is the step's own.
    return not errors or any(
        each.read("error_type", choice(_NATIVE)) for each in level.read("errors", objects)
    )


def _premises(level: Fields, number: int, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Clauses of the question, and whole steps: a paraphrase may correct or hide an error."""
    found: dict[str, None] = {}
    for pair in level.read("premises", any_list):
        if len(any_list(pair, "premises")) != 2:
            raise RowError("premises", f"should be pairs of a number and a text, not {shown(pair)}")
        at, clause = whole(pair[0], "premises"), text(pair[1], "premises")
        if not 0 <= at < number:
            raise RowError("premises", f"of step {number} cite step {shown(at)}")
        found[steps[at - 1] if at else clause] = None
    return tuple(found)
