"""Metrics of RPTS for lmms-eval, from the records of ``rpts_aggregate``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.filters.record import DIAGNOSTICS, RptsRecord
from lmms_rpts.tasks.aggregation import Value
from lmms_rpts.tasks.results import mean, read_records

SHARES = frozenset(
    {
        "accuracy",
        "accuracy_rpts",
        "right_for_wrong_reason",
        "parse_rate",
        "judge_coverage",
        "accuracy_guarded",
        "right_for_wrong_reason_guarded",
        "guarded_coverage",
    }
)
"""The metrics that are shares of responses; the others are means of scores or counts."""

COUNTS = frozenset({"missing_references", "steps"})
"""The metrics that may exceed 1."""

OF_ANSWERS = frozenset(
    {
        "accuracy",
        "accuracy_rpts",
        "right_for_wrong_reason",
        "accuracy_guarded",
        "right_for_wrong_reason_guarded",
    }
)
"""The metrics that need a gold answer."""

METRICS = (
    "rpts",
    "accuracy",
    "accuracy_rpts",
    "right_for_wrong_reason",
    "rpts_visual",
    "rpts_textual",
    "parse_rate",
    "judge_coverage",
    "rpts_guarded",
    "accuracy_guarded",
    "right_for_wrong_reason_guarded",
    "root_bears",
    "guarded_coverage",
    *DIAGNOSTICS,
)
"""All metrics, in the order of tables and columns."""

LOWER_IS_BETTER = (
    "right_for_wrong_reason",
    "right_for_wrong_reason_guarded",
    "restating_steps",
    "missing_references",
    "heaviest_step",
)


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; the means over its responses.

    None if a metric has no value for the document: see ``RptsRecord.metrics``.
    """
    metrics = [record.metrics for record in read_records(RptsRecord, results)]
    means = {name: mean(each[name] for each in metrics) for name in METRICS}
    document = _identity(doc)
    if document is None:
        return means
    return {name: None if each is None else Value(each, document) for name, each in means.items()}


def _identity(doc: Mapping[str, Any]) -> str | None:
    """The key that a document shares only with its translations: its id, images and answer.

    None without an id or images: then translations can't be recognized.
    """
    try:
        if doc.get("id") is None or not doc.get("visual_clue"):
            return None
        return json.dumps([doc["id"], list(doc["visual_clue"]), doc.get("answer")], default=str)
    except Exception:  # a foreign document may contain anything
        return None
