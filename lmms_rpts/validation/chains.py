"""Labelled chains of steps: the common form of all layouts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LabelledChain:
    """One solution, cut into steps, with a label for each step.

    Attributes:
        id: names it within its set.
        question: which question it answers: chains of one question hang together, and intervals
            resample questions.
        stratum: the part of the set that it belongs to, a subset or a subject.
        language: of the prompt that the judge is asked with: ``en`` or ``zh``.
        context: the question, its options included.
        steps: their texts, as they stand in the data.
        labels: whether each is sound; None: unlabelled or neutral, never asked and never counted.
        premises: of each step, where the data name them; None: all earlier steps.
        first_error: the number of the first wrong step, from 0; None: there is none.
        located: whether the data say where the first error is, or that there is none.
        inherited: steps that are sound inferences, but rest on an earlier error.
        places: the number of each step in the chain, from 0, where several of ``steps`` are
            alternatives at one place; empty: their order.
        path: which of ``steps`` are the chain itself, where others are alternatives to them;
            empty: all.
        images: names of the pictures that the question goes with.
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
        """The steps with a label: those that a judge is asked about."""
        return tuple(at for at, label in enumerate(self.labels) if label is not None)

    @property
    def has_error(self) -> bool:
        """Whether any step is wrong."""
        return any(label is False for label in self.labels)

    @property
    def on_path(self) -> tuple[int, ...]:
        """The steps of the chain itself, in order."""
        return self.path or tuple(range(len(self.steps)))

    def place(self, step: int) -> int:
        """The number of a step in the chain, from 0."""
        return self.places[step] if self.places else step
