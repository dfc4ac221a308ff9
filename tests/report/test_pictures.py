"""Images in a report: scaled down, re-encoded, and only those of the instances."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

from PIL import Image

from lmms_rpts.report.pictures import find_pictures, shrink
from tests.support.tables import table


def test_a_large_image_gets_small(tmp_path: Path) -> None:
    Image.effect_noise((2000, 1000), 50).save(tmp_path / "a.png")
    picture = shrink(tmp_path / "a.png", 480)
    assert picture is not None
    assert (picture.width, picture.height) == (480, 240)
    assert len(picture.content) < (tmp_path / "a.png").stat().st_size / 10
    assert Image.open(BytesIO(picture.content)).format == "JPEG"
    assert picture.data_uri.startswith("data:image/jpeg;base64,")


@table("mode", "1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F")
def test_all_kinds_of_pixels(tmp_path: Path, mode: str) -> None:
    Image.new(mode, (40, 40)).save(tmp_path / "a.tiff") if mode != "LA" else Image.new(
        mode, (40, 40)
    ).save(tmp_path / "a.png")
    (path,) = tmp_path.iterdir()
    picture = shrink(path, 16)
    assert picture is not None
    assert (picture.width, picture.height) == (16, 16)


def test_what_else_a_file_holds_stays_out(tmp_path: Path) -> None:
    image = Image.new("RGB", (64, 32), "red")
    exif = image.getexif()
    exif[0x010E] = "taken at home"
    exif[0x0112] = 6  # rotated by 90 degrees
    image.save(tmp_path / "a.jpg", exif=exif)
    picture = shrink(tmp_path / "a.jpg", 480)
    assert picture is not None
    assert b"taken at home" not in picture.content
    assert (picture.width, picture.height) == (32, 64)


def test_broken_files_are_left_out(tmp_path: Path) -> None:
    Image.effect_noise((64, 64), 50).save(tmp_path / "a.png")
    whole = (tmp_path / "a.png").read_bytes()
    (tmp_path / "half.png").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "folder.png").mkdir()
    names = ["a.png", "half.png", "text.png", "empty.png", "folder.png", "absent.png"]
    found = find_pictures({("t", name) for name in names}, tmp_path, 32)
    assert [name for _, name in found] == ["a.png"]


@table("name", "../secret.png", "/{}/secret.png", "sub/../../secret.png", "a\0b.png", "x" * 5000)
def test_names_that_lead_elsewhere(tmp_path: Path, name: str) -> None:
    (tmp_path / "images" / "sub").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    Image.new("RGB", (8, 8)).save(tmp_path / "images" / "a.png")
    wanted = {("t", name.format(tmp_path)), ("t", "a.png")}
    assert [*find_pictures(wanted, tmp_path / "images", 32)] == [("t", "a.png")]


def test_an_image_of_too_many_pixels_is_left_out(tmp_path: Path) -> None:
    Image.new("1", (8000, 8000)).save(tmp_path / "huge.png")
    assert shrink(tmp_path / "huge.png", 64) is None
