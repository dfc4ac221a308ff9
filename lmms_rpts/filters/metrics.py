"""The metrics of RPTS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.record import field_of

if TYPE_CHECKING:
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.reasoning import Diagnosis
    from lmms_rpts.reasoning.localisation import Modality

RIGHT_REASON = 0.5
"""RPTS at or above which the reasoning counts as sound."""


def is_sound(rpts: float, threshold: float = RIGHT_REASON) -> bool:
    """Whether the reasoning counts as sound; floating-point errors are rounded away."""
    return round(rpts, 9) >= threshold


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


def _mean_of_steps(
    modality: Modality, of: Callable[[float], float] = float
) -> Callable[[RptsRecord], float | None]:
    """The mean of the scores of steps of one kind, or of what ``of`` returns for them."""

    def value(record: RptsRecord) -> float | None:
        scores = [step.score for step in record.steps if step.modality == modality]
        there = [of(score) for score in scores if score is not None]
        return sum(there) / len(there) if there and record.rpts is not None else None

    return value


def _diagnosed(read: Callable[[Diagnosis], float | None]) -> Callable[[RptsRecord], float | None]:
    """A figure of the chain's diagnosis; None without a chain."""

    def value(record: RptsRecord) -> float | None:
        return None if record.transform.error or not record.steps else read(record.diagnosed)

    return value


THINKING_METRICS = by_name(
    Metric(
        "thinking_answer_consistency",
        lambda record: field_of(record, "consistency.consistent"),
        head="consistency",
        words="share of answers that agree with the thinking",
        optional=True,
    ),
    Metric(
        "pretended_tools",
        lambda record: field_of(record, "pretended_tools.pretended"),
        higher_is_better=False,
        head="pretended tools",
        words="share of thinkings that pretend to use tools or to search",
        optional=True,
    ),
)
"""Metrics of the questions about thinking, for all benchmarks that ask them."""

PUBLISHED, GUARDED, DIAGNOSTIC = "as published", "guarded", "diagnostics of the chains"
THINKING = "thinking"
OF_THINKING = frozenset({"rpts_thinking", "rpts_guarded_thinking"})
"""The metrics that need the setting ``source`` to be ``both``."""
"""The groups of the metrics."""

METRICS = by_name(
    Metric(
        "rpts",
        lambda record: record.rpts,
        kind="score",
        group=PUBLISHED,
        words="mean score of the reasoning",
    ),
    Metric(
        "accuracy",
        _accuracy,
        kind="share",
        group=PUBLISHED,
        words="right answers",
        needs_answer=True,
    ),
    Metric(
        "accuracy_rpts",
        _right_and_sound("rpts"),
        kind="share",
        group=PUBLISHED,
        words="right answers with an RPTS of at least 0.5",
        needs_answer=True,
    ),
    Metric(
        "right_for_wrong_reason",
        _right_not_sound("rpts"),
        higher_is_better=False,
        kind="share",
        group=PUBLISHED,
        words="share of the right answers with an RPTS below 0.5",
        needs_answer=True,
    ),
    Metric(
        "rpts_visual",
        _mean_of_steps("visual"),
        kind="score",
        group=PUBLISHED,
        words="score of the steps that read an image",
    ),
    Metric(
        "rpts_textual",
        _mean_of_steps("textual"),
        kind="score",
        group=PUBLISHED,
        words="score of the steps that read a text",
    ),
    Metric(
        "parse_rate",
        lambda record: None if record.transform.error else float(bool(record.chain)),
        kind="share",
        group=PUBLISHED,
        words="responses with readable steps",
    ),
    Metric(
        "judge_coverage",
        lambda record: float(record.rpts is not None),
        higher_is_better=None,
        kind="share",
        group=PUBLISHED,
        words="responses that could be judged",
    ),
    Metric(
        "rpts_guarded",
        lambda record: record.guarded,
        kind="score",
        group=GUARDED,
        words="guarded RPTS, which ignores restating steps; unused evidence and an unrelated last"
        " conclusion lower it",
    ),
    Metric(
        "accuracy_guarded",
        _right_and_sound("guarded"),
        kind="share",
        group=GUARDED,
        words="right answers with a guarded score of at least 0.5",
        needs_answer=True,
    ),
    Metric(
        "right_for_wrong_reason_guarded",
        _right_not_sound("guarded"),
        higher_is_better=False,
        kind="share",
        group=GUARDED,
        words="share of the right answers with a guarded score below 0.5",
        needs_answer=True,
    ),
    Metric(
        "root_bears",
        lambda record: None if record.root is None else record.root.score,
        kind="score",
        group=GUARDED,
        words="how far the evidence leads to the final answer",
    ),
    Metric(
        "guarded_coverage",
        # Records written before the guarded score have no diagnosis.
        lambda record: None if record.diagnosis is None else float(record.guarded is not None),
        higher_is_better=None,
        kind="share",
        group=GUARDED,
        words="responses that have a guarded score",
        tested=False,
    ),
    Metric(
        "rpts_thinking",
        lambda record: field_of(record, "thinking.rpts"),
        kind="score",
        group=THINKING,
        words="RPTS of the thinking itself",
        optional=True,
    ),
    Metric(
        "rpts_guarded_thinking",
        lambda record: field_of(record, "thinking.guarded"),
        kind="score",
        group=THINKING,
        words="guarded RPTS of the thinking",
        optional=True,
    ),
    *(replace(each, group=THINKING) for each in THINKING_METRICS.values()),
    Metric(
        # Of Uppaal et al., EACL 2026 (arXiv 2512.12218), with the steps that RPTS calls visual.
        "unfaithful_perception_rate",
        _mean_of_steps("visual", lambda score: float(not is_sound(score))),
        higher_is_better=False,
        kind="score",
        group=DIAGNOSTIC,
        words="share of the steps from images alone with a score below 0.5",
        tested=False,
    ),
    Metric(
        "evidence_coverage",
        _diagnosed(lambda found: found.coverage if found.needed else None),
        kind="score",
        group=DIAGNOSTIC,
        words="share of the needed evidence that the last conclusion uses",
        tested=False,
    ),
    Metric(
        "restating_steps",
        lambda record: (
            None
            if record.transform.error or not record.steps
            else len(record.diagnosed.restating) / len(record.steps)
        ),
        higher_is_better=False,
        kind="score",
        group=DIAGNOSTIC,
        words="share of steps that only restate",
        tested=False,
    ),
    Metric(
        "missing_references",
        _diagnosed(lambda found: float(found.missing)),
        higher_is_better=False,
        kind="count",
        group=DIAGNOSTIC,
        words="citations of nonexistent evidence per response",
        tested=False,
    ),
    Metric(
        "heaviest_step",
        _diagnosed(lambda found: min(1.0, found.heaviest)),
        higher_is_better=False,
        kind="score",
        group=DIAGNOSTIC,
        words="largest share of the RPTS weight on one step",
        tested=False,
    ),
    Metric(
        "steps",
        lambda record: None if record.transform.error else float(len(record.steps)),
        higher_is_better=None,
        kind="count",
        group=DIAGNOSTIC,
        words="steps per response",
        tested=False,
    ),
)
"""All metrics of RPTS; the headline of each group first."""
