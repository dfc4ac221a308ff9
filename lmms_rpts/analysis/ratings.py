"""Ratings of steps by people, read from files and matched with a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmms_rpts.analysis.rating_pages import read_saved_page
from lmms_rpts.analysis.rating_sheets import read_sheet
from lmms_rpts.analysis.rating_types import Rating, RatingsOfFile, StepKey
from lmms_rpts.escaping import shorten
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.runs import Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class RatedStep:
    """A step that people scored: the raters' names ("" where the file has none), and scores."""

    task: str
    doc_id: int
    repeat: int
    step: int
    ratings: Mapping[str, float]

    @property
    def score(self) -> float:
        """The raters' mean."""
        return math.fsum(self.ratings.values()) / len(self.ratings)


@dataclass(frozen=True, slots=True)
class Ratings:
    """People's scores of a run's steps.

    ``unrated``: how many rows of the files have a blank score.
    """

    files: tuple[Path, ...]
    steps: tuple[RatedStep, ...]
    unrated: int

    @property
    def source(self) -> str:
        """The files' names."""
        return ", ".join(map(str, self.files))

    @property
    def raters(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({name for each in self.steps for name in each.ratings}))

    def frame(self) -> pd.DataFrame:
        """One row a rating: ``task``, ``doc_id``, ``repeat``, ``step``, ``rater``, ``score``."""
        import pandas as pd

        rows = [
            (each.task, each.doc_id, each.repeat, each.step, rater, score)
            for each in self.steps
            for rater, score in each.ratings.items()
        ]
        names = ["task", "doc_id", "repeat", "step", "rater", "score"]
        frame: pd.DataFrame = pd.DataFrame(rows, columns=names)
        return frame


def read_ratings(files: str | Path | Sequence[str | Path], run: Run) -> Ratings:
    """Read people's scores of the steps of ``run``, of one file or several.

    A JSON file is what the page of ``lmms-rpts rate`` saved. Any other is a CSV file (comma,
    semicolon or tab; UTF-8) with the columns ``doc_id`` or ``id``, ``step`` (from 0), and
    ``human`` or ``score`` (0 to 1, with a decimal point or comma); ``task`` where the run has
    several; ``repeat`` (0 if left out) and ``rater`` if wanted. Others are ignored. A row with a
    blank score is not rated. Of several files, one that names no raters is a rater of its own.

    Raises:
        RunError: naming the file, the line and what is wrong there; also where one person scored
            a step twice.
    """
    given = [files] if isinstance(files, str | Path) else files
    read = [_read(Path(each).expanduser(), run) for each in given]
    if not read:
        raise RunError("no file of ratings was named")
    return Ratings(
        files=tuple(each.file for each in read),
        steps=tuple(RatedStep(*key, scores) for key, scores in _merged(_named(read)).items()),
        unrated=sum(each.unrated for each in read),
    )


def _read(file: Path, run: Run) -> RatingsOfFile:
    reader = read_saved_page if file.suffix.lower() == ".json" else read_sheet
    return reader(file, run)


def _named(read: Sequence[RatingsOfFile]) -> Iterable[Rating]:
    """All ratings; those without a name are by their file, where there are several."""
    for each in read:
        for rating in each.ratings:
            rater = rating.rater or (str(each.file) if len(read) > 1 else "")
            yield Rating(rating.step, rater, rating.score, rating.place)


def _merged(ratings: Iterable[Rating]) -> dict[StepKey, dict[str, float]]:
    steps: dict[StepKey, dict[str, float]] = {}
    places: dict[tuple[StepKey, str], str] = {}
    for each in ratings:
        first = places.setdefault((each.step, each.rater), each.place)
        if first != each.place:
            raise RunError(
                f"{each.place}: this step was scored by {shorten(each.rater)!r} in {first} already"
            )
        steps.setdefault(each.step, {})[each.rater] = each.score
    return steps
