"""The data of ReForm-Eval on this machine: loaded, checked before a run, and shown in reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.tasks.data import digest, download, downloaded, store
from lmms_rpts.tasks.data_checks import Check, data_fault, problem
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.images import as_rgb, fault_of_image
from lmms_rpts.tasks.reform_eval.data import (
    HUB_FOLDER,
    Sample,
    Samples,
    files_of,
    is_folder,
    read_samples,
    root_of,
)
from lmms_rpts.tasks.reform_eval.documents import Dialogue, Document, dialogues_of, documents_of
from lmms_rpts.tasks.reform_eval.images import with_boxes
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformInstance
from lmms_rpts.tasks.reform_eval.sets import TASKS, DataSet, Method, data_sets, groups
from lmms_rpts.tasks.reform_eval.settings import ReformSettings, load_reform_settings
from lmms_rpts.tasks.reform_eval.text_form import MOST_MARKED

HUB_DATASET = "Aweminus/ReForm-Eval-Data"
_MOST = MOST_MARKED["number"]


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


def load_task(task: str) -> list[Document] | list[Dialogue]:
    """Load the documents of a task by its name.

    Raises:
        DataError: if the data or the instructions can't be used.
    """
    chosen, method, history = TASKS[task]
    documents = load_documents(chosen, method)
    return list(dialogues_of(documents)) if history == "online" else documents


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
    """Where the ``datasets`` library finds the documents of a task.

    Raises:
        DataError: if they can't be used, or no folder is writable.
    """
    return {"data_files": {"test": str(store(load_task(task), "REFORM", "documents"))}}


def generation_kwargs(chosen: DataSet) -> dict[str, Any]:
    """How a model generates the answers to a set."""
    tokens = load_reform_settings().tokens_of(chosen.name)
    return {"max_new_tokens": tokens, "temperature": 0, "do_sample": False, "until": []}


def metadata(task: str) -> dict[str, Any]:
    """How a task presents and grades its samples, for the results file."""
    chosen, method, history = TASKS[task]
    settings, documents = load_reform_settings(), load_documents(chosen, method)
    asking = ReformAsking.of(settings, method, history).model_dump()
    return {
        **asking,
        "version": 1.0,
        "set": chosen.title,
        "samples": len({each.sample for each in documents}),
        "duplicates": settings.duplicates_of(chosen),
        # Without the path of the files, which does not affect the prompts.
        "data_sha256": digest([replace(each, image_file="") for each in documents]),
        "max_tokens": settings.max_tokens if method == "generation" else None,
        "prefix": "in the text form, and in solved examples",
    }


# --- checks --------------------------------------------------------------------------------------


def check_reform(*tasks: str) -> None:
    """Check the settings and data of these tasks; without REFORM_PATH, the data are downloaded.

    Raises:
        DataError: listing the first faults, each with its file and record, and the remedy.
        SettingError: if a setting has an invalid value.
    """
    settings = load_reform_settings()
    instructions = load_instructions(settings.instructions)
    chosen = [TASKS[task] for task in tasks]
    for each, method, _ in chosen:
        instructions.of(each, method)
    _check_files([each for each, *_ in chosen], tasks, settings)
    for task, (each, method, _) in zip(tasks, chosen, strict=True):
        found = load_samples(each, settings)
        faults = list(found.faults)
        if method == "generation" and settings.marks in ("number", "random"):
            faults += [
                f"{each.file}: sample {sample.id!r} has {len(sample.options)} options, but numbers "
                f"can mark at most {_MOST}, letters 26 (marks = {settings.marks})"
                for sample in found.samples
                if len(sample.options) > _MOST
            ]
        raise_faults(settings.path or each.file, faults, remedy(settings))
        dataset_kwargs(task)


def _check_files(chosen: Sequence[DataSet], tasks: Sequence[str], settings: ReformSettings) -> None:
    """Refuse missing files early, with the tasks that can still run."""
    if settings.path is None:
        return
    if not is_folder(settings.path):
        raise DataError(
            f"REFORM_PATH={str(settings.path)!r} is not a folder. Set it to ReForm-Eval-Data in "
            "the publishers' layout (also huggingface_data or a parent), or unset it to download "
            "the data."
        )
    root = root_of(settings.path)
    lacking = {each.title: name for each in chosen for name in missing_files(each, root)[:1]}
    if lacking:
        there = [
            task for task, each in zip(tasks, chosen, strict=True) if each.title not in lacking
        ]
        runnable = (
            f"run --tasks {','.join(there)} for the others"
            if there
            else f"unset it to download the data from {HUB_DATASET}"
        )
        faults = [f"{name} of {title} is missing" for title, name in lacking.items()]
        raise_faults(root, faults, f"Complete the folder (REFORM_PATH), or {runnable}.")


def examine() -> list[Check]:
    """Check which of the 61 sets are complete in REFORM_PATH; no checks if it is not set."""
    settings = load_reform_settings()
    if settings.path is None:
        return []
    name = "ReForm-Eval"
    try:
        load_instructions(settings.instructions)
        _check_files([], [], settings)
    except DataError as error:
        return [data_fault(name, error)]
    root = root_of(settings.path)
    there = [each for each in data_sets().values() if not missing_files(each, root)]
    if not there:
        return [problem(name, f"none of the 61 sets is in {root}", "set REFORM_PATH to the data")]
    broken = {each: fault for each in there for fault in _broken(each, settings)[:1]}
    checks = [
        problem(f"{name}, {each.title}", text, remedy(settings)) for each, text in broken.items()
    ]
    whole = [each for each in there if each not in broken]
    count = sum(len(load_samples(each, settings).samples) for each in whole)
    said = f"{len(whole)} of {len(data_sets())} sets, {count:,} samples, all images, in {root}"
    lacking = [each.title for each in data_sets().values() if each not in there]
    if lacking:
        said += f"\nmissing: {', '.join(lacking)}"
    return [*checks, Check(name, "ok", said)] if whole else checks


def _broken(chosen: DataSet, settings: ReformSettings) -> list[str]:
    """The faults of a set, with its images decoded completely."""
    found = load_samples(chosen, settings)
    faults = list(found.faults)
    for sample in found.samples:
        fault = fault_of_image(sample.image.open)
        if fault:
            faults.append(f"{chosen.file}: cannot read the image of {sample.id!r}: {fault}")
    return faults


CHECKS: dict[str, Callable[[], None]] = {
    **{task: partial(check_reform, task) for task in TASKS},
    **{name: partial(check_reform, *tasks) for name, tasks in groups().items()},
}


# --- images for reports --------------------------------------------------------------------------


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
    samples = _shown(instance.set, root)
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
def _shown(name: str, root: Path) -> tuple[Sample, ...]:
    settings = load_reform_settings().model_copy(update={"path": root})
    try:
        return load_samples(data_sets()[name], settings).samples
    except DataError:
        return ()
