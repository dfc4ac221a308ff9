"""The metrics of RPTS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lmms_rpts.runs.metrics import Metric, by_name
from lmms_rpts.runs.record import field_of

if TYPE_CHECKING:
    from lmms_rpts.filters.record import RptsRecord
    from lmms_rpts.reasoning import Diagnosis
    from lmms_rpts.reasoning.tree import Modality

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

PUBLISHED, GUARDED, DIAGNOSTIC = "as in the paper", "guarded", "diagnostics of the chains"
THINKING = "thinking"
"""The groups of the metrics."""

_score, _share = partial(Metric, kind="score"), partial(Metric, kind="share")
_of_answers = partial(_share, needs_answer=True)
_of_thinking = partial(_score, optional=True)

_GROUPS = {
    PUBLISHED: (
        _score("rpts", lambda record: record.rpts, words="mean score of the reasoning"),
        _of_answers("accuracy", _accuracy, words="right answers"),
        _of_answers(
            "accuracy_rpts",
            _right_and_sound("rpts"),
            words="right answers with an RPTS of at least 0.5",
        ),
        _of_answers(
            "right_for_wrong_reason",
            _right_not_sound("rpts"),
            higher_is_better=False,
            words="share of the right answers with an RPTS below 0.5",
        ),
        _score(
            "rpts_visual", _mean_of_steps("visual"), words="score of the steps that read an image"
        ),
        _score(
            "rpts_textual", _mean_of_steps("textual"), words="score of the steps that read a text"
        ),
        _share(
            "parse_rate",
            lambda record: None if record.transform.error else float(bool(record.chain)),
            words="responses with readable steps",
        ),
        _share(
            "judge_coverage",
            lambda record: float(record.rpts is not None),
            higher_is_better=None,
            words="responses that could be judged",
        ),
    ),
    GUARDED: (
        _score(
            "rpts_guarded",
            lambda record: record.guarded,
            words="guarded RPTS, which ignores restating steps; unused evidence and an unrelated "
            "last conclusion lower it",
        ),
        _of_answers(
            "accuracy_guarded",
            _right_and_sound("guarded"),
            words="right answers with a guarded score of at least 0.5",
        ),
        _of_answers(
            "right_for_wrong_reason_guarded",
            _right_not_sound("guarded"),
            higher_is_better=False,
            words="share of the right answers with a guarded score below 0.5",
        ),
        _score(
            "root_bears",
            lambda record: None if record.root is None else record.root.score,
            words="how far the evidence leads to the final answer",
        ),
        _share(
            "guarded_coverage",
            # Records written before the guarded score have no diagnosis.
            lambda record: None if record.diagnosis is None else float(record.guarded is not None),
            higher_is_better=None,
            words="responses that have a guarded score",
            tested=False,
        ),
    ),
    THINKING: (
        _of_thinking(
            "rpts_thinking",
            lambda record: field_of(record, "thinking.rpts"),
            words="RPTS of the thinking itself",
        ),
        _of_thinking(
            "rpts_guarded_thinking",
            lambda record: field_of(record, "thinking.guarded"),
            words="guarded RPTS of the thinking",
        ),
        *THINKING_METRICS.values(),
    ),
    DIAGNOSTIC: (
        # Of Uppaal et al., EACL 2026 (arXiv 2512.12218), with the steps that RPTS calls visual.
        _score(
            "unfaithful_perception_rate",
            _mean_of_steps("visual", lambda score: float(not is_sound(score))),
            higher_is_better=False,
            words="share of the steps from images alone with a score below 0.5",
        ),
        _score(
            "evidence_coverage",
            _diagnosed(lambda found: found.coverage if found.needed else None),
            words="share of the needed evidence that the last conclusion uses",
        ),
        _score(
            "restating_steps",
            lambda record: (
                None
                if record.transform.error or not record.steps
                else len(record.diagnosed.restating) / len(record.steps)
            ),
            higher_is_better=False,
            words="share of steps that only restate",
        ),
        Metric(
            "missing_references",
            _diagnosed(lambda found: float(found.missing)),
            higher_is_better=False,
            kind="count",
            words="citations of nonexistent evidence per response",
        ),
        _score(
            "heaviest_step",
            _diagnosed(lambda found: min(1.0, found.heaviest)),
            higher_is_better=False,
            words="largest share of the RPTS weight on one step",
        ),
        Metric(
            "steps",
            lambda record: None if record.transform.error else float(len(record.steps)),
            higher_is_better=None,
            kind="count",
            words="steps per response",
        ),
    ),
}

METRICS = by_name(
    *(
        replace(each, group=group, tested=each.tested and group != DIAGNOSTIC)
        for group, metrics in _GROUPS.items()
        for each in metrics
    )
)
"""All metrics of RPTS; the headline of each group first."""

OF_THINKING = frozenset(each.name for each in _GROUPS[THINKING]) - {*THINKING_METRICS}
"""The metrics that need the setting ``source`` to be ``both``."""
