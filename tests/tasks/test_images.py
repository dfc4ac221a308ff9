"""Images outside the data folder never reach a model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.images import add_image_column, image_faults
from lmms_rpts.tasks.registry import check_tasks
from tests.support import cmmath, rome
from tests.support.instances import write_folder
from tests.support.tables import table


def draw(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), "red").save(path)
    return path


def write_rpts(folder: Path, name: str) -> None:
    write_folder(folder, count=1)
    for texts in folder.glob("texts_*.json"):
        records = json.loads(texts.read_text())
        texts.write_text(json.dumps([record | {"visual_clue": [name]} for record in records]))


def write_rome(folder: Path, name: str) -> None:
    entries = [entry for entry in rome.ENTRIES if "geo" in str(entry["task"])]
    rome.write_rome(folder, [entry | {"img_path": name} for entry in entries])


def write_cmmath(folder: Path, name: str) -> None:
    cmmath.write_cmmath(folder, [problem | {"image": [name]} for problem in cmmath.PROBLEMS])


Writer = Callable[[Path, str], None]
BENCHMARKS = pytest.mark.parametrize(
    ("write", "variable", "task", "images"),
    [
        (write_rpts, "RPTS_PATH", "rpts_eval_en", "images"),
        (write_rome, "ROME_PATH", "rome_geo", "."),
        (write_cmmath, "CMMATH_PATH", "cmmath", "images"),
    ],
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    draw(tmp_path / "secret.png")
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@BENCHMARKS
@table("name", "../../secret.png", "../secret.png", "a/../../../secret.png", "")
def test_names_that_leave_the_folder_are_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Writer,
    variable: str,
    task: str,
    images: str,
    name: str,
) -> None:
    monkeypatch.setenv(variable, str(folder))
    write(folder, name or str(folder.parent / "secret.png"))  # an absolute path
    with pytest.raises(DataError, match=r"outside of|inside the"):
        check_tasks([task])


@BENCHMARKS
def test_links_out_of_the_folder_are_refused(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    write: Writer,
    variable: str,
    task: str,
    images: str,
) -> None:
    monkeypatch.setenv(variable, str(folder))
    write(folder, "linked.png")
    place = folder / images / "linked.png"
    place.unlink(missing_ok=True)
    place.symlink_to(folder.parent / "secret.png")
    with pytest.raises(DataError, match="is a link to a file outside of"):
        check_tasks([task])
    place.unlink()
    inside = draw(folder / "elsewhere" / "inside.png")
    place.symlink_to(inside)
    check_tasks([task])


def test_a_linked_folder_of_images_is_refused(folder: Path) -> None:
    draw(folder.parent / "other" / "a.png")
    (folder / "images").symlink_to(folder.parent / "other")
    (fault,) = image_faults([folder / "images" / "a.png"], folder).values()
    assert "outside of" in fault


def test_the_data_folder_itself_may_be_a_link(folder: Path) -> None:
    draw(folder / "images" / "a.png")
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert not image_faults([link / "images" / "a.png"], link)


def test_the_hubs_cache_is_made_of_links(tmp_path: Path) -> None:
    place = tmp_path / "datasets--A--B"
    snapshot = place / "snapshots" / "0123"
    (snapshot / "images").mkdir(parents=True)
    draw(place / "blobs" / "digest.png").rename(place / "blobs" / "digest")
    (snapshot / "images" / "a.png").symlink_to("../../../blobs/digest")
    (snapshot / "images" / "b.png").symlink_to("../../../refs")
    named = [snapshot / "images" / name for name in ("a.png", "b.png")]
    assert list(image_faults(named, snapshot)) == named[1:]


def test_links_that_lead_nowhere_or_round(folder: Path) -> None:
    (folder / "round.png").symlink_to("round.png")
    (folder / "nowhere.png").symlink_to("no_such.png")
    named = [folder / "round.png", folder / "nowhere.png", folder / "a\0b.png"]
    assert len(image_faults(named, folder)) == 3


def test_what_is_handed_to_a_model_is_looked_at_again(folder: Path) -> None:
    """Tasks with other names skip our data check."""
    from datasets import Dataset

    draw(folder / "a.png")
    documents = Dataset.from_dict({"id": [1]})
    add_image_column(documents, [["a.png"]], folder, folder)
    with pytest.raises(DataError, match="outside of"):
        add_image_column(documents, [["../secret.png"]], folder, folder)


def test_formats_that_start_other_programs_are_not_opened(folder: Path) -> None:
    """Pillow passes PostScript to Ghostscript, whatever the file is called."""
    (folder / "a.png").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EOF\n")
    (fault,) = image_faults([folder / "a.png"], folder).values()
    assert "cannot identify image file" in fault


def test_names_steer_no_terminal() -> None:
    with pytest.raises(DataError) as caught:
        raise_faults("data", [f"the image a\x1b[31m\nb{'x' * 5000}.png is missing"], "Mend it.")
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 700
