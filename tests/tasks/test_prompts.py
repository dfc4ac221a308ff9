"""Prompts of RPTS-Eval: what the model is shown."""

from __future__ import annotations

import pytest
from PIL import Image

from lmms_rpts.tasks.rpts_eval.prompts import doc_to_messages, doc_to_text, doc_to_visual
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
    assert content[1]["url"].getpixel((0, 0)) == (0, 0, 0)
    assert content[3]["url"].getpixel((0, 0)) == (255, 255, 255)


def test_simple_wrappers_get_the_images_in_order() -> None:
    shades = [image.getpixel((0, 0)) for image in doc_to_visual(doc())]
    assert shades == [(0, 0, 0), (255, 255, 255)]
    assert "Image 1: number 2 of the 2 attached" in doc_to_text(doc())


def test_variants() -> None:
    default, free = doc_to_text(doc()), doc_to_text(doc(), {"variant": "free"})
    assert "Conclusion k: from Image i / Text j / Conclusion l" in default
    assert "Conclusion k" not in free
    assert "Final answer: agree" in free
    with pytest.raises(ValueError, match="known: default, free"):
        doc_to_text(doc(), {"variant": "loud"})
    with pytest.raises(ValueError, match="need a variant, one of default, free"):
        doc_to_text(doc(), {"pre_prompt": "Look."})


def test_sixteen_bits_of_grey_are_scaled_not_clipped() -> None:
    (image,) = doc_to_visual(make_doc(images=[Image.new("I;16", (2, 2), 30000)]))
    assert image.mode == "RGB"
    assert image.getpixel((0, 0)) == (117, 117, 117)
