"""RPTS-Eval's data: what its reader does besides what test_readers.py asks of all."""

from __future__ import annotations

from pathlib import Path

import pytest

from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.registry import check_tasks
from lmms_rpts.tasks.rpts_eval.task import load
from tests.support.instances import write_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    return write_folder(tmp_path)


def error_of(language: str = "en") -> str:
    with pytest.raises(DataError) as caught:
        check_tasks([f"rpts_eval_{language}"])
    return str(caught.value)


def test_a_part_needs_its_own_file_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "texts_zh.json").unlink()
    check_tasks(["rpts_eval_en"])
    assert "not a folder with texts_zh.json" in error_of("zh")
    monkeypatch.setenv("RPTS_PATH", str(folder / "nowhere"))
    assert "texts_en.json, texts_zh.json and images/" in error_of()


def test_without_a_connection_the_error_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub.constants

    monkeypatch.delenv("RPTS_PATH", raising=False)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    message = error_of()
    assert "nimingshuaishi/RPTS-Eval" in message
    assert "Set RPTS_PATH" in message


def test_documents_are_complete_and_images_lazy(folder: Path) -> None:
    docs = load("en").dataset
    assert set(docs["language"]) == {"en"}
    assert docs[2]["relation"] is None
    assert docs[2]["images"][0].getpixel((0, 0)) == (2, 0, 0)
    (folder / "images" / "2.png").unlink()
    assert docs.remove_columns(["images"])[2]["id"] == "2"
