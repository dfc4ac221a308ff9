"""Labelled chains of steps: the common form that all layouts are read into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledChain:
    """One solution, cut into steps, with a label for each step.

    Attributes:
        id: unique within its set.
        question: id of the question that it answers. Intervals resample questions, because chains
            of one question are not independent.
        stratum: the subset or subject that it belongs to.
        language: language of the judge's prompt: ``en`` or ``zh``.
        context: the question, including its options.
        steps: texts of the steps, unchanged from the data.
        labels: whether each step is sound; None: unlabelled or neutral, neither judged nor counted.
        premises: premises of each step, if the data give them; None: all earlier steps.
        first_error: number of the first wrong step, from 0; None: there is none.
        located: whether the data give the place of the first error, or state that there is none.
        inherited: steps that are sound inferences but depend on an earlier error.
        places: position of each step in the chain, from 0, if several of ``steps`` are
            alternatives at one position; empty: the order of ``steps``.
        path: numbers of the ``steps`` that form the chain itself, if others are alternatives to
            them; empty: all.
        images: names of the images of the question.
    """

    id: str
    question: str
    stratum: str
    language: str
    context: str
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    premises: tuple[tuple[str, ...], ...] | None = None
    first_error: int | None = None
    located: bool = True
    inherited: frozenset[int] = frozenset()
    places: tuple[int, ...] = ()
    path: tuple[int, ...] = ()
    images: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[int, ...]:
        """Numbers of the labelled steps, which are the ones sent to a judge."""
        return tuple(at for at, label in enumerate(self.labels) if label is not None)

    @property
    def has_error(self) -> bool:
        """Whether any step is wrong."""
        return any(label is False for label in self.labels)

    @property
    def on_path(self) -> tuple[int, ...]:
        """Numbers of the steps that form the chain itself, in order."""
        return self.path or tuple(range(len(self.steps)))

    def place(self, step: int) -> int:
        """Position of a step in the chain, from 0."""
        return self.places[step] if self.places else step
