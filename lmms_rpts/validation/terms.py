"""Names and explanations of a validation's figures, and warnings about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from lmms_rpts.base.escaping import figure
from lmms_rpts.runs.validity import Figures, ValidatedSet


@dataclass(frozen=True, slots=True)
class Metric:
    """Name and one-line explanation of a metric."""

    title: str
    help: str


METRIC_GROUPS = TypeAdapter(dict[str, dict[str, Metric]]).validate_json(
    Path(__file__).with_name("metrics.json").read_bytes()
)
"""The metrics by group, in the order of the tables."""

METRICS: Mapping[str, Metric] = {
    name: metric for group in METRIC_GROUPS.values() for name, metric in group.items()
}

BASELINE_HELP: Mapping[str, str] = {
    "shortness": "shorter steps score higher",
    "place": "earlier steps of a chain score higher",
    "always_sound": "every step is sound",
    "lexical": "words shared with the premises, no model",
}
"""Baselines without a judge, in the order of the tables."""

_NEEDED = {
    "wrong steps": "auc auc_within sensitivity balanced_accuracy mcc macro_f1 f1_wrong",
    "sound steps": "auc auc_within specificity balanced_accuracy mcc macro_f1 f1_sound",
    "wrong chains": "acc_err f1_first f1_first_fitted flagged_early",
    "sound chains": "acc_ok f1_first f1_first_fitted",
}
"""Metrics without a value if there are no such steps or chains."""


def title_of(name: str) -> str:
    """Title of a metric or a baseline; an unknown one keeps its name."""
    return METRICS[name].title if name in METRICS else name.replace("_", " ")


def in_order(names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The names, with those that are ``known`` first and in that order."""
    given = list(dict.fromkeys(names))
    first = [name for name in known if name in given]
    return first + [name for name in given if name not in first]


def value_of(figures: Figures | None, name: str) -> float | None:
    """The value of a metric; None if it has none."""
    found = figures.get(name) if figures else None
    return found.value if found else None


def why_missing(name: str, found: ValidatedSet) -> str:
    """Why the judge's metric has no value on this set; empty if the reason is not clear."""
    # Without the chains, whether all of them are sound or wrong is unknown.
    wrong = [chain.first_error is not None for chain in found.chains if chain.located]
    absent = {
        "wrong steps": not found.n_wrong,
        "sound steps": found.n_wrong >= found.n_steps,
        "wrong chains": not found.n_wrong or (bool(wrong) and not any(wrong)),
        "sound chains": bool(wrong) and all(wrong),
    }
    needed = [what for what, names in _NEEDED.items() if name in names.split()]
    if not found.n_steps:
        return "no labelled steps"
    if value_of(found.metrics, "unscored") == 1:
        return "no step has a score"
    if found.chains and not wrong and any("chains" in what for what in needed):
        return "first errors are not labelled"
    return next((f"no {what}" for what in needed if absent[what]), "")


def doubts(found: ValidatedSet) -> list[str]:
    """Warnings for the reader: the judge is no better than a baseline without a judge."""
    auc, (rival, best) = found.figure("auc"), found.bar
    if auc is None:
        return []
    judge = f"The judge's AUC, {figure(auc.value)},"
    if found.doubt:
        return [
            f"{judge} does not exceed that of {rival}, {figure(best)}: this set gives no evidence "
            "for the judge."
        ]
    if auc.low is not None and auc.low <= best:
        return [
            f"{judge} exceeds that of {rival}, {figure(best)}, but its interval begins at "
            f"{figure(auc.low)}: use more chains."
        ]
    return []


def counted(found: ValidatedSet) -> str:
    """Counts of labelled data: ``400 chains, 2,081 steps, 207 of them wrong``."""
    return (
        f"{found.n_chains:,} chain{'s' * (found.n_chains != 1)}, {found.n_steps:,} "
        f"step{'s' * (found.n_steps != 1)}, {found.n_wrong:,} of them wrong"
    )
