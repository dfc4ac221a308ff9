"""``lmms-rpts rate``: its output and its errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lmms_rpts.cli import app
from tests.support.instances import make_doc, write_folder
from tests.support.ratings import data_in
from tests.support.runs import make_record, write_run
from tests.support.tables import table

Command = Callable[..., Result]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, ["rate", *map(str, arguments)])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    write_folder(tmp_path / "data", 4)
    records = {
        at: make_record([1.0, at / 4], doc=make_doc(id=at, visual_clue=[f"{at}.png"]))
        for at in range(4)
    }
    return write_run(tmp_path / "run", records).parent


def test_a_page_with_its_images(command: Command, run: Path, tmp_path: Path) -> None:
    output = tmp_path / "deep" / "rate.html"
    done = command(run, "-o", output, "--images", tmp_path / "data" / "images", "--steps", 3)
    assert done.exit_code == 0, done.output
    assert f"{output}: 4 steps of 2 responses, 2 images, 0." in done.output
    data = data_in(output.read_text("utf-8"))
    assert len(data["responses"]) == 2
    assert all(each[0]["source"].startswith("data:image/webp;base64,") for each in data["images"])
    assert "not found" not in done.output
    assert "all steps" not in done.output


def test_what_is_missing_is_told(command: Command, run: Path, tmp_path: Path) -> None:
    done = command(run, "-o", tmp_path / "rate.html", "--images", tmp_path)
    assert done.exit_code == 0
    assert "8 steps of 4 responses, 0 images" in done.output
    assert "These are all judged steps of the run" in done.output
    assert "4 of 4 images were not found" in done.output
    assert "--images" in done.output


def test_the_seed_decides_alone(command: Command, run: Path, tmp_path: Path) -> None:
    pages = []
    for at, seed in enumerate((1, 1, 2, 3)):
        page = tmp_path / f"{at}.html"
        assert command(run, "-o", page, "--steps", 4, "--seed", seed).exit_code == 0
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    assert len(set(pages)) > 1


@table(
    "arguments, message",
    (["{run}", "-o", "{folder}/rate.txt"], "use a file name that ends in .html, .htm"),
    (["{folder}/none", "-o", "{folder}/r.html"], "does not exist"),
    (["{empty}", "-o", "{folder}/r.html"], "no judged step"),
    (["{run}", "-o", "{folder}/file/r.html"], "Cannot write to"),
)
def test_what_is_wrong_is_told_in_a_line(
    command: Command, run: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "file").write_text("", "utf-8")
    empty = write_run(tmp_path / "empty", {0: make_record([], steps=())}).parent
    places = {"run": run, "folder": tmp_path, "empty": empty}
    done = command(*(each.format(**places) for each in arguments))
    assert done.exit_code == 1, done.output
    assert message in done.output
    assert "Traceback" not in done.output
    assert not list(tmp_path.glob("*.html"))


def test_long_texts_are_told(command: Command, tmp_path: Path) -> None:
    long = make_record([1.0, 1.0])
    long["steps"][0]["conclusion"] = "x" * 1_000_000
    run = write_run(tmp_path / "run", {0: long, 1: make_record([1.0, 1.0])}).parent
    done = command(run, "-o", tmp_path / "rate.html")
    assert "too long to read: 1." in done.output
    assert (tmp_path / "rate.html").stat().st_size < 100_000
