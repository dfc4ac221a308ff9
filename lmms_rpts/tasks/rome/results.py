"""Metrics of ROME for lmms-eval, from the records of ``rome_answer``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lmms_rpts.tasks.results import Metrics, document_metrics, read_records
from lmms_rpts.tasks.rome.record import RomeRecord

METRICS: Metrics = {
    "accuracy": lambda record: record.score,
    "accuracy_strict": lambda record: record.grades.strict,
    "thinking_answer_consistency": lambda record: record.consistent,
    "grader_coverage": lambda record: record.score is not None,
}
"""The value of a record in each metric; None if it has none.

``accuracy``: by the grader that counts, None if it failed; ``accuracy_strict``: by the strict
rules. Both are in [0, 1], with partial credit for a place that is too coarse.
``thinking_answer_consistency``: 1 or 0, None if it was not asked or is unknown;
``grader_coverage``: whether there is an accuracy.
"""


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float | None]:
    """The metrics of one document; the means over its responses."""
    return document_metrics(read_records(RomeRecord, results), METRICS)
