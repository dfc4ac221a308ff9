"""The requests to the judge about a response, rebuilt from its record."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from lmms_rpts.base.settings import load_settings
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import Verdict
from lmms_rpts.reasoning import select_reasoning
from lmms_rpts.reasoning.answer_lines import is_answer_line, is_any_answer_line
from lmms_rpts.reasoning.thinking import select_thinking
from lmms_rpts.scoring.reading import steps_fields
from lmms_rpts.scoring.record import JudgedStep, RptsRecord
from lmms_rpts.tasks.answers import AnswerRecord


class Rebuilt(NamedTuple):
    """A request as it is known from a record."""

    system: str
    user: str
    same: bool = True  # with the templates of the run
    images: Sequence[str] = ()


def rebuilt_prompt(name: str, language: str, version: str, **fields: object) -> Rebuilt | None:
    """A request with these fields, from the fields of a record; None if there is no such prompt."""
    from jinja2 import UndefinedError

    try:
        prompts = _prompts_of(version, name)
        system, user = (each["content"] for each in prompts.render(name, language, **fields))
    except (LookupError, UndefinedError):  # no such kind or language; other fields
        return None
    return Rebuilt(system, user, prompts.version(name) == version)


@cache
def _prompts_of(version: str, kind: str) -> Prompts:
    """The prompts of a version: of this package, or else of the setting ``prompts``."""
    ours = Prompts()
    return ours if ours.version(kind) == version else Prompts(load_settings().prompts)


def asked_in(verdict: Verdict | None) -> Rebuilt | None:
    """The request of a verdict; None if the record does not have its messages."""
    return Rebuilt(*verdict.asked) if verdict is not None and verdict.asked else None


def request_about(record: AnswerRecord, verdict: Verdict | None) -> Rebuilt | None:
    """The request about a graded answer; None if it is not known, or was not made."""
    if verdict is None or verdict.asked:
        return asked_in(verdict)
    thinking = select_reasoning(record.text or "").thinking
    try:
        language, fields = record.instance.asked(verdict.kind, record.answer, thinking)
    except LookupError:
        return None
    return rebuilt_prompt(verdict.kind, language, verdict.prompt_version, **fields)


def request_of_step(record: RptsRecord, step: JudgedStep, verdict: Verdict) -> Rebuilt:
    """The request about a step of a record, from what was recorded with its verdict."""
    settings, question = record.settings, record.instance
    prompts = _prompts_of(settings.prompt_version, "inference")
    fields: dict[str, Any] = {"conclusion": step.conclusion}
    if verdict.kind.startswith("image"):
        fields["facts"] = verdict.evidence
    else:
        fields |= {"context": question.context, "premises": verdict.evidence}
    messages = prompts.render(verdict.kind, question.language, **fields)
    system, user = (message["content"] for message in messages)
    name = "图片{}" if question.language == "zh" else "Image {}"
    images = [name.format(number) for number in verdict.images]
    return Rebuilt(system, user, prompts.version() == settings.prompt_version, images)


def rewriting_request(record: RptsRecord, response: str | None) -> Rebuilt | None:
    """The request for the steps of a response; None if it is not known."""
    verdict, question = record.transform.verdict, record.instance
    if response is None or verdict is None:
        return None
    is_answer = is_answer_line if verdict.kind == "transform" else is_any_answer_line
    thought = select_thinking(response) if record.settings.source == "thinking" else None
    text = (thought or select_reasoning(response, is_answer)).text
    fields = steps_fields(verdict.kind, question, text)
    version = verdict.prompt_version or record.settings.prompt_version
    return rebuilt_prompt(verdict.kind, question.language, version, **fields)
