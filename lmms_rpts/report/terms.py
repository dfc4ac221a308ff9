"""Terms of the report: names of metrics, outcomes and errors."""

from __future__ import annotations

from lmms_rpts.analysis.differences import Differing
from lmms_rpts.analysis.overview import Outcome
from lmms_rpts.reasoning.localisation import Modality

METRIC_WORDS = {
    "rpts": "how sound the reasoning is",
    "accuracy": "right answers",
    "accuracy_rpts": "right answers, soundly reasoned",
    "right_for_wrong_reason": "unsound among the right answers; lower is better",
    "rpts_visual": "steps that read an image",
    "rpts_textual": "steps that read a text",
    "parse_rate": "responses with readable steps",
    "judge_coverage": "responses that could be judged",
    "rpts_guarded": "how sound it is where empty steps, unused evidence and a root about "
    "something else cost",
    "accuracy_guarded": "right answers, soundly reasoned by the guarded score",
    "right_for_wrong_reason_guarded": "unsound by the guarded score among the right answers; lower "
    "is better",
    "root_bears": "how far the last conclusion settles the question as answered",
    "evidence_coverage": "share of the evidence needed that the last conclusion rests on",
    "restating_steps": "share of steps that only restate; lower is better",
    "missing_references": "references to what does not exist, for each response; lower is better",
    "heaviest_step": "share of the RPTS weight that one step has; lower is better",
    "steps": "steps for each response",
}

HEADLINE_WORDS = {
    "rpts": "RPTS",
    "accuracy": "accuracy",
    "accuracy_rpts": "right and sound",
    "right_for_wrong_reason": "right, wrong reason",
}
"""The metrics at the top of a report."""

OUTCOME_WORDS: dict[Outcome, str] = {
    "right_sound": "right, sound on the whole",
    "right_unsound": "right for the wrong reason",
    "wrong_sound": "wrong, though sound on the whole",
    "wrong_unsound": "wrong, and unsound",
    "unjudged": "not judged, or no answer",
}

DIFFERING_WORDS: dict[Differing, str] = {
    "answer": "right in one, wrong in another",
    "soundness": "sound in one, unsound in another",
    "rpts": "RPTS differs by more than 0.3",
}

DIFFERING_MARKS: dict[Differing, str] = {
    "answer": "answer",
    "soundness": "soundness",
    "rpts": "RPTS",
}

MODALITY_WORDS: dict[Modality, str] = {
    "visual": "from images alone",
    "textual": "from texts alone",
    "mixed": "from images and texts",
    "inference": "from earlier conclusions",
}

QUESTION_WORDS = {
    "image": "Is this what the image shows? The gold reasoning says of it:",
    "inference": "Does the conclusion follow? Given:",
    "root": "Does the last conclusion settle the question as it was answered?",
    "second": "Asked again, with all texts and all earlier conclusions: 0.8 times this score, "
    "rounded to tenths, counts if it is more than the first one. Given:",
}
