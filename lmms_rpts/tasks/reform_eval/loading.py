"""The data of ReForm-Eval on this machine: loaded, checked before a run, and their images."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from PIL import Image

from lmms_rpts.tasks.data import DataError, HubData, downloaded, raise_faults
from lmms_rpts.tasks.questions import Questions, Source
from lmms_rpts.tasks.reform_eval.data import (
    HUB_FOLDER,
    ImagePlace,
    Sample,
    image_of,
    read_samples,
    root_of,
)
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.questions import Form, ReformQuestion, dialogues_of
from lmms_rpts.tasks.reform_eval.sets import TASKS, DataSet, ReformSettings, data_sets

HUB_DATASET = "Aweminus/ReForm-Eval-Data"
_HUB = HubData(ReformSettings, HUB_DATASET, "to a folder with the publishers' files")


def load(part: str) -> Questions[ReformQuestion]:
    """The questions of a task by its name without ``reform_``."""
    form, samples, source = _samples(part)
    questions = form.questions(samples)
    online = TASKS[f"reform_{part}"].history == "online"
    return Questions(source, tuple(dialogues_of(questions) if online else questions), "sample")


def tokens(part: str) -> int | None:
    """The published maximum number of new tokens, if the settings ask for it."""
    task = TASKS[f"reform_{part}"]
    published = ReformSettings.load().max_tokens == "published" and task.method == "generation"
    return task.set.max_tokens if published else None


def check(task: str) -> None:
    """Check the settings and data of a task; without REFORM_PATH, the data are downloaded."""
    _samples(task.removeprefix("reform_"))


def _samples(part: str) -> tuple[Form, tuple[Sample, ...], Source]:
    """The samples of a part and how they are presented; raises DataError for their faults."""
    chosen, method, _ = TASKS[f"reform_{part}"]
    settings = ReformSettings.load()
    form = Form(chosen, method, load_instructions(settings.instructions), settings)
    form.instructions.of(chosen, method)
    root = _root(chosen, settings)
    files = tuple(root / name for name in chosen.files)
    stats = [each.stat() for each in files]
    stamps = tuple((each.st_mtime_ns, each.st_size) for each in stats)
    samples, faults = _read(chosen, root, settings.seed, stamps)
    remedy = f"Get the file again from {HUB_DATASET}, or unset REFORM_PATH to download it."
    if settings.path is None:
        remedy = (
            f"The download from {HUB_DATASET} may be damaged: delete it and retry, or set "
            "REFORM_PATH to a local folder."
        )
    raise_faults(root, [*faults, *form.unmarked(samples)], remedy)
    return form, samples, Source(root, files, remedy, root)


# Of all sets, which a run may need one after another.
@lru_cache(maxsize=128)
def _read(
    chosen: DataSet, root: Path, seed: int, stamps: tuple[tuple[int, int], ...]
) -> tuple[tuple[Sample, ...], tuple[str, ...]]:
    return read_samples(chosen, root, seed)


def _root(chosen: DataSet, settings: ReformSettings) -> Path:
    """The folder of the sets with the files of this one, downloaded if necessary."""
    if settings.path is None:
        return _HUB.folder(*(f"{HUB_FOLDER}/{name}" for name in chosen.files)) / HUB_FOLDER
    if not settings.path.is_dir():
        raise DataError(
            f"REFORM_PATH={str(settings.path)!r} is not a folder. Set it to ReForm-Eval-Data in "
            "the publishers' layout (also huggingface_data or a parent), or unset it to download "
            "the data."
        )
    root = root_of(settings.path)
    if missing := _missing(chosen, root):
        there = [f"reform_{each.name}" for each in data_sets().values() if not _missing(each, root)]
        others = f"run --tasks {','.join(there)}" if there else f"unset it to get {HUB_DATASET}"
        faults = [f"{missing[0]} of {chosen.title} is missing"]
        raise_faults(root, faults, f"Complete the folder (REFORM_PATH), or {others}.")
    return root


def _missing(chosen: DataSet, root: Path) -> list[str]:
    return [name for name in chosen.files if not (root / name).is_file()]


# --- images --------------------------------------------------------------------------------------


def open_image(question: ReformQuestion, folder: Path | None = None) -> Image.Image:
    """The image of a question as the model is shown it; nothing is downloaded.

    Args:
        folder: folder of the data; None: REFORM_PATH if set, else the cached download.

    Raises:
        OSError, ValueError: if there is none, or it cannot be read.
    """
    chosen = data_sets().get(question.set)
    if chosen is None or not question.image_length:
        raise ValueError("the question does not name its image")
    root = _present(folder or ReformSettings.load().path)
    place = ImagePlace(question.image_start, question.image_length)
    return image_of(root / chosen.file, place, chosen.boxes, question.boxes)


@lru_cache(maxsize=4)  # of the Hub's copy, which is looked up for each image otherwise
def _present(folder: Path | None) -> Path:
    found = folder or downloaded(HUB_DATASET)
    if found is None:
        raise FileNotFoundError(f"There are no data of {HUB_DATASET} on this machine")
    return root_of(found)


def picture_of(question: ReformQuestion, folder: Path | None = None) -> Image.Image | None:
    """As `open_image`; None if the image is not on this machine."""
    try:
        return open_image(question, folder)
    except (OSError, ValueError):
        return None


def images_folder(part: str) -> Path | None:
    """The folder of the data on this machine, which contain the images; None if there is none."""
    return _HUB.present()
