"""ROME's graders as a verifier of lmms-eval: ``{"type": "rome", "evaluator": ...}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval.verifiers.base import Verifier, VerifyResult

from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.reasoning.thinking import select_reasoning
from lmms_rpts.tasks.rome.kwargs import required
from lmms_rpts.tasks.rome.matchers import match
from lmms_rpts.tasks.rome.strict import grade_strictly


class RomeVerifier(Verifier):  # type: ignore[misc]  # lmms-eval is not typed
    """Grades text by one of ROME's rules, like the tasks; thinking is ignored.

    Args:
        evaluator: the name of the rule.
        evaluator_kwargs: its arguments.
        strict: use the strict rules instead of the published ones.

    Raises:
        ValueError: if the evaluator is unknown, or an argument is missing or of a wrong type.
    """

    def __init__(
        self, evaluator: str, evaluator_kwargs: Mapping[str, Any], strict: bool = False
    ) -> None:
        required(evaluator, evaluator_kwargs)
        self.evaluator = evaluator
        self.evaluator_kwargs = dict(evaluator_kwargs)
        self.strict = strict
        self._isolation = Isolation("grading a prediction by ROME's rules")

    def verify(
        self, question: str, prediction: str, ground_truth: str, **kwargs: Any
    ) -> VerifyResult:
        """The grade of a prediction; the question and the ground truth are not read.

        A prediction without the full score is not ``confident``: it may be right in other words,
        which the next verifier of a composite can check.
        """
        return self._isolation.run(lambda: self._verify(prediction), _failed)

    def _verify(self, prediction: str) -> VerifyResult:
        grade = grade_strictly if self.strict else match
        score = grade(self.evaluator, self.evaluator_kwargs, select_reasoning(prediction).spoken)
        rules = "strict" if self.strict else "published"
        return VerifyResult(
            score=score,
            is_correct=score >= 1.0,
            raw_output=f"rome: {self.evaluator}, {rules} rules: {score:g}",
            metadata={"confident": score >= 1.0},
        )


def _failed(reason: str) -> VerifyResult:
    return VerifyResult(
        score=0.0,
        is_correct=False,
        raw_output=f"rome: {reason}",
        metadata={"confident": False, "error": reason},
    )
