"""The data of ReForm-Eval on this machine: loaded, checked before a run, and shown in reports.

The task files refer to ``kwargs_SET``, ``generation_SET`` and ``metadata_SET`` of this module. They
are computed whenever a task is built, not once at import, so that the settings are read again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from PIL import Image

from lmms_rpts.tasks.data import (
    Check,
    DataError,
    digest,
    download,
    downloaded,
    examined,
    raise_faults,
    store,
)
from lmms_rpts.tasks.images import as_rgb, fault_of_image
from lmms_rpts.tasks.reform_eval.benchmark import (
    TASKS,
    DataSet,
    Method,
    ReformSettings,
    data_sets,
    groups,
)
from lmms_rpts.tasks.reform_eval.data import (
    HUB_FOLDER,
    Samples,
    files_of,
    read_samples,
    root_of,
    with_boxes,
)
from lmms_rpts.tasks.reform_eval.duplicates import MARKS
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.prompts import Form, dialogues_of
from lmms_rpts.tasks.reform_eval.record import ReformAsking, ReformInstance

HUB_DATASET = "Aweminus/ReForm-Eval-Data"


def load_samples(chosen: DataSet, settings: ReformSettings | None = None) -> Samples:
    """Load the samples of a set and its faults; without REFORM_PATH, the set is downloaded."""
    settings = settings or ReformSettings.load()
    names = files_of(chosen)
    if settings.path is None:
        root = _downloaded(names)
    else:
        _check_files({"": chosen}, settings)
        root = root_of(settings.path)
    found = [(root / name).stat() for name in names]
    stamps = tuple((each.st_mtime_ns, each.st_size) for each in found)
    return _read(chosen, root, settings.seed, stamps)


@lru_cache(maxsize=128)
def _read(chosen: DataSet, root: Path, seed: int, stamps: tuple[tuple[int, int], ...]) -> Samples:
    return read_samples(chosen, root, seed)


def _downloaded(names: tuple[str, ...]) -> Path:
    folder = download(
        HUB_DATASET,
        tuple(f"{HUB_FOLDER}/{name}" for name in names),
        f"{names[0]} could not be downloaded from {HUB_DATASET}",
        "Set REFORM_PATH to a folder with the publishers' files, or retry with a connection.",
    )
    return folder / HUB_FOLDER


def _missing(chosen: DataSet, root: Path) -> str:
    """The first file of a set that is missing; empty if it is complete."""
    return next((name for name in files_of(chosen) if not (root / name).is_file()), "")


def load_documents(chosen: DataSet, method: Method) -> list[dict[str, Any]]:
    """Load the documents of a task: see ``Form.documents``."""
    settings = ReformSettings.load()
    form = _form(chosen, method, settings)
    found = load_samples(chosen, settings)
    most = len(MARKS["number"])
    numbered = form.shows_options and settings.marks in ("number", "random")
    unmarked = (
        f"{chosen.file}: sample {sample.id!r} has {len(sample.options)} options, but numbers can "
        f"mark at most {most}, letters 26 (marks = {settings.marks})"
        for sample in found.samples
        if numbered and len(sample.options) > most
    )
    raise_faults(settings.path or chosen.file, [*found.faults, *unmarked], _remedy(settings))
    return list(form.documents(found.samples))


def _form(chosen: DataSet, method: Method, settings: ReformSettings) -> Form:
    instructions = load_instructions(settings.instructions)
    published = instructions.source == "published"
    return Form(chosen, method, instructions.of(chosen, method), settings, published)


def load_task(task: str) -> list[dict[str, Any]]:
    """Load the documents of a task by its name, as ``load_documents``."""
    chosen, method, history = TASKS[task]
    documents = load_documents(chosen, method)
    return dialogues_of(documents) if history == "online" else documents


def _remedy(settings: ReformSettings) -> str:
    if settings.path is None:
        return (
            f"The download from {HUB_DATASET} may be damaged: delete it and retry, or set "
            "REFORM_PATH to a local folder."
        )
    return f"Get the file again from {HUB_DATASET}, or unset REFORM_PATH to download it."


def dataset_kwargs(task: str) -> dict[str, Any]:
    """Where the ``datasets`` library finds the documents of a task."""
    return {"data_files": {"test": str(store(load_task(task), "REFORM", "documents"))}}


def generation_kwargs(task: str) -> dict[str, Any]:
    """How a model generates the answers to a set."""
    tokens = ReformSettings.load().tokens_of(TASKS[task].set)
    return {"max_new_tokens": tokens, "temperature": 0, "do_sample": False, "until": []}


def metadata(task: str) -> dict[str, Any]:
    """How a task presents and grades its samples, for the results file."""
    chosen, method, history = TASKS[task]
    settings, documents = ReformSettings.load(), load_documents(chosen, method)
    asking = ReformAsking.of(settings, method, history).model_dump()
    return {
        **asking,
        "version": 1.0,
        "set": chosen.title,
        "samples": len({each["sample"] for each in documents}),
        "duplicates": settings.duplicates_of(chosen),
        # Without the path of the files, which does not affect the prompts.
        "data_sha256": digest([each | {"image_file": ""} for each in documents]),
        "max_tokens": settings.max_tokens if method == "generation" else None,
        "prefix": "in the text form, and in solved examples",
    }


def __getattr__(name: str) -> Any:
    """``kwargs_SET``, ``generation_SET`` and ``metadata_SET`` of the task files."""
    of = {"kwargs": dataset_kwargs, "generation": generation_kwargs, "metadata": metadata}
    kind, _, short = name.partition("_")
    if kind not in of or f"reform_{short}" not in TASKS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return of[kind](f"reform_{short}")


# --- checks --------------------------------------------------------------------------------------


def check_reform(*tasks: str) -> None:
    """Check the settings and data of these tasks; without REFORM_PATH, the data are downloaded."""
    settings = ReformSettings.load()
    load_instructions(settings.instructions)
    _check_files({task: TASKS[task].set for task in tasks}, settings)
    for task in tasks:
        dataset_kwargs(task)


def _check_files(sets: Mapping[str, DataSet], settings: ReformSettings) -> None:
    """Refuse missing files of sets, given by their tasks, with the tasks that can still run."""
    if settings.path is None:
        return
    if not settings.path.is_dir():
        raise DataError(
            f"REFORM_PATH={str(settings.path)!r} is not a folder. Set it to ReForm-Eval-Data in "
            "the publishers' layout (also huggingface_data or a parent), or unset it to download "
            "the data."
        )
    root = root_of(settings.path)
    lacking = {task: name for task, each in sets.items() if (name := _missing(each, root))}
    there = ",".join(task for task in sets if task not in lacking)
    other = f"run --tasks {there} for the others" if there else f"unset it to get {HUB_DATASET}"
    faults = [f"{name} of {sets[task].title} is missing" for task, name in lacking.items()]
    raise_faults(root, faults, f"Complete the folder (REFORM_PATH), or {other}.")


def examine() -> list[Check]:
    """Check which of the 61 sets are complete in REFORM_PATH; no check if it is not set."""
    path = ReformSettings.load().path
    return [] if path is None else [examined("ReForm-Eval", partial(_describe, path))]


def _describe(path: Path) -> str:
    settings, root = ReformSettings.load(), root_of(path)
    load_instructions(settings.instructions)
    _check_files({}, settings)
    there = {each.title: each for each in data_sets().values() if not _missing(each, root)}
    faults, count = [] if there else ["none of the 61 sets is there"], 0
    for each in there.values():
        found = load_samples(each, settings)
        faults += found.faults
        for sample in found.samples:
            if fault := fault_of_image(sample.image.open):
                faults.append(f"{each.file}: cannot read the image of {sample.id!r}: {fault}")
        count += len(found.samples)
    raise_faults(root, faults, _remedy(settings))
    said = f"{len(there)} of {len(data_sets())} sets, {count:,} samples, all images, in {root}"
    lacking = [each.title for each in data_sets().values() if each.title not in there]
    return f"{said}\nmissing: {', '.join(lacking)}" if lacking else said


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
    root, chosen = _root(folder), data_sets().get(instance.set)
    if root is None or chosen is None or _missing(chosen, root):
        return None
    settings = ReformSettings.load().model_copy(update={"path": root})
    samples = load_samples(chosen, settings).samples
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
    return root if root is not None and root.is_dir() else None


def _root(folder: Path | None) -> Path | None:
    path = folder or ReformSettings.load().path or _hub_copy()
    return path and root_of(path)


@lru_cache(maxsize=1)
def _hub_copy() -> Path | None:
    return downloaded(HUB_DATASET)
