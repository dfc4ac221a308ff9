"""Reading of a response: its steps and its final answer, by rules, else by the judge."""

from __future__ import annotations

import re
import traceback
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from loguru import logger

from lmms_rpts.base.escaping import visible
from lmms_rpts.base.schema import shown
from lmms_rpts.grading.stance import read_stance
from lmms_rpts.judging.client import Client
from lmms_rpts.judging.types import Request, Verdict
from lmms_rpts.reasoning import (
    JudgedText,
    ReasoningChain,
    extract_chain,
    format_chain,
    parse_chain,
    select_reasoning,
)
from lmms_rpts.reasoning.answer_lines import (
    UNDETERMINED,
    is_answer_line,
    is_any_answer_line,
    without_answer,
)
from lmms_rpts.reasoning.clues import is_bare_step
from lmms_rpts.reasoning.thinking import select_thinking, strip_thinking
from lmms_rpts.reasoning.tree import limit_steps
from lmms_rpts.scoring.options import Grader, Options
from lmms_rpts.scoring.question import Question, form_of
from lmms_rpts.scoring.record import Answer, Transform
from lmms_rpts.scoring.scorer import missing_response
from lmms_rpts.scoring.verdicts import parse_answer, parse_yes_no

NOT_READ = "the rules cannot read the stated answer"
UNDECIDED = "the rules cannot decide whether the answer is right"
NO_THINKING = "the response has no thinking"
CUT = "long thinking: judged are "
"""The beginning of the note on what is left out of a thinking."""
FAULT = "internal error"
"""Prefix of the reason of a response that a bug of this package left unscored."""
_LONGEST_FAULT = 300

_NO_STEPS = "NONE"
_EMPTY = re.compile(r"[\s`\"'*.。]{0,20}(?:none|无)[\s`\"'*.。]{0,20}", re.IGNORECASE)
# "Conclusion0 + Text0 -> Conclusion1: ..." stands in the prompt.
_PLACEHOLDER = re.compile(r"[:：]\s*(?:\.{3}|…+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """A response as it was read.

    Attributes:
        response: the response itself; None if there is none.
        chain: the steps, before repair.
        answer: the final answer, as in the record.
        transform: how the steps were read, as in the record.
    """

    question: Question
    response: str | None
    chain: ReasoningChain
    answer: Answer
    transform: Transform


async def read(
    response: str | None, question: Question, judge: Client, options: Options
) -> Reading:
    """The steps and the final answer of a response."""
    missing = missing_response(response)
    if missing or response is None:
        return _unread(question, response, str(missing))
    try:
        if options.form == "mixed":
            form = question.form or form_of(question.answer, question.options)
            options = replace(options, form=form)  # type: ignore[arg-type]
        statement = options.form == "agree" and options.grade is None
        part = select_reasoning(response, is_answer_line if statement else is_any_answer_line)
        judged = part if options.source == "answer" else select_thinking(response)
        if judged is None:
            reading = _unread(question, response, NO_THINKING)
            chain, transform = reading.chain, reading.transform
        else:
            chain, transform = await _read_steps(judged, question, judge, options)
        if statement:
            answer = await _read_stance(part, question, judge, options)
        elif options.grade is not None or options.form == "none":
            answer = _found_answer(part.spoken, question, options.grade)
        else:
            answer = await _read_answer(part.spoken, question, judge, options)
        return Reading(question, response, chain, answer, transform)
    except Exception as error:
        return _unread(question, response, internal_error(error, "reading a response"))


def _unread(question: Question, response: str | None, reason: str) -> Reading:
    """The reading of a response that is left unscored for this reason."""
    nothing = Transform(read_by="nothing", style="none", source="response", reason=reason)
    chain = ReasoningChain((), question.language)
    return Reading(question, response, chain, Answer(value=None, correct=None), nothing)


async def _read_steps(
    part: JudgedText, question: Question, judge: Client, options: Options
) -> tuple[ReasoningChain, Transform]:
    """The steps of a text by rules; by the judge, if they cannot be sure that these are all."""
    statement = options.form == "agree" and options.grade is None
    text, is_answer = part.text, is_answer_line
    if not statement:
        text, is_answer = without_answer(text), is_any_answer_line
    extracted = extract_chain(text, question.language, is_answer)
    chain, verdict = extracted.chain, None
    unsure = options.mode == "llm" or (options.mode == "auto" and not extracted.clean)
    if unsure and judge.writes and part.text.strip():
        kind = "transform" if statement else "question_steps"
        request = options.prompts.request(
            kind, question.language, parse=parse_steps, **steps_fields(kind, question, part.text)
        )
        verdict = await judge.ask(request)
        chain = ReasoningChain((), question.language)
        if verdict.error is None and verdict.value != _NO_STEPS:
            chain = parse_chain(str(verdict.value), question.language)
    cut = (f"{CUT}{part.cut}",) if part.cut else ()
    problems = (*cut, *chain.problems)
    chain, left_out = limit_steps(chain, options.max_steps)
    transform = Transform(
        read_by="nothing" if not chain.steps else "llm" if verdict else "rule",
        style=extracted.style,
        source=part.source,
        chain=tuple(format_chain(chain)),
        problems=(*problems, *left_out),
        verdict=verdict,
    )
    return chain, transform


def steps_fields(kind: str, question: Question, text: str) -> dict[str, Any]:
    """The fields of the request for the steps of a text."""
    fields: dict[str, Any] = {
        "n_images": len(question.visual_clue),
        "clues": list(question.textual_clue),
        "context": question.context,
        "response": text,
    }
    return fields | ({"statement": question.statement} if kind == "transform" else {})


def parse_steps(reply: str) -> str | None:
    """The lines that are steps, without remarks; ``NONE`` if the judge found no reasoning.

    None if there are none, or if they repeat the form in the prompt.
    """
    said = strip_thinking(reply)
    lines = "\n".join(line for line in said.splitlines() if is_bare_step(line))
    if _PLACEHOLDER.search(lines):
        return None
    return lines or (_NO_STEPS if _EMPTY.fullmatch(said) else None)


# --- answers -------------------------------------------------------------------------------------


async def _read_stance(
    part: JudgedText, question: Question, judge: Client, options: Options
) -> Answer:
    """Whether a response agrees with the statement."""
    stance = read_stance(part.spoken)
    answer = stance.answer
    if answer is None and part.text is not part.spoken:
        # Thinking contains tentative answers; only an answer marked as final counts.
        answer = read_stance(part.text, marked_only=True).answer
    text = part.spoken if part.spoken.strip() else part.text
    if answer is None and stance.words and not judge.writes:
        return Answer(value=None, correct=None, reason=f"{NOT_READ}: {shown(stance.words)}")
    if answer is not None or not judge.writes or not text.strip():
        answer = answer or UNDETERMINED
        return Answer(value=answer, correct=answer == question.answer)
    request = options.prompts.request(
        "answer", question.language, parse=parse_answer, statement=question.statement, response=text
    )
    verdict = told(await judge.ask(request), request)
    word = None if verdict.value is None else str(verdict.value)
    correct = None if word is None else word == question.answer
    return Answer(value=word, correct=correct, by="judge", verdict=verdict)


async def _read_answer(said: str, question: Question, judge: Client, options: Options) -> Answer:
    """The answer to a question of any kind; the judge compares what rules leave undecided."""
    from lmms_rpts.grading.grader import grade

    form: Any = options.form  # neither "mixed" nor "none"
    gold, choices = question.answer, question.options
    found = grade(said, gold, kind=form, options=choices, tolerance=question.tolerance)
    value = found.answer or UNDETERMINED
    if found.outcome != "undecided" or not said.strip():
        return Answer(value=value, correct=found.outcome == "correct")
    if not judge.writes:
        return Answer(value=value, correct=None, reason=f"{UNDECIDED} ({found.rule})")
    request = options.prompts.request(
        "match",
        question.language,
        parse=parse_yes_no,
        question=question.statement,
        options=[f"{chr(ord('A') + at)}. {text}" for at, text in enumerate(choices)],
        reference=question.gold,
        response=said,
    )
    verdict = told(await judge.ask(request), request)
    correct = None if verdict.error else verdict.value == "yes"
    return Answer(value=value, correct=correct, by="judge", verdict=verdict)


def _found_answer(said: str, question: Question, grade: Grader | None) -> Answer:
    """The answer outside the thinking, which a custom function grades, or nobody."""
    from lmms_rpts.grading.grader import find_final_answer

    value = find_final_answer(said) or UNDETERMINED
    if grade is None:
        return Answer(value=value, correct=None)
    correct, reason = None, None
    try:
        correct = grade(said, question.document)
    except (Exception, SystemExit) as failure:  # a custom function: this response's outcome
        reason = f"the grading function failed ({type(failure).__name__}: {failure})"[:500]
    else:
        if correct is None:
            reason = "the grading function returned no grade"
        elif type(correct).__name__ not in ("bool", "bool_") and correct not in (0, 1):
            reason = f"the grading function returned {shown(correct)}, neither True, False nor None"
    graded = None if reason else bool(correct)
    return Answer(value=value, correct=graded, by="function", reason=reason)


def told(verdict: Verdict, request: Request) -> Verdict:
    """A verdict with the texts of its request, which no other field of the record tells."""
    system, user = (message["content"] for message in request.messages[:2])
    return verdict.model_copy(update={"asked": (system, user)})


# --- internal errors -----------------------------------------------------------------------------


def internal_error(error: Exception, stage: str) -> str:
    """The reason of a response that a bug of this package leaves unscored; the bug is logged.

    Bad model output is expected, and is read without exceptions; ``stage``: the work that failed.
    """
    said = f"{FAULT} while {stage}: {type(error).__name__}: {error}"
    _log_fault(stage, "".join(traceback.format_exception(error)))
    return visible(said[:_LONGEST_FAULT])


@lru_cache(maxsize=64)  # the same bug may befall many responses
def _log_fault(stage: str, trace: str) -> None:
    # Not loguru's own traceback: it shows the values of variables, including keys.
    logger.error(
        "{} while {}. The response is left unscored, the run continues. Please report this:\n{}",
        *(FAULT, stage, "\n".join(map(visible, trace.split("\n")))),
    )
