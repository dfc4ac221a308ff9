"""CMMaTH's grader as a verifier of lmms-eval: ``{"type": "cmmath"}``."""

from __future__ import annotations

from typing import Any

from lmms_eval.verifiers.base import Verifier, VerifyResult

from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.reasoning.thinking import select_reasoning


class CmmathVerifier(Verifier):  # type: ignore[misc]  # lmms-eval is not typed
    """Grades answers to mathematics problems by rules, like the tasks; thinking is ignored."""

    def __init__(self) -> None:
        self._isolation = Isolation("grading a prediction by CMMaTH's rules")

    def verify(
        self, question: str, prediction: str, ground_truth: str, **kwargs: Any
    ) -> VerifyResult:
        """Whether a prediction answers the question as the ground truth does.

        An answer that the rules leave undecided has the score 0.0 and is not ``confident``: the
        next verifier of a composite can decide.
        """

        def verify() -> VerifyResult:
            return _verify(question, prediction, ground_truth)

        return self._isolation.run(verify, _failed)


def _verify(question: str, prediction: str, ground_truth: str) -> VerifyResult:
    # Imported here: every run imports verifiers.
    from lmms_rpts.tasks.cmmath.grading import grade

    found = grade(question, ground_truth, select_reasoning(prediction).spoken)
    is_correct = found.outcome == "correct"
    return VerifyResult(
        score=float(is_correct),
        is_correct=is_correct,
        raw_output=f"cmmath: {found.outcome}: {found.rule}",
        metadata={
            "confident": found.outcome != "undecided",
            "outcome": found.outcome,
            "answer": found.answer,
            "answer_type": found.answer_type,
        },
    )


def _failed(reason: str) -> VerifyResult:
    return VerifyResult(
        score=0.0,
        is_correct=False,
        raw_output=f"cmmath: {reason}",
        metadata={"confident": False, "outcome": "undecided", "error": reason},
    )
