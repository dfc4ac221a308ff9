"""Validity files of made-up judges, with known error rates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.runs.validity import Interval, JudgedChain, ValidatedSet, Validity

JUDGE = "openai:oracle"
"""The judge of ``tests.support.runs.make_record``."""

AUC = Interval(value=0.71, low=0.65, high=0.77)
SENSITIVITY = Interval(value=0.8, low=0.7, high=0.9)
SPECIFICITY = Interval(value=0.9, low=0.85, high=0.95)
METRICS: Mapping[str, Interval] = {
    "auc": AUC,
    "sensitivity": SENSITIVITY,
    "specificity": SPECIFICITY,
}


def chains(found: int = 8, passed: int = 9, questions: int = 10) -> tuple[JudgedChain, ...]:
    """Ten wrong and ten sound steps of each question; the judge is right on the given numbers.

    Each chain also has an unlabelled step and an unscored one, which don't count.
    """
    wrong = [0.4] * found + [0.5] * (10 - found)
    sound = [0.5] * passed + [0.4] * (10 - passed)
    return tuple(
        JudgedChain(
            id=f"chain {at}",
            question=f"question {at}",
            stratum="",
            labels=(*[False] * 10, *[True] * 10, None, False),
            scores=(*wrong, *sound, 0.0, None),
            first_error=0,
        )
        for at in range(questions)
    )


def make_set(name: str = "processbench", **changes: Any) -> ValidatedSet:
    """A set with the rates of ``METRICS``, and chains with the same rates."""
    fields: dict[str, Any] = {
        "name": name,
        "layout": "processbench",
        "n_chains": 10,
        "n_steps": 210,
        "n_wrong": 110,
        "n_questions": 10,
        "available": 3400,
        "metrics": METRICS,
        "chains": chains(),
    }
    return ValidatedSet(**fields | changes)


def make_validity(*sets: ValidatedSet, **changes: Any) -> Validity:
    """The validity file of ``lmms-rpts validate`` for the judge of ``make_record``."""
    fields: dict[str, Any] = {
        "format": "lmms-rpts-validity",
        "judge": JUDGE,
        "prompt_version": "1",
        "created": "2026-11-22",
        "sets": sets or (make_set(),),
    }
    return Validity(**fields | changes)


def write_validity(path: Path, validity: Validity | None = None) -> Path:
    """Writes a validity file; returns its path."""
    path.write_text((validity or make_validity()).model_dump_json(), encoding="utf-8")
    return path
