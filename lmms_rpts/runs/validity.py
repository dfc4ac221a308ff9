"""Validity files: the format of ``lmms-rpts validate -o validity.json``, and its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

from loguru import logger
from pydantic import Field, ValidationError

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.schema import Flag, Model, Number, Several, Text, Whole, first_fault, shown
from lmms_rpts.base.settings import Settings
from lmms_rpts.judging.types import NO_JUDGE
from lmms_rpts.stats.intervals import Interval as Estimate

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


class ValidatedSet(Model):
    """One set of labelled steps, and the judge's performance on it."""

    name: Text = Field(description="name of the set, as given on the command line")
    layout: Text = Field(description="layout of the data")
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
    baselines: Mapping[Text, Figures] = Field(
        default_factory=dict, description="metrics of the baselines, by baseline"
    )
    usage: Usage | None = Field(default=None, description="usage of the judge")

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
    def doubt(self) -> str:
        """Message that the judge separates steps no better than a trivial baseline.

        Empty if the judge is better, or if this is unknown.
        """
        known = {name: self.baselines.get(name, {}).get("auc") for name in _TRIVIAL}
        rivals = {
            _TRIVIAL[name]: found.value
            for name, found in known.items()
            if found and found.value is not None
        }
        rival, best = max({"chance": 0.5, **rivals}.items(), key=itemgetter(1))
        auc = self.figure("auc")
        if auc is None or auc.value is None or auc.value > best:
            return ""
        return f"no better than {rival} ({best:.2f})"


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


# --- files, and their copy in a run's results

# Key of the copy under ``usage`` in lmms-eval's results, next to the usage of judges.
KEY = "validity"


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
        validity: the content.
    """

    path: Path
    validity: Validity

    def mismatch(self, judging: Judging) -> str | None:
        """Message that the figures belong to another judge; None if they match."""
        found = self.validity
        own = Judging(found.judge, found.prompt_version)
        return None if own == judging else f"{self.path} is about the judge {own}, not {judging}"

    def extract(self) -> dict[str, Any]:
        """The content as plain JSON values, for a run's results."""
        return {"file": str(self.path), **self.validity.model_dump(mode="json")}


def read_validity_file(path: Path) -> ValidityFile:
    """Read a file written by ``lmms-rpts validate -o``."""
    try:
        found = Validity.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ValidityError(f"Cannot read {path} ({error.strerror}): {_REMEDY}") from None
    except ValidationError as error:
        fault = first_fault(error)
        raise ValidityError(f"{path} is not a validity file: {fault}; {_REMEDY}") from None
    if found.version != VERSION:
        raise ValidityError(
            f"{path} has version {found.version}; this lmms-rpts reads version {VERSION}"
        )
    return ValidityFile(path, found)


def validity_for(settings: Settings, judge: str, prompt_version: str) -> dict[str, Any] | None:
    """The figures of LMMS_RPTS_VALIDITY for the results of a run; None if it is not set.

    A warning is logged if they are about another judge.
    """
    if settings.validity is None:
        return None
    file = read_validity_file(settings.validity)
    said = file.mismatch(Judging(judge, prompt_version))
    if said and judge != NO_JUDGE and settings.rank == 0:
        logger.warning("LMMS_RPTS_VALIDITY: {}: it tells nothing of this run's judge", said)
    return file.extract()


def validity_in(results: Mapping[str, Any]) -> ValidityFile | None:
    """The validity of a run's judge in its results.

    None if the results have none, or an invalid one: results are untrusted.
    """
    usage = results.get("usage")
    held = usage.get(KEY) if isinstance(usage, Mapping) else None
    try:
        validity = Validity.model_validate(held)
    except ValidationError:
        return None
    name = held.get("file") if isinstance(held, Mapping) else None
    if validity.version != VERSION or not isinstance(name, str):
        return None
    return ValidityFile(Path(name), validity)


def set_title(name: str, blind: bool) -> str:
    """The name of a set, marked if it was judged without the images."""
    return f"{name} without its images" if blind else name
