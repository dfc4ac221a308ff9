"""Prompts of ROME: images where the question names them, and a last line for the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmms_rpts.tasks.images import doc_to_visual
from lmms_rpts.tasks.rome.data import MARKER

Doc = Mapping[str, Any]

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


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt for wrappers that take the images separately from the text."""
    return "".join(_name(part, doc) if isinstance(part, int) else part for part in _parts(doc))


def doc_to_messages(
    doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The prompt for chat wrappers: an image is where it is first named, else at the beginning."""
    images = doc_to_visual(doc)
    parts = _parts(doc)
    shown = {number for number in range(1, len(images) + 1) if number not in parts}
    content: list[dict[str, Any]] = [_image(images[number - 1]) for number in sorted(shown)]
    text = ""
    for part in parts:
        text += _name(part, doc) if isinstance(part, int) else part
        if isinstance(part, int) and part not in shown:
            shown.add(part)
            content += [{"type": "text", "text": text}, _image(images[part - 1])]
            text = ""
    content.append({"type": "text", "text": text})
    return [{"role": "user", "content": content}]


def _image(image: Any) -> dict[str, Any]:
    return {"type": "image", "url": image}


def _name(number: int, doc: Doc) -> str:
    return _NAMES[doc["language"]].format(number)


def _parts(doc: Doc) -> list[str | int]:
    """The texts of the prompt, and between them the numbers of the images that it names."""
    parts = _split(doc["question"].strip())
    if parts[0] == 1 and len(doc["img_path"]) == 1 and parts.count(1) == 1:
        # A single image is at the beginning anyway: no need to name it.
        parts = [part.lstrip() for part in parts[1:] if isinstance(part, str)]
    suffix = SUFFIXES[doc["evaluator"]][doc["language"]]
    return [*parts, f"\n\n{suffix}"] if suffix else parts


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
