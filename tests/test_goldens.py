"""The output of the commands for the saved runs, and their messages, are unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.goldens import COMMANDS, GOLDENS, made


@pytest.mark.parametrize("name", [*COMMANDS, "mistakes.txt"])
def test_output_is_as_before(name: str, tmp_path: Path) -> None:
    assert made(name, tmp_path) == (GOLDENS / name).read_text(encoding="utf-8")
