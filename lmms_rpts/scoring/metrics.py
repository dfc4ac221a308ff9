"""The metrics of RPTS."""

from __future__ import annotations

from functools import partial

from lmms_rpts.reasoning.tree import is_sound
from lmms_rpts.stats.metrics import Metric, by_name

# Untested metrics follow from those that `compare` tests: they would raise their p-values.
_published = partial(Metric, kind="score", group="as in the paper", tested=False)
_diagnostic = partial(Metric, kind="score", group="diagnostics of the chains", tested=False)


METRICS = by_name(
    _published("rpts", lambda it: it.rpts, tested=True, words="mean score of the reasoning"),
    _published(
        "accuracy",
        lambda it: None if it.answer.correct is None else float(it.answer.correct),
        kind="share",
        tested=True,
        needs_answer=True,
        words="right answers",
    ),
    _published(
        "accuracy_rpts",
        lambda it: (
            None
            if None in (it.rpts, it.answer.correct)
            else float(it.answer.correct and is_sound(it.rpts, it.settings.threshold))
        ),
        kind="share",
        needs_answer=True,
        words="right answers with an RPTS of at least 0.5",
    ),
    _published(
        "right_for_wrong_reason",
        lambda it: (
            float(not is_sound(it.rpts, it.settings.threshold))
            if it.outcome == "scored" and it.answer.correct
            else None
        ),
        kind="share",
        tested=True,
        needs_answer=True,
        higher_is_better=False,
        words="share of the right answers with an RPTS below 0.5",
    ),
    _published(
        "rpts_visual",
        lambda it: it.mean_of("visual"),
        words="score of the steps that read an image",
    ),
    _published(
        "rpts_textual",
        lambda it: it.mean_of("textual"),
        words="score of the steps that read a text",
    ),
    _published(
        "parse_rate",
        lambda it: None if it.transform.error else float(bool(it.chain)),
        kind="share",
        words="responses with readable steps",
    ),
    _published(
        "judge_coverage",
        lambda it: None if it.outcome == "no_steps" else float(it.rpts is not None),
        kind="share",
        higher_is_better=None,
        interval=False,
        words="responses with steps that could be judged",
    ),
    # Of Uppaal et al., EACL 2026 (arXiv 2512.12218), with the steps that RPTS calls visual.
    _diagnostic(
        "unfaithful_perception_rate",
        lambda it: it.mean_of("visual", lambda score: float(not is_sound(score))),
        higher_is_better=False,
        words="share of the steps from images alone with a score below 0.5",
    ),
    _diagnostic(
        "evidence_coverage",
        lambda it: it.diagnosis.coverage if it.steps and it.diagnosis.needed else None,
        words="share of the needed evidence that the last conclusion uses",
    ),
    _diagnostic(
        "restating_steps",
        lambda it: len(it.diagnosis.restating) / len(it.steps) if it.steps else None,
        higher_is_better=False,
        words="share of steps that only restate",
    ),
    _diagnostic(
        "missing_references",
        lambda it: float(len(it.invalid_references)) if it.steps else None,
        higher_is_better=False,
        kind="count",
        words="citations of nonexistent evidence per response",
    ),
    _diagnostic(
        "steps",
        lambda it: None if it.transform.error else float(len(it.steps)),
        higher_is_better=None,
        kind="count",
        words="steps per response",
    ),
)
"""All metrics of RPTS; the headline of each group first."""
