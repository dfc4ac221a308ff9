"""Documents of RPTS-Eval and of the demo without images, for commands that need no model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_rpts.tasks.data import downloaded
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.rpts_eval.dataset import DEMO, HUB_DATASET, IMAGES, Source, source
from lmms_rpts.tasks.rpts_eval.source_format import read_records

LANGUAGES: dict[str, tuple[str, ...]] = {
    "rpts_eval": ("en", "zh"),
    "rpts_eval_en": ("en",),
    "rpts_eval_en_free": ("en",),
    "rpts_eval_zh": ("zh",),
    "rpts_eval_zh_free": ("zh",),
}
DEMO_TASK = "rpts_demo"


def read_documents(task: str) -> dict[str, list[dict[str, Any]]]:
    """The documents of a task or group, by the task that they belong to.

    Raises:
        DataError, ReadError: if they can't be read.
    """
    if task == DEMO_TASK:
        return {task: _read(Source("instances.json", DEMO), None)}
    languages = LANGUAGES[task]
    if len(languages) == 1:
        return {task: _read(source(languages[0]), languages[0])}
    return {f"{task}_{each}": _read(source(each), each) for each in languages}


def _read(found: Source, language: str | None) -> list[dict[str, Any]]:
    if found.folder is None:
        from huggingface_hub import hf_hub_download

        try:
            path = Path(hf_hub_download(HUB_DATASET, found.file, repo_type="dataset"))
        except Exception as error:  # the Hub's client raises many kinds; all mean no data
            raise DataError(
                f"{found.file} could not be downloaded from {HUB_DATASET} "
                f"({type(error).__name__}). Set RPTS_PATH to a local folder with it, or retry with "
                "a connection."
            ) from error
    else:
        path = found.folder / found.file
        if not path.is_file():
            raise DataError(
                f"There is no {path}. Set RPTS_PATH to a folder with {found.file}, or unset it to "
                f"download {HUB_DATASET}."
            )
    named = {"language": language} if language else {}
    return [record | named for record in read_records(path)]


def images_folder(task: str) -> Path | None:
    """The folder of a task's images on this machine; None if there is none.

    Nothing is downloaded.
    """
    if task == DEMO_TASK:
        return DEMO / IMAGES
    folder = source(LANGUAGES[task][0]).folder or downloaded(HUB_DATASET)
    return folder / IMAGES if folder is not None and (folder / IMAGES).is_dir() else None
