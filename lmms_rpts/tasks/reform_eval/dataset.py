"""The data of ReForm-Eval: their location, and documents of its tasks for lmms-eval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from lmms_rpts.tasks.data import digest, download, store
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.reform_eval.documents import Document, documents_of
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.online import Dialogue, dialogues_of
from lmms_rpts.tasks.reform_eval.places import HUB_FOLDER, root_of
from lmms_rpts.tasks.reform_eval.sample import Samples
from lmms_rpts.tasks.reform_eval.sets import TASKS, DataSet, Method
from lmms_rpts.tasks.reform_eval.settings import ReformSettings, load_reform_settings
from lmms_rpts.tasks.reform_eval.source_format import files_of, read_samples

HUB_DATASET = "Aweminus/ReForm-Eval-Data"


def missing_files(chosen: DataSet, root: Path) -> list[str]:
    """The missing files of a set."""
    return [name for name in files_of(chosen) if not (root / name).is_file()]


def load_samples(chosen: DataSet, settings: ReformSettings | None = None) -> Samples:
    """Load the samples of a set and its faults; without REFORM_PATH, the set is downloaded.

    Raises:
        DataError: if its files are missing.
    """
    settings = settings or load_reform_settings()
    root = _downloaded(files_of(chosen)) if settings.path is None else root_of(settings.path)
    missing = missing_files(chosen, root)
    if missing:
        raise DataError(
            f"{missing[0]} of {chosen.title} is not in {root} (REFORM_PATH). Set REFORM_PATH to a "
            "folder with the publishers' files (ReForm-Eval-Data, huggingface_data or a parent), "
            f"or unset it to download {HUB_DATASET}."
        )
    found = [(root / name).stat() for name in files_of(chosen)]
    stamps = tuple((each.st_mtime_ns, each.st_size) for each in found)
    return _read(chosen, root, settings.seed, stamps)


@lru_cache(maxsize=128)
def _read(chosen: DataSet, root: Path, seed: int, stamps: tuple[tuple[int, int], ...]) -> Samples:
    return read_samples(chosen, root, seed)


def load_documents(chosen: DataSet, method: Method) -> list[Document]:
    """Load the documents of a task.

    Raises:
        DataError: if the data or the instructions can't be used.
    """
    settings = load_reform_settings()
    found = load_samples(chosen, settings)
    raise_faults(chosen.file, found.faults, remedy(settings))
    instructions = load_instructions(settings.instructions)
    return list(documents_of(chosen, method, found.samples, instructions, settings))


def load_dialogues(chosen: DataSet) -> list[Dialogue]:
    """Load the documents of a task with online history.

    Raises:
        DataError: if the data or the instructions can't be used.
    """
    return list(dialogues_of(load_documents(chosen, "generation")))


def load_task(task: str) -> list[Document] | list[Dialogue]:
    """Load the documents of a task by its name.

    Raises:
        DataError: if the data or the instructions can't be used.
    """
    chosen, method, history = TASKS[task]
    return load_dialogues(chosen) if history == "online" else load_documents(chosen, method)


def prepare(documents: Sequence[Document | Dialogue]) -> Path:
    """Write these documents to a JSONL file that the ``datasets`` library can read.

    Raises:
        DataError: if no folder is writable.
    """
    return store(documents, "REFORM", "documents")


def remedy(settings: ReformSettings) -> str:
    """The remedy for data that can't be used, for messages."""
    if settings.path is None:
        return (
            f"The download from {HUB_DATASET} may be damaged: delete it and retry, or set "
            "REFORM_PATH to a local folder."
        )
    return f"Get the file again from {HUB_DATASET}, or unset REFORM_PATH to download it."


@lru_cache(maxsize=64)  # failures are not cached: the next call retries
def _downloaded(names: tuple[str, ...]) -> Path:
    folder = download(
        HUB_DATASET,
        [f"{HUB_FOLDER}/{name}" for name in names],
        f"{names[0]} could not be downloaded from {HUB_DATASET}",
        "Set REFORM_PATH to a folder with the publishers' files, or retry with a connection.",
    )
    return folder / HUB_FOLDER


def dataset_kwargs(task: str) -> dict[str, Any]:
    """Where the ``datasets`` library finds the documents of a task."""
    return {"data_files": {"test": str(prepare(load_task(task)))}}


def generation_kwargs(chosen: DataSet) -> dict[str, Any]:
    """How a model generates the answers to a set."""
    tokens = load_reform_settings().tokens_of(chosen.name)
    return {"max_new_tokens": tokens, "temperature": 0, "do_sample": False, "until": []}


def metadata(task: str) -> dict[str, Any]:
    """How a task presents and grades its samples, for the results file."""
    chosen, method, history = TASKS[task]
    settings, documents = load_reform_settings(), load_documents(chosen, method)
    instructions = load_instructions(settings.instructions)
    return {
        "version": 1.0,
        "set": chosen.title,
        "samples": len({each.sample for each in documents}),
        "duplicates": settings.duplicates_of(chosen),
        # Without the path of the files, which does not affect the prompts.
        "data_sha256": digest([replace(each, image_file="") for each in documents]),
        "instructions": instructions.source,
        "instructions_sha256": instructions.sha256,
        "wording": settings.wording,
        "order": settings.order,
        "marks": settings.marks,
        "in_context": settings.in_context,
        "max_tokens": settings.max_tokens if method == "generation" else None,
        "prefix": "in the text form, and in solved examples",
        "history": history,
        "reduction": settings.reduction if method == "likelihood" else None,
        "seed": settings.seed,
    }
