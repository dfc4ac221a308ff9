"""The data set of RPTS-Eval: its location, and the join of its images and texts.

The YAML files refer to ``kwargs_en``, ``kwargs_zh`` and ``kwargs_demo`` of this module. These are
computed whenever a task is built, not once at import, so that RPTS_PATH is read again. So are
``metadata`` and ``metadata_demo``, which write the settings to lmms-eval's results file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.data import add_image_column, download
from lmms_rpts.tasks.data_errors import DataError
from lmms_rpts.tasks.rpts_eval.settings import load_rpts_settings
from lmms_rpts.tasks.rpts_eval.source_format import check_folder

if TYPE_CHECKING:
    from datasets import Dataset

HUB_DATASET = "nimingshuaishi/RPTS-Eval"
DEMO = Path(__file__).parents[2] / "demo"
IMAGES = "images"

_FIELDS = (
    "id",
    "language",
    "ability",
    "relation",
    "statement",
    "context",
    "reasoning",
    "textual_clue",
    "visual_clue",
    "answer",
)


@dataclass(frozen=True, slots=True)
class Source:
    """Where the instances of one language are: a local folder, or the Hub."""

    file: str
    folder: Path | None

    @property
    def address(self) -> str:
        """The address that the ``datasets`` library loads."""
        if self.folder is None:
            return f"hf://datasets/{HUB_DATASET}/{self.file}"
        return str(self.folder / self.file)


def source(language: str) -> Source:
    """Where the instances of ``language`` are, according to RPTS_PATH."""
    return Source(f"texts_{language}.json", load_rpts_settings().path)


def check_rpts_eval(language: str) -> None:
    """Check the instances and images of one language; downloads them if RPTS_PATH is not set.

    Raises:
        DataError: the message says what is missing or wrong, and the remedy.
    """
    found = source(language)
    if found.folder is None:
        folder = _download()
        remedy = f"The download from {HUB_DATASET} may be damaged: delete {folder} and retry."
    else:
        folder = found.folder
        if not (folder / found.file).is_file():
            raise DataError(
                f"RPTS_PATH={str(folder)!r} is not a folder with {found.file}. "
                "Set it to a folder with texts_en.json, "
                f"texts_zh.json and images/, or unset it to download {HUB_DATASET}."
            )
        remedy = (
            f"Fix or complete {folder} (RPTS_PATH), or unset RPTS_PATH to download {HUB_DATASET}."
        )
    check_folder(folder / found.file, folder / IMAGES, remedy)


def attach_images(dataset: Dataset, folder: Callable[[], Path], language: str | None) -> Dataset:
    """Add to the texts the language, every optional field, and a column of images.

    An image is decoded only when its document is accessed.
    """
    images = folder()
    if language is not None:
        if "language" in dataset.column_names:
            dataset = dataset.remove_columns("language")
        dataset = dataset.add_column("language", [language] * len(dataset))
    for field in _FIELDS:
        if field not in dataset.column_names:
            dataset = dataset.add_column(field, [None] * len(dataset))
    dataset = dataset.select_columns(list(_FIELDS))
    return add_image_column(dataset, images, images.parent, "visual_clue")


def _images_folder() -> Path:
    return (load_rpts_settings().path or _download()) / IMAGES


def _download() -> Path:
    return download(
        HUB_DATASET,
        ["texts_en.json", "texts_zh.json", f"{IMAGES}/**"],
        f"RPTS-Eval could not be downloaded from {HUB_DATASET}",
        "Set RPTS_PATH to a local folder with texts_en.json, texts_zh.json and images/, or "
        "retry with a connection.",
    )


def _metadata(default_judge: str | None) -> dict[str, Any]:
    settings = load_settings()
    chosen = {
        "judge": settings.judge or default_judge,
        "prompt_version": Prompts(settings.prompts).version,
        "judge_samples": settings.judge_samples,
        "temperature": settings.temperature,
        "jury": settings.jury if settings.jury != "mean" else None,
        "transform": settings.transform,
        "decay": settings.decay,
        "focus_height": settings.focus_height,
    }
    # Settings that are not set have their values in the task's filter_list.
    return {"version": 1.0} | {name: value for name, value in chosen.items() if value is not None}


process_docs_en = partial(attach_images, folder=_images_folder, language="en")
process_docs_zh = partial(attach_images, folder=_images_folder, language="zh")
process_docs_demo = partial(attach_images, folder=lambda: DEMO / IMAGES, language=None)


def __getattr__(name: str) -> Any:
    if name in ("kwargs_en", "kwargs_zh"):
        return {"data_files": {"test": source(name.removeprefix("kwargs_")).address}}
    if name == "kwargs_demo":
        return {"data_files": {"test": str(DEMO / "instances.json")}}
    if name in ("metadata", "metadata_demo"):
        return _metadata("lexical" if name == "metadata_demo" else None)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
