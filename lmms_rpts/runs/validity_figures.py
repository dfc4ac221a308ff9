"""Figures of a validity file as estimates, and as text."""

from __future__ import annotations

from lmms_rpts.runs.validity import Interval, ValidatedSet
from lmms_rpts.stats.intervals import Estimate
from lmms_rpts.stats.prevalence import Corrected

BLIND = "without its images"
"""Label of a set whose questions have images that the judge did not see."""

_NONE = "–"
_WORDS = {"shortness": "the shortness of a step", "place": "its place in the chain"}


def title_of(name: str, blind: bool) -> str:
    """The name of a set, marked if it was judged without the images."""
    return f"{name} {BLIND}" if blind else name


def percent(found: Estimate | Corrected | None) -> str:
    """A share with its interval, as text; a dash if missing."""
    return _text(found, ".1%")


def decimal(found: Estimate | None) -> str:
    """A figure with its interval, as text; a dash if missing."""
    return _text(found, ".2f")


def figure_of(found: ValidatedSet, name: str) -> Estimate | None:
    """A metric of a set between 0 and 1; None if missing or outside."""
    interval = found.metrics.get(name, Interval(value=None))
    if interval.value is None or not 0 <= interval.value <= 1:
        return None
    return Estimate(interval.value, interval.low, interval.high, found.n_steps)


def doubt_of(found: ValidatedSet) -> str:
    """Message that the judge separates steps no better than a trivial baseline.

    Empty if the judge is better, or if this is unknown.
    """
    auc = figure_of(found, "auc")
    if auc is None or auc.value is None:
        return ""
    rival, best = bar_to_clear(found)
    return f"no better than {_WORDS.get(rival, rival)} ({best:.2f})" if auc.value <= best else ""


def best_rival(found: ValidatedSet) -> tuple[str, float] | None:
    """The trivial baseline with the best AUC, and its AUC; None if none was measured."""
    known = {name: found.baselines.get(name, {}).get("auc") for name in _WORDS}
    there = [(name, each.value) for name, each in known.items() if each and each.value is not None]
    return max(there, key=lambda pair: pair[1], default=None)


def bar_to_clear(found: ValidatedSet) -> tuple[str, float]:
    """The best trivial baseline, chance included, and its AUC."""
    return max(("chance", 0.5), best_rival(found) or ("", 0.0), key=lambda pair: pair[1])


def _text(found: Estimate | Corrected | None, form: str) -> str:
    if found is None or found.value is None:
        return _NONE
    interval = ""
    if found.low is not None and found.high is not None:
        interval = f" [{format(found.low, form)}, {format(found.high, form)}]"
    return format(found.value, form) + interval
