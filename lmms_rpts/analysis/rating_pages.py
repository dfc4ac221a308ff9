"""Reader of ratings in a JSON file, as saved by the page of ``lmms-rpts rate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lmms_rpts.analysis.rating_types import Rating, RatingsOfFile
from lmms_rpts.escaping import shorten
from lmms_rpts.filters.record import RptsRecord
from lmms_rpts.runs.rating_file import RatedItem, read_rating_file
from lmms_rpts.runs.samples import RunError
from lmms_rpts.tasks.rpts_eval.runs import Run

_SHOWN = 60


def read_saved_page(file: Path, run: Run) -> RatingsOfFile:
    """Read a file that the page saved; its steps must match those of ``run`` exactly.

    Raises:
        RunError: with the file, the item and the problem.
    """
    saved = read_rating_file(file)
    responses = {(*each.instance.key, each.repeat): each for each in run.responses}
    found = []
    for at, item in enumerate(saved.items):
        place = f"{file}, items[{at}]"
        wrong = _not_of(item, responses)
        if wrong:
            raise RunError(
                f"{place}: {wrong}: these ratings belong to another run than {run.label}"
            )
        if item.score is not None:
            found.append(Rating(item.key, saved.rater.strip(), item.score, place))
    if not found:
        raise RunError(f"{file}: no step is rated")
    return RatingsOfFile(file, tuple(found), len(saved.items) - len(found))


def _not_of(item: RatedItem, responses: Mapping[tuple[str, int, int], RptsRecord]) -> str:
    """Why a step does not belong to the run; empty if it does."""
    response = responses.get(item.key[:3])
    document = f"document {item.doc_id} of {shorten(item.task)}"
    if response is None:
        return f"{document} has no response {item.repeat}"
    if item.step >= len(response.steps):
        return f"{document} has no step {item.step}"
    if item.conclusion.split() != response.steps[item.step].conclusion.split():
        said = shorten(item.conclusion, _SHOWN)
        return f"step {item.step} of {document} does not have the conclusion “{said}”"
    return ""
