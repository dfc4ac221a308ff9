"""Types of human ratings, common to all file formats."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

StepKey = tuple[str, int, int, int]
"""A step of a run: task, doc_id, repeat, step."""


@dataclass(frozen=True, slots=True)
class Rating:
    """A score of one step by one rater.

    Attributes:
        step: the step.
        rater: name of the rater; "" if the file has none.
        score: in [0, 1].
        place: file and line, for messages.
    """

    step: StepKey
    rater: str
    score: float
    place: str


@dataclass(frozen=True, slots=True)
class RatingsOfFile:
    """All scores of a file. ``unrated``: number of steps without a score."""

    file: Path
    ratings: tuple[Rating, ...]
    unrated: int
