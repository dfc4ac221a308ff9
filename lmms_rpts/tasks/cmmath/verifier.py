"""CMMaTH's grader as a verifier of lmms-eval: ``{"type": "cmmath"}``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from lmms_rpts.tasks.verifiers import RulesVerifier


class CmmathVerifier(RulesVerifier):
    """Grades answers to mathematics problems by rules; undecided ones are not ``confident``."""

    TYPE: ClassVar[str] = "cmmath"
    FAILED: ClassVar[Mapping[str, Any]] = {"outcome": "undecided"}

    def grade(
        self, question: str, answer: str, reference: str
    ) -> tuple[float, bool, str, Mapping[str, Any]]:
        """Whether an answer says the same as the reference."""
        from lmms_rpts.tasks.cmmath.grading import grade  # imported here: every run imports it

        found = grade(question, reference, answer)
        more = {name: getattr(found, name) for name in ("outcome", "answer", "answer_type")}
        decided = found.outcome != "undecided"
        return float(found.outcome == "correct"), decided, f"{found.outcome}: {found.rule}", more
