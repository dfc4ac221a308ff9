"""What readers of people's ratings give, whatever file they read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

StepKey = tuple[str, int, int, int]
"""A step of a run: task, doc_id, repeat, step."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A score of one step by one person.

    Attributes:
        step: which it is.
        rater: a name; "" where the file has none.
        score: in [0, 1].
        place: where it stands, for messages.
    """

    step: StepKey
    rater: str
    score: float
    place: str


@dataclass(frozen=True, slots=True)
class RatingsOfFile:
    """All scores of a file. ``unrated``: how many steps it names without a score."""

    file: Path
    ratings: tuple[Rating, ...]
    unrated: int
