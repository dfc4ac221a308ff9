"""Validity files of made-up judges, with known figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lmms_rpts.runs.validity import Interval, ValidatedSet, Validity

JUDGE = "openai:oracle"
"""The judge of ``tests.support.runs.make_record``."""

METRICS: Mapping[str, Interval] = {
    "auc": Interval(value=0.71, low=0.65, high=0.77),
    "sensitivity": Interval(value=0.8, low=0.7, high=0.9),
    "specificity": Interval(value=0.9, low=0.85, high=0.95),
}


def make_set(name: str = "processbench", **changes: Any) -> ValidatedSet:
    """A set with the figures of ``METRICS``."""
    fields: dict[str, Any] = {
        "name": name,
        "layout": "processbench",
        "n_chains": 10,
        "n_steps": 210,
        "n_wrong": 110,
        "n_questions": 10,
        "available": 3400,
        "metrics": METRICS,
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
