"""Metrics of RPTS for lmms-eval, from the records of ``rpts_aggregate``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.filters.aggregate import SCHEMA, SCHEMA_VERSION
from lmms_rpts.tasks.aggregation import Value
from lmms_rpts.tasks.results import mean, mean_metrics, read_records

RIGHT_REASON = 0.5
"""RPTS from which on the reasoning counts as sound."""

SHARES = frozenset(
    {"accuracy", "accuracy_rpts", "right_for_wrong_reason", "parse_rate", "judge_coverage"}
)
"""The metrics that are shares of responses; the others are means of scores."""

METRICS = (
    "rpts",
    "accuracy",
    "accuracy_rpts",
    "rpts_visual",
    "rpts_textual",
    "right_for_wrong_reason",
    "parse_rate",
    "judge_coverage",
)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; over several responses their mean.

    None where a metric has no value for the document: see ``metrics_of``.
    """
    means = mean_metrics(read_records(results, SCHEMA, SCHEMA_VERSION), METRICS, metrics_of)
    document = _identity(doc)
    if document is None:
        return means
    return {name: None if mean is None else Value(mean, document) for name, mean in means.items()}


def _identity(doc: Mapping[str, Any]) -> str | None:
    """What a document shares with its translation, and with no other: its id, images and answer.

    None without an id or images: then nobody can tell.
    """
    if doc.get("id") is None or not doc.get("visual_clue"):
        return None
    return json.dumps([doc["id"], list(doc["visual_clue"]), doc.get("answer")], default=str)


def is_sound(rpts: float, threshold: float = RIGHT_REASON) -> bool:
    """Whether the reasoning counts as sound; what rounding alone keeps below the mark is not."""
    return round(rpts, 9) >= threshold


def metrics_of(record: Mapping[str, Any]) -> dict[str, float | None]:
    """The metrics of one record of ``rpts_aggregate``.

    A record that could not be judged has no ``rpts*`` values, a wrong answer no
    ``right_for_wrong_reason``, and a chain without a step of some modality no mean of them.
    """
    rpts, correct = record["rpts"], record["answer"]["correct"]
    known = rpts is not None and correct is not None
    return {
        "rpts": rpts,
        "accuracy": None if correct is None else float(correct),
        "accuracy_rpts": float(correct and is_sound(rpts)) if known else None,
        "rpts_visual": _mean_of_steps(record, "visual"),
        "rpts_textual": _mean_of_steps(record, "textual"),
        "right_for_wrong_reason": float(not is_sound(rpts)) if known and correct else None,
        "parse_rate": None if record["transform"]["error"] else float(bool(record["chain"])),
        "judge_coverage": float(rpts is not None),
    }


def _mean_of_steps(record: Mapping[str, Any], modality: str) -> float | None:
    if record["rpts"] is None:
        return None
    return mean([step["score"] for step in record["steps"] if step["modality"] == modality])
