"""Metrics of the questions about thinking, and how a report shows their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from lmms_rpts.filters.metrics import THINKING_METRICS as THINKING_METRICS
from lmms_rpts.judging.types import Rebuilt
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.runs.record import field_of
from lmms_rpts.tasks.grade_types import ShownGrade

# For each question: its title, the field of the verdict, the good verdict, and words for both.
_QUESTIONS = {
    "consistency": ("thinking and answer", "consistent", True, ("inconsistent", "consistent")),
    "pretended_tools": ("tools in the thinking", "pretended", False, ("none", "pretended")),
}
ASKED_OF_THINKING: Mapping[str, Callable[[Any], str | None]] = {
    "whether they are consistent": partial(field_of, path="consistency.error"),
    "whether the thinking pretends to use tools": partial(field_of, path="pretended_tools.error"),
}
"""As ``asked`` of a `Grading`."""


def thinking_grades(record: Any, question: str, answer: str) -> Iterator[ShownGrade]:
    """What a judge said of the thinking of a record: see `ask_about_thinking`."""
    for name, (grader, field, good, words) in _QUESTIONS.items():
        entry = getattr(record, name)
        if entry is not None:
            verdict = getattr(entry, field)
            yield ShownGrade(
                grader=grader,
                value=None if verdict is None else float(verdict == good),
                word="" if verdict is None else words[verdict],
                asked=_asked(record, name, question, answer),
                reply=entry.reply,
                call=entry.call,
                error=entry.error,
            )


def _asked(record: Any, name: str, question: str, answer: str) -> Rebuilt | None:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.filters.thinking import CONCLUSION_SHOWN, tool_passages
    from lmms_rpts.judging.prompts import rebuilt_prompt

    thinking = (split_thinking(record.text or "")[1] or "").strip()
    if not thinking:
        return None
    version = getattr(record, name).prompt_version or record.settings.prompt_version
    fields = {"thinking": tool_passages(thinking).text}
    if name == "consistency":
        fields = {"thinking": thinking[-CONCLUSION_SHOWN:], "question": question, "answer": answer}
    return rebuilt_prompt(name, record.instance.language, version, **fields)
