"""Validity files: the format of ``lmms-rpts validate -o validity.json``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator

from lmms_rpts.errors import UserError
from lmms_rpts.schema import Flag, Model, Number, Several, Share, Text, Whole, first_fault
from lmms_rpts.settings import Jury

VERSION = 1
BUILT_IN = "built-in"
"""Name and layout of the labelled steps that come with the package."""

_REMEDY = "pass a file that lmms-rpts validate -o wrote"


class ValidityError(UserError):
    """A validity file cannot be used; the message contains the file and the error."""


class Interval(Model):
    """A figure with its 95% interval over questions; null if undefined."""

    value: Annotated[Number | None, Field(description="the value; null if it is not defined")]
    low: Annotated[
        Number | None, Field(description="lower end of the 95% interval over questions")
    ] = None
    high: Annotated[Number | None, Field(description="upper end of the same interval")] = None


Figures = Mapping[Text, Interval]


class Bin(Model):
    """One bin of the reliability diagram: steps with similar scores."""

    score: Annotated[Share, Field(description="mean score of the bin's steps")]
    sound: Annotated[Share, Field(description="share of these steps that are sound")]
    low: Annotated[Share | None, Field(description="lower end of the 95% interval of `sound`")] = (
        None
    )
    high: Annotated[Share | None, Field(description="upper end of the same interval")] = None
    n: Annotated[Whole, Field(description="number of steps")]


class Usage(Model):
    """Calls, tokens and cost of the judge for one set."""

    calls: Annotated[Whole, Field(description="number of calls")]
    input_tokens: Annotated[Whole, Field(description="input tokens")]
    output_tokens: Annotated[Whole, Field(description="output tokens")]
    cost: Annotated[Number | None, Field(description="null without prices")] = None
    found: Annotated[Whole, Field(description="number of cache hits")]


class Labelled:
    """What follows from the labels of a chain, with or without its texts."""

    __slots__ = ()
    if TYPE_CHECKING:
        labels: tuple[bool | None, ...]
        places: tuple[int, ...]
        path: tuple[int, ...]

    @property
    def asked(self) -> tuple[int, ...]:
        """Numbers of the labelled steps, which are the ones sent to a judge."""
        return tuple(at for at, label in enumerate(self.labels) if label is not None)

    @property
    def on_path(self) -> tuple[int, ...]:
        """Numbers of the steps that form the chain itself, in order."""
        return self.path or tuple(range(len(self.labels)))

    def place(self, step: int) -> int:
        """Position of a step in the chain, from 0."""
        return self.places[step] if self.places else step


class JudgedChain(Labelled, Model):
    """The labels and scores of one chain, without its texts."""

    id: Annotated[Text, Field(description="id of the chain within its set")]
    question: Annotated[Text, Field(description="id of its question; intervals resample questions")]
    stratum: Annotated[Text, Field(description="stratum of the set that it belongs to")]
    labels: Annotated[
        Several[Flag | None], Field(description="whether each step is sound; null: not counted")
    ]
    scores: Annotated[
        Several[Share | None],
        Field(description="the judge's scores; null: not asked, or no reply"),
    ]
    first_error: Annotated[
        Whole | None, Field(description="index of the first wrong step, from 0; null: none")
    ] = None
    located: Annotated[
        Flag, Field(description="whether the data contain the place of the first error, if any")
    ] = True
    places: Annotated[
        Several[Whole],
        Field(description="position of each step in the chain, if some steps are alternatives"),
    ] = ()
    path: Annotated[
        Several[Whole],
        Field(description="indices of the chosen steps, if some steps are alternatives"),
    ] = ()
    inherited: ClassVar[frozenset[int]] = frozenset()
    """Not saved: only a metric of PARC's authors needs them."""

    @model_validator(mode="after")
    def _consistent(self) -> JudgedChain:
        n = len(self.labels)
        if len(self.scores) != n:
            raise ValueError("has more or fewer scores than labels")
        if len(self.places) not in (0, n):
            raise ValueError("has more or fewer places than labels")
        if any(at >= n for at in (*self.path, *self.places, self.first_error or 0)):
            raise ValueError("refers to a step that does not exist")
        if self.located and not self._agrees():
            raise ValueError("has a first error that contradicts its labels")
        return self

    def _agrees(self) -> bool:
        """Whether ``first_error`` is not labelled sound, and no step before it wrong."""
        wrong = [self.place(at) for at in self.on_path if self.labels[at] is False]
        if self.first_error is None:
            return not wrong
        first = self.place(self.first_error)
        return self.labels[self.first_error] is not True and first <= min(wrong, default=first)


class PublishedFigure(Model):
    """A figure published by others, measured with their own protocol."""

    judge: Annotated[Text, Field(description="the judge that was measured")]
    metric: Annotated[Text, Field(description="name of the metric in the source")]
    value: Annotated[Number, Field(description="from 0 to 1")]
    source: Annotated[Text, Field(description="source of the figure")]


class ValidatedSet(Model):
    """One set of labelled steps, and the judge's performance on it."""

    name: Annotated[Text, Field(description="name of the set, as given on the command line")]
    layout: Annotated[Text, Field(description="layout of the data")]
    licence: Annotated[Text, Field(description="licence of the data")] = ""
    sha256: Mapping[Text, Text] = Field(default_factory=dict, description="SHA-256 of each file")
    n_chains: Annotated[Whole, Field(description="number of chains used")]
    n_steps: Annotated[Whole, Field(description="number of labelled steps in them")]
    n_wrong: Annotated[Whole, Field(description="number of wrong steps in them")]
    n_questions: Annotated[
        Whole, Field(description="number of questions in them; intervals resample these")
    ]
    available: Annotated[Whole, Field(description="number of chains in the data")]
    skipped: Mapping[Text, Whole] = Field(
        default_factory=dict, description="number of rows with an invalid field, by its name"
    )
    left_out: Mapping[Text, Whole] = Field(
        default_factory=dict, description="number of rows left out, by reason"
    )
    premises: Annotated[
        Literal["given", "all"],
        Field(description="premises of a step: those given in the data, or all earlier steps"),
    ] = "all"
    blind: Annotated[
        Flag, Field(description="whether the questions have images that the judge did not see")
    ] = False
    shortened: Annotated[
        Whole,
        Field(
            description="number of questions whose oldest premises were left out because of their "
            "length"
        ),
    ] = 0
    metrics: Annotated[Figures, Field(description="metrics of the judge")]
    own_metrics: Figures = Field(
        default_factory=dict, description="the published metrics of the set, by their names"
    )
    baselines: Mapping[Text, Figures] = Field(
        default_factory=dict, description="metrics of the baselines, by baseline"
    )
    thresholds: Annotated[
        Several[Number], Field(description="cross-fitted thresholds, one per half")
    ] = ()
    bins: Annotated[Several[Bin], Field(description="bins of the reliability diagram")] = ()
    published: Annotated[
        Several[PublishedFigure], Field(description="published figures, from other protocols")
    ] = ()
    usage: Annotated[Usage | None, Field(description="usage of the judge")] = None
    chains: Annotated[
        Several[JudgedChain], Field(description="labels and scores of each chain, without texts")
    ] = ()

    @model_validator(mode="after")
    def _distinct(self) -> ValidatedSet:
        if len({(chain.stratum, chain.id) for chain in self.chains}) < len(self.chains):
            raise ValueError("has two chains with the same id")
        return self


class Validity(Model):
    """The performance of one judge on sets of labelled steps, and the settings used."""

    format: Annotated[Literal["lmms-rpts-validity"], Field(description="format of the file")]
    version: Annotated[Whole, Field(description="version of the format")] = VERSION
    judge: Annotated[Text, Field(description="the judge, as in LMMS_RPTS_JUDGE")]
    judge_samples: Annotated[
        Whole, Field(description="number of replies per request; `jury` joins their scores")
    ] = 1
    jury: Annotated[
        Jury,
        Field(
            description="how several scores are joined (setting `jury`); omitted for `mean`",
            exclude_if=lambda jury: jury == "mean",
        ),
    ] = "mean"
    temperature: Annotated[Number, Field(description="temperature of the judge")] = 0.0
    prompt_version: Annotated[Text, Field(description="version of the judge's prompts")] = ""
    created: Annotated[Text, Field(description="date, such as 2026-11-22")] = ""
    lmms_rpts: Annotated[Text, Field(description="version of the package")] = ""
    seed: Annotated[Whole, Field(description="seed for drawing chains")] = 0
    limit: Annotated[Whole | None, Field(description="number of chains per set; null: all")] = None
    sets: Annotated[Several[ValidatedSet], Field(description="one entry per --data")]


def read_validity(path: Path) -> Validity:
    """Read a file written by ``lmms-rpts validate -o``.

    Raises:
        ValidityError: with the file and the error.
    """
    return parse_validity(path, read_bytes(path))


def read_bytes(path: Path) -> bytes:
    """The content of a validity file; raises as ``read_validity``."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ValidityError(f"Cannot read {path} ({error.strerror}): {_REMEDY}") from None


def parse_validity(path: Path, content: bytes) -> Validity:
    """The content of a validity file as an object; raises as ``read_validity``."""
    try:
        found = Validity.model_validate_json(content)
    except ValidationError as error:
        raise ValidityError(
            f"{path} is not a validity file: {first_fault(error)}; {_REMEDY}"
        ) from None
    if found.version != VERSION:
        raise ValidityError(
            f"{path} has version {found.version}; this lmms-rpts reads version {VERSION}"
        )
    return found
