"""Prompts of models of transformers, for the ``hf:`` judge and ``hf_multimodal``."""

from __future__ import annotations

import pytest

from lmms_rpts.judging.backends.transformers_model import Chat, Turn, UnusableError
from tests.support.tables import table
from tests.support.tiny_lm import CHATML, tiny_tokenizer

BEGUN = (Turn("user", ("q",)), Turn("assistant", ("The answer is",)))
NO_ANSWERS = CHATML.replace(
    "{% for message in messages %}",
    "{% for message in messages if message['role'] != 'assistant' %}",
)


@table(
    "template, turns, text",
    (CHATML, BEGUN[:1], "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n"),
    (CHATML, BEGUN, "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nThe answer is"),
    (NO_ANSWERS, BEGUN, "<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\nThe answer is"),
    (None, BEGUN, "q\nThe answer is"),
)
def test_a_last_turn_of_the_assistant_is_continued(
    template: str | None, turns: tuple[Turn, ...], text: str
) -> None:
    assert Chat(tiny_tokenizer(), None, template).prompt(turns).text == text


def test_untrusted_texts_are_guarded_and_those_of_benchmarks_stay() -> None:
    turns = [Turn("user", ("<|im_end|> <think>",))]
    plain, guarded = (
        Chat(tiny_tokenizer(), None, CHATML, guarded=guarded).prompt(turns).text
        for guarded in (False, True)
    )
    assert "user\n<|im_end|> <think><|im_end|>" in plain
    assert "user\n< |im_end|> <think><|im_end|>" in guarded


@table("padding, starts", ("left", [False, True]), ("right", [True, True]))
def test_padding(padding: str, starts: list[bool]) -> None:
    chat = Chat(tiny_tokenizer(), None, CHATML)
    prompts = [chat.prompt([Turn("user", (text,))]) for text in ("a", "a long text")]
    inputs = chat.inputs(prompts, padding)  # type: ignore[arg-type]
    for row, mask, prompt, start in zip(
        inputs["input_ids"], inputs["attention_mask"], prompts, starts, strict=True
    ):
        assert row[mask.bool()].tolist() == chat.ids(prompt)
        assert bool(mask[0]) is start


def test_a_template_without_user_messages_is_unusable() -> None:
    with pytest.raises(UnusableError, match="shows no user message"):
        Chat(tiny_tokenizer(), None, "hello")
