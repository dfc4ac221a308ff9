"""Separation of a model's hidden thinking from its visible answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from lmms_rpts.reasoning.answer_lines import IsAnswer, is_answer_line
from lmms_rpts.reasoning.extraction import holds_reasoning

ReasoningSource = Literal["response", "after_thinking", "thinking", "unclosed_thinking"]

_TAG = re.compile(
    r"(?P<open><(?:think|thinking|thought)>|\[THINK\]|◁think▷)"
    r"|(?P<close></(?:think|thinking|thought)>|\[/THINK\]|◁/think▷)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class JudgedText:
    """The part of a response to judge.

    Attributes:
        text: the part whose reasoning is judged.
        source: ``response`` (no thinking tags), ``after_thinking`` (the text outside the tags),
            ``thinking`` (the text outside the tags has no reasoning) or ``unclosed_thinking``.
        spoken: the text outside the tags; the final answer is searched here first.
    """

    text: str
    source: ReasoningSource
    spoken: str


def select_reasoning(response: str, is_answer: IsAnswer = is_answer_line) -> JudgedText:
    """Choose the text to judge: the visible part if it has reasoning, else the thinking.

    Chat templates may put the opening tag into the prompt, so that the response has only a closing
    tag: then everything before it is thinking. After an opening tag that is never closed,
    everything is thinking.

    Args:
        response: the response of a model.
        is_answer: recognizes the lines that state the final answer, which are not reasoning.
    """
    spoken, thought, closed = split_thinking(response)
    if thought is None:
        return JudgedText(response, "response", response)
    if not closed:
        return JudgedText(thought if thought.strip() else spoken, "unclosed_thinking", spoken)
    if holds_reasoning(spoken, is_answer) or not thought.strip():
        return JudgedText(spoken, "after_thinking", spoken)
    return JudgedText(thought, "thinking", spoken)


def split_thinking(response: str) -> tuple[str, str | None, bool]:
    """The text outside the tags, the thinking (None without tags), and whether it was closed."""
    spoken: list[str] = []
    thought: list[str] = []
    inside, end, tagged = False, 0, False
    for tag in _TAG.finditer(response):
        part = response[end : tag.start()]
        prefilled = tag["close"] is not None and not tagged
        (thought if inside or prefilled else spoken).append(part)
        inside, end, tagged = tag["open"] is not None, tag.end(), True
    (thought if inside else spoken).append(response[end:])
    return "".join(spoken), "\n".join(thought) if tagged else None, not inside
