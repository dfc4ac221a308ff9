"""ROME's graders as a verifier of lmms-eval: ``{"type": "rome", "evaluator": ...}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lmms_rpts.tasks.rome.arguments import check_arguments
from lmms_rpts.tasks.rome.matchers import match
from lmms_rpts.tasks.rome.strict import grade_strictly
from lmms_rpts.tasks.verifiers import RulesVerifier


class RomeVerifier(RulesVerifier):
    """Grades text by one of ROME's rules; the question and the ground truth are not read.

    A prediction without the full score is not ``confident``: it may be right in other words.

    Args:
        evaluator: the name of the rule.
        evaluator_kwargs: its arguments.
        strict: use the strict rules instead of the published ones.
    """

    TYPE: ClassVar[str] = "rome"

    def __init__(
        self, evaluator: str, evaluator_kwargs: Mapping[str, Any], strict: bool = False
    ) -> None:
        super().__init__()
        check_arguments(evaluator, evaluator_kwargs)
        self.evaluator = evaluator
        self.evaluator_kwargs = dict(evaluator_kwargs)
        self.strict = strict

    def grade(
        self, question: str, answer: str, reference: str
    ) -> tuple[float, bool, str, Mapping[str, Any]]:
        """The grade by the rule."""
        rules = grade_strictly if self.strict else match
        score = rules(self.evaluator, self.evaluator_kwargs, answer)
        name = "strict" if self.strict else "published"
        return score, score >= 1.0, f"{self.evaluator}, {name} rules: {score:g}", {}
