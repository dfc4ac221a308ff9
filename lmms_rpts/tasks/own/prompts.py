"""Prompts of custom tasks: clues, question, and how to write steps and the answer."""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping, Sequence

from lmms_rpts.scoring.question import Question
from lmms_rpts.tasks.prompts import ImagePrompt, Kwargs, Picture, variant_of
from lmms_rpts.tasks.rpts_eval.prompts import pictures

VARIANTS = ("steps", "free", "answer")
"""``steps``: asks for numbered steps in our form; ``free``: for reasoning of any form; ``answer``:
for the answer only.
"""

_LETTER = re.compile(r"[A-Za-z]")
_OWN_LETTER = re.compile(r"\s{0,4}[(（]?([A-Za-z])[).:）、．][ \t]{0,4}")


_PREMISES = ("image", "text", "context", "conclusion")
_WORDINGS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "background": "Context: {}",
        "clue": "Text {}: {}",
        "question": "Question: {}",
        "statement": "Statement: {}",
        "options": "Options:",
        "answer": "Answer the question.",
        "stance": "Do you agree or disagree with the statement?",
        "form": "Reason from what is given above. Write one step of reasoning per line, numbered "
        "from 0, in the form\nConclusion k: from {}, what follows from them",
        "image": "Image i",
        "text": "Text j",
        "context": "Context",
        "conclusion": "Conclusion l",
        "first": "First say what each image shows (from Image 0, ...), then draw your conclusions.",
        "then": "Name all that a step rests on; Context stands for what is given and asked in "
        "words.",
        "free": "Think it through step by step, and write your reasoning down.",
        "end_agree": "End with one line: Final answer: agree, or: Final answer: disagree.",
        "end_choice": "End with one line: Final answer: <letter of the right option>",
        "end_number": "End with one line: Final answer: <number in digits, with its unit if any>",
        "end_text": "End with one line: Final answer: <your answer, as short as possible>",
    },
    "zh": {
        "background": "上下文：{}",
        "clue": "文本{}：{}",
        "question": "问题：{}",
        "statement": "陈述：{}",
        "options": "选项：",
        "answer": "请回答问题。",
        "stance": "你同意还是不同意这条陈述？",
        "form": "请依据以上内容推理。每行写一步推理，从0开始编号，格式为：\n"
        "结论k：根据{}，由此得出的内容",
        "image": "图片i",
        "text": "文本j",
        "context": "上下文",
        "conclusion": "结论l",
        "first": "先写出每张图片显示的内容（根据图片0，……），再逐步得出结论。",
        "then": "请写明每一步的全部依据；上下文指以文字给出的条件和问题。",
        "free": "请一步一步思考，并写出推理过程。",
        "end_agree": "最后单独一行写：最终答案：同意，或：最终答案：不同意。",
        "end_choice": "最后单独一行写：最终答案：<正确选项的字母>",
        "end_number": "最后单独一行写：最终答案：<用阿拉伯数字写的数，如有单位则写在后面>",
        "end_text": "最后单独一行写：最终答案：<尽可能简短的答案>",
    },
}
"""The words of each language; ``{}`` is filled in."""


def lettered(options: Sequence[str]) -> list[str]:
    """Options with letters in front; those that have them already are not lettered twice."""
    letters = string.ascii_uppercase
    found = [_OWN_LETTER.match(option) for option in options]
    own = [mark and mark[1].upper() for mark in found]
    texts = list(options)
    if own == list(letters[: len(options)]):
        texts = [option[mark.end() :] for option, mark in zip(options, found, strict=True) if mark]
    return [f"{mark}. {text}" for mark, text in zip(marks_of(options), texts, strict=True)]


def marks_of(options: Sequence[str]) -> list[str]:
    """The letters of options, then numbers."""
    letters = string.ascii_uppercase
    return [letters[at] if at < len(letters) else str(at + 1) for at in range(len(options))]


_ATTACHED = {
    "en": "Image {number}: number {place} of the {total} attached\n",
    "zh": "图片{number}：第{place}张，共附{total}张\n",
}
_NAMES = {"en": "Image {}:", "zh": "图片{}："}


def _parts(question: Question, kwargs: Kwargs) -> Iterator[str | Picture]:
    """The prompt: what is given, the question, and how to answer."""
    language = question.language
    wording, agree = _WORDINGS[language], question.form == "agree"
    if question.background.strip():
        yield wording["background"].format(question.background) + "\n"
    yield from pictures(question, _ATTACHED[language], _NAMES[language])
    for number, clue in enumerate(question.textual_clue):
        yield wording["clue"].format(number, clue) + "\n"
    yield wording["statement" if agree else "question"].format(question.statement)
    if question.options:
        yield "\n".join(["", wording["options"], *lettered(question.options)])
    variant = variant_of(kwargs, VARIANTS)
    if variant == "answer" and question.form == "none":
        return  # the question says what to write, such as a caption
    yield "\n" + wording["stance" if agree else "answer"] + "\n"
    if variant == "free":
        yield wording["free"] + "\n"
    elif variant == "steps":
        # Names only the kinds of clues that the document has.
        absent = {"image": question.visual_clue, "text": question.textual_clue}
        named = [wording[kind] for kind in _PREMISES if absent.get(kind, True)]
        yield wording["form"].format(" / ".join(named)) + "\n"
        if question.visual_clue:
            yield wording["first"] + "\n"
        yield wording["then"] + "\n"
    yield wording[f"end_{_ending(question)}"]


def _ending(question: Question) -> str:
    """The form of the last line; a text answer that is a letter stands for one of the options."""
    answer = question.answer if isinstance(question.answer, str) else question.answer[0]
    form, letter = question.form, _LETTER.fullmatch(answer.strip())
    by_letter = form == "function" or (form == "text" and letter)
    if form == "choice" or (question.options and by_letter):
        return "choice"
    return form if form in ("agree", "choice", "number") else "text"


_PROMPT = ImagePrompt(Question, _parts)
doc_to_text, doc_to_visual = _PROMPT.doc_to_text, _PROMPT.doc_to_visual
doc_to_messages = _PROMPT.doc_to_messages
