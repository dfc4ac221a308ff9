"""Prompts of custom tasks: clues, question, and how to write steps and the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from lmms_rpts.scoring.question import Question
from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture, variant_of
from lmms_rpts.tasks.rpts_eval.prompts import given, stated

VARIANTS = ("steps", "free")
"""``steps``: asks for numbered steps in our form; ``free``: for reasoning of any form."""

_LETTER = re.compile(r"[A-Za-z]")
_OWN_LETTER = re.compile(r"\s{0,4}[(（]?([A-Za-z])[).:）、．][ \t]{0,4}")
_PREMISES = ("image", "text", "context", "conclusion")
_WORDS: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("prompts.yml").read_text(encoding="utf-8")
)


def lettered(options: Sequence[str]) -> list[str]:
    """Options with letters in front, then numbers; those that have letters get no second ones."""
    letters = string.ascii_uppercase
    marks = [*letters, *map(str, range(len(letters) + 1, len(options) + 1))]
    found = [_OWN_LETTER.match(option) for option in options]
    own = [mark and mark[1].upper() for mark in found]
    texts = list(options)
    if own == marks[: len(options)]:
        texts = [option[mark.end() :] for option, mark in zip(options, found, strict=True) if mark]
    return [f"{mark}. {text}" for mark, text in zip(marks, texts, strict=False)]


def _parts(question: Question, kwargs: Kwargs) -> Iterator[str | Picture]:
    """The prompt: what is given, the question, and how to answer."""
    words, agree = _WORDS[question.language], question.form == "agree"
    yield from given(question, question.background)
    yield stated(question) if agree else words["question"].format(question.statement) + "\n"
    if question.options:
        yield "\n".join([words["options"], *lettered(question.options), ""])
    yield words["stance" if agree else "answer"] + "\n"
    if variant_of(kwargs, VARIANTS) == "free":
        yield words["free"] + "\n"
    else:
        # Names only the kinds of clues that the document has.
        clues = {"image": question.visual_clue, "text": question.textual_clue}
        premises = [words[kind] for kind in _PREMISES if clues.get(kind, True)]
        yield words["form"].format(" / ".join(premises)) + "\n"
        if question.visual_clue:
            yield words["first"] + "\n"
        yield words["then"] + "\n"
    yield words[f"end_{_ending(question)}"]


def _ending(question: Question) -> str:
    """The form of the last line; a text answer that is a letter stands for one of the options."""
    answer = question.answer if isinstance(question.answer, str) else question.answer[0]
    form, letter = question.form, _LETTER.fullmatch(answer.strip())
    by_letter = form == "function" or (form == "text" and letter)
    if form == "choice" or (question.options and by_letter):
        return "choice"
    return form if form in ("agree", "choice", "number") else "text"


doc_to_visual, doc_to_text, doc_to_messages = ImagePrompt(Question, _parts).functions
