"""Validity files: the format of ``lmms-rpts validate -o validity.json``, and its figures."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, ValidationError, model_validator

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.schema import (
    Flag,
    Model,
    Number,
    Several,
    Share,
    Text,
    Whole,
    first_fault,
    shown,
)
from lmms_rpts.stats.intervals import Estimate

VERSION = 1
# Name and layout of the labelled steps that come with the package.
BUILT_IN = "built-in"

DRAWN = "drawings"
"""Name and layout of its labelled steps about drawings."""

_TRIVIAL = {"shortness": "the shortness of a step", "place": "its place in the chain"}
_REMEDY = "pass a file that lmms-rpts validate -o wrote"


class ValidityError(UserError):
    """A validity file cannot be used; the message contains the file and the error."""


class Interval(Model):
    """A figure with its 95% interval over questions; null if undefined."""

    value: Number | None = Field(description="the value; null if it is not defined")
    low: Number | None = Field(
        default=None, description="lower end of the 95% interval over questions"
    )
    high: Number | None = Field(default=None, description="upper end of the same interval")


Figures = Mapping[Text, Interval]


class Bin(Model):
    """One bin of the reliability diagram: steps with similar scores."""

    score: Share = Field(description="mean score of the bin's steps")
    sound: Share = Field(description="share of these steps that are sound")
    low: Share | None = Field(default=None, description="lower end of the 95% interval of `sound`")
    high: Share | None = Field(default=None, description="upper end of the same interval")
    n: Whole = Field(description="number of steps")


class Usage(Model):
    """Calls, tokens and cost of the judge for one set."""

    calls: Whole = Field(description="number of calls")
    input_tokens: Whole = Field(description="input tokens")
    output_tokens: Whole = Field(description="output tokens")
    cost: Number | None = Field(default=None, description="null without prices")
    found: Whole = Field(description="number of cache hits")
    seconds: Number | None = Field(
        default=None, description="seconds of judging, with the time to load a local model"
    )


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

    id: Text = Field(description="id of the chain within its set")
    question: Text = Field(description="id of its question; intervals resample questions")
    stratum: Text = Field(description="stratum of the set that it belongs to")
    labels: Several[Flag | None] = Field(
        description="whether each step is sound; null: not counted"
    )
    scores: Several[Share | None] = Field(
        description="the judge's scores; null: not asked, or no reply"
    )
    first_error: Whole | None = Field(
        default=None, description="index of the first wrong step, from 0; null: none"
    )
    located: Flag = Field(
        default=True, description="whether the data contain the place of the first error, if any"
    )
    places: Several[Whole] = Field(
        default=(), description="position of each step in the chain, if some steps are alternatives"
    )
    path: Several[Whole] = Field(
        default=(), description="indices of the chosen steps, if some steps are alternatives"
    )
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

    judge: Text = Field(description="the judge that was measured")
    metric: Text = Field(description="name of the metric in the source")
    value: Number = Field(description="from 0 to 1")
    source: Text = Field(description="source of the figure")


class ValidatedSet(Model):
    """One set of labelled steps, and the judge's performance on it."""

    name: Text = Field(description="name of the set, as given on the command line")
    layout: Text = Field(description="layout of the data")
    licence: Text = Field(default="", description="licence of the data")
    sha256: Mapping[Text, Text] = Field(default_factory=dict, description="SHA-256 of each file")
    n_chains: Whole = Field(description="number of chains used")
    n_steps: Whole = Field(description="number of labelled steps in them")
    n_wrong: Whole = Field(description="number of wrong steps in them")
    n_questions: Whole = Field(description="number of questions in them; intervals resample these")
    available: Whole = Field(description="number of chains in the data")
    skipped: Mapping[Text, Whole] = Field(
        default_factory=dict, description="number of rows with an invalid field, by its name"
    )
    left_out: Mapping[Text, Whole] = Field(
        default_factory=dict, description="number of rows left out, by reason"
    )
    premises: Literal["given", "all"] = Field(
        default="all",
        description="premises of a step: those given in the data, or all earlier steps",
    )
    blind: Flag = Field(
        default=False, description="whether the questions have images that the judge did not see"
    )
    seen: Whole = Field(default=0, description="number of chains whose images the judge saw")
    shortened: Whole = Field(
        default=0,
        description="number of questions whose oldest premises were left out because of their "
        "length",
    )
    metrics: Figures = Field(description="metrics of the judge")
    own_metrics: Figures = Field(
        default_factory=dict, description="the published metrics of the set, by their names"
    )
    gain: Figures = Field(
        default_factory=dict,
        description="metrics minus those of the same judge without the images, on the steps scored "
        "in both ways (`--images both`)",
    )
    baselines: Mapping[Text, Figures] = Field(
        default_factory=dict, description="metrics of the baselines, by baseline"
    )
    thresholds: Several[Number] = Field(
        default=(), description="cross-fitted thresholds, one per half"
    )
    bins: Several[Bin] = Field(default=(), description="bins of the reliability diagram")
    published: Several[PublishedFigure] = Field(
        default=(), description="published figures, from other protocols"
    )
    usage: Usage | None = Field(default=None, description="usage of the judge")
    chains: Several[JudgedChain] = Field(
        default=(), description="labels and scores of each chain, without texts"
    )

    @model_validator(mode="after")
    def _distinct(self) -> ValidatedSet:
        if len({(chain.stratum, chain.id) for chain in self.chains}) < len(self.chains):
            raise ValueError("has two chains with the same id")
        return self

    @property
    def title(self) -> str:
        """The name, marked if the set was judged without the images."""
        return set_title(self.name, self.blind)

    def figure(self, name: str) -> Estimate | None:
        """A metric of the judge between 0 and 1; None if missing or outside."""
        found = self.metrics.get(name, Interval(value=None))
        if found.value is None or not 0 <= found.value <= 1:
            return None
        return Estimate(found.value, found.low, found.high, self.n_steps)

    @property
    def rival(self) -> tuple[str, float] | None:
        """The trivial baseline with the best AUC, and its AUC; None if none was measured."""
        known = {name: self.baselines.get(name, {}).get("auc") for name in _TRIVIAL}
        there = [
            (name, each.value) for name, each in known.items() if each and each.value is not None
        ]
        return max(there, key=itemgetter(1), default=None)

    @property
    def bar(self) -> tuple[str, float]:
        """The best trivial baseline, chance included, and its AUC."""
        return max(("chance", 0.5), self.rival or ("", 0.0), key=itemgetter(1))

    @property
    def doubt(self) -> str:
        """Message that the judge separates steps no better than a trivial baseline.

        Empty if the judge is better, or if this is unknown.
        """
        auc, (rival, best) = self.figure("auc"), self.bar
        if auc is None or auc.value is None or auc.value > best:
            return ""
        return f"no better than {_TRIVIAL.get(rival, rival)} ({best:.2f})"


class Validity(Model):
    """The performance of one judge on sets of labelled steps, and the settings used."""

    format: Literal["lmms-rpts-validity"] = Field(description="format of the file")
    version: Whole = Field(default=VERSION, description="version of the format")
    judge: Text = Field(description="the judge, as in LMMS_RPTS_JUDGE")
    temperature: Number = Field(default=0.0, description="temperature of the judge")
    prompt_version: Text = Field(default="", description="version of the judge's prompts")
    created: Text = Field(default="", description="date, such as 2026-11-22")
    lmms_rpts: Text = Field(default="", description="version of the package")
    seed: Whole = Field(default=0, description="seed for drawing chains")
    limit: Whole | None = Field(default=None, description="number of chains per set; null: all")
    sets: Several[ValidatedSet] = Field(description="one entry per --data")


# --- files, and their extract in a run's results

# Key of the extract under ``usage`` in lmms-eval's results, next to the usage of judges.
KEY = "validity"

_EXTRACT: Any = {
    **dict.fromkeys(("format", "version", "judge", "temperature"), True),
    **dict.fromkeys(("prompt_version", "created", "lmms_rpts"), True),
    "sets": {
        "__all__": {
            **dict.fromkeys(("name", "layout", "n_chains", "n_steps", "n_wrong"), True),
            **dict.fromkeys(("n_questions", "available", "premises", "blind"), True),
            "metrics": {"auc", "sensitivity", "specificity"},
        }
    },
}


@dataclass(frozen=True, slots=True)
class Judging:
    """Scope of a judge's figures: the judge and its prompts."""

    judge: str
    prompt_version: str

    def __str__(self) -> str:
        prompts = shown(self.prompt_version).strip("'") or "unknown"
        return f"{shown(self.judge)} with prompts {prompts}"


@dataclass(frozen=True, slots=True)
class ValidityFile:
    """The content of one validity file.

    Attributes:
        path: path of the file, as given.
        sha256: SHA-256 of the file's bytes.
        validity: the content; without chains if it is from a run's results.
    """

    path: Path
    sha256: str
    validity: Validity

    def mismatch(self, judging: Judging) -> str | None:
        """Message that the figures belong to another judge; None if they match."""
        found = self.validity
        own = Judging(found.judge, found.prompt_version)
        return None if own == judging else f"{self.path} is about the judge {own}, not {judging}"

    def extract(self) -> dict[str, Any]:
        """The figures without the chains, as plain JSON values for a run's results."""
        figures = self.validity.model_dump(mode="json", include=_EXTRACT)
        return {"file": str(self.path.absolute()), "sha256": self.sha256, **figures}


class _Named(Model):
    file: Text
    sha256: Text


def read_validity_file(path: Path) -> ValidityFile:
    """Read a file written by ``lmms-rpts validate -o``."""
    try:
        content = path.read_bytes()
        found = Validity.model_validate_json(content)
    except OSError as error:
        raise ValidityError(f"Cannot read {path} ({error.strerror}): {_REMEDY}") from None
    except ValidationError as error:
        fault = first_fault(error)
        raise ValidityError(f"{path} is not a validity file: {fault}; {_REMEDY}") from None
    if found.version != VERSION:
        raise ValidityError(
            f"{path} has version {found.version}; this lmms-rpts reads version {VERSION}"
        )
    return ValidityFile(path, hashlib.sha256(content).hexdigest(), found)


def read_validity_files(paths: Iterable[Path]) -> tuple[ValidityFile, ...]:
    """Read several validity files; raises as ``read_validity_file``."""
    return tuple(read_validity_file(path.expanduser()) for path in dict.fromkeys(paths))


def validity_in(results: Mapping[str, Any]) -> ValidityFile | None:
    """The validity file of a run's results; read from disk if it still exists unchanged.

    None if the results have none, or an invalid one: results are untrusted.
    """
    usage = results.get("usage")
    held = usage.get(KEY) if isinstance(usage, Mapping) else None
    try:
        named, validity = _Named.model_validate(held), Validity.model_validate(held)
    except ValidationError:
        return None
    if validity.version != VERSION:
        return None
    path = Path(named.file)
    # A results file of others may name a device. os.path: False for any text.
    if os.path.isfile(path):
        with suppress(ValidityError):
            whole = read_validity_file(path)
            if whole.sha256 == named.sha256:
                return whole
    return ValidityFile(path, named.sha256, validity)


def set_title(name: str, blind: bool) -> str:
    """The name of a set, marked if it was judged without the images."""
    return f"{name} without its images" if blind else name
