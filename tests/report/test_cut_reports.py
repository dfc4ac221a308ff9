"""Reports whose writing ends early: a full disk, a process that is killed."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from lmms_rpts.cli import app
from tests.support.instances import make_doc
from tests.support.runs import make_record, write_run
from tests.support.tables import table

COUNT = 30
# Ends while the tenth page is written, as kill -9 does.
KILLED = """
import os, signal
from lmms_rpts.cli import app
from lmms_rpts.report.pages import Pages

whole = Pages._instance
written = []

def instance(*arguments, **options):
    written.append(1)
    if len(written) == 10:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*arguments, **options)

Pages._instance = instance
app()
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    docs = [make_doc(id=f"q{at}") for at in range(COUNT)]
    return write_run(
        tmp_path / "run", {at: make_record([1.0, 1.0], doc=doc) for at, doc in enumerate(docs)}
    ).parent


def write(run: Path, output: Path) -> Result:
    return CliRunner().invoke(app, ["report", str(run), "--no-images", "-o", str(output)])


def kill_while_writing(run: Path, output: Path) -> None:
    arguments = ["report", str(run), "--no-images", "-o", str(output)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], capture_output=True)
    assert done.returncode == -signal.SIGKILL


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@table("before", False, True)
def test_a_killed_folder_report_has_no_index(run: Path, tmp_path: Path, before: bool) -> None:
    output = tmp_path / f"pages{before}"
    if before:
        assert write(run, output).exit_code == 0
    kill_while_writing(run, output)
    assert files_in(output) == ["images", "instances"]
    assert len(files_in(output / "instances")) < COUNT
    # The same command again writes all of it.
    again = write(run, output)
    assert again.exit_code == 0, again.output
    assert (output / "index.html").is_file()
    assert len(files_in(output / "instances")) == COUNT


def test_a_killed_report_in_one_file_leaves_the_old_one(run: Path, tmp_path: Path) -> None:
    output = tmp_path / "out" / "report.html"
    assert write(run, output).exit_code == 0
    before = output.read_bytes()
    kill_while_writing(run, output)
    assert output.read_bytes() == before


def test_other_folders_are_left_alone(run: Path, tmp_path: Path) -> None:
    for name, more in {"a": "instances/notes.txt", "b": "notes.txt", "c": "images/x.png"}.items():
        (tmp_path / name / "instances").mkdir(parents=True)
        (tmp_path / name / "images").mkdir()
        (tmp_path / name / "instances" / "x.html").touch()
        (tmp_path / name / more).touch()
        said = CliRunner().invoke(app, ["report", str(run), "-o", str(tmp_path / name)])
        assert said.exit_code == 1
        assert "contains other files" in said.output
        assert (tmp_path / name / more).exists()
        assert (tmp_path / name / "instances" / "x.html").exists()


def test_a_website_with_the_same_names_is_left_alone(run: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "instances").mkdir(parents=True)
    (site / "instances" / "x.html").touch()
    (site / "index.html").write_text("<title>Our instances</title>")
    assert "contains other files" in write(run, site).output
    assert (site / "instances" / "x.html").exists()


@table("part", "instances", "images")
def test_nothing_is_deleted_through_a_link(run: Path, tmp_path: Path, part: str) -> None:
    """The pages in the link's target were deleted."""
    output, elsewhere = tmp_path / "pages", tmp_path / "elsewhere"
    assert write(run, output).exit_code == 0
    (output / part).rename(elsewhere)
    for name in ("page.html", "image.webp"):
        (elsewhere / name).touch()
    (output / part).symlink_to(elsewhere)
    said = write(run, output)
    assert said.exit_code == 1
    assert f"{output / part} is a symbolic link" in said.output.replace("\n", " ")
    assert {"page.html", "image.webp"} <= {*files_in(elsewhere)}
    assert (output / "index.html").is_file()


def test_an_empty_index_is_written_again(run: Path, tmp_path: Path) -> None:
    """What a full disk, or a kill between opening and writing, leaves."""
    output = tmp_path / "pages"
    assert write(run, output).exit_code == 0
    (output / "index.html").write_bytes(b"")
    again = write(run, output)
    assert again.exit_code == 0, again.output
    assert (output / "index.html").stat().st_size > 1000


def test_a_full_disk(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As found on a real one of 64 KiB."""
    whole = Path.write_bytes
    pages = 0

    def full(path: Path, content: bytes) -> int:
        nonlocal pages
        pages += 1
        if pages > 5:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return whole(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    output = tmp_path / "pages"
    said = write(run, output)
    assert said.exit_code == 1
    assert said.output.startswith(f"Cannot write to {output}")
    assert "No space left on device" in said.output
    assert said.output.count("\n") == 1
    assert not (output / "index.html").exists()
