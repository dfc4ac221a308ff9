"""Metrics of ROME for lmms-eval, from the records of ``rome_answer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.results import mean_metrics, read_records
from lmms_rpts.tasks.rome.filter import SCHEMA, SCHEMA_VERSION

METRICS = ("accuracy", "accuracy_strict", "thinking_answer_consistency", "grader_coverage")


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; over several responses their mean.

    None where a metric has no value for the document: see ``metrics_of``.
    """
    return mean_metrics(read_records(results, SCHEMA, SCHEMA_VERSION), METRICS, metrics_of)


def metrics_of(record: Mapping[str, Any]) -> dict[str, float | None]:
    """The metrics of one record of ``rome_answer``.

    Returns:
        ``accuracy``: by the grader that counts, None where it failed; ``accuracy_strict``: by our
        rules. Both in [0, 1], in parts where a place was given too coarsely.
        ``thinking_answer_consistency``: 1 or 0, None where it was not asked or can't be told;
        ``grader_coverage``: whether there is an accuracy.
    """
    score = _number(record, "score")
    return {
        "accuracy": score,
        "accuracy_strict": _number(record.get("grades"), "strict"),
        "thinking_answer_consistency": _number(record.get("consistency"), "consistent"),
        "grader_coverage": float(score is not None),
    }


def _number(part: object, field: str) -> float | None:
    value = part.get(field) if isinstance(part, dict) else None
    return float(value) if isinstance(value, int | float) else None
