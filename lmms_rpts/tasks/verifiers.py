"""Rules of benchmarks as verifiers of lmms-eval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lmms_eval.verifiers.base import Verifier, VerifyResult

from lmms_rpts.filters.isolation import Isolation
from lmms_rpts.reasoning.thinking import select_reasoning


class RulesVerifier(Verifier):  # type: ignore[misc]  # lmms-eval is not typed
    """Grades text by the rules of a benchmark, like its tasks; thinking is ignored.

    A prediction whose grade is not ``confident`` is checked by the next verifier of a composite.

    Attributes:
        TYPE: the type in lmms-eval's configuration.
        FAILED: the metadata of a prediction that an error of the rules leaves without a grade.
    """

    TYPE: ClassVar[str]
    FAILED: ClassVar[Mapping[str, Any]] = {}

    def __init__(self) -> None:
        self._isolation = Isolation(f"grading a prediction by the rules of {self.TYPE}")

    def grade(
        self, question: str, answer: str, reference: str
    ) -> tuple[float, bool, str, Mapping[str, Any]]:
        """The score of an answer, whether it is final, why, and further metadata."""
        raise NotImplementedError

    def verify(
        self, question: str, prediction: str, ground_truth: str, **kwargs: Any
    ) -> VerifyResult:
        """The grade of a prediction; right with the full score."""
        score, confident, said, more = self._isolation.run(
            lambda: self.grade(question, select_reasoning(prediction).spoken, ground_truth),
            lambda reason: (0.0, False, reason, {**self.FAILED, "error": reason}),
        )
        return VerifyResult(
            score=score,
            is_correct=score >= 1.0,
            raw_output=f"{self.TYPE}: {said}",
            metadata={"confident": confident, **more},
        )
