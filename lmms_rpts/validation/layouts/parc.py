"""PARC: labels with the premises of each step, and with own and inherited errors apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.layout import Layout
from lmms_rpts.validation.layouts.chains import first_wrong
from lmms_rpts.validation.rows import Row, RowError, as_list, as_text, as_whole

# Whether a step with only this error is wrong itself; False: it only depends on a wrong step.
_NATIVE = {
    "Logical_Inconsistency": True,
    "Mathematical_Error": True,
    "Missing_Steps": True,
    "Other": True,
    "Accumulation_Error": False,
}


def _read(row: Row) -> Iterator[LabelledChain]:
    steps = row.texts("steps")
    question = row.text("question")
    native = _errors(row.object("error_annotation").object("error_annotations"), len(steps))
    labels = tuple(each is not True for each in native)
    yield LabelledChain(
        id=row.place,
        question=question,
        stratum=row.stem,
        language="en",
        context=question,
        steps=steps,
        labels=labels,
        premises=_premises(row.object("premise_annotation"), steps),
        first_error=first_wrong(labels),
        inherited=frozenset(at for at, each in enumerate(native) if each is False),
    )


def _errors(row: Row, steps: int) -> list[bool | None]:
    """For each step, whether its error is its own; None: no error."""
    levels = row.objects("step_level")
    _check_numbers(levels, "step_level", [list(range(1, steps + 1))])
    return [_error(level) for level in levels]


def _error(level: Row) -> bool | None:
    errors = level.items("errors")
    if not level.flag("has_error"):
        if errors:
            raise RowError("errors", "are listed, but 'has_error' is false")
        return None
    # An error that is not marked as inherited is the step's own.
    return not errors or any(each.choice("error_type", _NATIVE) for each in level.objects("errors"))


def _premises(row: Row, steps: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    levels = row.objects("steps")
    numbers = list(range(len(steps) + 1))
    _check_numbers(levels, "premise_annotation.steps", [numbers, numbers[1:]])
    return tuple(
        _premises_of(level, number, steps)
        for number, level in enumerate(levels[-len(steps) :], start=1)
    )


def _premises_of(level: Row, number: int, steps: tuple[str, ...]) -> tuple[str, ...]:
    """Clauses of the question, and whole steps: a paraphrase may correct or hide an error."""
    found: dict[str, None] = {}
    for item in level.items("premises"):
        pair = as_list(item, "premises")
        if len(pair) != 2:
            raise RowError("premises", f"should be pairs of a number and a text, not {shown(pair)}")
        at, clause = as_whole(pair[0], "premises"), as_text(pair[1], "premises")
        if not 0 <= at < number:
            raise RowError("premises", f"of step {number} cite step {shown(at)}")
        found[steps[at - 1] if at else clause] = None
    return tuple(found)


def _check_numbers(levels: Sequence[Row], field: str, allowed: Sequence[list[int]]) -> None:
    if [level.whole("step_number") for level in levels] not in allowed:
        raise RowError(field, "should number all steps in order, without gaps")


PARC = Layout(
    name="parc",
    title="PARC / PERL (arXiv 2502.02362)",
    fields=frozenset({"question", "steps", "premise_annotation", "error_annotation"}),
    read=_read,
    labels="A strong model labelled every step; human annotators checked a tenth. Wrong: the "
    "step itself has an error (logic, mathematics, missing steps, other). A step that "
    "is wrong only because it depends on a wrong one is sound, and counted as "
    "inherited.",
    licence="MIT",
    source="git clone https://github.com/SagnikMukherjee/PARC",
    path="datasets",
)
