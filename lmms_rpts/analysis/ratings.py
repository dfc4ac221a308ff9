"""Human ratings of steps: read from the rating page's files or from a table, matched with a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field

from lmms_rpts.escaping import did_you_mean, shorten
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.rows import ReadError, Row, read_objects
from lmms_rpts.runs.rating_file import REMEDY as PAGE_REMEDY
from lmms_rpts.runs.rating_file import RatedItem, RatingFile, parse_rating_file
from lmms_rpts.runs.samples import RunError
from lmms_rpts.schema import FieldError, Model
from lmms_rpts.tasks.rpts_eval.runs import Run

if TYPE_CHECKING:
    import pandas as pd

StepKey = tuple[str, int, int, int]
"""A step of a run: task, doc_id, repeat, step."""

_REMEDY = "docs/analysis.md shows the columns."
_Number = Annotated[int, Field(ge=0, lt=2**63)]


class RatedRow(Model):
    """A row of a table of ratings; a blank score counts as not rated."""

    task: str = ""
    doc_id: _Number | None = None
    id: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    repeat: _Number = 0
    step: _Number
    score: Annotated[float | None, Field(ge=0, le=1)] = None
    rater: str = ""


@dataclass(frozen=True, slots=True)
class _Rating:
    """A score of one step; ``place``: file and line. ``rater``: "" if the file has none."""

    step: StepKey
    rater: str
    score: float | None
    place: str


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

    A file is one that the page of ``lmms-rpts rate`` saved, or a table in any format of ``rows``
    with the columns ``doc_id`` or ``id``, ``step`` (from 0), ``human`` or ``score`` (0 to 1, blank:
    not rated), ``task`` if the run has several, and optionally ``repeat`` (default 0) and
    ``rater``. Other columns are ignored. A table without rater names counts as one rater.

    Raises:
        RunError: with the file, the line and the problem; also if one rater scored a step twice.
    """
    paths = [
        Path(each).expanduser() for each in ([files] if isinstance(files, str | Path) else files)
    ]
    if not paths:
        raise RunError("No rating file was passed")
    named: list[_Rating] = []
    for path in paths:
        try:
            found = list(_read(path, run))
        except ReadError as error:
            raise RunError(str(error)) from None
        if not any(each.score is not None for each in found):
            raise RunError(f"{path}: no step is rated")
        alone = "" if len(paths) == 1 else str(path)
        named += (replace(each, rater=each.rater or alone) for each in found)
    steps = (RatedStep(*key, scores) for key, scores in _merged(named).items())
    unrated = sum(each.score is None for each in named)
    return Ratings(tuple(paths), tuple(steps), unrated)


def _read(path: Path, run: Run) -> Iterator[_Rating]:
    responses = {(*each.instance.key, each.repeat): each for each in run.responses}
    rows = list(read_objects(path))
    if len(rows) == 1 and "format" in rows[0].fields:
        yield from _of_page(rows[0], responses, run)
        return
    human = any("human" in row.fields for row in rows)
    if not human and any({"judge", "reply"} <= {*row.fields} for row in rows):
        raise RunError(
            f"{path}: its scores are the judge's own, as written by lmms-rpts export: put human "
            'scores into a column "human"'
        )
    for row in rows:
        score = row.fields.get("human" if human else "score")
        row = replace(row, fields={**row.fields, "score": score})
        rated = row.parse(RatedRow, _REMEDY)
        yield _Rating(_key(row, rated, run, responses), rated.rater, rated.score, row.where)


def _of_page(
    row: Row, responses: Mapping[tuple[str, int, int], RptsRecord], run: Run
) -> Iterator[_Rating]:
    """The ratings of a page, whose steps must match those of the run exactly."""
    try:
        saved: RatingFile = parse_rating_file(row.fields)
    except FieldError as error:
        raise RunError(f"{row.file} is not a rating file: {error}; {PAGE_REMEDY}") from None
    for at, item in enumerate(saved.items):
        place = f"{row.file}, items[{at}]"
        if wrong := _not_of(item, responses):
            raise RunError(
                f"{place}: {wrong}: these ratings belong to another run than {run.label}"
            )
        yield _Rating(item.key, saved.rater.strip(), item.score, place)


def _not_of(item: RatedItem, responses: Mapping[tuple[str, int, int], RptsRecord]) -> str:
    """Why a step does not belong to the run; empty if it does."""
    response = responses.get(item.key[:3])
    document = f"document {item.doc_id} of {shorten(item.task)}"
    if response is None:
        return f"{document} has no response {item.repeat}"
    if item.step >= len(response.steps):
        return f"{document} has no step {item.step}"
    if item.conclusion.split() != response.steps[item.step].conclusion.split():
        said = shorten(item.conclusion, 60)
        return f"step {item.step} of {document} does not have the conclusion “{said}”"
    return ""


def _key(
    row: Row, rated: RatedRow, run: Run, responses: Mapping[tuple[str, int, int], Any]
) -> StepKey:
    """The step that a row rates."""
    task = rated.task or (run.tasks[0] if len(run.tasks) == 1 else "")
    if task not in run.tasks:
        hint = did_you_mean(task, run.tasks) or f" It has: {', '.join(run.tasks)}"
        raise RunError(f"{row.where}: the run has no task {shorten(task)!r}.{hint}")
    doc_id = rated.doc_id
    if doc_id is None:
        named = {
            each.instance.doc_id
            for each in run.responses
            if (each.instance.task, each.instance.id) == (task, rated.id)
        }
        if len(named) != 1:
            many = f"{len(named)} documents" if named else "no document"
            raise RunError(
                f"{row.where}: the run has {many} of {task} with id {shorten(str(rated.id))!r}; "
                "use doc_id"
            )
        (doc_id,) = named
    response = responses.get((task, doc_id, rated.repeat))
    if response is None:
        raise RunError(
            f"{row.where}: the run has no response {rated.repeat} to document {doc_id} of {task}"
        )
    if rated.step >= len(response.steps):
        raise RunError(
            f"{row.where}: document {doc_id} of {task} has no step {rated.step}: it has "
            f"{len(response.steps)} steps, from 0"
        )
    return (task, doc_id, rated.repeat, rated.step)


def _merged(ratings: Iterable[_Rating]) -> dict[StepKey, dict[str, float]]:
    steps: dict[StepKey, dict[str, float]] = {}
    places: dict[tuple[StepKey, str], str] = {}
    for each in ratings:
        if each.score is None:
            continue
        first = places.setdefault((each.step, each.rater), each.place)
        if first != each.place:
            by = f" by {shorten(each.rater)!r}" if each.rater else ""
            raise RunError(f"{each.place}: this step was already scored{by} in {first}")
        steps.setdefault(each.step, {})[each.rater] = each.score
    return steps
