"""Thumbnails on disk: an image is decoded once per size, even if files are damaged or deleted."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.report import pictures
from lmms_rpts.report.pictures import shrink_all
from lmms_rpts.report.thumbnails import FOLDER, ThumbnailCache, stored
from tests.support.runs import make_doc, make_record, write_run


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[int]:
    """The sizes at which an image was decoded; the cache is below ``tmp_path``."""
    sizes: list[int] = []
    real = pictures._shrunk_file

    def counted(content: bytes, longest: int) -> pictures.Picture | None:
        sizes.append(longest)
        return real(content, longest)

    monkeypatch.setattr(pictures, "_shrunk_file", counted)
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return sizes


def _image(path: Path, colour: str = "red") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (64, 32), colour).save(path)
    return path


def test_a_second_report_decodes_nothing(tmp_path: Path, decoded: list[int]) -> None:
    folder = _image(tmp_path / "images" / "a.png").parent
    doc = make_doc() | {"visual_clue": ["a.png"]}
    write_run(tmp_path / "run", {0: make_record([0.5, 0.5], doc=doc)})
    command = ["report", str(tmp_path / "run"), "--images", str(folder)]
    for page in ("first.html", "second.html"):
        done = CliRunner().invoke(app, [*command, "-o", str(tmp_path / page)])
        assert done.exit_code == 0, done.output
    assert decoded == [640]
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()
    assert "data:image/webp" in (tmp_path / "second.html").read_text(encoding="utf-8")


def test_the_size_and_the_content_are_the_key(tmp_path: Path, decoded: list[int]) -> None:
    _image(tmp_path / "a.png")
    for longest in (32, 16, 32, 16):
        found = shrink_all([(tmp_path, "a.png")], longest)
        assert [each.width for each in found.values()] == [longest]
    assert decoded == [32, 16]
    before = shrink_all([(tmp_path, "a.png")], 32)
    _image(tmp_path / "a.png", "blue")  # another image of the same name
    assert shrink_all([(tmp_path, "a.png")], 32) != before
    assert decoded == [32, 16, 32]


def test_off_is_respected(
    tmp_path: Path, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_RPTS_CACHE", "off")
    _image(tmp_path / "a.png")
    for _ in range(2):
        assert shrink_all([(tmp_path, "a.png")], 32)
    assert decoded == [32, 32]
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_is_ignored_and_replaced(tmp_path: Path, decoded: list[int]) -> None:
    _image(tmp_path / "a.png")
    made = shrink_all([(tmp_path, "a.png")], 32)
    (file,) = stored(tmp_path / "cache" / FOLDER)
    whole = file.path.read_bytes()
    for times, damaged in enumerate((whole[: len(whole) // 2], whole[:30], b""), 2):
        file.path.write_bytes(damaged)
        for _ in range(2):
            assert shrink_all([(tmp_path, "a.png")], 32) == made
        assert decoded == [32] * times


def test_a_folder_that_cannot_be_written_stops_no_report(
    tmp_path: Path, decoded: list[int]
) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    _image(tmp_path / "a.png")
    assert len(shrink_all([(tmp_path, "a.png")], 32)) == 1


def test_the_least_recently_used_are_deleted(tmp_path: Path) -> None:
    cache = ThumbnailCache(tmp_path)
    for number, key in enumerate(("aa" * 32, "bb" * 32, "cc" * 32)):
        cache.put(key, b"x" * 100)
        os.utime(tmp_path / key[:2] / f"{key}.thumbnail", (number, number))
    cache.get("aa" * 32)  # used again, so that "bb" is now the oldest
    one = sum(each.size for each in stored(tmp_path)) // 3
    cache.prune(2 * one)
    assert [cache.get(key * 32) is not None for key in ("aa", "bb", "cc")] == [True, False, True]


def test_two_writers_at_a_time(tmp_path: Path) -> None:
    cache, wanted = ThumbnailCache(tmp_path), b"pixels" * 1000

    def use(number: int) -> bool:
        cache.put("ab" * 32, wanted)
        found = cache.get("ab" * 32)
        cache.prune(0 if number % 5 == 0 else 10**9)
        return found in (None, wanted)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(100)))
    assert not [*tmp_path.rglob(".*")]


def test_cache_info_and_clear_know_them(tmp_path: Path) -> None:
    key, folder = "ab" * 32, ["--folder", str(tmp_path)]
    cache = ThumbnailCache(tmp_path / FOLDER)
    cache.put(key, b"pixels")
    shown = CliRunner().invoke(app, ["cache", "info", *folder])
    assert "1 thumbnails" in shown.output
    done = CliRunner().invoke(app, ["cache", "clear", "--yes", *folder])
    assert (done.exit_code, done.output) == (0, "1 thumbnails deleted\n")
    assert cache.get(key) is None
