"""Data classes of a chain of reasoning: clues, steps, the chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

ClueKind = Literal["image", "text", "conclusion", "context"]
Language = Literal["en", "zh"]

KINDS: tuple[ClueKind, ...] = get_args(ClueKind)
LANGUAGES: tuple[Language, ...] = get_args(Language)

Evidence = Literal["facts", "image", "both"]
"""What claims about images are judged against: conclusions of the gold reasoning, or the image."""
EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)


@dataclass(frozen=True, slots=True)
class Clue:
    """One piece of evidence that a step may cite as a premise.

    Attributes:
        kind: ``image``, ``text``, ``conclusion`` (of an earlier step) or ``context``.
        index: number of the clue within its kind, from 0; None if the text has no number.
    """

    kind: ClueKind
    index: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"Unknown clue kind {self.kind!r}; known kinds: {', '.join(KINDS)}")
        if self.index is not None and self.index < 0:
            raise ValueError(f"The index of a clue counts from 0, got {self.index}")


@dataclass(frozen=True, slots=True)
class Step:
    """One inference: the cited ``premises`` and the ``conclusion`` drawn from them."""

    premises: tuple[Clue, ...]
    conclusion: str


@dataclass(frozen=True, slots=True)
class ReasoningChain:
    """The steps of an argument, in order.

    A premise ``Clue("conclusion", k)`` cites ``steps[k]``; it is valid only from a later step.

    Attributes:
        steps: the inferences, in order.
        language: the language of the labels when the chain is written out.
        problems: messages about text that could not be parsed; not part of equality.
    """

    steps: tuple[Step, ...]
    language: Language = "en"
    problems: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.language not in LANGUAGES:
            raise ValueError(
                f"Unknown language {self.language!r}; known languages: {', '.join(LANGUAGES)}"
            )
