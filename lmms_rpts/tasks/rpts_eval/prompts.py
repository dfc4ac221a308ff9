"""Prompts of RPTS-Eval in both languages: numbered clues, each image where it is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lmms_rpts.scoring.question import Question
from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture, variant_of

VARIANTS = ("default", "free")

_WORDINGS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "context": "Context: {}",
        "text": "Text {}: {}",
        "statement": "Statement: {}",
        "default": (
            "Do you agree or disagree with the statement? Work it out from the context, the "
            "images and the texts.\n"
            "Write one step of reasoning a line, numbered from 0, in the form\n"
            "Conclusion k: from Image i / Text j / Conclusion l, what follows from them\n"
            "First say what each image shows (from Image 0, ...), then draw your conclusions "
            "(from Conclusion 0 and Text 1, ...). Name all that a step rests on: images, "
            "texts, the Context, or conclusions of earlier lines.\n"
            "End with one line: Final answer: agree, or: Final answer: disagree."
        ),
        "free": (
            "Do you agree or disagree with the statement? Think it through step by step, using "
            "the context, the images and the texts, and write your reasoning down.\n"
            "End with one line: Final answer: agree, or: Final answer: disagree."
        ),
    },
    "zh": {
        "context": "上下文：{}",
        "text": "文本{}：{}",
        "statement": "陈述：{}",
        "default": (
            "你同意还是不同意这条陈述？请依据上下文、图片和文本推理得出答案。\n"
            "每行写一步推理，从0开始编号，格式为：\n"
            "结论k：根据图片i / 文本j / 结论l，由此得出的内容\n"
            "先写出每张图片显示的内容（根据图片0，……），再逐步得出结论（根据结论0和文本1，……）。"
            "请写明每一步的全部依据：图片、文本、上下文，或前面各行的结论。\n"
            "最后单独一行写：最终答案：同意，或：最终答案：不同意。"
        ),
        "free": (
            "你同意还是不同意这条陈述？请依据上下文、图片和文本一步一步思考，并写出推理过程。\n"
            "最后单独一行写：最终答案：同意，或：最终答案：不同意。"
        ),
    },
}


_ATTACHED = {
    "en": "Image {number}: number {place} of the {total} attached\n",
    "zh": "图片{number}：所附{total}张图片中的第{place}张\n",
}
_NAMES = {"en": "Image {}:", "zh": "图片{}："}


def pictures(question: Question, attached: str, name: str) -> Iterator[Picture]:
    """The images of a question in their order.

    Args:
        attached: the line that replaces an image for wrappers that take the images separately from
            the text, with ``{number}``, ``{place}`` (from 1) and ``{total}``.
        name: the name of an image in a chat.
    """
    total = len(question.visual_clue)
    for at in range(total):
        line = attached.format(number=at, place=at + 1, total=total)
        yield Picture(at, text=line, chat=name.format(at))


def _parts(question: Question, kwargs: Kwargs) -> Iterator[str | Picture]:
    language = question.language
    wording = _WORDINGS[language]
    yield wording["context"].format(question.context) + "\n"
    yield from pictures(question, _ATTACHED[language], _NAMES[language])
    for number, clue in enumerate(question.textual_clue):
        yield wording["text"].format(number, clue) + "\n"
    yield wording["statement"].format(question.statement) + "\n"
    yield wording[variant_of(kwargs, VARIANTS)]


_PROMPT = ImagePrompt(Question, _parts)
doc_to_text, doc_to_visual = _PROMPT.doc_to_text, _PROMPT.doc_to_visual
doc_to_messages = _PROMPT.doc_to_messages
