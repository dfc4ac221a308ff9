"""Settings of ReForm-Eval: its data, and the form of its prompts."""

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
"""How often a sample is asked, as the publishers recommend; captions once."""


@dataclass(frozen=True, slots=True)
class ReformSettings:
    """One reading of the environment.

    Attributes:
        path: REFORM_PATH, a local folder in the publishers' layout; None: downloaded.
        instructions: REFORM_INSTRUCTIONS, a checkout of the publishers' repository, or a JSON file
            of instructions; None: ours.
        duplicates: REFORM_DUPLICATES, how often each sample is asked; None: 5, captions 1.
        wording: REFORM_WORDING, whether each duplicate has another instruction (varied), or all of
            a sample the same.
        order: REFORM_ORDER, whether the options of duplicates are in other orders (balanced: the
            right one stands at each place equally often), or all in that of the data.
        marks: REFORM_MARKS, how options are marked; random: drawn for each duplicate.
        in_context: REFORM_IN_CONTEXT, whether a solved example comes before a single choice.
        limit: REFORM_LIMIT_SAMPLES, the first so many samples of each set; None: all.
        reduction: REFORM_REDUCTION, which likelihood of an option counts: the sum over its tokens,
            as published, or their mean.
        seed: REFORM_SEED, of all that is drawn.
        java: REFORM_JAVA, whether METEOR and PTB tokens of captions are computed, where Java is.
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
        """How often each sample of a set is asked."""
        return self.duplicates or (1 if chosen.kind == "caption" else DUPLICATES)


def load_reform_settings(environ: Mapping[str, str] | None = None) -> ReformSettings:
    """Read the settings; raises SettingError, naming the variable and what is allowed."""
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
