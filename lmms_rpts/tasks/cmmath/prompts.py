"""Prompts of CMMaTH: images first, the problem, and a last line for the answer.

Their texts are in ``prompts.yml``. The task's ``lmms_eval_specific_kwargs`` set the variant:
``default``, a chain of thought in Chinese; ``en_cot``, one in English; ``clp``, the problem
restated in Chinese and solved in English; ``steps``, with a mark before each step. Without images:
``text``, the problem alone; ``ocr``, with the text that was recognised in them; ``caption``, with
captions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.images import as_rgb, prompt_variant

Doc = Mapping[str, Any]
Kwargs = Mapping[str, Any] | None
"""The task's ``lmms_eval_specific_kwargs``."""

WITHOUT_IMAGES = ("text", "ocr", "caption")
"""The variants that show no image."""

_BLANK = 56
"""Width and height of a blank image in pixels."""

_WORDINGS: dict[str, Any] = yaml.safe_load(
    Path(__file__).with_name("prompts.yml").read_text(encoding="utf-8")
)
VARIANTS = tuple(_WORDINGS["instructions"])

_TEXT_HERE, _PLACE_HERE = "存在文字", "文字区域的位置为"
# "文字区域的位置为:[(10, 20), (30, 40)]"
_NUMBER = re.compile(r"\d{1,7}")


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> str:
    """The prompt for wrappers that take the images separately from the text."""
    variant = prompt_variant(lmms_eval_specific_kwargs, VARIANTS)
    total = len(doc["img_path"])
    if variant in WITHOUT_IMAGES or total < 2:
        return _text(doc, variant)
    return f"{_worded('attached', variant).format(total, total)}\n\n{_text(doc, variant)}"


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> list[Any]:
    """The images, in their order; none if the task shows none."""
    if prompt_variant(lmms_eval_specific_kwargs, VARIANTS) in WITHOUT_IMAGES:
        # lmms-eval's wrapper llava_hf fails without an image.
        blank = (lmms_eval_specific_kwargs or {}).get("picture") == "blank"
        return [Image.new("RGB", (_BLANK, _BLANK), "white")] if blank else []
    return [as_rgb(image) for image in doc["images"]]


def doc_to_messages(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> list[dict[str, Any]]:
    """The prompt for chat wrappers: the images first, each after its number if several."""
    variant = prompt_variant(lmms_eval_specific_kwargs, VARIANTS)
    images = doc_to_visual(doc, lmms_eval_specific_kwargs)
    content: list[dict[str, Any]] = []
    for number, image in enumerate(images, start=1):
        if len(images) > 1:
            name = _worded("numbered", variant).format(number)
            content.append({"type": "text", "text": name})
        content.append({"type": "image", "url": image})
    content.append({"type": "text", "text": _text(doc, variant)})
    return [{"role": "user", "content": content}]


def recognised(ocr: str) -> str:
    """The texts that were recognised in an image, a line for each, with its place if it is known.

    Args:
        ocr: as the publishers write it, ``存在文字:A, 文字区域的位置为:[(1, 2), (3, 4)]`` for each
            text; other text is split into lines.

    Returns:
        Lines such as ``- A (1, 2)-(3, 4)``, each once, in their order.
    """
    first, *others = ocr.split(_TEXT_HERE)
    lines = [line.strip(" ,，") for line in first.splitlines()]
    for entry in others:
        said, _, place = entry.partition(_PLACE_HERE)
        said = said.strip().removesuffix(",").removesuffix("，")
        said = " ".join(said.removeprefix(":").removeprefix("：").split())
        corners = _NUMBER.findall(place[:100])
        if said and len(corners) >= 4:
            left, top, right, bottom = corners[:4]
            said += f" ({left}, {top})-({right}, {bottom})"
        lines.append(said)
    return "\n".join(f"- {line}" for line in dict.fromkeys(filter(None, lines)))


def _worded(what: str, variant: str) -> Any:
    """A wording in the language of a variant."""
    return _WORDINGS[what][_WORDINGS["instructions"][variant]["language"]]


def _text(doc: Doc, variant: str) -> str:
    asked = _WORDINGS["instructions"][variant]["text"]
    form, count = doc["form"], blanks(doc["question"])
    if form == "blank" and count > 1:
        form = "several"
    parts = [
        readable(doc["question"]),
        f"{asked}\n{_worded('endings', variant)[form].format(count)}",
    ]
    if said := _WORDINGS["in_place"].get(variant):
        shown = doc["caption"] if variant == "caption" else recognised(doc["ocr"] or "")
        parts.insert(1, f"{said['some']}\n{shown}" if shown else said["none"])
    return "\n\n".join(parts)
