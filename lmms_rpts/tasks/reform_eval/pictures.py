"""Images of ReForm-Eval's samples for reports: found in the data, since records contain none."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PIL import Image

from lmms_rpts.tasks.data import downloaded
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.images import as_rgb
from lmms_rpts.tasks.reform_eval.dataset import HUB_DATASET, load_samples
from lmms_rpts.tasks.reform_eval.images import with_boxes
from lmms_rpts.tasks.reform_eval.places import HUB_FOLDER, is_folder, root_of
from lmms_rpts.tasks.reform_eval.record import ReformInstance
from lmms_rpts.tasks.reform_eval.sample import Sample
from lmms_rpts.tasks.reform_eval.sets import data_sets
from lmms_rpts.tasks.reform_eval.settings import load_reform_settings


def picture_of(instance: ReformInstance, folder: Path | None = None) -> Image.Image | None:
    """The image of a sample as shown to the model; None if it is not on this machine.

    Args:
        folder: folder of the data; None: REFORM_PATH if set, else the cached download. Nothing is
            downloaded.
    """
    root = _root(folder)
    chosen = data_sets().get(instance.set)
    if root is None or chosen is None:
        return None
    samples = _samples(instance.set, root)
    if instance.sample >= len(samples) or str(samples[instance.sample].id) != instance.id:
        return None
    sample = samples[instance.sample]
    try:
        return with_boxes(as_rgb(sample.image.open()), chosen.boxes, list(sample.boxes))
    except (OSError, ValueError):
        return None


def images_folder(task: str) -> Path | None:
    """The folder of the data on this machine, which contain the images; None if there is none."""
    root = _root(None)
    return root if root is not None and is_folder(root) else None


def _root(folder: Path | None) -> Path | None:
    path = folder or load_reform_settings().path
    if path is not None:
        return root_of(path)
    copy = _hub_copy()
    return copy and copy / HUB_FOLDER


@lru_cache(maxsize=1)
def _hub_copy() -> Path | None:
    return downloaded(HUB_DATASET)


@lru_cache(maxsize=8)
def _samples(name: str, root: Path) -> tuple[Sample, ...]:
    settings = load_reform_settings().model_copy(update={"path": root})
    try:
        return load_samples(data_sets()[name], settings).samples
    except DataError:
        return ()
