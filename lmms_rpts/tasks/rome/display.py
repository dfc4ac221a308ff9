"""Questions and answers of ROME as a report shows them."""

from __future__ import annotations

from collections.abc import Iterator

from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.tasks.display import Display, ShownAnswer, ShownGrade, ShownQuestion
from lmms_rpts.tasks.rome.extraction import extract_answer
from lmms_rpts.tasks.rome.final_answer import whole_answer
from lmms_rpts.tasks.rome.record import RomeRecord

_AGREEMENT = {True: "consistent", False: "inconsistent", None: ""}


def _question(record: RomeRecord) -> ShownQuestion:
    instance = record.instance
    details = {"evaluator": instance.evaluator, "arguments": instance.evaluator_kwargs}
    return ShownQuestion(
        text=instance.question,
        gold=(instance.reference,),
        language=instance.language,
        images=instance.images,
        details=details,
    )


def _answer(record: RomeRecord) -> ShownAnswer:
    grades = tuple(_grades(record))
    return ShownAnswer(final=whole_answer(record.answer), grades=grades)


def _grades(record: RomeRecord) -> Iterator[ShownGrade]:
    grades, by_rule = record.grades, record.grader == "rule"
    yield ShownGrade(
        grader="published rules",
        value=grades.rule,
        counts=by_rule,
        found=extract_answer(record.answer),
        reason=record.instance.evaluator,
        error=record.reason if by_rule else None,
    )
    yield ShownGrade(
        grader="strict rules",
        value=grades.strict,
        found=whole_answer(record.answer),
        reason=record.instance.evaluator,
    )
    if grades.llm is not None:
        empty = grades.llm.reply is None and grades.llm.error is None
        yield ShownGrade(
            grader=record.settings.model or "judge",
            value=grades.llm.score,
            counts=not by_rule,
            reason="not asked: the answer is empty" if empty else "",
            asked="" if empty else _asked(record),
            reply=grades.llm.reply,
            error=grades.llm.error,
        )
    if record.consistency is not None:
        yield ShownGrade(
            grader="thinking and answer",
            value=None if record.consistent is None else float(record.consistent),
            word=_AGREEMENT[record.consistent],
            asked=_asked_consistency(record),
            reply=record.consistency.reply,
            error=record.consistency.error,
        )


def _asked(record: RomeRecord) -> str:
    return _prompt(record, "grade", reference=record.instance.reference)


def _asked_consistency(record: RomeRecord) -> str:
    from lmms_rpts.tasks.rome.filter import THINKING_SHOWN

    _, thinking, _ = split_thinking(record.text or "")
    if not thinking:
        return ""
    return _prompt(record, "consistency", thinking=thinking.strip()[-THINKING_SHOWN:])


def _prompt(record: RomeRecord, name: str, **fields: str) -> str:
    # Imported here: lmms-rpts grades needs no prompts.
    from lmms_rpts.judging.prompts import rebuilt_prompt

    return rebuilt_prompt(
        name,
        record.instance.language,
        record.settings.prompt_version,
        question=record.instance.question,
        answer=record.answer,
        **fields,
    )


DISPLAY = Display(question=_question, answer=_answer)
"""How a report shows them."""
