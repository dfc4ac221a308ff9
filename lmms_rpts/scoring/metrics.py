"""The metrics of RPTS."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.stats.metrics import Metric, by_name

PUBLISHED, DIAGNOSTIC = "as in the paper", "diagnostics of the chains"
"""The groups of the metrics."""

_score, _share = partial(Metric, kind="score"), partial(Metric, kind="share")
_of_answers = partial(_share, needs_answer=True)

TESTED = ("accuracy", "rpts", "right_for_wrong_reason")
"""The metrics that `compare` tests: those that follow from them would raise their p-values."""

_GROUPS = {
    PUBLISHED: (
        _score("rpts", lambda record: record.rpts, words="mean score of the reasoning"),
        _of_answers(
            "accuracy",
            lambda record: None if (right := record.answer.correct) is None else float(right),
            words="right answers",
        ),
        _of_answers(
            "accuracy_rpts",
            lambda record: (
                None
                if record.rpts is None or record.answer.correct is None
                else float(
                    record.answer.correct and is_sound(record.rpts, record.settings.threshold)
                )
            ),
            words="right answers with an RPTS of at least 0.5",
        ),
        _of_answers(
            "right_for_wrong_reason",
            lambda record: (
                float(not is_sound(record.rpts, record.settings.threshold))
                if record.outcome == "scored" and record.answer.correct
                else None
            ),
            higher_is_better=False,
            words="share of the right answers with an RPTS below 0.5",
        ),
        _score(
            "rpts_visual",
            lambda record: record.mean_of("visual"),
            words="score of the steps that read an image",
        ),
        _score(
            "rpts_textual",
            lambda record: record.mean_of("textual"),
            words="score of the steps that read a text",
        ),
        _share(
            "parse_rate",
            lambda record: None if record.transform.error else float(bool(record.chain)),
            words="responses with readable steps",
        ),
        _share(
            "judge_coverage",
            lambda record: None if record.outcome == "no_steps" else float(record.rpts is not None),
            higher_is_better=None,
            interval=False,
            words="responses with steps that could be judged",
        ),
    ),
    DIAGNOSTIC: (
        # Of Uppaal et al., EACL 2026 (arXiv 2512.12218), with the steps that RPTS calls visual.
        _score(
            "unfaithful_perception_rate",
            lambda record: record.mean_of("visual", lambda score: float(not is_sound(score))),
            higher_is_better=False,
            words="share of the steps from images alone with a score below 0.5",
        ),
        _score(
            "evidence_coverage",
            lambda record: (
                record.diagnosis.coverage if record.steps and record.diagnosis.needed else None
            ),
            words="share of the needed evidence that the last conclusion uses",
        ),
        _score(
            "restating_steps",
            lambda record: (
                len(record.diagnosis.restating) / len(record.steps) if record.steps else None
            ),
            higher_is_better=False,
            words="share of steps that only restate",
        ),
        Metric(
            "missing_references",
            lambda record: float(len(record.invalid_references)) if record.steps else None,
            higher_is_better=False,
            kind="count",
            words="citations of nonexistent evidence per response",
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
        replace(each, group=group, tested=each.name in TESTED)
        for group, metrics in _GROUPS.items()
        for each in metrics
    )
)
"""All metrics of RPTS; the headline of each group first."""
