"""Checks of settings and data before a task of ReForm-Eval runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from lmms_rpts.tasks.data_checks import Check, data_fault, problem
from lmms_rpts.tasks.data_errors import DataError, raise_faults
from lmms_rpts.tasks.images import fault_of_image
from lmms_rpts.tasks.reform_eval.dataset import (
    HUB_DATASET,
    load_samples,
    load_task,
    missing_files,
    prepare,
    remedy,
)
from lmms_rpts.tasks.reform_eval.instructions import load_instructions
from lmms_rpts.tasks.reform_eval.places import is_folder, root_of
from lmms_rpts.tasks.reform_eval.sample import Sample
from lmms_rpts.tasks.reform_eval.sets import TASKS, DataSet, data_sets, groups
from lmms_rpts.tasks.reform_eval.settings import ReformSettings, load_reform_settings
from lmms_rpts.tasks.reform_eval.text_form import MOST_MARKED


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
        if each.kind == "choice" and method == "generation":
            faults += _unmarkable(each, found.samples, settings)
        raise_faults(settings.path or each.file, faults, remedy(settings))
        prepare(load_task(task))


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


def _unmarkable(
    chosen: DataSet, samples: Sequence[Sample], settings: ReformSettings
) -> Iterator[str]:
    """Faults of samples that have too many options to be marked with digits."""
    if settings.marks not in ("number", "random"):
        return
    most = MOST_MARKED["number"]
    for sample in samples:
        if len(sample.options) > most:
            yield (
                f"{chosen.file}: sample {sample.id!r} has {len(sample.options)} options, but "
                f"numbers can mark at most {most}, letters 26 (REFORM_MARKS={settings.marks})"
            )


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


def _checks() -> Iterator[tuple[str, Callable[[], None]]]:
    for task in TASKS:
        yield task, partial(check_reform, task)
    for name, tasks in groups().items():
        yield name, partial(check_reform, *tasks)


CHECKS: dict[str, Callable[[], None]] = dict(_checks())
