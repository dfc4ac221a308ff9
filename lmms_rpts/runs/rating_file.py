"""The file of one rater's ratings, as saved by the page of ``lmms-rpts rate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from lmms_rpts.base.schema import FieldError, Model, Several, Share, Text, Whole, first_fault
from lmms_rpts.reasoning.clues import Language

FORMAT = "lmms-rpts-ratings"
VERSION = 1
_HEAD = 4_096
REMEDY = "pass a file that the page of lmms-rpts rate saved"


class RatedItem(Model):
    """One step with its question and its score."""

    task: Text
    doc_id: Whole
    id: Text = Field(default="", description="the document's own id")
    repeat: Whole = 0
    step: Whole = Field(description="number of the step in the response, from 0")
    kind: Literal["inference", "image"] = Field(
        description="question: does it follow from its premises, or is it true of an image"
    )
    language: Language
    context: Text
    premises: Several[Text] = Field(description="premises; none for images")
    conclusion: Text
    score: Share | None = Field(description="null if skipped or not yet rated")
    comment: Text = ""

    @property
    def key(self) -> tuple[str, int, int, int]:
        """The identity of the step: task, doc_id, repeat, step."""
        return (self.task, self.doc_id, self.repeat, self.step)


class RatingFile(Model):
    """All ratings of one rater for one sample."""

    format: Literal["lmms-rpts-ratings"]
    version: Whole
    rater: Text
    sample: Text = Field(description="digest of the sample's texts")
    created: Text = Field(default="", description="date and time")
    items: Several[RatedItem]


def parse_rating_file(value: Any) -> RatingFile:
    """Parse a rating file from a JSON object.

    Raises:
        FieldError: with the field and the error; also if a step occurs twice.
    """
    try:
        found = RatingFile.model_validate(value)
    except ValidationError as error:
        raise FieldError(first_fault(error)) from None
    if found.version != VERSION:
        raise FieldError(f"version is {found.version}; this lmms-rpts reads version {VERSION}")
    if not found.rater.strip():
        raise FieldError("rater is blank: it should be the rater's name")
    seen: dict[tuple[str, int, int, int], int] = {}
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
