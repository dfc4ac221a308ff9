"""Prompts of ROME: images where the question names them, and a last line for the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture
from lmms_rpts.tasks.rome.questions import MARKER, RomeQuestion

_NAMES = {"en": "Image {}", "zh": "图片{}"}
_TOUCHING = re.compile(
    r"(?<=[A-Za-z0-9>])(?=<\s?image[\s_]?\d)|(?<=\d>)(?=[A-Za-z0-9])", re.IGNORECASE
)
ENDINGS: Mapping[str, Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("prompts.yml").read_text(encoding="utf-8")
)
"""The request for a last line that the evaluator can read, by evaluator and language."""


def _parts(question: RomeQuestion, kwargs: Kwargs) -> Iterator[str | Picture]:
    """The prompt: an image is where it is first named, else at the beginning."""
    names = _NAMES[question.language]
    parts = _split(question.question.strip())
    if parts[0] == 1 and len(question.img_path) == 1 and parts.count(1) == 1:
        # A single image is at the beginning anyway: no need to name it.
        parts = [part.lstrip() for part in parts[1:] if isinstance(part, str)]
    unnamed = (at for at in range(len(question.img_path)) if at + 1 not in parts)
    yield from map(Picture, unnamed)
    for part in parts:
        name = names.format(part)
        yield part if isinstance(part, str) else Picture(part - 1, text=name, chat=name)
    if ending := ENDINGS[question.evaluator][question.language]:
        yield f"\n\n{ending}"


def _split(question: str) -> list[str | int]:
    """Texts and numbers of images, with a space between a name and an adjacent word."""
    pieces = MARKER.split(_TOUCHING.sub(" ", question))
    # Texts and numbers in turn, as the pattern has one group.
    return [int(each) if at % 2 else each for at, each in enumerate(pieces) if at % 2 or each]


doc_to_visual, doc_to_text, doc_to_messages = ImagePrompt(RomeQuestion, _parts).functions
