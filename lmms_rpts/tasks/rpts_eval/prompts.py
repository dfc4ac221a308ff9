"""Prompts of RPTS-Eval in both languages: numbered clues, each image where it is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from lmms_rpts.scoring.question import Question
from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture, variant_of

VARIANTS = ("default", "free")

_WORDS: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("prompts.yml").read_text(encoding="utf-8")
)


def given(question: Question, context: str) -> Iterator[str | Picture]:
    """What a question gives: a context, the images in their order, and the texts."""
    words, total = _WORDS[question.language], len(question.visual_clue)
    if context.strip():
        yield words["context"].format(context)
    for at in range(total):
        attached = words["attached"].format(number=at, place=at + 1, total=total)
        yield Picture(at, text=attached, chat=words["image"].format(at))
    for number, clue in enumerate(question.textual_clue):
        yield words["text"].format(number, clue)


def stated(question: Question) -> str:
    """The line with the statement to agree with."""
    return _WORDS[question.language]["statement"].format(question.statement)


def _parts(question: Question, kwargs: Kwargs) -> Iterator[str | Picture]:
    yield from given(question, question.context)
    yield stated(question)
    yield _WORDS[question.language][variant_of(kwargs, VARIANTS)]


doc_to_visual, doc_to_text, doc_to_messages = ImagePrompt(Question, _parts).functions
