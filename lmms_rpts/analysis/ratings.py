"""Human ratings of steps, read from files and matched with a run."""

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
    """A step with human scores: the raters' names ("" if the file has none) and their scores."""

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
    """Human scores of a run's steps.

    ``unrated``: number of rows with a blank score.
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
        """One row per rating: ``task``, ``doc_id``, ``repeat``, ``step``, ``rater``, ``score``."""
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
    """Read human scores of the steps of ``run`` from one file or several.

    A JSON file is one saved by the page of ``lmms-rpts rate``. Any other file is CSV (comma,
    semicolon or tab; UTF-8) with the columns ``doc_id`` or ``id``, ``step`` (from 0), and
    ``human``
    or ``score`` (0 to 1, with a decimal point or comma); ``task`` if the run has several;
    optionally ``repeat`` (default 0) and ``rater``. Other columns are ignored. A row with a
    blank
    score counts as not rated. A file without rater names counts as one rater.

    Raises:
        RunError: with the file, the line and the problem; also if one rater scored a step
            twice.
    """
    given = [files] if isinstance(files, str | Path) else files
    read = [_read(Path(each).expanduser(), run) for each in given]
    if not read:
        raise RunError("No rating file was passed")
    return Ratings(
        files=tuple(each.file for each in read),
        steps=tuple(RatedStep(*key, scores) for key, scores in _merged(_named(read)).items()),
        unrated=sum(each.unrated for each in read),
    )


def _read(file: Path, run: Run) -> RatingsOfFile:
    reader = read_saved_page if file.suffix.lower() == ".json" else read_sheet
    return reader(file, run)


def _named(read: Sequence[RatingsOfFile]) -> Iterable[Rating]:
    """All ratings; those without a rater are named after their file if there are several."""
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
                f"{each.place}: this step was already scored by {shorten(each.rater)!r} in {first}"
            )
        steps.setdefault(each.step, {})[each.rater] = each.score
    return steps
