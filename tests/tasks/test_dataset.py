"""Data of RPTS-Eval: its documents, and one error before a model is loaded."""

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
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    return write_folder(tmp_path)


def change(folder: Path, **changes: Any) -> None:
    """Change the second instance in English; None removes a field."""
    path = folder / "texts_en.json"
    records = json.loads(path.read_text())
    changed = records[1] | changes
    records[1] = {name: value for name, value in changed.items() if value is not None}
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
    ({"reasoning": ["Image9 -> x"]}, "'reasoning' cites Image9 in line 0"),
    ({"textual_clue": [1]}, "textual_clue[0] should be a string, not 1"),
    ({"visual_clue": ["gone.png"]}, "images/gone.png is missing"),
    ({"relation": "odd"}, "relation should be one of guided, adversarial, independent"),
)
def test_the_error_names_instance_file_and_remedy(
    folder: Path, changes: dict[str, Any], said: str
) -> None:
    check_tasks(["rpts_eval", "rpts_eval_zh_free"])
    change(folder, **changes)
    message = error_of()
    assert f"instance '1': {said}" in message.replace(f"the image {folder}/", "")
    assert str(folder / "texts_en.json") in message
    assert "RPTS_PATH" in message
    check_tasks(["rpts_eval_zh"])
    write_folder(folder)


def test_the_same_id_twice(folder: Path) -> None:
    change(folder, id=0)
    assert "instance '0' occurs more than once" in error_of()


def test_instances_need_no_images_and_fields_may_be_added(folder: Path) -> None:
    change(folder, visual_clue=[], reasoning=["Text0 -> x"], language="xx", more=1)
    check_tasks(["rpts_eval_en"])
    assert {each.language for each in load("en").questions} == {"en"}


def test_broken_images(folder: Path) -> None:
    path = folder / "images" / "2.png"
    Image.effect_noise((64, 64), 99).save(path)
    for content in (b"", b"no image", path.read_bytes()[:2000]):
        path.write_bytes(content)
        assert f"cannot read the image {path} (" in error_of()


@table("content", "", "{", "{}", "[]", "[1]", "\ufeff[]")
def test_a_file_that_is_no_list_of_instances(folder: Path, content: str) -> None:
    (folder / "texts_en.json").write_text(content, encoding="utf-8")
    assert str(folder / "texts_en.json") in error_of()


def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    import huggingface_hub.constants

    (folder / "texts_zh.json").unlink()
    check_tasks(["mme", "rpts_eval_en"])
    assert "not a folder with texts_zh.json" in error_of("zh")
    monkeypatch.setenv("RPTS_PATH", str(tmp_path / "nowhere"))
    assert "nowhere' is not a folder with texts_en.json. Set it to a folder with" in error_of()
    check_tasks(["rpts_demo"])
    monkeypatch.delenv("RPTS_PATH")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    message = error_of()
    assert "nimingshuaishi/RPTS-Eval" in message
    assert "Set RPTS_PATH" in message


def test_many_faults_are_counted_and_fixed_data_are_read_again(folder: Path) -> None:
    write_folder(folder, count=20, answer="maybe")
    message = error_of()
    assert message.count("instance '") == 5
    assert "and 15 more" in message
    write_folder(folder, count=4)
    check_tasks(["rpts_eval_en"])


def test_images_are_opened_when_they_are_accessed(folder: Path) -> None:
    docs = load("en").dataset
    assert docs[2]["images"][0].getpixel((0, 0)) == (2, 0, 0)
    assert (docs[2]["relation"], docs[2]["id"]) == (None, "2")
    (folder / "images" / "2.png").unlink()
    assert docs.remove_columns(["images"])[2]["id"] == "2"
