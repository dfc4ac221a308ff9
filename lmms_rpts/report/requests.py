"""The requests to the judge about a response, rebuilt from its record."""

from __future__ import annotations

from typing import Any

from lmms_rpts.reasoning import select_reasoning
from lmms_rpts.reasoning.answer_lines import is_answer_line, is_any_answer_line
from lmms_rpts.reasoning.thinking import select_thinking
from lmms_rpts.scoring.reading import steps_fields
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.rebuilding import Rebuilt, prompts_of, rebuilt_prompt


def requests_of(record: RptsRecord) -> list[list[Rebuilt]]:
    """The requests about each step of a record, from what was recorded with their verdicts."""
    settings, question = record.settings, record.instance
    prompts = prompts_of(settings.prompt_version, "inference")
    same = prompts.version() == settings.prompt_version
    found: list[list[Rebuilt]] = []
    for step in record.steps:
        found.append([])
        for verdict in step.verdicts:
            name = "图片{}" if question.language == "zh" else "Image {}"
            images = [name.format(number) for number in verdict.images]
            fields: dict[str, Any] = {"conclusion": step.conclusion}
            if verdict.kind.startswith("image"):
                fields["facts"] = verdict.evidence
            else:
                fields |= {"context": question.context, "premises": verdict.evidence}
            messages = prompts.render(verdict.kind, question.language, **fields)
            system, user = (message["content"] for message in messages)
            found[-1].append(Rebuilt(system, user, same, images))
    return found


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
