"""Data of RPTS-Eval and of the demo: their place, their checks, their documents and their scorer.

The YAML files refer to ``kwargs_en``, ``kwargs_zh`` and ``kwargs_demo`` of this module. These are
computed whenever a task is built, not once at import, so that RPTS_PATH is read again. So are
``metadata`` and ``metadata_demo``, which write the settings to lmms-eval's results file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from lmms_rpts.base.errors import UserError
from lmms_rpts.base.rows import read_objects
from lmms_rpts.base.schema import Several, Text
from lmms_rpts.base.settings import Place, Settings, Table, load_settings, setting
from lmms_rpts.judging.images import ImageError
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.scoring.options import Options, choose_judge
from lmms_rpts.scoring.question import (
    Question,
    ReasoningDocument,
    Stance,
    field_faults,
    gold_faults,
)
from lmms_rpts.scoring.score import RptsScorer
from lmms_rpts.tasks.data import (
    Check,
    DataError,
    HubData,
    downloaded,
    examined,
    problem,
    raise_faults,
)

if TYPE_CHECKING:
    from datasets import Dataset

HUB_DATASET = "nimingshuaishi/RPTS-Eval"
DEMO = Path(__file__).parents[2] / "demo"
DEMO_TASK = "rpts_demo"
DEMO_JUDGE = "lexical"
"""The judge of the demo, if the settings name none: it needs no key."""
IMAGES = "images"
LANGUAGES: dict[str, tuple[str, ...]] = {
    "rpts_eval": ("en", "zh"),
    "rpts_eval_en": ("en",),
    "rpts_eval_en_free": ("en",),
    "rpts_eval_zh": ("zh",),
    "rpts_eval_zh_free": ("zh",),
}
"""The languages of each task and group."""


class RptsSettings(Table, env_prefix="RPTS_"):
    """The settings of RPTS-Eval."""

    TABLE: ClassVar[str] = "rpts"
    path: Place | None = setting(None, "folder of RPTS-Eval; without it, downloaded")


_SET = "to a folder with texts_en.json, texts_zh.json and images/"
_DATA = HubData(RptsSettings, HUB_DATASET, _SET)


class _Instance(ReasoningDocument):
    """An instance in the publishers' files, whose names give the language."""

    id: Any
    ability: Several[Text]
    answer: Stance
    language: Any = None


_COLUMNS = (
    *("id", "ability", "statement", "context", "reasoning", "textual_clue", "visual_clue"),
    *("answer", "language", "relation"),
)


def _texts(language: str) -> str:
    return f"texts_{language}.json"


# --- checks --------------------------------------------------------------------------------------


def check_rpts_eval(language: str, folder: Path | None = None) -> None:
    """Check the instances and images of one language.

    Args:
        folder: None: RPTS_PATH, else the Hub's copy, downloaded if necessary.

    Raises:
        DataError: the message says what is missing or wrong, and the remedy.
    """
    local = RptsSettings.load().path
    folder = folder or _DATA.folder(_texts(language), f"{IMAGES}/**")
    texts = folder / _texts(language)
    remedy = f"The download from {HUB_DATASET} may be damaged: delete {folder} and retry."
    if local is not None:
        remedy = (
            f"Fix or complete {folder} (RPTS_PATH), or unset RPTS_PATH to download {HUB_DATASET}."
        )
        if not texts.is_file():
            raise DataError(
                f"RPTS_PATH={str(folder)!r} is not a folder with {texts.name}. Set it {_SET}, or "
                f"unset it to download {HUB_DATASET}."
            )
    check_folder(texts, folder / IMAGES, remedy)


def check_folder(texts: Path, images: Path, remedy: str) -> None:
    """Check a file of instances and the images in the folder ``images`` that it names.

    Raises:
        DataError: listing the first faults, each with its instance and file, and the remedy.
    """
    try:
        # Unchanged files are checked once: tasks are matched, loaded and built one after another.
        stamp = (texts.stat().st_mtime_ns, images.stat().st_mtime_ns)
    except OSError as error:
        raise DataError(f"{error.filename}: {error.strerror}. {remedy}") from None
    raise_faults(texts, _faults(texts, images, stamp), remedy)


@lru_cache(maxsize=8)
def _faults(texts: Path, images: Path, stamp: tuple[int, int]) -> list[str]:
    from lmms_rpts.tasks.images import named_faults

    try:
        records = read_records(texts)
    except UserError as error:
        return [f"cannot be read: {error}"]
    named = [
        (_name(record, at), record["visual_clue"])
        for at, record in enumerate(records)
        if not any(fault.startswith("visual_clue") for fault in field_faults(record, _Instance))
    ]
    return [*_field_faults(records), *named_faults(named, images, images.parent)]


def _field_faults(records: list[dict[str, Any]]) -> Iterator[str]:
    seen: set[str] = set()
    for at, record in enumerate(records):
        name = _name(record, at)
        for fault in field_faults(record, _Instance) or gold_faults(record):
            yield f"{name}: {fault}"
        if "id" in record and str(record["id"]) in seen:
            yield f"{name}: the id occurs more than once"
        seen.add(str(record.get("id")))


def _name(record: Mapping[str, Any], at: int) -> str:
    return f"instance {record['id']!r}" if "id" in record else f"entry {at}"


def _check(*languages: str, judge: str | None = None) -> None:
    settings = load_settings()
    choose_judge(settings, judge, Options.of(settings, evidence="facts"))
    if settings.validity is not None:
        from lmms_rpts.runs.validity import read_validity_file

        read_validity_file(settings.validity)
    for language in languages:
        check_rpts_eval(language)


CHECKS: dict[str, Callable[[], None]] = {
    **{task: partial(_check, *languages) for task, languages in LANGUAGES.items()},
    DEMO_TASK: partial(_check, judge=DEMO_JUDGE),
}


def examine() -> list[Check]:
    """Check RPTS_PATH or, if it is not set, the earlier download. Downloads nothing."""
    from huggingface_hub import constants

    local = RptsSettings.load().path
    folder = local or downloaded(HUB_DATASET)
    if folder is None and constants.HF_HUB_OFFLINE:
        fault = (
            "RPTS_PATH is not set, no data were downloaded, and HF_HUB_OFFLINE forbids downloads"
        )
        return [problem("RPTS-Eval", fault, f"set RPTS_PATH {_SET}, or unset HF_HUB_OFFLINE")]
    if folder is None:
        said = f"not downloaded yet: the first run will download {HUB_DATASET}"
        return [Check("RPTS-Eval", "not checked", said, f"set RPTS_PATH {_SET} to use local data")]
    lacking = f"incomplete: the first run will download the missing files to {folder}"
    return [
        Check(f"RPTS-Eval {each}", "not checked", lacking)
        if local is None and _is_incomplete(folder, each)
        else examined(f"RPTS-Eval {each}", partial(_describe, folder, each))
        for each in ("en", "zh")
    ]


def _describe(folder: Path, language: str) -> str:
    check_rpts_eval(language, folder)
    count = len(read_records(folder / _texts(language)))
    return f"{count:,} instances, all images, in {folder}"


def _is_incomplete(folder: Path, language: str) -> bool:
    """Whether files of a language are missing; not if the texts cannot be read."""
    texts, images = folder / _texts(language), folder / IMAGES
    if not texts.is_file():
        return True
    try:
        listed = {file for each in read_records(texts) for file in each.get("visual_clue") or ()}
    except UserError:
        return False
    return not all((images / str(file)).is_file() for file in listed)


# --- documents -----------------------------------------------------------------------------------


def read_records(path: Path) -> list[dict[str, Any]]:
    """The instances of a file.

    Raises:
        DataError, ReadError: if it has none, or one that cannot be read.
    """
    found = [dict(row.fields) for row in read_objects(path)]
    if not found:
        raise DataError(f"{path} contains no instance")
    return found


def read_documents(task: str) -> dict[str, list[dict[str, Any]]]:
    """The documents of a task or group without images, by the task that they belong to.

    Raises:
        DataError, ReadError: if they can't be read.
    """
    if task == DEMO_TASK:
        return {task: read_records(DEMO / "instances.json")}
    languages, found = LANGUAGES[task], {}
    for each in languages:
        path = _DATA.folder(_texts(each)) / _texts(each)
        if not path.is_file():
            raise DataError(
                f"There is no {path}. Set RPTS_PATH to a folder with {path.name}, or unset it to "
                f"download {HUB_DATASET}."
            )
        records = [record | {"language": each} for record in read_records(path)]
        found[task if len(languages) == 1 else f"{task}_{each}"] = records
    return found


def images_folder(task: str) -> Path | None:
    """The folder of a task's images on this machine; None if there is none. Downloads nothing."""
    if task == DEMO_TASK:
        return DEMO / IMAGES
    folder = _DATA.present()
    return folder / IMAGES if folder is not None and (folder / IMAGES).is_dir() else None


def attach_images(dataset: Dataset, language: str | None) -> Dataset:
    """Add to the texts the language, every optional field, and a column of images.

    An image is decoded only when its document is accessed. ``language``: None for the demo, whose
    instances name theirs.
    """
    from lmms_rpts.tasks.images import add_image_column

    folder = DEMO if language is None else _DATA.folder(_texts(language), f"{IMAGES}/**")
    given: dict[str, list[Any]] = {
        name: [None] * len(dataset) for name in _COLUMNS if name not in dataset.column_names
    }
    if language is not None:
        given["language"] = [language] * len(dataset)
    for name, values in given.items():
        if name in dataset.column_names:
            dataset = dataset.remove_columns(name)
        dataset = dataset.add_column(name, values)
    dataset = dataset.select_columns(list(_COLUMNS))
    return add_image_column(dataset, folder / IMAGES, folder, "visual_clue")


process_docs_en = partial(attach_images, language="en")
process_docs_zh = partial(attach_images, language="zh")
process_docs_demo = partial(attach_images, language=None)


# --- scoring outside lmms-eval, as the task files say --------------------------------------------


def rpts_scorer(task: str, settings: Settings) -> RptsScorer:
    """The scorer of a task; its questions have images if the judge may see them.

    Raises:
        JudgeConfigurationError: if no judge is configured, or it cannot be used.
    """
    options = Options.of(settings, mode="auto", evidence="facts")
    default = DEMO_JUDGE if task == DEMO_TASK else None
    judge = choose_judge(settings, default, options).name
    folder = None if options.evidence == "facts" else images_folder(task)
    if folder is None:
        return RptsScorer(judge, options=options)
    longest = settings.image_size
    return RptsScorer(judge, options=options, question=partial(_seen, folder, longest))


def _seen(folder: Path, longest: int, doc: Mapping[str, Any]) -> Question:
    """The question of a document, with its images from this folder, and none outside of it."""
    question = Question.of(doc)

    def load() -> list[Any]:
        from PIL import Image

        from lmms_rpts.tasks.images import as_rgb, outside_fault

        paths = [folder / name for name in question.visual_clue]
        if fault := next(filter(None, (outside_fault(path, folder) for path in paths)), None):
            raise ImageError(fault)
        return [as_rgb(Image.open(path)) for path in paths]

    return question.with_images(load, longest)


def _metadata(default_judge: str | None) -> Mapping[str, Any]:
    settings = load_settings()
    chosen = {
        "judge": settings.judge or default_judge,
        "prompt_version": Prompts(settings.prompts).version(),
        "temperature": settings.temperature,
        "transform": settings.transform,
        "decay": settings.decay,
        "focus_height": settings.focus_height,
    }
    # Settings that are not set have their values in the task's filter_list.
    return {"version": 1.0} | {name: value for name, value in chosen.items() if value is not None}


def __getattr__(name: str) -> Any:
    which = name.partition("_")[2]
    if name in ("kwargs_en", "kwargs_zh"):
        return {"data_files": {"test": str(_DATA.folder(_texts(which)) / _texts(which))}}
    if name == "kwargs_demo":
        return {"data_files": {"test": str(DEMO / "instances.json")}}
    if name in ("metadata", "metadata_demo"):
        return _metadata(DEMO_JUDGE if which else None)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
