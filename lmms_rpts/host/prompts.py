"""Instructions that ask for the steps of reasoning, added to the prompt of any task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STEPS = {
    "en": (
        "\n\nReason step by step, and write one step of reasoning a line, numbered from 0, in the "
        "form\n"
        "Conclusion k: from Image i / Conclusion l / the Context, what follows from them\n"
        "Image 0 is the first image, Image 1 the second, and so on; the Context is the question. "
        "First say what each image shows that matters (from Image 0, ...), then draw your "
        "conclusions (from Conclusion 0 and Conclusion 1, ...). Name all that a step rests on.\n"
        "Behind the steps, give the answer in the form that was asked for above."
    ),
    "zh": (
        "\n\n请逐步推理，每行写一步，从0开始编号，格式为：\n"
        "结论k：根据图片i / 结论l / 上下文，由此得出的内容\n"
        "图片0指第一张图片，图片1指第二张，依此类推；上下文指题目本身。先写出每张图片中与问题有关的内容"
        "（根据图片0，……），再逐步得出结论（根据结论0和结论1，……）。请写明每一步的全部依据。\n"
        "写完步骤后，按上面要求的形式给出答案。"
    ),
}
_WIDE = range(0x4E00, 0x9FFF + 1)
_CHINESE_FROM = 0.3
_LOOKED_AT = 4000


def language_of(text: str) -> str:
    """``zh`` if at least three in ten letters of a text are Chinese, else ``en``."""
    letters = [each for each in text[:_LOOKED_AT] if each.isalpha()]
    wide = sum(ord(each) in _WIDE for each in letters)
    return "zh" if letters and wide >= _CHINESE_FROM * len(letters) else "en"


def with_steps(text: str) -> str:
    """A prompt that also asks for steps."""
    return text + _STEPS[language_of(text)]


def without_steps(text: str) -> str:
    """A prompt without the request for steps."""
    for added in _STEPS.values():
        if text.endswith(added):
            return text.removesuffix(added)
    return text


def messages_with_steps(messages: Any) -> Any:
    """A chat whose last user message also asks for steps; other values are returned unchanged."""
    if not isinstance(messages, list):
        return messages
    for at in reversed(range(len(messages))):
        message = messages[at]
        if isinstance(message, Mapping) and message.get("role") == "user":
            return [*messages[:at], _asking(message), *messages[at + 1 :]]
    return messages


def _asking(message: Mapping[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, str):
        return {**message, "content": with_steps(content)}
    if not isinstance(content, list):
        return dict(message)
    said = " ".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return {**message, "content": [*content, {"type": "text", "text": _STEPS[language_of(said)]}]}
