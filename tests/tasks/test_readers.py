"""What the readers of all benchmarks' questions have in common: faults stop a run, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from datasets import Dataset
from PIL import Image

from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.images import add_image_column, image_faults
from lmms_rpts.tasks.own.data import OwnData
from lmms_rpts.tasks.registry import check_tasks
from lmms_rpts.tasks.rpts_eval.task import load
from tests.support import cmmath, rome
from tests.support.instances import write_folder
from tests.support.tables import table

SECRET = "secret.png"


class Reader(NamedTuple):
    """A benchmark's data: how two questions are written, and the names of their fields.

    ``task`` is None for own data, which no variable names.
    """

    write: Callable[[Path], object]
    file: str
    images: str
    task: str | None
    variable: str
    fields: dict[str, str]

    def check(self, folder: Path) -> None:
        """The check before a model is loaded."""
        if self.task is None:
            OwnData(folder / self.file, folder / self.images, "number").load()
            return
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(self.variable, str(folder))
            check_tasks([self.task])

    def fault(self, folder: Path) -> str:
        with pytest.raises(DataError) as caught:
            self.check(folder)
        return str(caught.value)

    def change(self, folder: Path, **changes: Any) -> None:
        """Changes fields of the first question; None removes one."""
        entries = json.loads((folder / self.file).read_text(encoding="utf-8"))
        entries[0] |= {self.fields[name]: value for name, value in changes.items()}
        entries[0] = {name: value for name, value in entries[0].items() if value is not None}
        (folder / self.file).write_text(json.dumps(entries), encoding="utf-8")


def write_own(folder: Path) -> None:
    rows = [{"id": at, "question": "?", "answer": 4, "images": ["0.png"]} for at in "01"]
    (folder / "data.jsonl").write_text(json.dumps(rows), encoding="utf-8")
    draw(folder / "images" / "0.png")


READERS = (
    Reader(
        *(lambda to: write_folder(to, count=2), "texts_en.json", "images"),
        *("rpts_eval_en", "RPTS_PATH"),
        {"id": "id", "question": "statement", "image": "visual_clue"},
    ),
    Reader(
        *(lambda to: rome.write_rome(to, [e for e in rome.ENTRIES if e["task"] == "geo"]),),
        *("annotation.json", ".", "rome_geo", "ROME_PATH"),
        {"id": "question_id", "question": "question", "image": "img_path"},
    ),
    Reader(
        *(lambda to: cmmath.write_cmmath(to, cmmath.PROBLEMS[:2]), "cmmath.json", "images"),
        *("cmmath", "CMMATH_PATH"),
        {"id": "problem_id", "question": "question", "image": "image"},
    ),
    Reader(
        *(write_own, "data.jsonl", "images", None, "docs/your-own-data.md"),
        {"id": "id", "question": "question", "image": "images"},
    ),
)


@pytest.fixture(params=READERS, ids=lambda reader: reader.variable)
def reader(request: pytest.FixtureRequest) -> Reader:
    found: Reader = request.param
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    draw(tmp_path / SECRET)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def draw(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise((64, 64), 99).save(path)
    return path


@table(
    "changes, said",
    ({"question": None}, "{question} is missing"),
    ({"question": 3}, "{question} should be a"),
    ({"id": [1]}, "{id} should be"),
    ({"id": "second"}, "'second' occurs more than once"),
    ({"image": ["gone.png"]}, "gone.png is missing"),
    ({"image": ["half.png"]}, "cannot read the image"),
    ({"image": ["program.png"]}, "cannot identify image file"),
    ({"image": ["a\0.png"]}, "annot read"),
    ({"image": ["linked.png"]}, "is a link to a file outside of"),
    *(({"image": [f"{up}{SECRET}"]}, "outside of") for up in ("../", "../../", "a/../../../")),
    ({"image": ["{absolute}"]}, "outside of"),
)
def test_a_fault_is_named_with_its_question_and_the_remedy(
    reader: Reader, folder: Path, changes: dict[str, Any], said: str
) -> None:
    reader.write(folder)
    reader.check(folder)
    second = json.loads((folder / reader.file).read_text(encoding="utf-8"))[1]
    images = folder / reader.images
    (images / "half.png").write_bytes(draw(images / "half.png").read_bytes()[:2000])
    # Pillow passes PostScript to Ghostscript, whatever the file is called.
    (images / "program.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    (images / "linked.png").unlink(missing_ok=True)
    (images / "linked.png").symlink_to(folder.parent / SECRET)
    if changes == {"id": "second"}:
        changes, said = {"id": second[reader.fields["id"]]}, "occurs more than once"
    if changes == {"image": ["{absolute}"]}:
        changes = {"image": [str(folder.parent / SECRET)]}
    reader.change(folder, **changes)
    message = reader.fault(folder)
    assert said.format_map(reader.fields) in message
    assert reader.variable in message.splitlines()[-1]
    assert str(folder) in message
    assert len([line for line in message.splitlines() if line.startswith("  ")]) == 1
    reader.write(folder)
    reader.check(folder)


@table("content", "", "{", "[]", "[1]", "\ufeff[]", '[{"que')
def test_a_file_without_questions_is_named(reader: Reader, folder: Path, content: str) -> None:
    reader.write(folder)
    (folder / reader.file).write_text(content, encoding="utf-8")
    assert str(folder) in reader.fault(folder)
    (folder / reader.file).unlink()
    assert str(folder) in reader.fault(folder)


def test_links_inside_the_folder_are_followed(reader: Reader, folder: Path) -> None:
    reader.write(folder)
    reader.change(folder, image=["linked.png"])
    images = folder / reader.images
    (images / "linked.png").symlink_to(draw(images / "elsewhere" / "inside.png"))
    reader.check(folder)
    link = folder.parent / "link"
    link.symlink_to(folder)
    reader.check(link)


# --- links, downloads, documents -----------------------------------------------------------------


def test_links_to_other_folders_to_nowhere_and_in_a_circle(tmp_path: Path) -> None:
    draw(tmp_path / "other" / "a.png")
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "images").symlink_to(tmp_path / "other")
    (folder / "round.png").symlink_to("round.png")
    (folder / "nowhere.png").symlink_to("no_such.png")
    named = [folder / "images" / "a.png", folder / "round.png", folder / "nowhere.png"]
    assert len(image_faults(named, folder)) == 3


def test_the_hubs_cache_is_made_of_links(tmp_path: Path) -> None:
    place = tmp_path / "datasets--A--B"
    snapshot = place / "snapshots" / "0123"
    (snapshot / "images").mkdir(parents=True)
    draw(place / "blobs" / "digest.png").rename(place / "blobs" / "digest")
    (snapshot / "images" / "a.png").symlink_to("../../../blobs/digest")
    (snapshot / "images" / "b.png").symlink_to("../../../refs")
    named = [snapshot / "images" / name for name in ("a.png", "b.png")]
    assert list(image_faults(named, snapshot)) == named[1:]


def test_what_is_handed_to_a_model_is_looked_at_again(tmp_path: Path) -> None:
    """Tasks with other names skip our data check."""
    draw(tmp_path / "a.png")
    documents = Dataset.from_dict({"id": [1]})
    add_image_column(documents, [["a.png"]], tmp_path, tmp_path)
    with pytest.raises(DataError, match="outside of"):
        add_image_column(documents, [["../secret.png"]], tmp_path, tmp_path)


def test_names_steer_no_terminal_and_many_faults_are_counted() -> None:
    faults = [f"the image a\x1b[31m\nb{'x' * 5000}.png is missing"] * 20
    with pytest.raises(DataError, match="and 15 more") as caught:
        raise_faults("data", faults, "Mend it.")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 3_000


@pytest.fixture
def rpts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RPTS_PATH", str(tmp_path))
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    return write_folder(tmp_path)


def error_of(language: str = "en") -> str:
    with pytest.raises(DataError) as caught:
        check_tasks([f"rpts_eval_{language}"])
    return str(caught.value)


def test_a_part_needs_its_own_file_alone(rpts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (rpts / "texts_zh.json").unlink()
    check_tasks(["rpts_eval_en"])
    assert "not a folder with texts_zh.json" in error_of("zh")
    monkeypatch.setenv("RPTS_PATH", str(rpts / "nowhere"))
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


def test_documents_are_complete_and_images_lazy(rpts: Path) -> None:
    docs = load("en").dataset
    assert set(docs["language"]) == {"en"}
    assert docs[2]["relation"] is None
    assert docs[2]["images"][0].getpixel((0, 0)) == (2, 0, 0)
    (rpts / "images" / "2.png").unlink()
    assert docs.remove_columns(["images"])[2]["id"] == "2"
