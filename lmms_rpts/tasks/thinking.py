"""Metrics of the questions about thinking, and how a report shows their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lmms_rpts.filters.metrics import THINKING_METRICS as THINKING_METRICS
from lmms_rpts.reasoning.thinking import split_thinking
from lmms_rpts.runs.record import field_of
from lmms_rpts.tasks.grade_types import ShownGrade

_NAMES = {"consistency": "consistent", "pretended_tools": "pretended"}
_GRADERS = {"consistency": "thinking and answer", "pretended_tools": "tools in the thinking"}
_WORDS = {
    "consistency": {True: "consistent", False: "inconsistent"},
    "pretended_tools": {True: "pretended", False: "none"},
}
ASKED_OF_THINKING: Mapping[str, Callable[[Any], str | None]] = {
    "whether they are consistent": lambda record: field_of(record, "consistency.error"),
    "whether the thinking pretends to use tools": lambda record: field_of(
        record, "pretended_tools.error"
    ),
}
"""As ``asked`` of a `Grading`."""


def thinking_grades(record: Any, question: str, answer: str) -> Iterator[ShownGrade]:
    """What a judge said of the thinking of a record: see `ask_about_thinking`."""
    for name, grader in _GRADERS.items():
        entry = getattr(record, name)
        if entry is not None:
            verdict = getattr(entry, _NAMES[name])
            good = None if verdict is None else verdict == (name == "consistency")
            yield ShownGrade(
                grader=grader,
                value=None if good is None else float(good),
                word=_WORDS[name].get(verdict, ""),
                asked=_asked(record, name, question, answer),
                reply=entry.reply,
                error=entry.error,
            )


def _asked(record: Any, name: str, question: str, answer: str) -> str:
    # Imported here: lmms-rpts summarize needs no prompts.
    from lmms_rpts.filters.thinking import CONCLUSION_SHOWN, tool_passages
    from lmms_rpts.judging.prompts import rebuilt_prompt

    thinking = (split_thinking(record.text or "")[1] or "").strip()
    if not thinking:
        return ""
    version = getattr(record, name).prompt_version or record.settings.prompt_version
    fields = {"thinking": tool_passages(thinking).text}
    if name == "consistency":
        fields = {"thinking": thinking[-CONCLUSION_SHOWN:], "question": question, "answer": answer}
    return rebuilt_prompt(name, record.instance.language, version, **fields)
