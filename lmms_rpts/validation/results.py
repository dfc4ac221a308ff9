"""Results of a validation: the content of its file, and the judge's worst errors with texts."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_rpts.runs.validity import ValidatedSet, Validity
from lmms_rpts.validation.chains import LabelledChain


@dataclass(frozen=True, slots=True)
class Miss:
    """A step for which the judge's score contradicts the label.

    Attributes:
        chain: the chain of the step, with all its texts and labels.
        step: number of the step, from 0.
        score: the judge's score, in [0, 1].
        premises: premises shown to the judge.
        reply: the judge's complete reply; with several judges or samples, all replies.
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
    """One set: its figures, and the judge's worst errors, worst first.

    ``error``: why the first of the unscored steps has no score; None if all have one.
    """

    figures: ValidatedSet
    misses: tuple[Miss, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Validation:
    """Results of a judge on all sets. ``stopped``: why requests ended early, or None."""

    validity: Validity
    sets: tuple[SetResult, ...]
    stopped: str | None = None
