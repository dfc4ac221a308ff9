"""Check of the texts and images of RPTS-Eval for ``lmms-rpts doctor``."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from lmms_rpts.tasks.data import downloaded
from lmms_rpts.tasks.data_checks import Check, data_fault, examined, problem
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.rpts_eval.dataset import HUB_DATASET, IMAGES, check_rpts_eval
from lmms_rpts.tasks.rpts_eval.settings import load_rpts_settings
from lmms_rpts.tasks.rpts_eval.source_format import check_folder, read_records

_NAME = "RPTS-Eval"
_LANGUAGES = ("en", "zh")


def examine() -> list[Check]:
    """Check RPTS_PATH or, if it is not set, the earlier download. Downloads nothing."""
    path = load_rpts_settings().path
    if path is None:
        return _check_download()
    return [
        examined(f"{_NAME} {each}", partial(_describe_folder, path, each)) for each in _LANGUAGES
    ]


def _describe_folder(folder: Path, language: str) -> str:
    check_rpts_eval(language)
    return _complete(folder, language)


def _check_download() -> list[Check]:
    from huggingface_hub import constants

    folder = downloaded(HUB_DATASET)
    if folder is not None:
        return [_check_copy(folder, language) for language in _LANGUAGES]
    remedy = "set RPTS_PATH to a folder with texts_en.json, texts_zh.json and images/"
    if constants.HF_HUB_OFFLINE:
        fault = (
            "RPTS_PATH is not set, no data were downloaded, and HF_HUB_OFFLINE forbids downloads"
        )
        return [problem(_NAME, fault, f"{remedy}, or unset HF_HUB_OFFLINE")]
    said = f"not downloaded yet: the first run will download {HUB_DATASET}"
    return [Check(_NAME, "not checked", said, f"{remedy} to use local data")]


def _check_copy(folder: Path, language: str) -> Check:
    """Check one language of a download; the first run downloads missing files."""
    name, texts, images = f"{_NAME} {language}", folder / f"texts_{language}.json", folder / IMAGES
    lacking = f"incomplete: the first run will download the missing files to {folder}"
    if not texts.is_file():
        return Check(name, "not checked", lacking)
    remedy = f"The download may be damaged: delete {folder} and retry."
    try:
        listed = {file for each in read_records(texts) for file in each.get("visual_clue") or ()}
        if not all((images / str(file)).is_file() for file in listed):
            return Check(name, "not checked", lacking)
        check_folder(texts, images, remedy)
    except DataError as error:
        return data_fault(name, error)
    except ValueError as error:
        return problem(name, f"Cannot read {texts}: {error}", remedy)
    return Check(name, "ok", _complete(folder, language))


def _complete(folder: Path, language: str) -> str:
    count = len(read_records(folder / f"texts_{language}.json"))
    return f"{count:,} instances, all images, in {folder}"
