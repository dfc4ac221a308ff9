"""Whether the questions and images of the benchmarks are there."""

from __future__ import annotations

from pathlib import Path

from lmms_rpts.analysis.health.checks import Check, problem
from lmms_rpts.settings import Settings

_NAME, _ROME, _CMMATH = "RPTS-Eval", "ROME", "CMMaTH"
_LANGUAGES = ("en", "zh")


def check_data(settings: Settings) -> list[Check]:
    """Check RPTS_PATH; where it is not set, what was downloaded before. Downloads nothing."""
    from lmms_rpts.tasks.rpts_eval.dataset import check_rpts_eval
    from lmms_rpts.tasks.rpts_eval.records import DataError

    if settings.rpts_path is None:
        return _check_download()
    checks = []
    for language in _LANGUAGES:
        name = f"{_NAME} {language}"
        try:
            check_rpts_eval(language)
        except DataError as error:
            checks.append(_fault(name, error))
        else:
            checks.append(_complete(name, settings.rpts_path, language))
    return checks


def check_rome_data(settings: Settings) -> list[Check]:
    """Check ROME_PATH; nothing where it is not set."""
    from lmms_rpts.judging import JudgeConfigurationError
    from lmms_rpts.tasks.faults import DataError
    from lmms_rpts.tasks.rome.checks import check_rome
    from lmms_rpts.tasks.rome.dataset import load_annotations, source
    from lmms_rpts.tasks.rome.records import SUBTASKS

    if settings.rome_path is None:
        return []
    try:
        check_rome(*SUBTASKS)
        count = len(load_annotations(source()).questions)
    except DataError as error:
        return [_fault(_ROME, error)]
    except JudgeConfigurationError as error:
        return [problem(_ROME, error)]
    return [Check(_ROME, "ok", f"{count:,} questions, all images, in {settings.rome_path}")]


def check_cmmath_data(settings: Settings) -> list[Check]:
    """Check CMMATH_PATH; nothing where it is not set. Downloads a data set that it names."""
    from lmms_rpts.judging import JudgeConfigurationError
    from lmms_rpts.tasks.cmmath.checks import check_cmmath
    from lmms_rpts.tasks.cmmath.dataset import load_problems, source
    from lmms_rpts.tasks.faults import DataError

    if settings.cmmath_path is None:
        return []
    try:
        check_cmmath()
        found = source()
        read = load_problems(found)
    except DataError as error:
        return [_fault(_CMMATH, error)]
    except JudgeConfigurationError as error:
        return [problem(_CMMATH, error)]
    left_out = f" ({read.left_out:,} without an answer left out)" if read.left_out else ""
    said = f"{len(read.problems):,} problems{left_out}, all images, in {found.file.parent}"
    return [Check(_CMMATH, "ok", said)]


def _check_download() -> list[Check]:
    from huggingface_hub import constants

    from lmms_rpts.tasks.rpts_eval.dataset import HUB_DATASET
    from lmms_rpts.tasks.rpts_eval.documents import downloaded_folder

    folder = downloaded_folder()
    if folder is not None:
        return [_check_copy(folder, language) for language in _LANGUAGES]
    remedy = "set RPTS_PATH to a folder with texts_en.json, texts_zh.json and images/"
    if constants.HF_HUB_OFFLINE:
        fault = "RPTS_PATH is not set, nothing was downloaded yet, and HF_HUB_OFFLINE forbids it"
        return [problem(_NAME, fault, f"{remedy}, or leave out HF_HUB_OFFLINE")]
    said = f"not here yet: the first run will download {HUB_DATASET}"
    return [Check(_NAME, "not checked", said, f"{remedy}, to use these instead")]


def _check_copy(folder: Path, language: str) -> Check:
    """Check one language of a download; what lacks of it comes with the first run."""
    from lmms_rpts.tasks.rpts_eval.dataset import IMAGES
    from lmms_rpts.tasks.rpts_eval.records import DataError, check_folder, read_records

    name, texts, images = f"{_NAME} {language}", folder / f"texts_{language}.json", folder / IMAGES
    lacking = f"not whole yet: the first run will download what lacks in {folder}"
    if not texts.is_file():
        return Check(name, "not checked", lacking)
    remedy = f"The download may be damaged: delete {folder} and try again."
    try:
        listed = {file for each in read_records(texts) for file in each.get("visual_clue") or ()}
        if not all((images / str(file)).is_file() for file in listed):
            return Check(name, "not checked", lacking)
        check_folder(texts, images, remedy)
    except DataError as error:
        return _fault(name, error)
    except ValueError as error:
        return problem(name, f"{texts} can't be read: {error}", remedy)
    return _complete(name, folder, language)


def _complete(name: str, folder: Path, language: str) -> Check:
    from lmms_rpts.tasks.rpts_eval.records import read_records

    count = len(read_records(folder / f"texts_{language}.json"))
    return Check(name, "ok", f"{count:,} instances, all images, in {folder}")


def _fault(name: str, error: Exception) -> Check:
    """Where several faults are listed, the remedy is the last line."""
    said, lines, remedy = str(error).rpartition("\n")
    return problem(name, said, remedy) if lines else problem(name, error)
