"""The validity of a judge, as ``lmms-rpts validate -o validity.json`` writes it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from lmms_rpts.errors import UserError
from lmms_rpts.schema import Flag, Model, Number, Several, Share, Text, Whole, first_fault

VERSION = 1
_LARGEST = 500_000_000


class ValidityError(UserError):
    """A validity file that cannot be used; the message names the file and the fault."""


class Interval(Model):
    """A figure with its 95% interval over questions; null where it is not defined."""

    value: Annotated[Number | None, Field(description="null where it is not defined")]
    low: Annotated[Number | None, Field(description="of the 95% interval over questions")] = None
    high: Annotated[Number | None, Field(description="of the same interval")] = None


Figures = Mapping[Text, Interval]


class Bin(Model):
    """One bin of the reliability diagram: steps with scores near each other."""

    score: Annotated[Share, Field(description="their mean score")]
    sound: Annotated[Share, Field(description="the share of them that is sound")]
    low: Annotated[Share | None, Field(description="its 95% interval")] = None
    high: Annotated[Share | None, Field(description="of the same interval")] = None
    n: Annotated[Whole, Field(description="how many steps")]


class Usage(Model):
    """What the judge was asked for one set."""

    calls: Annotated[Whole, Field(description="calls that were made")]
    input_tokens: Annotated[Whole, Field(description="tokens in")]
    output_tokens: Annotated[Whole, Field(description="tokens out")]
    cost: Annotated[Number | None, Field(description="null without prices")] = None
    found: Annotated[Whole, Field(description="answers that were there already")]


class JudgedChain(Model):
    """The labels and scores of one chain, without its texts."""

    id: Annotated[Text, Field(description="of the chain, within its set")]
    question: Annotated[Text, Field(description="of which question; questions are resampled")]
    stratum: Annotated[Text, Field(description="the part of the set it belongs to")]
    labels: Annotated[Several[Flag | None], Field(description="sound or not; null: not counted")]
    scores: Annotated[
        Several[Share | None], Field(description="of the judge; null: not asked, or no answer")
    ]
    first_error: Annotated[
        Whole | None, Field(description="number of the first wrong step, from 0; null: none")
    ] = None
    located: Annotated[
        Flag, Field(description="whether the data say where the first error is, if any")
    ] = True
    places: Annotated[
        Several[Whole], Field(description="of each step in the chain, where some are alternatives")
    ] = ()
    path: Annotated[
        Several[Whole], Field(description="the chain, where steps are alternatives")
    ] = ()

    @model_validator(mode="after")
    def _consistent(self) -> JudgedChain:
        n = len(self.labels)
        if len(self.scores) != n:
            raise ValueError("has more or fewer scores than labels")
        if len(self.places) not in (0, n):
            raise ValueError("has more or fewer places than labels")
        if any(at >= n for at in (*self.path, *self.places, self.first_error or 0)):
            raise ValueError("names a step that it does not have")
        if self.located and not self._agrees():
            raise ValueError("has another first error than its labels")
        return self

    def _agrees(self) -> bool:
        """Whether no step is wrong before ``first_error``, nor that one sound."""
        path = self.path or range(len(self.labels))
        wrong = [self._place(at) for at in path if self.labels[at] is False]
        if self.first_error is None:
            return not wrong
        first = self._place(self.first_error)
        return self.labels[self.first_error] is not True and first <= min(wrong, default=first)

    def _place(self, step: int) -> int:
        return self.places[step] if self.places else step


class PublishedFigure(Model):
    """A figure of others, by their own protocol."""

    judge: Annotated[Text, Field(description="who was measured")]
    metric: Annotated[Text, Field(description="as its authors call it")]
    value: Annotated[Number, Field(description="from 0 to 1")]
    source: Annotated[Text, Field(description="where it stands")]


class ValidatedSet(Model):
    """One set of labelled steps, and how the judge did on it."""

    name: Annotated[Text, Field(description="as given on the command line")]
    layout: Annotated[Text, Field(description="whose data they are")]
    licence: Annotated[Text, Field(description="of the data")] = ""
    sha256: Mapping[Text, Text] = Field(default_factory=dict, description="of each file")
    n_chains: Annotated[Whole, Field(description="chains that were used")]
    n_steps: Annotated[Whole, Field(description="labelled steps of them")]
    n_wrong: Annotated[Whole, Field(description="steps of them that are wrong")]
    n_questions: Annotated[Whole, Field(description="questions of them: what is resampled")]
    available: Annotated[Whole, Field(description="chains that the data hold")]
    skipped: Mapping[Text, Whole] = Field(
        default_factory=dict, description="rows that do not fit, by the field that is wrong"
    )
    left_out: Mapping[Text, Whole] = Field(
        default_factory=dict, description="rows left out, by reason"
    )
    premises: Annotated[
        Literal["given", "all"],
        Field(description="what a step was judged by: those that the data name, or all before it"),
    ] = "all"
    blind: Annotated[
        Flag, Field(description="whether the questions go with images that the judge did not see")
    ] = False
    shortened: Annotated[
        Whole, Field(description="questions whose oldest premises were left out for their length")
    ] = 0
    metrics: Annotated[Figures, Field(description="of the judge")]
    own_metrics: Figures = Field(
        default_factory=dict, description="what the authors of the set report, by their names"
    )
    baselines: Mapping[Text, Figures] = Field(
        default_factory=dict, description="what needs no judge"
    )
    thresholds: Annotated[
        Several[Number], Field(description="the cross-fitted ones, of both halves")
    ] = ()
    bins: Annotated[Several[Bin], Field(description="of the reliability diagram")] = ()
    published: Annotated[
        Several[PublishedFigure], Field(description="figures of others, by other protocols")
    ] = ()
    usage: Annotated[Usage | None, Field(description="what the judge took")] = None
    chains: Annotated[
        Several[JudgedChain], Field(description="labels and scores, without texts")
    ] = ()

    @model_validator(mode="after")
    def _distinct(self) -> ValidatedSet:
        if len({(chain.stratum, chain.id) for chain in self.chains}) < len(self.chains):
            raise ValueError("has two chains of the same id")
        return self


class Validity(Model):
    """How one judge did on sets of labelled steps, and by which settings."""

    format: Annotated[Literal["lmms-rpts-validity"], Field(description="what this file is")]
    version: Annotated[Whole, Field(description="of this format")] = VERSION
    judge: Annotated[Text, Field(description="as in LMMS_RPTS_JUDGE")]
    judge_samples: Annotated[Whole, Field(description="answers whose mean is a score")] = 1
    temperature: Annotated[Number, Field(description="of the judge")] = 0.0
    prompt_version: Annotated[Text, Field(description="of the judge's prompts")] = ""
    created: Annotated[Text, Field(description="date, as 2026-11-22")] = ""
    lmms_rpts: Annotated[Text, Field(description="version of the package")] = ""
    seed: Annotated[Whole, Field(description="of the draw of chains")] = 0
    limit: Annotated[Whole | None, Field(description="chains a set; null: all")] = None
    sets: Annotated[Several[ValidatedSet], Field(description="one for each --data")]


def read_validity(path: Path) -> Validity:
    """Read a file written by ``lmms-rpts validate -o``.

    Raises:
        ValidityError: with the file and the error.
    """
    remedy = "pass a file that lmms-rpts validate -o wrote"
    # A pipe or a device would be read forever.
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValidityError(f"{path} is not a file: {remedy}")
    try:
        if path.stat().st_size > _LARGEST:
            raise ValidityError(f"{path} is larger than 500 MB: {remedy}")
        content = path.read_bytes()
    except OSError as error:
        raise ValidityError(f"Cannot read {path} ({error.strerror}): {remedy}") from None
    try:
        found = Validity.model_validate_json(content)
    except (ValidationError, RecursionError) as error:
        fault = first_fault(error) if isinstance(error, ValidationError) else "it nests too deeply"
        raise ValidityError(f"{path} is not a validity file: {fault}; {remedy}") from None
    if found.version != VERSION:
        raise ValidityError(
            f"{path} is of version {found.version}; this version of lmms-rpts reads {VERSION}"
        )
    return found
