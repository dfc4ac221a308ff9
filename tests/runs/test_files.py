"""Atomic writes replace files only, never what else has a name."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from lmms_rpts.runs.files import check_writable, draft_of
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


def test_a_file_is_complete_or_as_before(tmp_path: Path) -> None:
    file, link = tmp_path / "file.svg", tmp_path / "link.svg"
    file.write_text("old")
    link.symlink_to(file)
    check_writable(link)
    with pytest.raises(KeyError), draft_of(link) as draft:
        {}[draft.write_text("half")]
    assert file.read_text() == "old"
    with draft_of(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert sorted(tmp_path.iterdir()) == [file, link]
