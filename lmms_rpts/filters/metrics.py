"""The metrics of RPTS, each declared once: tables, columns and task files follow from `METRICS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.reasoning import Diagnosis
    from lmms_rpts.reasoning.localisation import Modality

RIGHT_REASON = 0.5
"""RPTS at or above which the reasoning counts as sound."""


def is_sound(rpts: float, threshold: float = RIGHT_REASON) -> bool:
    """Whether the reasoning counts as sound; floating-point errors are rounded away."""
    return round(rpts, 9) >= threshold


@dataclass(frozen=True)
class Metric:
    """A metric of RPTS.

    Attributes:
        value: the value of a record; None if it has none and enters no mean.
        group: as published, of the guarded score, or a diagnostic of the chain.
        kind: a ``share`` of responses, the mean of a ``score`` in [0, 1], or a mean ``count``.
        better: ``neither`` if neither more nor less is better.
        needs_answer: whether it needs a gold answer.
    """

    name: str
    value: Callable[[RptsRecord], float | None]
    group: Literal["published", "guarded", "diagnostic"] = "published"
    kind: Literal["share", "score", "count"] = "score"
    better: Literal["more", "less", "neither"] = "more"
    needs_answer: bool = False


def _accuracy(record: RptsRecord) -> float | None:
    correct = record.answer.correct
    return None if correct is None else float(correct)


def _right_and_sound(score: str) -> Callable[[RptsRecord], float | None]:
    """Whether the answer is right and the score is sound."""

    def value(record: RptsRecord) -> float | None:
        found, correct = getattr(record, score), record.answer.correct
        if found is None or correct is None:
            return None
        return float(correct and is_sound(found))

    return value


def _right_not_sound(score: str) -> Callable[[RptsRecord], float | None]:
    """Whether the score of a right answer is not sound; a wrong answer has no value."""

    def value(record: RptsRecord) -> float | None:
        found = getattr(record, score)
        return float(not is_sound(found)) if found is not None and record.answer.correct else None

    return value


def _mean_of_steps(modality: Modality) -> Callable[[RptsRecord], float | None]:
    def value(record: RptsRecord) -> float | None:
        scores = [step.score for step in record.steps if step.modality == modality]
        there = [score for score in scores if score is not None]
        return sum(there) / len(there) if there and record.rpts is not None else None

    return value


def _diagnosed(read: Callable[[Diagnosis], float | None]) -> Callable[[RptsRecord], float | None]:
    """A figure of the chain's diagnosis; None without a chain."""

    def value(record: RptsRecord) -> float | None:
        return None if record.transform.error or not record.steps else read(record.diagnosed)

    return value


METRICS = (
    Metric("rpts", lambda record: record.rpts),
    Metric("accuracy", _accuracy, kind="share", needs_answer=True),
    Metric("accuracy_rpts", _right_and_sound("rpts"), kind="share", needs_answer=True),
    Metric(
        "right_for_wrong_reason",
        _right_not_sound("rpts"),
        kind="share",
        better="less",
        needs_answer=True,
    ),
    Metric("rpts_visual", _mean_of_steps("visual")),
    Metric("rpts_textual", _mean_of_steps("textual")),
    Metric(
        "parse_rate",
        lambda record: None if record.transform.error else float(bool(record.chain)),
        kind="share",
    ),
    Metric(
        "judge_coverage",
        lambda record: float(record.rpts is not None),
        kind="share",
        better="neither",
    ),
    Metric("rpts_guarded", lambda record: record.guarded, "guarded"),
    Metric(
        "accuracy_guarded", _right_and_sound("guarded"), "guarded", kind="share", needs_answer=True
    ),
    Metric(
        "right_for_wrong_reason_guarded",
        _right_not_sound("guarded"),
        "guarded",
        kind="share",
        better="less",
        needs_answer=True,
    ),
    Metric(
        "root_bears", lambda record: None if record.root is None else record.root.score, "guarded"
    ),
    Metric(
        "guarded_coverage",
        # Records written before the guarded score have no diagnosis.
        lambda record: None if record.diagnosis is None else float(record.guarded is not None),
        "guarded",
        kind="share",
        better="neither",
    ),
    Metric(
        "evidence_coverage",
        _diagnosed(lambda found: found.coverage if found.needed else None),
        "diagnostic",
    ),
    Metric(
        "restating_steps",
        lambda record: (
            None
            if record.transform.error or not record.steps
            else len(record.diagnosed.restating) / len(record.steps)
        ),
        "diagnostic",
        better="less",
    ),
    Metric(
        "missing_references",
        _diagnosed(lambda found: float(found.missing)),
        "diagnostic",
        kind="count",
        better="less",
    ),
    Metric(
        "heaviest_step",
        _diagnosed(lambda found: min(1.0, found.heaviest)),
        "diagnostic",
        better="less",
    ),
    Metric(
        "steps",
        lambda record: None if record.transform.error else float(len(record.steps)),
        "diagnostic",
        kind="count",
        better="neither",
    ),
)
"""All metrics, in the order of tables and columns; the headline of each group first."""

DIAGNOSTICS = tuple(each.name for each in METRICS if each.group == "diagnostic")
"""Metrics of the diagnosis of a chain."""
