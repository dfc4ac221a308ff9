"""A layout of published step labels: the fields of its rows, the rule of its labels, its source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_rpts.runs.validity import PublishedFigure
from lmms_rpts.schema import shown
from lmms_rpts.validation.chains import LabelledChain, Labels, first_wrong
from lmms_rpts.validation.fields import (
    Fields,
    LeftOut,
    Reader,
    RowError,
    choice,
    encoded,
    filled,
    list_of,
    step_number,
    text,
    texts,
    whole,
)

Rule = Callable[[Fields, int], Labels]
"""Returns the labels of a row with a number of steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One layout of published step labels; each row is a chain, in the fields named here.

    Attributes:
        name: name of the set, in lower case.
        title: the authors' name for it, and the paper.
        fields: fields that identify a row of this layout, and of no other.
        meaning: one line: who labelled what, and the meaning of "sound" in this set.
        licence: licence of the data.
        source: how to get the data: a ``git clone`` command if they are in a repository.
        path: path of the data within the source.
        context: field of the question.
        options: field of its options, if it has any.
        steps: field of the list of steps, or a function that cuts a text into steps.
        labels: rule of the labels.
        stratum: field of the subset; where it is missing, the name of the file.
        id: returns the id of the chain; None: file and number.
        question: returns the id of the question; None: its images and its text.
        images: field with the names of its images: a text, a list or an object.
        left_out_if: why a row has nothing to judge, and whether this holds.
        located: whether the labels say where the first error is, or that there is none.
        chains: returns the chains of a row, where the fields above can't describe it.
        fixed_premises: whether only the given premises can be used, as they are no earlier steps.
        merge: combines rows that label the same steps, before they are read; returns a remark too.
        anchors: published figures, measured with the authors' own protocol.
    """

    name: str
    title: str
    fields: frozenset[str] = frozenset()
    meaning: str
    licence: str
    source: str
    path: str = ""
    context: str = "question"
    options: str = ""
    steps: str | Callable[[Fields], tuple[str, ...]] = "steps"
    labels: Rule = lambda row, steps: ()
    stratum: str = ""
    id: Callable[[Fields], str | None] | None = None
    question: Callable[[Fields], str | None] | None = None
    images: str = ""
    left_out_if: tuple[str, Callable[[Fields], bool]] | None = None
    located: Callable[[Labels], bool] = lambda labels: True
    chains: Callable[[Fields], Iterable[LabelledChain]] | None = None
    fixed_premises: bool = False
    merge: Callable[[Sequence[Fields]], tuple[Sequence[Fields], str]] | None = None
    anchors: tuple[PublishedFigure, ...] = ()

    def read(self, row: Fields) -> Iterable[LabelledChain]:
        """The chains of a row.

        Raises:
            RowError: the row does not fit.
            LeftOut: it has nothing to judge.
        """
        return [self._chain(row)] if self.chains is None else self.chains(row)

    def _chain(self, row: Fields) -> LabelledChain:
        if self.left_out_if is not None and self.left_out_if[1](row):
            raise LeftOut(self.left_out_if[0])
        steps = row.read(self.steps, texts) if isinstance(self.steps, str) else self.steps(row)
        context, images = row.read(self.context, filled), row.optional(self.images, _images, ())
        question = self.question(row) if self.question else None
        if self.options in row:
            context += "\n" + row.read(self.options, filled)
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


def _images(value: Any, field: str) -> tuple[str, ...]:
    if isinstance(value, str):
        return (text(value, field),)
    if isinstance(value, Mapping):
        # Tables add the names of other rows with nulls.
        value = [each for each in value.values() if each is not None]
    return texts(value, field) if value else ()


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
            if row.read(name, choice({right: True, wrong: False})):
                if value is not None and not sound:
                    raise RowError(
                        field, f"is {shown(value)}, but the solution is marked as correct"
                    )
                return (True,) * steps
        elif sound:
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
