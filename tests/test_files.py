"""Atomic writes replace files only, never what else has a name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lmms_rpts.base.files import check_writable, draft_of
from tests.support.tables import table


@table("through_link", False, True)
def test_a_device_or_pipe_is_not_replaced(tmp_path: Path, through_link: bool) -> None:
    """As root, ``-o /dev/full`` replaced the device."""
    pipe = tmp_path / "pipe.svg"
    os.mkfifo(pipe)
    output = pipe
    if through_link:
        output = tmp_path / "link.svg"
        output.symlink_to(pipe)
    with pytest.raises(OSError, match="not a regular file"):
        check_writable(output)
    with pytest.raises(OSError, match="not a regular file"), draft_of(output) as draft:
        draft.write_text("drawn")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_errors_name_the_file_and_not_its_draft(tmp_path: Path) -> None:
    """As on a read-only disk, where the draft cannot be created."""
    path = tmp_path / "report.html"
    with pytest.raises(OSError, match="No such") as raised, draft_of(path) as draft:
        draft.read_text()
    assert raised.value.filename == str(path)
    with pytest.raises(OSError, match="No such") as raised, draft_of(path):
        (tmp_path / "other").read_text()
    assert raised.value.filename == str(tmp_path / "other")


def test_a_file_that_another_process_deletes_meanwhile_is_no_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pages are, that one report writes while another one deletes those of an earlier one."""
    path, exists = tmp_path / "a.svg", Path.exists
    path.write_text("old")

    def raced(found: Path) -> bool:
        there = exists(found)
        if found == path:
            path.unlink(missing_ok=True)
        return there

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", raced)
        with draft_of(path) as draft:
            draft.write_text("new")
    assert path.read_text() == "new"


def test_a_link_keeps_its_place_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "file.svg", tmp_path / "link.svg"
    file.write_text("old")
    link.symlink_to(file)
    check_writable(link)
    with draft_of(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [file, link]
