"""The data set of ROME: its location, and its documents and images for lmms-eval.

The YAML files refer to ``kwargs_SUBTASK`` and ``metadata_SUBTASK`` of this module. These are
computed whenever a task is built, not once at import, so that ROME_PATH is read again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.models.wanted_tasks import shows_images
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.data import add_image_column, digest, download, downloaded, store
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.rome.benchmark import SUBTASKS
from lmms_rpts.tasks.rome.settings import asks_judge, load_rome_settings
from lmms_rpts.tasks.rome.source_format import (
    DATA,
    Annotations,
    Question,
    find_files,
    read_annotations,
)

if TYPE_CHECKING:
    from datasets import Dataset

HUB_DATASET = "BAAI/ROME"
HUB_FILE = f"{DATA}/test.json"


@dataclass(frozen=True, slots=True)
class Source:
    """Where the data are, and what to do if they are wrong."""

    folder: Path
    files: tuple[Path, ...]
    remedy: str


def source() -> Source:
    """The data at ROME_PATH, else a copy from the Hub, which is downloaded if necessary.

    Raises:
        DataError: if the folder does not exist, or the download fails.
    """
    local = load_rome_settings().path
    if local is None:
        folder = _download(shows_images())
        return Source(
            folder,
            (folder / HUB_FILE,),
            f"The download from {HUB_DATASET} may be damaged: delete {folder} and retry, or "
            "set ROME_PATH to a local folder.",
        )
    files = tuple(find_files(local))
    if not files:
        raise DataError(
            f"ROME_PATH={str(local)!r} is not a folder with annotations. Set it to a folder with "
            "JSON or JSONL files of questions (also in data/) and their images, or unset it "
            f"to download {HUB_DATASET}."
        )
    return Source(
        local,
        files,
        f"Fix or complete {local} (ROME_PATH), or unset ROME_PATH to download {HUB_DATASET}.",
    )


def load_annotations(found: Source) -> Annotations:
    """All questions and faults of the data."""
    return read_annotations(found.folder, found.files)


prepare = partial(store, benchmark="ROME", name="questions")
"""Writes questions as a file that the ``datasets`` library can read: see ``store``."""


def attach_images(dataset: Dataset) -> Dataset:
    """Add a column of images, each decoded only when its document is accessed.

    Saved responses need none; lmms-eval would decode those of the first document.
    """
    if not shows_images():
        return dataset
    folder = source().folder
    return add_image_column(dataset, folder, folder)


def images_folder(task: str) -> Path | None:
    """The folder of the images on this machine; None if there is none. Downloads nothing."""
    folder = load_rome_settings().path or downloaded(HUB_DATASET)
    return folder if folder is not None and folder.is_dir() else None


@cache  # failures are not cached: the next call retries
def _download(images: bool) -> Path:
    return download(
        HUB_DATASET,
        [f"{DATA}/**" if images else HUB_FILE],
        f"ROME could not be downloaded from {HUB_DATASET}",
        "Set ROME_PATH to a local folder with its annotations and images, or retry with a "
        "connection.",
    )


def read_documents(task: str) -> dict[str, list[dict[str, Any]]]:
    """The questions of a task or of the group ``rome``, without images, by task.

    Raises:
        DataError: if there are no data.
    """
    annotations = load_annotations(source())
    subtasks = SUBTASKS if task == "rome" else (task.removeprefix("rome_"),)
    found = {f"rome_{each}": [asdict(one) for one in annotations.of(each)] for each in subtasks}
    return {name: documents for name, documents in found.items() if documents}


def _of(subtask: str) -> list[Question]:
    return load_annotations(source()).of(subtask)


def _metadata(subtask: str) -> dict[str, Any]:
    settings, rome, questions = load_settings(), load_rome_settings(), _of(subtask)
    return {
        "version": 1.0,
        "questions": len(questions),
        "data_sha256": digest(questions),
        "grader": rome.grader,
        "consistency": rome.consistency,
        "judge": settings.judge if asks_judge(rome, subtask) else None,
    }


def __getattr__(name: str) -> Any:
    kind, _, subtask = name.partition("_")
    if subtask in SUBTASKS:
        if kind == "kwargs":
            return {"data_files": {"test": str(prepare(_of(subtask)))}}
        if kind == "metadata":
            return _metadata(subtask)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
