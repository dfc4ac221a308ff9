"""Files that pages save: human ratings (also as flat tables), and comments on a report.

A rating is of one step (a score), of a response as a whole (a score), or of a document (the
relation between its images and texts).
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from lmms_rpts.base.rows import ReadError, read_objects
from lmms_rpts.base.schema import FieldError, Line, Model, Several, Share, Text, Whole, first_fault
from lmms_rpts.reasoning.clues import Language
from lmms_rpts.runs.run import AnyRun
from lmms_rpts.runs.samples import RunError

FORMAT = "lmms-rpts-ratings"
COMMENTS = "lmms-rpts-comments"
VERSION = 1
_HEAD = 4_096
_REMEDY = "pass a file that the page of lmms-rpts rate saved"
_COLUMNS = "docs/rating.md shows the columns."

Relation = Literal["guided", "adversarial", "independent"]
"""How images and texts relate (Wang and Zhang, RPTS, arXiv 2511.06899)."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)

What = Literal["step", "overall", "relation"]
"""What is rated."""

_Number = Annotated[int, Field(ge=0, lt=2**63)]
_Score = Annotated[float | None, Field(ge=0, le=1)]


class RatedItem(Model):
    """One step, response or document, with what raters saw and their answer."""

    task: Text
    doc_id: Whole
    id: Text = Field(default="", description="the document's own id")
    repeat: Whole = 0
    step: Whole | None = Field(
        default=None, description="number of the step in the response, from 0; only for steps"
    )
    kind: Literal["inference", "image", "overall", "relation"] = Field(
        description="question: does the step follow from its premises, is it true of an image, is "
        "the whole reasoning sound, how do images and texts relate"
    )
    language: Language
    context: Text
    premises: Several[Text] = Field(default=(), description="premises; only for inferences")
    conclusion: Text = ""
    score: Share | None = Field(default=None, description="null if skipped or not yet rated")
    relation: Relation | None = Field(default=None, description="the label; only for relations")
    first: Relation | None = Field(
        default=None, description="the label before the rater saw the judge's proposal"
    )
    proposal: Relation | None = Field(default=None, description="the judge's proposal, if any")
    comment: Text = ""

    @model_validator(mode="after")
    def _names_its_step(self) -> RatedItem:
        if self.what == "step" and self.step is None:
            raise FieldError("step is missing")
        return self

    @property
    def what(self) -> What:
        """What is rated."""
        return self.kind if self.kind in ("overall", "relation") else "step"

    @property
    def key(self) -> tuple[str, int, int, int | None, What]:
        """Task, doc_id, repeat, step, and what is rated."""
        return (self.task, self.doc_id, self.repeat, self.step, self.what)


class SavedFile(Model):
    """What people entered in a page; each of ``items`` has a ``key``."""

    version: Whole
    created: Text = Field(default="", description="date and time")
    items: Several[Any]


S = TypeVar("S", bound=SavedFile)


class RatingFile(SavedFile):
    """All ratings of one rater for one sample."""

    format: Literal["lmms-rpts-ratings"]
    rater: Line
    sample: Text = Field(description="digest of the sample's texts")
    items: Several[RatedItem]


class RatedRow(Model):
    """A row of a table of ratings; a blank score or label counts as not rated."""

    task: str = ""
    doc_id: _Number | None = None
    id: Annotated[str | None, BeforeValidator(lambda value: value and str(value))] = None
    repeat: _Number = 0
    step: _Number | None = None
    score: _Score = None
    overall: _Score = None
    relation: Annotated[
        Relation | None,
        BeforeValidator(lambda text: text.strip().lower() if isinstance(text, str) else text),
    ] = None
    rater: str = ""
    conclusion: ClassVar[str] = ""  # a table is not checked for it


@dataclass(frozen=True, slots=True)
class Rating:
    """One rating of a file.

    Attributes:
        where: its place, for messages.
        source: the row or item that has it.
        answer: a score, or a relation; None: not rated.
        rater: empty if the file does not name one.
    """

    where: str
    what: What
    source: RatedRow | RatedItem
    answer: Any
    rater: str


def read_rating_file(path: Path) -> list[Rating]:
    """Read the ratings of one file.

    A table has the columns ``doc_id`` or ``id`` and, for steps, ``step`` (from 0) and ``human`` or
    ``score`` (0 to 1); without ``step``, ``overall`` (0 to 1), ``relation``, or both. Optional:
    ``task``, ``repeat`` (default 0), ``rater``. Other columns are ignored.
    """
    try:
        return list(_read(path))
    except ReadError as error:
        raise RunError(str(error)) from None


def _read(path: Path) -> Iterator[Rating]:
    rows = list(read_objects(path))
    if len(rows) == 1 and "format" in rows[0].fields:
        try:
            saved = parse_saved(RatingFile, rows[0].fields)
        except FieldError as error:
            raise RunError(f"{path} is not a rating file: {error}; {_REMEDY}") from None
        for at, item in enumerate(saved.items):
            answer = item.relation if item.what == "relation" else item.score
            yield Rating(f"{path}, items[{at}]", item.what, item, answer, saved.rater.strip())
        return
    columns = {name for row in rows for name in (*row.fields, *row.cells)}
    if "step" in columns and "human" not in columns and {"judge", "reply"} <= columns:
        raise RunError(
            f"{path}: its scores are the judge's own, as written by lmms-rpts export: put human "
            'scores into a column "human"'
        )
    of_documents: list[What] = [each for each in ("overall", "relation") if each in columns]
    for row in rows:
        if "human" in columns:
            row = replace(row, fields={**row.fields, "score": row.fields.get("human")})
        rated = row.parse(RatedRow, _COLUMNS)
        if rated.step is None and ("step" in columns or not of_documents):
            raise RunError(str(row.error("step is missing", _COLUMNS)))
        whats: list[What] = ["step"] if "step" in columns else of_documents
        for what in whats:
            answer = getattr(rated, "score" if what == "step" else what)
            yield Rating(row.where, what, rated, answer, rated.rater)


def parse_saved(kind: type[S], value: Any) -> S:
    """Parse a file that a page saved from a JSON object.

    Raises:
        FieldError: with the field and the error; also if an item occurs twice.
    """
    try:
        found = kind.model_validate(value)
    except ValidationError as error:
        raise FieldError(first_fault(error)) from None
    if found.version != VERSION:
        raise FieldError(f"version is {found.version}; this lmms-rpts reads version {VERSION}")
    seen: dict[Any, int] = {}
    for at, item in enumerate(found.items):
        if (first := seen.setdefault(item.key, at)) != at:
            what = getattr(item, "what", "response or step")
            raise FieldError(f"items[{at}] is the same {what} as items[{first}]")
    return found


def holds_rating_file(path: Path) -> bool:
    """Whether a file begins like a rating file, not like samples or results."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return False
    return head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" and FORMAT.encode() in head


# --- tags and comments on a report ---------------------------------------------------------------


class Comment(Model):
    """What a reader says of a response of a run (see `digest_of`), or of one of its steps."""

    run: Text
    task: Text
    doc_id: Whole
    repeat: Whole = 0
    step: Whole | None = None
    reader: Line
    tags: Several[Text] = ()
    comment: Text = ""

    @property
    def key(self) -> tuple[Any, ...]:
        """Run, task, doc_id, repeat, step, reader."""
        return (self.run, self.task, self.doc_id, self.repeat, self.step, self.reader.strip())


class CommentFile(SavedFile):
    """The comments of readers of a report."""

    format: Literal["lmms-rpts-comments"]
    items: Several[Comment]


def digest_of(run: AnyRun) -> str:
    """What comments name a run by: the same for all scores of its responses."""
    said = sorted((*each.place, each.text or "") for each in run.responses)
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:32]


def read_comments(paths: Iterable[Path], runs: Sequence[AnyRun]) -> list[Comment]:
    """The comments on these runs; of a reader's comments on one place, that of the last file.

    Raises:
        RunError: for a file of other runs, or with a response or a step that the runs lack.
    """
    digests, steps = list(map(digest_of, runs)), Counter[Any]()
    for digest, run in zip(digests, runs, strict=True):
        # Of a response that was scored twice, the most.
        steps |= Counter(
            {(digest, *each.place): 1 + len(getattr(each, "steps", ())) for each in run.responses}
        )
    found: dict[Any, Comment] = {}
    for path in paths:
        try:
            rows = list(read_objects(path))
            items = parse_saved(CommentFile, rows[0].fields if len(rows) == 1 else {}).items
            if items and not any(each.run in digests for each in items):
                raise FieldError("they are on other runs")
            for at, each in enumerate(items):
                least = 1 if each.step is None else each.step + 2
                if each.run in digests and least > steps[each.key[:4]]:
                    raise FieldError(f"items[{at}] is on no response or step of the run")
            found |= {each.key: each for each in items if each.run in digests}
        except (FieldError, ReadError) as error:
            remedy = "pass a file that their report saved (lmms-rpts report)"
            raise RunError(f"{path} has no comments on these runs: {error}; {remedy}") from None
    return list(found.values())
