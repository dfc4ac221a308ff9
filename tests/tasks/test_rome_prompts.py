"""Prompts of ROME: what the model is shown; the requested format can be parsed."""

from __future__ import annotations

import json
from typing import Any

from PIL import Image

from lmms_rpts.tasks.rome.matchers import RULES
from lmms_rpts.tasks.rome.prompts import ENDINGS, doc_to_messages, doc_to_text, doc_to_visual
from tests.support.rome import ENTRIES, make_doc
from tests.support.tables import table

KEYS = "key_items_matching"


def doc(question: str, images: int = 1, language: str = "en", evaluator: str = KEYS) -> Any:
    kwargs = next(each["evaluator_kwargs"] for each in ENTRIES if each["evaluator"] == evaluator)
    return make_doc(
        question=question,
        language=language,
        evaluator=evaluator,
        evaluator_kwargs=json.dumps(kwargs),
        img_path=[f"{number}.png" for number in range(images)],
        images=[Image.new("L", (4, 4), number + 1) for number in range(images)],
    )


def shown(document: Any) -> list[str | int]:
    """The chat prompt: texts, and images as their numbers."""
    (message,) = doc_to_messages(document)
    assert message["role"] == "user"
    return [
        part["text"] if part["type"] == "text" else part["url"].getpixel((0, 0))[0]
        for part in message["content"]
    ]


@table(
    "question, images, simple, chat",
    ("What changed?", 2, "What changed?", [1, 2, "What changed?"]),
    ("<image 1> What is it?", 1, "What is it?", [1, "What is it?"]),
    ("<image 1>", 1, "", [1, ""]),
    ("Is <image 1> a cat?", 1, "Is Image 1 a cat?", ["Is Image 1", 1, " a cat?"]),
    (
        "Compare <image 2> to <image 1>, then <image 2> to the rest",
        *(3, "Compare Image 2 to Image 1, then Image 2 to the rest"),
        [3, "Compare Image 2", 2, " to Image 1", 1, ", then Image 2 to the rest"],
    ),
    (
        "In<image 1>< image 2 > and <Image_1>?",
        *(2, "In Image 1 Image 2 and Image 1?"),
        ["In Image 1", 1, " Image 2", 2, " and Image 1?"],
    ),
)
def test_images_stand_where_they_are_named(
    question: str, images: int, simple: str, chat: list[str | int]
) -> None:
    document = doc(question, images)
    assert doc_to_text(document) == simple
    assert shown(document) == chat
    assert [image.getpixel((0, 0))[0] for image in doc_to_visual(document)] == list(
        range(1, images + 1)
    )
    assert {image.mode for image in doc_to_visual(document)} == {"RGB"}


def test_every_evaluator_has_its_suffix_in_both_languages() -> None:
    assert doc_to_text(doc("比较<image 1>和<image 2>。", 2, "zh")) == "比较图片1和图片2。"
    assert set(ENDINGS) == set(RULES)
    for evaluator in RULES:
        english = doc_to_text(doc("Q?", evaluator=evaluator))
        chinese = doc_to_text(doc("问？", language="zh", evaluator=evaluator))
        if evaluator == KEYS:
            assert (english, chinese) == ("Q?", "问？")
        else:
            assert '"Final Answer:"' in english.removeprefix("Q?\n\nEnd with one line")
            assert "“最终答案：”" in chinese.removeprefix("问？\n\n最后单独写一行")
