"""Validations of made-up judges on made-up chains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_rpts.runs.validity import (
    Bin,
    Interval,
    JudgedChain,
    PublishedFigure,
    Usage,
    ValidatedSet,
    Validity,
)
from lmms_rpts.validation.chains import LabelledChain
from lmms_rpts.validation.run import Miss, Validation
from lmms_rpts.validation.terms import METRICS

VALUES: Mapping[str, float] = {
    "auc": 0.811,
    "auc_within": 0.792,
    "sensitivity": 0.634,
    "specificity": 0.853,
    "balanced_accuracy": 0.744,
    "mcc": 0.402,
    "macro_f1": 0.698,
    "f1_sound": 0.901,
    "f1_wrong": 0.495,
    "macro_f1_fitted": 0.711,
    "acc_err": 0.471,
    "acc_ok": 0.702,
    "f1_first": 0.564,
    "f1_first_fitted": 0.58,
    "flagged_early": 0.233,
    "brier": 0.142,
    "ece": 0.087,
    "unscored": 0.004,
    "unscored_chains": 0.01,
}
"""A value for each metric."""

_BASELINES = {"shortness": 0.717, "place": 0.539, "always_sound": 0.5, "lexical": 0.58}


def interval(value: float | None, width: float = 0.03) -> Interval:
    if value is None:
        return Interval(value=None)
    return Interval(value=value, low=value - width, high=value + width)


def make_set(name: str = "processbench", **fields: Any) -> ValidatedSet:
    """A set with all figures; ``fields`` replace those of the record."""
    given: dict[str, Any] = {
        "layout": f"{name}, made up",
        "licence": "Apache-2.0",
        "sha256": {f"{name}.json": "0123456789abcdef" * 4},
        "n_chains": 400,
        "n_steps": 2081,
        "n_wrong": 207,
        "n_questions": 396,
        "available": 3400,
        "skipped": {"label": 3},
        "left_out": {"asks about a picture": 12},
        "metrics": {metric: interval(value) for metric, value in VALUES.items()},
        "own_metrics": {"F1": interval(0.564)},
        "baselines": {
            each: {"auc": interval(auc), "auc_within": interval(auc - 0.02)}
            for each, auc in _BASELINES.items()
        },
        "thresholds": (0.42, 0.51),
        "bins": tuple(
            Bin(
                score=score,
                sound=sound,
                low=max(0.0, sound - 0.08),
                high=min(1.0, sound + 0.08),
                n=n,
            )
            for score, sound, n in (
                (0.05, 0.3, 120),
                (0.4, 0.62, 61),
                (0.75, 0.8, 400),
                (1, 0.97, 1500),
            )
        ),
        "published": (
            PublishedFigure(
                judge="critic-large", metric="F1", value=0.879, source="a paper, table 3"
            ),
            PublishedFigure(
                judge="critic-small", metric="F1", value=0.619, source="a paper, table 3"
            ),
        ),
        "usage": Usage(calls=2081, input_tokens=812_404, output_tokens=40_210, cost=0.41, found=17),
        "chains": (
            JudgedChain(id="a", question="a", stratum="", labels=(True,), scores=(0.9,)),
            JudgedChain(
                id="b", question="b", stratum="", labels=(False,), scores=(0.9,), first_error=0
            ),
        ),
    }
    return ValidatedSet(name=name, **{**given, **fields})


def make_chain(text: str = "", **fields: Any) -> LabelledChain:
    """A chain of three steps, the second of them wrong; all its texts contain ``text``."""
    given: dict[str, Any] = {
        "id": f"q7 {text}".strip(),
        "question": "q7",
        "stratum": "arithmetic",
        "language": "en",
        "context": f"A box holds 3 rows of 4 cups. How many cups are in 5 boxes? {text}",
        "steps": (
            f"Each box holds 3 * 4 = 12 cups. {text}",
            f"Five boxes hold 12 + 5 = 17 cups. {text}",
            f"The answer is 17. {text}",
        ),
        "labels": (True, False, None),
        "first_error": 1,
    }
    return LabelledChain(**{**given, **fields})


def make_miss(step: int = 1, text: str = "", **fields: Any) -> Miss:
    """A step of ``make_chain`` that the judge scored against its label."""
    chain = make_chain(text)
    given: dict[str, Any] = {
        "chain": chain,
        "step": step,
        "score": 0.9 if chain.labels[step] is False else 0.1,
        "premises": chain.steps[:step],
        "reply": f"The step follows from the premises. Score: 0.9 {text}",
    }
    return Miss(**{**given, **fields})


def make_validation(
    *sets: tuple[ValidatedSet, tuple[Miss, ...]], stopped: str | None = None, **fields: Any
) -> Validation:
    """A validation of these sets; by default of one set with all figures and two misses."""
    sets = sets or ((make_set(), (make_miss(1), make_miss(0))),)
    given: dict[str, Any] = {
        "format": "lmms-rpts-validity",
        "judge": "openai:some-judge",
        "prompt_version": "3",
        "created": "2026-11-22",
        "lmms_rpts": "1.0",
        "seed": 7,
        "limit": 400,
        "sets": tuple(figures for figures, _ in sets),
    }
    misses = tuple(misses for _, misses in sets)
    return Validation(Validity(**{**given, **fields}), misses, stopped)


def without(metric: str) -> dict[str, Interval]:
    """All metrics; the given one has no value."""
    return {**{each: interval(VALUES[each]) for each in METRICS}, metric: Interval(value=None)}
