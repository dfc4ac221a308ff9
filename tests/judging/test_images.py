"""Images for judges: all modes and formats, hostile files, and nothing stored."""

from __future__ import annotations

import hashlib
import io
import struct
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageFile

from lmms_rpts.judging.images import ImageError, JudgeImage, encode_image
from tests.support.tables import table

RED, GREEN, BLUE = (255, 0, 0), (0, 255, 0), (0, 0, 255)
WHITE, GREY = (255,) * 3, (128,) * 3
Colour = tuple[int, int, int]


def saved(image: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(content: bytes) -> Any:
    return Image.open(io.BytesIO(content))


def shown(image: Any, longest: int = 1536) -> Any:
    return opened(encode_image(image, longest)[0])


def is_about(found: Any, wanted: Colour) -> bool:
    return all(abs(one - other) <= 6 for one, other in zip(found, wanted, strict=True))


def plain(colour: Any = RED, size: tuple[int, int] = (60, 40), mode: str = "RGB") -> Any:
    return Image.new(mode, size, colour)


def paletted(transparency: Any = None) -> Any:
    image = plain("red").convert("P", palette=Image.Palette.ADAPTIVE)
    if transparency is not None:
        image.info["transparency"] = transparency
    return image


@table(
    "image, colour",
    # Grey of 8 bits: plain, with alpha; one bit
    (plain(128, mode="L"), GREY), (plain((0, 0), mode="LA"), WHITE),
    (plain((0, 128), mode="LA"), (127, 127, 127)), (plain(1, mode="1"), WHITE),
    # Colours of all kinds
    (plain(), RED), (plain((255, 0, 0, 255), mode="RGBA"), RED),
    (plain((255, 0, 0, 0), mode="RGBA"), WHITE),
    (plain((255, 0, 0, 128), mode="RGBA"), (255, 127, 127)),
    (plain((0, 255, 255, 0), mode="CMYK"), RED), (plain().convert("HSV"), RED),
    (plain().convert("LAB"), RED), (paletted(), RED), (paletted(bytes([0] * 256)), WHITE),
    (plain((128, 255), mode="LA").convert("PA"), GREY),
    # Grey of 16 bits
    (plain(32896, mode="I;16"), GREY), (plain(65535, mode="I;16"), WHITE),
    (plain(32896, mode="I"), GREY), (plain(128.0, mode="F"), GREY),
)  # fmt: skip
@table("longest", 1536, 48)
def test_every_mode_is_shown_in_its_colours(image: Any, colour: Colour, longest: int) -> None:
    before = image.mode, image.size, image.tobytes()
    found = shown(image, longest)
    assert (found.format, found.mode) == ("JPEG", "RGB")
    assert found.size == ((60, 40) if longest > 60 else (48, 32))
    assert is_about(found.getpixel((24, 16)), colour), found.getpixel((24, 16))
    assert (image.mode, image.size, image.tobytes()) == before, "the caller's image is unchanged"


@table(
    "size, longest, expected",
    ((60, 40), 1536, (60, 40)),
    ((3072, 1024), 1536, (1536, 512)),
    ((400, 1), 1536, (400, 32)),
    ((1, 20000), 1536, (32, 1536)),
    ((20000, 3), 64, (64, 32)),
)
def test_sizes_are_bounded(size: tuple[int, int], longest: int, expected: tuple[int, int]) -> None:
    content, found = encode_image(plain(size=size), longest)
    assert found == expected == opened(content).size


def test_a_narrow_image_is_framed_in_white_and_an_empty_one_refused() -> None:
    assert is_about(shown(plain(size=(400, 1))).getpixel((200, 2)), WHITE)
    with pytest.raises(ImageError, match="it has 0 pixels"):
        encode_image(plain(size=(0, 5)))


# ---- files


@table("kind", "GIF", "PNG", "TIFF", "MPO")
@table("at", 0, 2)
@table("loaded", False, True)
def test_the_frame_is_shown_that_the_image_is_at(kind: str, at: int, loaded: bool) -> None:
    """The model was shown the same frame."""
    colours = RED, BLUE, GREEN
    others = [plain(BLUE), plain(GREEN)]
    image = opened(saved(plain(), kind, save_all=True, append_images=others))
    image.seek(at)
    if loaded:
        image.load()
    assert is_about(shown(image).getpixel((30, 20)), colours[at])
    assert image.tell() == at, "the caller's image stays at its frame"
    assert is_about(image.convert("RGB").getpixel((30, 20)), colours[at])
    image.seek(0)
    assert is_about(shown(image).getpixel((30, 20)), RED)


def test_a_photograph_stands_upright_whatever_its_exif_says() -> None:
    upright = plain(WHITE, (64, 96))
    upright.paste(RED, (0, 0, 64, 32))
    for orientation, turn in {2: 0, 3: 3, 5: 5, 6: 2, 8: 4}.items():
        exif = Image.Exif()
        exif[0x0112] = orientation
        for kind in ("JPEG", "PNG", "WEBP"):
            found = shown(opened(saved(upright.transpose(turn), kind, exif=exif)))
            assert found.size == (64, 96), (orientation, kind)
            assert is_about(found.getpixel((32, 10)), RED), (orientation, kind)
            assert is_about(found.getpixel((32, 80)), WHITE), (orientation, kind)
    for broken in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff"):
        assert shown(opened(saved(plain(), "JPEG", exif=broken))).size == (60, 40)


def test_nothing_but_pixels_is_sent() -> None:
    exif = Image.Exif()
    exif[0x010E] = "SECRET"
    told = {"comment": b"SECRET", "xmp": b"SECRET", "icc_profile": b"SECRET" * 30, "exif": exif}
    with_it, without = (saved(plain(), "JPEG", quality=95, **each) for each in (told, {}))
    assert b"SECRET" in with_it
    for load in (False, True):
        image = opened(with_it)
        if load:
            image.load()
        assert encode_image(image) == encode_image(opened(without))


# ---- hostile files


@table("kind", "PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
def test_half_a_file_is_refused_whatever_the_harness_allows(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # as lmms-eval does
    noise = Image.effect_noise((200, 200), 90).convert("RGB")
    content = saved(noise, kind)
    image = JudgeImage("Image 0", lambda: opened(content[: len(content) // 2]))
    with pytest.raises(ImageError, match=r"^Cannot read Image 0"):
        image.encoded()
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


def png_of(width: int, height: int) -> bytes:
    """The head of a PNG of the given size, with only one or two rows of pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        crc = struct.pack(">I", zlib.crc32(name + data))
        return struct.pack(">I", len(data)) + name + data + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(bytes(2 * (width + 1)))
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


@table("width, height", (12_001, 10_000), (1, 120_000_001), (60_000, 60_000))
def test_a_bomb_is_refused_before_it_is_decoded(width: int, height: int) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(ImageError, match=r"pixels; 1 to|decompression bomb"):
            JudgeImage("Image 0", lambda: opened(png_of(width, height))).encoded()
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


@table(
    "load, message",
    (lambda: Image.open("/nowhere\udcff/x.png"), "^Cannot read Image 0 .*nowhere"),
    (lambda: 1 / 0, "^Cannot read Image 0 .*division by zero.$"),
    (lambda: sys.exit(3), "^Cannot read Image 0 .SystemExit 3.$"),
)
def test_whatever_fails_says_which_image(load: Callable[[], Any], message: str) -> None:
    with pytest.raises(ImageError, match=message) as raised:
        JudgeImage("Image 0", load).encoded()
    str(raised.value).encode()


def test_an_image_that_changes_is_not_judged_by_what_it_was() -> None:
    colours = iter([RED, RED, BLUE])
    image = JudgeImage("Image 0", lambda: plain(next(colours)))
    assert image.known_size is None
    assert image.digest == hashlib.sha256(image.encoded()).hexdigest()
    assert image.known_size == (60, 40)
    with pytest.raises(ImageError, match="changed"):
        image.encoded()
