"""Prompts of ROME: images where the question names them, and a last line for the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture
from lmms_rpts.tasks.rome.questions import MARKER, RomeQuestion

_NAMES = {"en": "Image {}", "zh": "图片{}"}
_WORD = re.compile(r"[A-Za-z0-9]")

_END = {
    "en": 'End with one line that begins with "Final Answer:" and {}',
    "zh": "最后单独写一行，以“最终答案：”开头，后面{}",
}
_MEASURE = (
    "gives one number in digits, without thousands separators, followed by its unit; where a time "
    "of day is asked for, the time as HH:MM or HH:MM:SS.",
    "写一个阿拉伯数字（不用千位分隔符）及其单位；若问的是时刻，按 HH:MM 或 HH:MM:SS 的格式书写。",
)
_ENDINGS = {
    "choices_matching": (
        "gives the letter of the right choice, nothing else; if several choices are right, all "
        "their letters, such as AC.",
        "只写正确选项的字母；若有多个正确选项，写出全部字母，例如 AC。",
    ),
    "ordered_list_matching": (
        "gives all items in the right order, separated by commas, such as X, Y, Z.",
        "按正确顺序写出所有项，用英文逗号隔开，例如 X, Y, Z。",
    ),
    "number_matching": (
        "gives one number in digits, without thousands separators, with its unit after it, if it "
        "has one.",
        "写一个阿拉伯数字（不用千位分隔符），如有单位，写在数字之后。",
    ),
    "location_matching": (
        "names the place as precisely as you can tell: the spot itself, its city and its country.",
        "写出地点，尽可能精确：具体位置、所在城市和国家。",
    ),
    "interval_matching": _MEASURE,
    "multi_interval_matching": _MEASURE,
}
SUFFIXES: Mapping[str, Mapping[str, str]] = {
    "key_items_matching": {"en": "", "zh": ""},
    **{
        evaluator: {"en": _END["en"].format(english), "zh": _END["zh"].format(chinese)}
        for evaluator, (english, chinese) in _ENDINGS.items()
    },
}
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
    if suffix := SUFFIXES[question.evaluator][question.language]:
        yield f"\n\n{suffix}"


def _split(question: str) -> list[str | int]:
    """Texts and numbers of images, with a space between a name and an adjacent word."""
    parts: list[str | int] = []
    # Texts and numbers in turn, as the pattern has one group.
    for at, piece in enumerate(MARKER.split(question)):
        if at % 2:
            if parts and (isinstance(parts[-1], int) or _ends_in_word(parts[-1])):
                parts.append(" ")
            parts.append(int(piece))
        elif piece:
            parts.append(f" {piece}" if parts and _WORD.match(piece) else piece)
    return parts


def _ends_in_word(text: str) -> bool:
    return _WORD.match(text[-1]) is not None


_PROMPT = ImagePrompt(RomeQuestion, _parts)
doc_to_text, doc_to_visual = _PROMPT.doc_to_text, _PROMPT.doc_to_visual
doc_to_messages = _PROMPT.doc_to_messages
