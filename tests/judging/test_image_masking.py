"""Image data in a server's messages: which parts are masked."""

from __future__ import annotations

import base64
import hashlib

from lmms_rpts.judging.backends.image_masking import hide_images
from lmms_rpts.judging.backends.openai_images import Sight
from tests.support.tables import table

DATA = base64.b64encode(b"".join(hashlib.sha256(bytes([n])).digest() for n in range(15))).decode()
LINES = [DATA[at : at + 76] for at in range(0, len(DATA), 76)]
URL = "data:image/jpeg;base64,"


@table(
    "text, shown",
    (f'"{URL}{DATA}" is red', '"[image]" is red'),
    (f"{URL}{DATA}\nScore: 0.5", "[image]\nScore: 0.5"),
    (f"{URL}{DATA} and the conclusion holds", "[image] and the conclusion holds"),
    (f"{URL}{DATA} internationalization max_completion_tokens", None),
    (f"({URL}\n{DATA})", "([image])"),
    (f"...{DATA}...", "...[image]..."),
    ("see\n" + "\n".join(LINES) + "\nThat is all.", "see\n[image]\nThat is all."),
    ("see " + " ".join(LINES) + " That is all.", "see [image] That is all."),
    ("data%3Aimage%2Fpng%3Bbase64%2CAAAA%2BBBB%22 so", "[image]%22 so"),
    ("base64,\n" + "\n".join(LINES), "[image]"),
)
def test_images_are_hidden_and_the_words_around_them_stay(text: str, shown: str | None) -> None:
    wanted = shown or text.replace(f"{URL}{DATA}", "[image]")
    assert hide_images(text) == wanted


SHA = hashlib.sha256(b"x").hexdigest()


@table(
    "text",
    "",
    "The image is encoded in base64, which is what models take. Score: 0.7",
    "a base64,internationalization",
    f"Two digests:\n{SHA}\n{SHA}\nno more",
    "-" * 300 + "\n" + "=" * 300 + "\n" + "_" * 300,
    "\n".join(["-" * 76] * 5),
    "| " + " | ".join(["-" * 70] * 5) + " |",
    "https://example.com/" + "a-rather-long-path-of-words/" * 8,
    "100% of it &amp; more \\n C:\\new\\x &#43; %2B \u0130\u017f\udcff",
    "The sign says closed, therefore the shop cannot be entered. " * 50,
    "标志上写着关门，因此商店不能进入。" * 200,
    "Donaudampfschifffahrtsgesellschaftskapitaen " * 20,
)
def test_prose_stays(text: str) -> None:
    assert hide_images(text) == text


@table(
    "piece",
    *("A", "Aa0 ", " ", "\n", "%2B", "%25", "%", "&#43;", "&amp;", "&", "\\", "\\/", "\\n", "<br"),
    *("data:", "data:a;base64,", "base64,", "base64, ", ",", ":", ";", "=", "-", "a" * 59 + " "),
    *("A" * 60 + "\n", ("A" * 60 + "\n") * 2 + "no ", ("a" * 30 + " "), "Aa" * 12 + "\n"),
)
@table("start", "", URL, "A" * 70 + "\n")
def test_long_texts_take_linear_time(piece: str, start: str) -> None:
    """With quadratic growth a row would take half an hour."""
    text = start + piece * (200_000 // len(piece)) + "\x00"
    assert hide_images(text).endswith("\x00")


@table(
    "piece",
    *(
        "image ",
        "image",
        "not ",
        "images are not ",
        "no image that ",
        "only ",
        "a.",
        " ",
        "unknown ",
    ),
    *("the image", "does not support ", "vision ", "must be a strin", "can not be ", "图片不支持"),
)
def test_long_complaints_are_read_in_linear_time(piece: str) -> None:
    sight = Sight("m")
    text = piece * (100_000 // len(piece))
    for status in (400, 404, 422, 500):
        sight.refusal(status, text, None, "said")
