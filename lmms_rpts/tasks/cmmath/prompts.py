"""Prompts of CMMaTH: images first, the problem, and a last line for the answer.

Their texts are in ``prompts.yml``. The task's ``lmms_eval_specific_kwargs`` set the variant:
``default``, a chain of thought in Chinese; ``en_cot``, one in English; ``clp``, the problem
restated in Chinese and solved in English; ``ocr``, without images, but with the text that was
recognised in them; ``steps``, with a mark before each step.
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

TEXT_ONLY = "ocr"
"""The variant without images."""

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
    if variant == TEXT_ONLY or total < 2:
        return _text(doc, variant)
    return f"{_worded('attached', variant).format(total, total)}\n\n{_text(doc, variant)}"


def doc_to_visual(doc: Doc, lmms_eval_specific_kwargs: Kwargs = None) -> list[Any]:
    """The images, in their order; none if the task shows none."""
    if prompt_variant(lmms_eval_specific_kwargs, VARIANTS) == TEXT_ONLY:
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


def recognised(ocr: str) -> list[str]:
    """The texts that were recognised in an image, each with its place if that is known.

    Args:
        ocr: as the publishers write it, ``存在文字:A, 文字区域的位置为:[(1, 2), (3, 4)]`` for each
            text; other text is split into lines.

    Returns:
        Texts such as ``A (1, 2)-(3, 4)``, each once, in their order.
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
    return list(dict.fromkeys(filter(None, lines)))


def _worded(what: str, variant: str) -> Any:
    """A wording in the language of a variant."""
    return _WORDINGS[what][_WORDINGS["instructions"][variant]["language"]]


def _text(doc: Doc, variant: str) -> str:
    form, count = doc["form"], blanks(doc["question"])
    if form == "blank" and count > 1:
        form = "several"
    ending = _worded("endings", variant)[form].format(count)
    parts = [readable(doc["question"]), f"{_WORDINGS['instructions'][variant]['text']}\n{ending}"]
    if variant == TEXT_ONLY:
        lines = recognised(doc["ocr"] or "")
        listed = [_WORDINGS["recognised"], *(f"- {line}" for line in lines)]
        parts.insert(1, "\n".join(listed) if lines else _WORDINGS["nothing_recognised"])
    return "\n\n".join(parts)
