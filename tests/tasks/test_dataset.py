"""RPTS-Eval's data that are missing, broken or incomplete: one error, before a model is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.registry import check_tasks
from lmms_rpts.tasks.rpts_eval.task import load
from tests.support.instances import write_folder
from tests.support.tables import table


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    return write_folder(tmp_path)


def change(folder: Path, **changes: Any) -> None:
    path = folder / "texts_en.json"
    records = json.loads(path.read_text())
    records[1] |= changes
    records[1] = {name: value for name, value in records[1].items() if value is not None}
    path.write_text(json.dumps(records))


def error_of(language: str = "en") -> str:
    with pytest.raises(DataError) as caught:
        check_tasks([f"rpts_eval_{language}"])
    return str(caught.value)


@table(
    "changes, said",
    ({"answer": None}, "answer is missing"),
    ({"answer": "maybe"}, "answer should be one of agree, disagree, not 'maybe'"),
    ({"statement": 3}, "statement should be a string, not 3"),
    ({"reasoning": "x"}, "reasoning should be a list, not 'x'"),
    ({"textual_clue": [1]}, "textual_clue[0] should be a string, not 1"),
    ({"visual_clue": ["gone.png"]}, "images/gone.png is missing"),
    ({"relation": "odd"}, "relation should be one of guided, adversarial, independent"),
)
def test_the_error_names_instance_file_and_remedy(
    folder: Path, changes: dict[str, Any], said: str
) -> None:
    change(write_folder(folder), **changes)
    message = error_of()
    assert f"instance '1': {said}" in message.replace(f"the image {folder}/", "")
    assert str(folder / "texts_en.json") in message
    assert "RPTS_PATH" in message
    check_tasks(["mme", "rpts_demo", "rpts_eval_zh"])
    change(write_folder(folder))
    check_tasks(["rpts_eval_en"])


def test_half_an_image_is_found_before_the_run(folder: Path) -> None:
    path = folder / "images" / "2.png"
    Image.effect_noise((64, 64), 99).save(path.with_suffix(".jpg"), quality=90)
    whole = path.with_suffix(".jpg").read_bytes()
    for content in (b"", b"no image", whole[: len(whole) // 2]):
        path.write_bytes(content)
        message = error_of()
        assert "instance '2': cannot read the image" in message
        assert "images/2.png (" in message


@table("content", "", "{", "{}", "[]", "[1]", "\ufeff[]")
def test_a_file_that_is_no_list_of_instances(folder: Path, content: str) -> None:
    (folder / "texts_en.json").write_text(content, encoding="utf-8")
    assert str(folder / "texts_en.json") in error_of()


def test_missing_files_and_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "texts_zh.json").unlink()
    check_tasks(["rpts_eval_en"])
    assert "not a folder with texts_zh.json" in error_of("zh")
    monkeypatch.setenv("RPTS_PATH", str(folder / "nowhere"))
    message = error_of()
    assert "nowhere' is not a folder with texts_en.json" in message
    assert "texts_en.json, texts_zh.json and images/" in message


def test_the_same_id_twice_and_many_faults(folder: Path) -> None:
    change(folder, id=0)
    assert "instance '0' occurs more than once" in error_of()
    write_folder(folder, count=20, answer="maybe")
    message = error_of()
    assert message.count("instance") == 5
    assert "and 15 more" in message


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
    change(folder, language="xx")
    docs = load("en").dataset
    assert set(docs["language"]) == {"en"}
    assert docs[2]["relation"] is None
    assert docs[2]["images"][0].getpixel((0, 0)) == (2, 0, 0)
    (folder / "images" / "2.png").unlink()
    assert docs.remove_columns(["images"])[2]["id"] == "2"
