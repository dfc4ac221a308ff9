"""ROME's graders as a verifier of lmms-eval: ``{"type": "rome", "evaluator": ...}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lmms_eval.verifiers.base import Verifier, VerifyResult

from lmms_rpts.judging.isolation import Isolation
from lmms_rpts.reasoning.thinking import select_reasoning
from lmms_rpts.tasks.rome.arguments import check_arguments
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
        check_arguments(evaluator, evaluator_kwargs)
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
        return _result(score, f"{self.evaluator}, {rules} rules: {score:g}")


def _result(score: float, said: str, **more: str) -> VerifyResult:
    whole = score >= 1.0
    metadata = {"confident": whole, **more}
    return VerifyResult(
        score=score, is_correct=whole, raw_output=f"rome: {said}", metadata=metadata
    )


def _failed(reason: str) -> VerifyResult:
    return _result(0.0, reason, error=reason)
