"""Prompts of CMMaTH: images first, the problem, and a last line for the answer.

The task's ``lmms_eval_specific_kwargs`` set the variant: ``default``, a chain of thought in
Chinese; ``en_cot``, one in English; ``clp``, the problem restated in Chinese and solved in English;
``ocr``, without images, but with the text that was recognised in them; ``steps``, with a mark
before each step.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from PIL import Image

from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.images import as_rgb

Doc = Mapping[str, Any]

TEXT_ONLY = "ocr"
"""The variant without images."""

_BLANK = 56


_ENDINGS: dict[str, dict[str, str]] = {
    "zh": {
        "choice": (
            "最后单独写一行，以“最终答案：”开头，后面只写正确选项的字母；"
            "若正确选项不止一个，写出全部字母，例如 AC。"
        ),
        "parts": (
            "最后单独写一行，以“最终答案：”开头，后面按题号写出每一小题的结果，"
            "各小题之间用“；”隔开，形如“(1) ……；(2) ……”。"
        ),
        "several": (
            "最后单独写一行，以“最终答案：”开头，后面按空的先后顺序写出{}个空应填的内容，"
            "各空之间用“；”隔开。"
        ),
        "blank": "最后单独写一行，以“最终答案：”开头，后面只写空格处应填的内容。",
        "open": "最后单独写一行，以“最终答案：”开头，后面只写所求的结果。",
    },
    "en": {
        "choice": (
            'End with one line that begins with "Final answer:" and gives the letter of the right '
            "choice, nothing else; if several choices are right, all their letters, such as AC."
        ),
        "parts": (
            'End with one line that begins with "Final answer:" and gives the result of each part '
            'under its number, separated by ";", in the form "(1) ...; (2) ...".'
        ),
        "several": (
            'End with one line that begins with "Final answer:" and gives what belongs in the {} '
            'blanks, in their order, separated by ";".'
        ),
        "blank": (
            'End with one line that begins with "Final answer:" and gives what belongs in the '
            "blank, nothing else."
        ),
        "open": (
            'End with one line that begins with "Final answer:" and gives the result that is asked '
            "for, nothing else."
        ),
    },
}
"""The request for the last line, by language and form of the problem."""

_INSTRUCTIONS = {
    "default": ("zh", "请结合图片解答上面的数学题：先一步一步写出推理和计算的过程，再给出答案。"),
    "en_cot": (
        "en",
        "Solve the maths problem above with the help of its image. Think it through step by step, "
        "and write all of your reasoning, calculations and your answer in English.",
    ),
    "clp": (
        "zh",
        "请结合图片，按下面的顺序解答上面的数学题：\n"
        "1. 先用中文复述：题目和图片给出了哪些条件，要求的是什么。\n"
        "2. 再用英文一步一步推理和计算（reason step by step in English）。\n"
        "3. 再回到中文，给出答案。",
    ),
    TEXT_ONLY: (
        "zh",
        "请根据上面的文字解答这道数学题：先一步一步写出推理和计算的过程，再给出答案。",
    ),
    "steps": (
        "zh",
        "请结合图片，分步解答上面的数学题。每一步另起一行，开头写上步骤标记："
        "第一步以 <STEP1> 开头，第二步以 <STEP2> 开头，依此类推；"
        "每一步只做一件事，并写清依据和结果。",
    ),
}
VARIANTS = tuple(_INSTRUCTIONS)

_NUMBERED = {"zh": "第{}张图片：", "en": "Image number {}:"}
_ATTACHED = {
    "zh": "本题附有{}张图片，依次为第1张至第{}张。",
    "en": "The problem comes with {} images, numbered from 1 to {} in their order.",
}
_NO_TEXT = "本题的图片这里无法显示，图中也没有识别出文字。"
_TEXTS = (
    "本题的图片这里无法显示。下面是在图中识别出的文字，"
    "括号里是文字区域左上角和右下角的坐标（原点在图片左上角，向右、向下为正）："
)
_TEXT_HERE, _PLACE_HERE = "存在文字", "文字区域的位置为"
_NUMBER = re.compile(r"\d{1,7}")


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt for wrappers that take the images separately from the text."""
    variant = _variant(lmms_eval_specific_kwargs)
    total = len(doc["img_path"])
    if variant == TEXT_ONLY or total < 2:
        return _text(doc, variant)
    attached = _ATTACHED[_INSTRUCTIONS[variant][0]].format(total, total)
    return f"{attached}\n\n{_text(doc, variant)}"


def doc_to_visual(
    doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[Any]:
    """The images, in their order; none if the task shows none."""
    if _variant(lmms_eval_specific_kwargs) == TEXT_ONLY:
        # lmms-eval's wrapper llava_hf fails without an image.
        blank = (lmms_eval_specific_kwargs or {}).get("picture") == "blank"
        return [Image.new("RGB", (_BLANK, _BLANK), "white")] if blank else []
    return [as_rgb(image) for image in doc["images"]]


def doc_to_messages(
    doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The prompt for chat wrappers: the images first, each after its number if several."""
    variant = _variant(lmms_eval_specific_kwargs)
    images = doc_to_visual(doc, lmms_eval_specific_kwargs)
    numbered = _NUMBERED[_INSTRUCTIONS[variant][0]]
    content: list[dict[str, Any]] = []
    for number, image in enumerate(images, start=1):
        if len(images) > 1:
            content.append({"type": "text", "text": numbered.format(number)})
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


def _variant(kwargs: Mapping[str, Any] | None) -> str:
    variant = (kwargs or {}).get("variant", "default")
    if variant not in VARIANTS:
        raise ValueError(f"Unknown prompt variant {variant!r}; known: {', '.join(VARIANTS)}")
    return str(variant)


def _text(doc: Doc, variant: str) -> str:
    language, instruction = _INSTRUCTIONS[variant]
    parts = [readable(doc["question"]), f"{instruction}\n{_ending(doc, language)}"]
    if variant == TEXT_ONLY:
        parts.insert(1, _recognised_text(doc["ocr"]))
    return "\n\n".join(parts)


def _ending(doc: Doc, language: str) -> str:
    form, endings = doc["form"], _ENDINGS[language]
    count = blanks(doc["question"])
    if form == "blank" and count > 1:
        return endings["several"].format(count)
    return endings[form]


def _recognised_text(ocr: str | None) -> str:
    lines = recognised(ocr or "")
    return "\n".join([_TEXTS, *(f"- {line}" for line in lines)]) if lines else _NO_TEXT
