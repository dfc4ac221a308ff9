"""Separation of a model's hidden thinking from its visible answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from lmms_rpts.reasoning.answer_lines import CHAT_TOKEN, IsAnswer, is_answer_line
from lmms_rpts.reasoning.extraction import THEREFORE, cited, holds_reasoning

# Characters of a thinking that a judge sees; prompts cut longer texts themselves.
THINKING_SHOWN = 15_000

ReasoningSource = Literal["response", "after_thinking", "thinking", "unclosed_thinking"]

_NAMES = r"(?:think|thinking|thought|reasoning|seed:think)(?:\s[^<>]{0,80})?"
_HARMONY = r"(?:<\|end\|>\s{0,4})?(?:<\|start\|>\s{0,4}assistant\s{0,4})?<\|channel\|>\s{0,4}"
# Beginning and end of thinking, as models write it.
_PAIRS = (
    (rf"<{_NAMES}>", rf"</\s?{_NAMES}>"),
    (r"\[THINK\]", r"\[/THINK\]"),  # Mistral
    (r"◁think▷", r"◁/think▷"),  # Kimi
    (r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),  # Cohere
    (r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    (r"<(?:\|channel|unused94)>\s{0,4}thought\b\s{0,4}", r"<(?:channel\||unused95)>"),  # Gemma
    # gpt-oss (harmony)
    (
        rf"{_HARMONY}(?:analysis|commentary)[^<]{{0,80}}<\|message\|>",
        rf"{_HARMONY}final[^<]{{0,80}}<\|message\|>",
    ),
    # the same, decoded without special tokens: "analysisThe user asks ...assistantfinalScore: 1"
    (r"\Aanalysis(?=(?-i:[A-Z]))", r"assistant\s?final(?=(?-i:[^a-z]))"),
)
_OPEN, _CLOSE = ("|".join(tags) for tags in zip(*_PAIRS, strict=True))
_OPENS = re.compile(_OPEN, re.IGNORECASE)
_CLOSES = re.compile(_CLOSE, re.IGNORECASE)
_TAG = re.compile(f"(?P<open>{_OPEN})|(?P<close>{_CLOSE})", re.IGNORECASE)
# Frames of an answer in a turn, and what begins another one, also where its token was removed:
# "Score: 1assistant\n\nScore: 0"
_BOXES = re.compile(r"<\|(?:begin|end)_of_box\|>")
_TURN = re.compile(
    rf"{CHAT_TOKEN.pattern}|</s>|(?:(?<=\S)|^)(?:assistant|user)(?=\n)|^(?:Human|User|Assistant): ",
    re.MULTILINE,
)
# A paragraph of thinking may be its only one, of any length.
INVENTED = re.compile(
    rf"{_TURN.pattern}|^[ \t*#]{{0,6}}(?:Question|Q|Problem|Statement|问题|题目|陈述|用户)"
    r"[ \d*]{0,6}[:：]|^[#*= ]{2,8}(?:Question|Problem|问题|题目)[ \d]{0,4}[*= ]{0,6}$"
    r"|^(?:Question|Problem) \d{1,3}[.)]|\[/?INST\]|<pad>",
    re.MULTILINE,
)
"""What begins another turn in a response, which may go on with questions of its own."""
_SENTENCE = re.compile(r".{1,1000}(?:[.!?](?=\s)|[。！？]|\Z)\s*|.{1,1000}", re.DOTALL)
_LEFT_OUT = "[...]\n"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Passages of a long text, with marks where ``left_out`` characters are missing."""

    text: str
    left_out: int = 0


def excerpt(text: str, most: int, wanted: Callable[[str], object]) -> Excerpt:
    """The passages that matter most of a text, of at most ``most`` characters; in linear time.

    Passages are lines; longer lines are divided into sentences. Of a long text, the last third of
    the excerpt is its end; before that come the passages that are ``wanted``, the last ones first,
    then others.
    """
    if len(text) <= most:
        return Excerpt(text)
    passages = [
        passage
        for line in text.splitlines(keepends=True)
        for passage in ([line] if len(line) <= 1000 else _SENTENCE.findall(line))
    ]
    latest = range(len(passages) - 1, -1, -1)
    kept: set[int] = set()
    room = most // 3
    for chosen in (latest, [at for at in latest if wanted(passages[at])], latest):
        for at in chosen:
            if at not in kept and len(passages[at]) <= room:
                kept.add(at)
                room -= len(passages[at]) + len(_LEFT_OUT)
            elif at not in kept and chosen is latest:
                break  # the end, and what fills the rest, have no gaps
        room = most - sum(len(passages[at]) + len(_LEFT_OUT) for at in kept)
    parts, left_out = [], 0
    for is_kept, group in groupby(enumerate(passages), lambda numbered: numbered[0] in kept):
        part = "".join(passage for _, passage in group)
        parts.append(part if is_kept else _LEFT_OUT)
        left_out += 0 if is_kept else len(part)
    return Excerpt("".join(parts), left_out)


@dataclass(frozen=True, slots=True)
class JudgedText:
    """The part of a response whose reasoning is judged.

    ``source``: ``response`` (no thinking tags), ``after_thinking`` (the text outside the tags),
    ``thinking`` (the text outside the tags has no reasoning) or ``unclosed_thinking``. ``spoken``
    is the text outside the tags, ``thinking`` that within; ``cut`` tells what is left out of
    ``text``.
    """

    text: str
    source: ReasoningSource
    spoken: str
    thinking: str = ""
    cut: str = ""


def select_reasoning(response: str, is_answer: IsAnswer = is_answer_line) -> JudgedText:
    """Choose the text to judge: the visible part if it has reasoning, else the thinking.

    ``is_answer`` recognizes the lines that state the final answer, which are not reasoning.
    """
    spoken, thought, closed = split_thinking(response)
    if thought is None:
        return JudgedText(response, "response", response)
    thinking = thought.strip()
    if not closed:
        return JudgedText(thought if thinking else spoken, "unclosed_thinking", spoken, thinking)
    if holds_reasoning(spoken, is_answer) or not thinking:
        return JudgedText(spoken, "after_thinking", spoken, thinking)
    return JudgedText(thought, "thinking", spoken, thinking)


def select_thinking(response: str, most: int = THINKING_SHOWN) -> JudgedText | None:
    """The thinking of a response as the text to judge; None if there is none.

    Of a long thinking, the passages that cite evidence or draw a conclusion, and its end.
    """
    spoken, thought, closed = split_thinking(response)
    if thought is None or not thought.strip():
        return None
    seen = excerpt(thought, most, lambda part: THEREFORE.match(part) or cited(part))
    cut = f"{seen.left_out:,} characters are left out"
    source: ReasoningSource = "thinking" if closed else "unclosed_thinking"
    return JudgedText(seen.text, source, spoken, thought.strip(), cut if seen.left_out else "")


def split_thinking(response: str) -> tuple[str, str | None, bool]:
    """The text outside the tags, the thinking (None without tags), and whether it was closed.

    A template may have put the opening tag into the prompt: all before a first closing tag is
    thinking, as is all after a tag that is never closed.
    """
    spoken: list[str] = []
    thought: list[str] = []
    depth, end = 0, 0
    tags = list(_TAG.finditer(response))
    for at, tag in enumerate(tags):
        prefilled = at == 0 and tag["close"] is not None
        (thought if depth or prefilled else spoken).append(response[end : tag.start()])
        # Thinking may name its own tag; only tags in pairs are nested.
        nested = depth > 1 and any(following["close"] for following in tags[at + 1 : at + 2])
        depth = depth + 1 if tag["open"] is not None else depth - 1 if nested else 0
        end = tag.end()
    (thought if depth else spoken).append(response[end:])
    return "".join(spoken), "\n".join(thought) if tags else None, not depth


def strip_thinking(text: str) -> str:
    """The text after the thinking, to the end of its turn; empty if the thinking never ended.

    Text before thinking that never ended is kept: "Score: 0.9 <think>or 0.1".
    """
    return first_turn(_OPENS.split(_CLOSES.split(text)[-1], maxsplit=1)[0])


def first_turn(text: str, ends: re.Pattern[str] = _TURN) -> str:
    """The text of the first turn, without those that a model invents after it."""
    return next(filter(str.strip, ends.split(_BOXES.sub("", text))), "")
