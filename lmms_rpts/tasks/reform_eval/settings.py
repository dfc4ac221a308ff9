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
    "REFORM_MAX_TOKENS",
    "REFORM_ORDER",
    "REFORM_PATH",
    "REFORM_REDUCTION",
    "REFORM_SEED",
    "REFORM_WORDING",
)

Order = Literal["balanced", "fixed"]
WordingChoice = Literal["varied", "fixed"]
Reduction = Literal["sum", "mean"]
MaxTokens = Literal["long", "published"]

MOST_DUPLICATES = 1000

LONGEST, LONGEST_CAPTION = 1024, 256
PUBLISHED_LONGEST = 30
PUBLISHED_CAPTIONS = {"coco_caption": 12, "textcaps": 15, "nocaps": 14, "flickr30k": 16}
"""Maximum numbers of new tokens: our own, that of the published interfaces, and those of the
published scripts for captions, by set."""

DUPLICATES = 5
"""Number of times that a sample is presented, as the publishers recommend; captions once."""


@dataclass(frozen=True, slots=True)
class ReformSettings:
    """The settings as read from the environment.

    Attributes:
        path: REFORM_PATH, a local folder in the publishers' layout; None: download the data.
        instructions: REFORM_INSTRUCTIONS, a JSON file of the published instructions; None: the
            built-in ones.
        duplicates: REFORM_DUPLICATES, times that each sample is presented; None: 5, captions 1.
        wording: REFORM_WORDING; varied: each duplicate has a different instruction; fixed: all
            duplicates of a sample share one.
        order: REFORM_ORDER; balanced: the order of the options changes between duplicates, with
            the right option equally often in each position; fixed: the order of the data.
        max_tokens: REFORM_MAX_TOKENS; long: answers of up to 1024 new tokens, captions 256;
            published: 30, captions 12 to 16 by set.
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
    max_tokens: MaxTokens = "long"
    marks: Mark = "upper"
    in_context: bool = True
    limit: int | None = None
    reduction: Reduction = "sum"
    seed: int = 0
    java: bool = True

    def duplicates_of(self, chosen: DataSet) -> int:
        """Number of times that each sample of a set is presented."""
        return self.duplicates or (1 if chosen.kind == "caption" else DUPLICATES)

    def tokens_of(self, name: str) -> int:
        """Maximum number of new tokens of an answer to this set; other names: a set of answers."""
        if self.max_tokens == "published":
            return PUBLISHED_CAPTIONS.get(name, PUBLISHED_LONGEST)
        return LONGEST_CAPTION if name in PUBLISHED_CAPTIONS else LONGEST


def load_reform_settings(environ: Mapping[str, str] | None = None) -> ReformSettings:
    """Read the settings; raises SettingError with the variable and the allowed values."""
    env = read_variables(VARIABLES, environ)
    return ReformSettings(
        path=env.folder("REFORM_PATH"),
        instructions=env.folder("REFORM_INSTRUCTIONS"),
        duplicates=env.whole("REFORM_DUPLICATES", 1, MOST_DUPLICATES),
        wording=env.choice("REFORM_WORDING", get_args(WordingChoice)) or "varied",
        order=env.choice("REFORM_ORDER", get_args(Order)) or "balanced",
        max_tokens=env.choice("REFORM_MAX_TOKENS", get_args(MaxTokens)) or "long",
        marks=env.choice("REFORM_MARKS", MARKS) or "upper",
        in_context=env.choice("REFORM_IN_CONTEXT", ("0", "1")) != "0",
        limit=env.whole("REFORM_LIMIT_SAMPLES", 1),
        reduction=env.choice("REFORM_REDUCTION", get_args(Reduction)) or "sum",
        seed=env.whole("REFORM_SEED", 0, 2**32) or 0,
        java=env.choice("REFORM_JAVA", ("0", "1")) != "0",
    )
