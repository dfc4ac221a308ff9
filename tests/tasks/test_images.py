"""Images outside the data folder never reach a model: what no reader of a benchmark shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.images import add_image_column, image_faults


def draw(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), "red").save(path)
    return path


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
    from datasets import Dataset

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
