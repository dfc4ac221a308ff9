"""Terms of the report: names of metrics, outcomes and errors."""

from __future__ import annotations

from lmms_rpts.analysis.differences import Differing
from lmms_rpts.analysis.overview import Outcome
from lmms_rpts.reasoning.localisation import Modality

METRIC_WORDS = {
    "rpts": "mean score of the reasoning",
    "accuracy": "right answers",
    "accuracy_rpts": "right answers with an RPTS of at least 0.5",
    "right_for_wrong_reason": "share of the right answers with an RPTS below 0.5; lower is better",
    "rpts_visual": "score of the steps that read an image",
    "rpts_textual": "score of the steps that read a text",
    "parse_rate": "responses with readable steps",
    "judge_coverage": "responses that could be judged",
    "rpts_guarded": "guarded RPTS: ignores restating steps; unused evidence and an "
    "unrelated last conclusion lower it",
    "accuracy_guarded": "right answers with a guarded score of at least 0.5",
    "right_for_wrong_reason_guarded": "share of the right answers with a guarded score "
    "below 0.5; lower is better",
    "root_bears": "how far the evidence leads to the final answer",
    "guarded_coverage": "responses that have a guarded score",
    "evidence_coverage": "share of the needed evidence that the last conclusion uses",
    "restating_steps": "share of steps that only restate; lower is better",
    "missing_references": "citations of nonexistent evidence per response; lower is better",
    "heaviest_step": "largest share of the RPTS weight on one step; lower is better",
    "steps": "steps per response",
}

HEADLINE_WORDS = {
    "rpts": "RPTS",
    "accuracy": "accuracy",
    "accuracy_rpts": "right, RPTS ≥ 0.5",
    "right_for_wrong_reason": "right, wrong reason",
}
"""The metrics at the top of a report."""

OUTCOME_WORDS: dict[Outcome, str] = {
    "right_sound": "right, RPTS ≥ 0.5",
    "right_unsound": "right for the wrong reason",
    "wrong_sound": "wrong, RPTS ≥ 0.5",
    "wrong_unsound": "wrong, RPTS < 0.5",
    "unjudged": "not judged, or no answer",
}

DIFFERING_WORDS: dict[Differing, str] = {
    "answer": "right in one, wrong in another",
    "soundness": "RPTS ≥ 0.5 in one, below in another",
    "rpts": "RPTS differs by more than 0.3",
}

MODALITY_WORDS: dict[Modality, str] = {
    "visual": "from images only",
    "textual": "from texts only",
    "mixed": "from images and texts",
    "inference": "from earlier conclusions",
}

QUESTION_WORDS = {
    "image": "Is this what the image shows? Description from the gold reasoning:",
    "inference": "Does the conclusion follow? Given:",
    "root": "Does the evidence lead to the last conclusion, and that to the final answer? Given:",
    "second": "Second judge call, with all texts and all earlier conclusions. 0.8 times this score "
    "(one decimal) is used if it is higher than the first score. Given:",
}

GRADED_WORDS = {
    "right": "right",
    "partial": "right in part",
    "value": "scored",
    "wrong": "wrong",
    "unscored": "not graded",
}
"""Outcomes of graded answers, in the order of the legend."""

FLAG_WORDS = {"disagreements": "graders disagree", "undecided": "undecided"}
"""Names on the page of lists of answers; other lists are shown with their own names."""
