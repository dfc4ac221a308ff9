"""Files of human ratings of steps: those that the rating page saves, and flat tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, ValidationError

from lmms_rpts.base.rows import ReadError, read_objects
from lmms_rpts.base.schema import FieldError, Line, Model, Several, Share, Text, Whole, first_fault
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.reading import RunError

FORMAT = "lmms-rpts-ratings"
VERSION = 1
_HEAD = 4_096
_REMEDY = "pass a file that the page of lmms-rpts rate saved"
_COLUMNS = "docs/rating.md shows the columns."

_Number = Annotated[int, Field(ge=0, lt=2**63)]


class RatedItem(Model):
    """One step, with what raters saw and their score."""

    task: Text
    doc_id: Whole
    id: Text = Field(default="", description="the document's own id")
    repeat: Whole = 0
    step: Whole = Field(description="number of the step in the response, from 0")
    kind: Literal["inference", "image"] = Field(
        description="question: does the step follow from its premises, is it true of an image"
    )
    language: Language
    context: Text
    premises: Several[Text] = Field(default=(), description="premises; only for inferences")
    conclusion: Text = ""
    score: Share | None = Field(default=None, description="null if skipped or not yet rated")
    comment: Text = ""

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Task, doc_id, repeat, step."""
        return (self.task, self.doc_id, self.repeat, self.step)


class RatingFile(Model):
    """All ratings of one rater for one sample."""

    format: Literal["lmms-rpts-ratings"]
    version: Whole
    created: Text = Field(default="", description="date and time")
    rater: Line
    sample: Text = Field(description="digest of the sample's texts")
    items: Several[RatedItem]


class RatedRow(Model):
    """A row of a table of ratings; a blank score counts as not rated."""

    task: str = ""
    doc_id: _Number | None = None
    id: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    repeat: _Number = 0
    step: _Number
    score: Annotated[float | None, Field(ge=0, le=1)] = None
    rater: str = ""
    conclusion: ClassVar[str] = ""  # a table is not checked for it


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating of a file.

    Attributes:
        where: its place, for messages.
        source: the row or item that has it; a score of None: not rated.
        rater: empty if the file does not name one.
    """

    where: str
    source: RatedRow | RatedItem
    rater: str


def read_rating_file(path: Path) -> list[Rating]:
    """Read the ratings of one file.

    A table has the columns ``doc_id`` or ``id``, ``step`` (from 0) and ``human`` or ``score`` (0 to
    1). Optional: ``task``, ``repeat`` (default 0), ``rater``. Other columns are ignored.
    """
    try:
        return list(_read(path))
    except ReadError as error:
        raise RunError(str(error)) from None


def _read(path: Path) -> Iterator[Rating]:
    rows = list(read_objects(path))
    if len(rows) == 1 and "format" in rows[0].fields:
        try:
            saved = parse_saved(rows[0].fields)
        except FieldError as error:
            raise RunError(f"{path} is not a rating file: {error}; {_REMEDY}") from None
        for at, item in enumerate(saved.items):
            yield Rating(f"{path}, items[{at}]", item, saved.rater.strip())
        return
    columns = {name for row in rows for name in (*row.fields, *row.cells)}
    if "human" not in columns and {"step", "judge", "reply"} <= columns:
        raise RunError(
            f"{path}: its scores are the judge's own, as written by lmms-rpts export: put human "
            'scores into a column "human"'
        )
    for row in rows:
        if "human" in columns:
            row = replace(row, fields={**row.fields, "score": row.fields.get("human")})
        rated = row.parse(RatedRow, _COLUMNS)
        yield Rating(row.where, rated, rated.rater)


def parse_saved(value: Any) -> RatingFile:
    """Parse a file that the rating page saved from a JSON object.

    Raises:
        FieldError: with the field and the error; also if an item occurs twice.
    """
    try:
        found = RatingFile.model_validate(value)
    except ValidationError as error:
        raise FieldError(first_fault(error)) from None
    if found.version != VERSION:
        raise FieldError(f"version is {found.version}; this lmms-rpts reads version {VERSION}")
    seen: dict[Any, int] = {}
    for at, item in enumerate(found.items):
        if (first := seen.setdefault(item.key, at)) != at:
            raise FieldError(f"items[{at}] is the same step as items[{first}]")
    return found


def holds_rating_file(path: Path) -> bool:
    """Whether a file begins like a rating file, not like samples or results."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and FORMAT.encode() in head
