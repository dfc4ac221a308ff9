"""Chat prompts for a model of transformers: its template, without control tokens in texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from lmms_rpts.escaping import storable
from lmms_rpts.judging.types import FatalJudgeError, Message, RefusedError

_THINKS = re.compile(r"think|<\|channel\|>", re.IGNORECASE)
THOUGHT, _END_OF_THOUGHT = "<think>", "</think>"
_MARKUP = re.compile(r"<[^<>\s]{1,40}>|\[/?[A-Z_]{2,40}\]")
"""Markup of templates around messages that tokenizers do not list as special."""
_ONE_DAY = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
"""Some templates include the date; prompts must not change from day to day."""
_PROBE = "Probe"


class UnusableError(ValueError):
    """A model cannot be used as a judge; the message says why."""


class Chat:
    """A tokenizer with its chat template.

    Args:
        tokenizer: a tokenizer of transformers with a chat template.
        media: tokens for media such as images; the text of messages never becomes one.

    Raises:
        UnusableError: if there is no template, or it drops user messages.
    """

    def __init__(self, tokenizer: Any, media: Sequence[str] = ()) -> None:
        if not tokenizer.chat_template:
            raise UnusableError("it has no chat template: choose an instruction-tuned model")
        template = tokenizer.get_chat_template()
        self.tokenizer = tokenizer
        self.thinks = bool(_THINKS.search(template))
        self._template = (_ONE_DAY if "strftime_now" in template else "") + template
        added = tokenizer.added_tokens_decoder.items()
        special = {number: token.content for number, token in added if token.special}
        special |= dict(zip(tokenizer.all_special_ids, tokenizer.all_special_tokens, strict=True))
        self._special = set(special) - {tokenizer.unk_token_id}
        marks = {*special.values(), *media, *_MARKUP.findall(template)}
        marks = {mark.strip() for mark in marks} - {""}
        longest_first = sorted(map(re.escape, marks), key=len, reverse=True)
        self._marks = re.compile("|".join(longest_first) or "(?!)", re.IGNORECASE)
        self._media = tuple(media)
        self._parts, self._system = False, True
        # Some templates need content in parts and silently drop plain text.
        self._parts = not self._shows("user")
        if self._parts and not self._shows("user"):
            raise UnusableError("its chat template shows no user message")
        self._system = self._shows("system")

    def encode(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of the prompt; text in messages never becomes a control token.

        Raises:
        RefusedError: if text would still become one, or the template rejects these messages.
        """
        return self._checked(messages)[1]

    def text(self, messages: Sequence[Message], images: Sequence[str]) -> str:
        """The prompt as text, with the template's placeholders for images.

        Args:
            messages: the chat.
            images: names of the images; they precede the text of the first user message.

        Raises:
            RefusedError: see ``encode``.
        """
        named = [self._neutral({"role": "user", "content": name})["content"] for name in images]
        return self._checked(messages, named)[0]

    def _checked(
        self, messages: Sequence[Message], images: Sequence[str] = ()
    ) -> tuple[str, list[int]]:
        try:
            neutral = [self._neutral(message) for message in messages]
            harmless = [{**m, "content": "x" if m["content"].strip() else ""} for m in neutral]
            text, plain = (self._render(each, images=images) for each in (neutral, harmless))
            ids, expected = self._ids(text), self._ids(plain)
        except Exception as error:  # templates raise any exception
            raise RefusedError(f"the chat template rejects the request: {said(error)}") from None
        media = all(text.count(token) == plain.count(token) for token in self._media)
        if self._controls(ids) != self._controls(expected) or not media:
            raise RefusedError("the request contains control tokens of the judge's model")
        return text, ids

    def end_of_turn(self) -> set[int]:
        """The special token that ends a reply in the template; not all configs list it."""
        chat = [{"role": "user", "content": "x"}, {"role": "assistant", "content": _PROBE}]
        with suppress(Exception):
            after = self._render(chat, prompting=False).rpartition(_PROBE)[2].strip()
            return self._special.intersection(self._ids(after)[:1])
        return set()

    def _neutral(self, message: Message) -> Message:
        """A message without control tokens: ``<|end|>`` becomes ``< |end|>``."""
        text = storable(message["content"])
        if message["role"] == "assistant":
            # Hidden thinking is not repeated.
            text = text.rpartition(_END_OF_THOUGHT)[2].partition(THOUGHT)[0]
        while self._marks.search(text):
            text = self._marks.sub(lambda mark: f"{mark[0][:-1][:1]} {mark[0][1:]}", text)
        return {**message, "content": text}

    def _shows(self, role: str) -> bool:
        chat = [{"role": role, "content": _PROBE}]
        if role != "user":
            chat.append({"role": "user", "content": "x"})
        with suppress(Exception):
            return _PROBE in self._render(chat)
        return False

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _controls(self, ids: Sequence[int]) -> Counter[int]:
        return Counter(number for number in ids if number in self._special)

    def _render(
        self, messages: Sequence[Message], prompting: bool = True, images: Sequence[str] = ()
    ) -> str:
        chat: list[Message] = list(messages) if self._system else _without_system(messages)
        shown: list[Mapping[str, Any]] = [*(map(_in_parts, chat) if self._parts else chat)]
        if images:
            first = next(at for at, message in enumerate(chat) if message["role"] == "user")
            shown[first] = _in_parts(chat[first], images)
        text: str = self.tokenizer.apply_chat_template(
            shown,
            chat_template=self._template,
            add_generation_prompt=prompting,
            tokenize=False,
        )
        return text


def _in_parts(message: Message, images: Sequence[str] = ()) -> Mapping[str, Any]:
    """A message with its content in parts: the images, each after its name, then the text."""
    parts: list[Mapping[str, str]] = []
    for name in images:
        parts += [{"type": "text", "text": f"{name}:\n"}, {"type": "image"}]
        parts.append({"type": "text", "text": "\n"})  # templates join parts without a separator
    text = message["content"]
    return {**message, "content": [*parts, {"type": "text", "text": text}]}


def _without_system(messages: Sequence[Message]) -> list[Message]:
    """The chat with the system message merged into the first user message."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    chat = [message for message in messages if message["role"] != "system"]
    if not system:
        return chat
    if not chat or chat[0]["role"] != "user":
        chat.insert(0, {"role": "user", "content": ""})
    merged = "\n\n".join([*system, chat[0]["content"]]).strip()
    return [{**chat[0], "content": merged}, *chat[1:]]


def said(error: Exception) -> str:
    """An exception on one line; without its type if it is one of this package."""
    if isinstance(error, FatalJudgeError | UnusableError):
        return str(error)
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {first}"[:300] if first else type(error).__name__
