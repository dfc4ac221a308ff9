"""Prompts of RPTS-Eval, and what those of all benchmarks have in common."""

from __future__ import annotations

from typing import Any

import pytest
from PIL import Image

from lmms_rpts.tasks.cmmath import prompts as cmmath_prompts
from lmms_rpts.tasks.own import prompts as own_prompts
from lmms_rpts.tasks.rome import prompts as rome_prompts
from lmms_rpts.tasks.rpts_eval import prompts as rpts_prompts
from lmms_rpts.tasks.rpts_eval.prompts import doc_to_messages, doc_to_text, doc_to_visual
from tests.support import cmmath, rome
from tests.support.instances import make_doc
from tests.support.tables import table


def doc(language: str = "en") -> dict:
    images = [Image.new("L", (4, 4), shade) for shade in (0, 255)]
    return make_doc(language, visual_clue=["a.png", "b.png"], images=images)


@table(
    "language, expected",
    ("en", ["Image 0:", "Image 1:", "Text 0:", "Text 1:", "Final answer: agree"]),
    ("zh", ["图片0：", "图片1：", "文本0：", "文本1：", "最终答案：同意"]),
)
def test_every_clue_is_numbered(language: str, expected: list[str]) -> None:
    text = doc_to_text(doc(language))
    positions = [text.index(part) for part in expected]
    assert positions == sorted(positions)
    assert "The clock shows nine" not in doc_to_text(doc() | {"statement": "X"})  # the gold answer
    for part in ("The shop closes at eight.", "The shop is closed.", "the clock above the shop"):
        assert part in text


def test_images_stand_where_they_are_named() -> None:
    (message,) = doc_to_messages(doc())
    content = message["content"]
    assert [part["type"] for part in content] == ["text", "image", "text", "image", "text"]
    assert content[0]["text"].endswith("Image 0:")
    assert content[2]["text"] == "Image 1:"
    shades = [(0, 0, 0), (255, 255, 255)]
    assert [content[at]["url"].getpixel((0, 0)) for at in (1, 3)] == shades
    # Simple wrappers get the images in order.
    assert [image.getpixel((0, 0)) for image in doc_to_visual(doc())] == shades
    assert "Image 1: number 2 of the 2 attached" in doc_to_text(doc())


@table(
    "prompts, document, variant",
    (rpts_prompts, doc(), "free"),
    (rome_prompts, rome.make_doc(images=[Image.new("L", (4, 4))]), ""),
    (cmmath_prompts, cmmath.make_doc(images=[Image.new("L", (4, 4))]), "steps"),
    (own_prompts, make_doc(background="", options=[], form="agree", visual_clue=[]), "steps"),
)
def test_the_texts_of_a_task_file_stand_around_every_prompt(
    prompts: Any, document: Any, variant: str
) -> None:
    plain = prompts.doc_to_text(document, {"variant": variant})
    around = {"variant": variant, "pre_prompt": "Look.\n", "post_prompt": " Now."}
    assert prompts.doc_to_text(document, around) == f"Look.\n{plain} Now."
    (message,) = prompts.doc_to_messages(document, around)
    texts = [part["text"] for part in message["content"] if part["type"] == "text"]
    assert texts[0].startswith("Look.\n")
    assert texts[-1].endswith(" Now.")


def test_variants() -> None:
    default, free = doc_to_text(doc()), doc_to_text(doc(), {"variant": "free"})
    assert "Conclusion k: from Image i / Text j / Conclusion l" in default
    assert "Conclusion k" not in free
    assert "Final answer: agree" in free
    with pytest.raises(ValueError, match="known: default, free"):
        doc_to_text(doc(), {"variant": "loud"})


def test_sixteen_bits_of_grey_are_scaled_not_clipped() -> None:
    (image,) = doc_to_visual(make_doc(images=[Image.new("I;16", (2, 2), 30000)]))
    assert image.getpixel((0, 0)) == (117, 117, 117)
