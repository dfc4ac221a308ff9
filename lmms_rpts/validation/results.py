"""Results of a validation: the content of its file, and the worst misses with their texts."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_rpts.runs.validity import ValidatedSet, Validity
from lmms_rpts.validation.chains import LabelledChain


@dataclass(frozen=True, slots=True)
class Miss:
    """A step that the judge scored against its label.

    Attributes:
        chain: that the step belongs to, with all its texts and labels.
        step: its number, from 0.
        score: of the judge, in [0, 1].
        premises: that the judge was shown.
        reply: what the judge said, whole; of several judges or samples, their replies.
    """

    chain: LabelledChain
    step: int
    score: float
    premises: tuple[str, ...]
    reply: str | None

    @property
    def sound(self) -> bool:
        """The label of the step."""
        return self.chain.labels[self.step] is True


@dataclass(frozen=True, slots=True)
class SetResult:
    """One set: its figures, and the worst misses, the worst first.

    ``error``: why the first of the steps without a score has none; None where all have one.
    """

    figures: ValidatedSet
    misses: tuple[Miss, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """A judge on all sets. ``stopped``: why asking ended early; None where it did not."""

    validity: Validity
    sets: tuple[SetResult, ...]
    stopped: str | None = None
