"""Lists of single answers to CMMaTH, undecided or disputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lmms_rpts.tasks.cmmath.record import CmmathRecord, CmmathRun


@dataclass(frozen=True, slots=True)
class CmmathAnswer:
    """An answer to look at.

    Attributes:
        found: the final answer as the rules read it.
        rule: which rule graded it, or why none could.
        outcome: the grade by rules.
        judged: the judge's grade, where there is one.
        score: the grade that counts.
    """

    run: str
    task: str
    id: str
    repeat: int
    answer_type: str
    reference: str
    answer: str
    found: str
    rule: str
    outcome: str | None
    judged: float | None
    score: float | None


def answers_of(
    runs: Sequence[CmmathRun], wanted: Callable[[CmmathRecord], bool]
) -> Iterator[CmmathAnswer]:
    """The answers that are wanted, in the order of the runs and their problems."""
    for run in runs:
        for each in filter(wanted, run.responses):
            yield CmmathAnswer(
                run=run.label,
                task=each.instance.task,
                id=each.instance.id,
                repeat=each.repeat,
                answer_type=each.answer_type,
                reference=each.instance.reference,
                answer=each.answer,
                found=each.grades.rule.answer if each.grades.rule else "",
                rule=each.grades.rule.rule if each.grades.rule else "",
                outcome=each.outcome_by_rules,
                judged=each.judged,
                score=each.score,
            )
