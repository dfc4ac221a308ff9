"""Problems and answers of CMMaTH as a report shows them."""

from __future__ import annotations

from collections.abc import Iterator

from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.display import Display, ShownAnswer, ShownGrade, ShownQuestion


def _question(record: CmmathRecord) -> ShownQuestion:
    instance = record.instance
    details = {
        "school year": instance.grade_id,
        "knowledge points": instance.knowledge_point,
    }
    return ShownQuestion(
        text=readable(instance.question),
        gold=(readable(instance.reference),),
        language="zh",
        images=instance.images,
        details={name: str(value) for name, value in details.items() if value is not None},
    )


def _answer(record: CmmathRecord) -> ShownAnswer:
    rule = record.grades.rule
    return ShownAnswer(final=rule.answer if rule else None, grades=tuple(_grades(record)))


def _grades(record: CmmathRecord) -> Iterator[ShownGrade]:
    rule, judge, mistake = record.grades.rule, record.grades.judge, record.mistake
    name = record.settings.named_judge or "judge"
    yield ShownGrade(
        grader="rules",
        value=record.ruled,
        word="undecided" if record.undecided else "",
        counts=record.grader == "rule",
        found=rule.answer if rule else None,
        reason=rule.rule if rule else "",
        error=None if rule else record.reason,
    )
    if judge is not None:
        empty = judge.reply is None and judge.error is None
        yield ShownGrade(
            grader=name,
            value=judge.score,
            counts=record.grader == "judge",
            reason="not asked: the answer is empty" if empty else "",
            asked="" if empty else _asked(record),
            reply=judge.reply,
            error=judge.error,
        )
    if mistake is not None:
        yield ShownGrade(
            grader=f"kind of mistake ({name})",
            value=None,
            word=mistake.kind or "",
            reply=mistake.reply,
            error=mistake.error,
        )


def _asked(record: CmmathRecord) -> str:
    # Imported here: lmms-rpts grades needs no prompts.
    from lmms_rpts.judging.prompts import rebuilt_prompt

    return rebuilt_prompt(
        "compare",
        "en",
        record.settings.prompt_version,
        question=readable(record.instance.question),
        reference=readable(record.instance.reference),
        answer=record.answer,
    )


DISPLAY = Display(
    question=_question,
    answer=_answer,
    by=("category", "grade_group", "answer_type", "form", "area"),
)
"""How a report shows them."""
