"""``lmms-rpts estimate`` where it has no documents to count."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from lmms_rpts.cli import app


def test_a_folder_without_the_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    done = CliRunner().invoke(app, ["estimate", "rpts_eval_zh"])
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "is not a folder with texts_zh.json. Set it to a folder with" in said


def test_a_failed_download(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise ConnectionError

    monkeypatch.delenv("RPTS_PATH", raising=False)
    monkeypatch.setattr("huggingface_hub.snapshot_download", refuse)
    done = CliRunner().invoke(app, ["estimate", "rpts_eval_en"])
    assert done.exit_code == 1
    assert "could not be downloaded from nimingshuaishi/RPTS-Eval" in done.output
    assert "Set RPTS_PATH to a folder with" in " ".join(done.output.split())
