"""Prompts of ``cmmath_rpts``: a solution whose steps name their premises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lmms_rpts.tasks.images import behind_names, doc_to_visual

Doc = Mapping[str, Any]

_CONTEXT = "上下文：{}"
_IMAGE = "图片{}："
_IN_ORDER = "所附{}张图片中的第{}张"
_QUESTION = "文本0（题目）：{}"
_INSTRUCTIONS = (
    "请根据图片和题目解答这道数学题，并写出推理过程。\n"
    "每行只写一步，从0开始编号，格式为：\n"
    "结论k：根据图片i / 文本0（题目） / 结论l，由此得出的内容\n"
    "先写出从每张图片中读出的条件（根据图片0，……），再一步一步推导（根据结论0和文本0，……）。"
    "请写明每一步的全部依据：图片、文本0、前面各行的结论；用到学过的定理或公式时，"
    "依据中可以写上下文。\n"
    "最后单独一行写：最终答案：……。选择题写出全部正确选项的字母；"
    "有几个空或几个小问时，按题目的顺序写出每个答案，中间用分号隔开。"
)


def doc_to_text(doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None) -> str:
    """The prompt for wrappers that take the images separately from the text."""
    total = len(doc["visual_clue"])
    return "\n".join(
        part if isinstance(part, str) else _IMAGE.format(part) + _IN_ORDER.format(total, part + 1)
        for part in _parts(doc)
    )


def doc_to_messages(
    doc: Doc, lmms_eval_specific_kwargs: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """The prompt for chat wrappers, each image right after its name."""
    return behind_names(_parts(doc), _IMAGE, doc_to_visual(doc))


def _parts(doc: Doc) -> Iterator[str | int]:
    """The lines of the prompt; a number stands for the image of that number."""
    yield _CONTEXT.format(doc["context"])
    yield from range(len(doc["visual_clue"]))
    yield _QUESTION.format(doc["statement"])
    yield _INSTRUCTIONS
