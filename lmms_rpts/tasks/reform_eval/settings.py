"""Settings of ReForm-Eval: data and form of the prompts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from lmms_rpts.settings import read_variables
from lmms_rpts.tasks.reform_eval.sets import DataSet
from lmms_rpts.tasks.reform_eval.text_form import MARKS, Mark

VARIABLES = (
    "REFORM_DUPLICATES",
    "REFORM_IN_CONTEXT",
    "REFORM_INSTRUCTIONS",
    "REFORM_JAVA",
    "REFORM_LIMIT_SAMPLES",
    "REFORM_MARKS",
    "REFORM_ORDER",
    "REFORM_PATH",
    "REFORM_REDUCTION",
    "REFORM_SEED",
    "REFORM_WORDING",
)

Order = Literal["balanced", "fixed"]
WordingChoice = Literal["varied", "fixed"]
Reduction = Literal["sum", "mean"]

MOST_DUPLICATES = 1000

DUPLICATES = 5
"""Number of times that a sample is presented, as the publishers recommend; captions once."""


@dataclass(frozen=True, slots=True)
class ReformSettings:
    """The settings as read from the environment.

    Attributes:
        path: REFORM_PATH, a local folder in the publishers' layout; None: download the data.
        instructions: REFORM_INSTRUCTIONS, a clone of the publishers' repository or a JSON file of
            instructions; None: the built-in ones.
        duplicates: REFORM_DUPLICATES, times that each sample is presented; None: 5, captions 1.
        wording: REFORM_WORDING; varied: each duplicate has a different instruction; fixed: all
            duplicates of a sample share one.
        order: REFORM_ORDER; balanced: the order of the options changes between duplicates, with
            the right option equally often in each position; fixed: the order of the data.
        marks: REFORM_MARKS, style of the option marks; random: drawn for each duplicate.
        in_context: REFORM_IN_CONTEXT, whether a solved example precedes a single choice.
        limit: REFORM_LIMIT_SAMPLES, use only the first N samples of each set; None: all.
        reduction: REFORM_REDUCTION, how the log-probabilities of an option's tokens are combined:
            their sum, as published, or their mean.
        seed: REFORM_SEED, seed for all random draws.
        java: REFORM_JAVA, whether METEOR and metrics on PTB tokens are computed if Java is
            installed.
    """

    path: Path | None = None
    instructions: Path | None = None
    duplicates: int | None = None
    wording: WordingChoice = "varied"
    order: Order = "balanced"
    marks: Mark = "upper"
    in_context: bool = True
    limit: int | None = None
    reduction: Reduction = "sum"
    seed: int = 0
    java: bool = True

    def duplicates_of(self, chosen: DataSet) -> int:
        """Number of times that each sample of a set is presented."""
        return self.duplicates or (1 if chosen.kind == "caption" else DUPLICATES)


def load_reform_settings(environ: Mapping[str, str] | None = None) -> ReformSettings:
    """Read the settings; raises SettingError with the variable and the allowed values."""
    env = read_variables(VARIABLES, environ)
    return ReformSettings(
        path=env.folder("REFORM_PATH"),
        instructions=env.folder("REFORM_INSTRUCTIONS"),
        duplicates=env.whole("REFORM_DUPLICATES", 1, MOST_DUPLICATES),
        wording=env.choice("REFORM_WORDING", get_args(WordingChoice)) or "varied",
        order=env.choice("REFORM_ORDER", get_args(Order)) or "balanced",
        marks=env.choice("REFORM_MARKS", MARKS) or "upper",
        in_context=env.choice("REFORM_IN_CONTEXT", ("0", "1")) != "0",
        limit=env.whole("REFORM_LIMIT_SAMPLES", 1),
        reduction=env.choice("REFORM_REDUCTION", get_args(Reduction)) or "sum",
        seed=env.whole("REFORM_SEED", 0, 2**32) or 0,
        java=env.choice("REFORM_JAVA", ("0", "1")) != "0",
    )
