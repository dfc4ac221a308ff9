"""Data of CMMaTH: problems as published, their checks, and the documents for lmms-eval.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems. The YAML files
refer to ``kwargs`` and ``metadata`` of this module. These are computed whenever a task is built,
not once at import, so that CMMATH_PATH is read again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from loguru import logger
from pydantic import AfterValidator, Field, PlainValidator, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from lmms_rpts.escaping import storable
from lmms_rpts.rows import ReadError, Row, read_rows
from lmms_rpts.schema import all_faults, wrong
from lmms_rpts.settings import load_settings
from lmms_rpts.tasks.cmmath.benchmark import CmmathSettings
from lmms_rpts.tasks.cmmath.notation import blanks, without_image_tags
from lmms_rpts.tasks.data import (
    Check,
    DataError,
    Identity,
    Line,
    digest,
    download,
    examined,
    image_names,
    named,
    raise_faults,
    store,
)
from lmms_rpts.tasks.images import add_image_column, named_faults

if TYPE_CHECKING:
    from datasets import Dataset

REPOSITORY = "https://github.com/zzli2022/CMMaTH"
FILE = "cmmath.json"
IMAGES = "images"

Form = Literal["choice", "parts", "blank", "open"]

_ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,95}")
_NO_ANSWER = frozenset({"", "暂无", "暂无答案"})
_PART = r"[(（] ?\$*(\d)\$* ?[)）]"
_PART_ON_ITS_LINE = re.compile(rf"^[ \t\u3000]{{0,8}}{_PART}", re.MULTILINE)
_PART_BEHIND_ANOTHER = re.compile(rf"(?:^|[\s;；。．.，,、]){_PART}")
_OPTION = re.compile(
    r"^[ \t]{0,8}([A-H]) ?[.．、:：)）]|(?<=[\s?？。．)）])([A-H])[.．:：)）]", re.MULTILINE
)
_BETWEEN_LETTERS = re.compile(r"[\s$,、;.&和及{}]")


# --- problems ------------------------------------------------------------------------------------


def _label(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise wrong("a string", value)
    return None if value is None else storable(value)


def _answer(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (_label(str(value) if number else value) or "").strip()


def _year(value: object) -> int | None:
    number = value
    if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value):
        number = int(value)
    if number is None or (type(number) is int and abs(number) < 10**9):
        return number
    raise wrong("a whole number", value)


def _category(value: object) -> str | None:
    found = value.get("multimodal-category") if isinstance(value, dict) else value
    if not isinstance(value, dict | None) or not isinstance(found, str | None):
        raise wrong("an object with a string as multimodal-category", value)
    return _label(found)


def _solution(value: object) -> str:
    return without_image_tags(_label(value) or "").strip()


_Label = Annotated[str | None, PlainValidator(_label)]
_Year = Annotated[int | None, PlainValidator(_year)]


@checked_dataclass(frozen=True)
class Problem:
    """One problem, in the fields that a task's documents have.

    Attributes:
        id: ``problem_id``, as text.
        language: always ``zh``.
        question: in the publishers' notation.
        reference: the publishers' answer, in their notation.
        answer_type: as published, though problems of several parts are called choices there.
        form: what the question really asks for: options, several parts, blanks, or none of these.
        analysis: the publishers' solution, without images; empty if there is none.
        ocr: the text that the publishers recognized in the images, in their format; may be empty.
        category: of the image, in English, as published.
        grade_id: the school year, from 1.
        grade_group: 1 primary, 2 middle, 3 high school.
        knowledge_point: nested, as published.
        skill: as published.
        img_path: images relative to the folder of images, in their order.
    """

    _: KW_ONLY
    id: Annotated[Identity, Field(alias="problem_id")]
    language: str = "zh"
    question: Annotated[Line, AfterValidator(str.strip)]
    reference: Annotated[str, PlainValidator(_answer), Field(alias="answer")]
    answer_type: Literal["choice", "free_form"]
    form: Form
    analysis: Annotated[str, PlainValidator(_solution)] = ""
    ocr: Annotated[str, PlainValidator(lambda value: (_label(value) or "").strip())] = ""
    category: Annotated[str | None, PlainValidator(_category), Field(alias="metadata")] = None
    grade_id: _Year = None
    grade_group: _Year = None
    knowledge_point: _Label = None
    skill: _Label = None
    img_path: tuple[str, ...]


_PROBLEM = TypeAdapter(Problem)


@dataclass(frozen=True, slots=True)
class Problems:
    """The valid problems of a file that have an answer, and the faults of others.

    Attributes:
        file: the file; its images are in the folder ``images`` next to it.
        remedy: what to do if the data are wrong.
        faults: each after whether it is one of an image, which matters only where they are shown.
        left_out: how many have no answer.
    """

    file: Path
    remedy: str
    problems: tuple[Problem, ...]
    faults: tuple[tuple[bool, str], ...]
    left_out: int

    @property
    def images(self) -> Path:
        """The folder of the images."""
        return self.file.parent / IMAGES


def read_file(path: Path, remedy: str = "") -> Problems:
    """The problems of a file; one that can't be read has a fault and no problem."""
    try:
        rows = list(read_rows(path))
    except ReadError as error:
        return Problems(path, remedy, (), ((False, f"{error} (fix it)"),), 0)
    problems: list[Problem] = []
    faults: list[tuple[bool, str]] = []
    seen: set[str] = set()
    left_out = 0
    for row in rows:
        name, found, image_fault = _read(row)
        if name in seen:
            faults.append((False, f"{name} occurs more than once"))
            continue
        seen.add(name)
        if not isinstance(found, Problem):
            faults += ((False, fault) for fault in found)
        elif found.reference.strip(" \t\r\n$.。．") in _NO_ANSWER:
            left_out += 1  # its images are not used
            continue
        else:
            problems.append(found)
        faults += [(True, f"{name}: {image_fault}")] if image_fault else []
    return Problems(path, remedy, tuple(problems), tuple(faults), left_out)


def _read(row: Row) -> tuple[str, Problem | list[str], str]:
    """The name of a row, its problem or its faults, and the fault of its images if it has one."""
    name = f"{row.file.name}, {row.place}"
    if row.fault:
        return name, [f"{name} {row.fault}"], ""
    entry, image_fault = dict(row.fields), ""
    name = named("problem", entry.get("problem_id")) or name
    try:
        entry["img_path"] = image_names(entry.get("image"))
    except ValueError as error:
        entry["img_path"], image_fault = (), f"image {error}"
    question, answer = (str(entry.get(each, "")).strip() for each in ("question", "answer"))
    entry["form"] = form_of(question, answer)
    try:
        return name, _PROBLEM.validate_python(entry), image_fault
    except ValidationError as error:
        return name, [f"{name}: {fault}" for fault in all_faults(error)], image_fault


def form_of(question: str, reference: str) -> Form:
    """What a question really asks for, by its text and its answer.

    Args:
        question, reference: in the publishers' notation.
    """
    if _letters(reference) and {"A", "B"} <= _options(question):
        return "choice"
    if _has_parts(_PART_ON_ITS_LINE, question) or _has_parts(_PART_BEHIND_ANOTHER, reference):
        return "parts"
    return "blank" if blanks(question) else "open"


def _letters(reference: str) -> str:
    """The letters of an answer that consists of option letters, such as ``A\\nC``."""
    bare = _BETWEEN_LETTERS.sub("", unicodedata.normalize("NFKC", reference))
    return bare if re.fullmatch(r"[A-H]{1,8}", bare) and len(set(bare)) == len(bare) else ""


def _options(question: str) -> set[str]:
    return {one or other for one, other in _OPTION.findall(question)}


def _has_parts(pattern: re.Pattern[str], text: str) -> bool:
    return {"1", "2"} <= set(pattern.findall(text))


# --- where they are ------------------------------------------------------------------------------


def source(images: bool = False) -> tuple[Path, str]:
    """The file of problems at CMMATH_PATH, downloaded if necessary, and what to do if it is wrong.

    Args:
        images: whether the images are needed, too; they are not checked here.

    Raises:
        DataError: if CMMATH_PATH is not set, or has no file of problems.
    """
    path = CmmathSettings.load().path
    if path is None:
        raise DataError(
            "CMMATH_PATH is not set, and CMMaTH is not on the Hub: git clone "
            f"{REPOSITORY} and set CMMATH_PATH to its folder with {FILE} and {IMAGES}/."
        )
    place = Path(path).expanduser()
    file = place / FILE if place.is_dir() else place
    if place.is_dir() and not file.is_file():
        raise DataError(f"CMMATH_PATH={path!r} is not a folder with {FILE}. {_allowed()}")
    if file.is_file():
        whole = f"{REPOSITORY} has the complete data."
        return file, f"Fix or complete {file.parent} (CMMATH_PATH); {whole}"
    if place.exists() or not _ON_HUB.fullmatch(path):
        raise DataError(f"CMMATH_PATH={path!r} is neither a folder nor a file. {_allowed()}")
    folder = _download(path, images)
    return (
        folder / FILE,
        f"The download from {path} may be damaged: delete {folder} and retry, or set "
        f"CMMATH_PATH to a copy of {REPOSITORY}.",
    )


def load_problems(images: bool = False) -> Problems:
    """All problems and faults of the data; arguments and errors as ``source``."""
    return read_file(*source(images))


def read_problems() -> tuple[Problem, ...]:
    """The problems that are evaluated; their images may be missing.

    Raises:
        DataError: if there is no file of problems, or it has faults.
    """
    found = load_problems()
    faults = [fault for of_image, fault in found.faults if not of_image]
    raise_faults(found.file, faults, found.remedy)
    return found.problems


def _allowed() -> str:
    return (
        f"Set it to a copy of {REPOSITORY}: its folder with {FILE} and {IMAGES}/, or the JSON file "
        "in it; or to a data set on the Hub, as OWNER/NAME."
    )


@cache  # failures are not cached: the next call retries
def _download(name: str, images: bool) -> Path:
    folder = download(
        name,
        [FILE, f"{IMAGES}/**"] if images else [FILE],
        f"CMMATH_PATH={name!r} is not a local folder or file, and a data set of that name could "
        "not be downloaded from the Hub",
        _allowed(),
    )
    if not (folder / FILE).is_file():
        raise DataError(
            f"The data set {name} (CMMATH_PATH) has no {FILE}. Download it, and set CMMATH_PATH "
            f"to its folder, or to the file of problems in it, with {IMAGES}/ next to it."
        )
    return folder


# --- documents for lmms-eval ---------------------------------------------------------------------

prepare = partial(store, benchmark="CMMaTH", name="problems")
"""Writes problems as a file that the ``datasets`` library can read: see ``store``."""


def attach_images(dataset: Dataset) -> Dataset:
    """Add a column of images, each decoded only when its document is accessed."""
    images = source(images=True)[0].parent / IMAGES
    return add_image_column(dataset, images, images.parent)


def leave_out_images(dataset: Dataset) -> Dataset:
    """The documents unchanged, for tasks that show no image."""
    return dataset


def _metadata() -> dict[str, Any]:
    settings, cmmath = load_settings(), CmmathSettings.load()
    read = load_problems()
    return {
        "version": 1.0,
        "problems": len(read.problems),
        "left_out_without_answer": read.left_out,
        "data_sha256": digest(read.problems),
        "grader": cmmath.grader,
        "mistakes": cmmath.errors,
        "judge": settings.judge if cmmath.asks_judge else None,
    }


def _kwargs() -> dict[str, Any]:
    from datasets import Features, Sequence, Value

    numbers, lists = ("grade_id", "grade_group"), ("img_path",)
    # Explicit types: the type of a column that begins empty cannot be inferred.
    features = {
        name: Sequence(Value("string")) if name in lists else Value("string")
        for name in Problem.__dataclass_fields__
    }
    features |= {name: Value("int64") for name in numbers}
    problems = load_problems().problems
    return {"data_files": {"test": str(prepare(problems))}, "features": Features(features)}


def __getattr__(name: str) -> Any:
    if name == "kwargs":
        return _kwargs()
    if name == "metadata":
        return _metadata()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# --- checks before a run -------------------------------------------------------------------------


def check_cmmath(images: bool = True) -> None:
    """Check settings, problems and images; downloads a data set that CMMATH_PATH names on the Hub.

    Args:
        images: whether the task shows images.

    Raises:
        DataError: listing the first faults, each with its problem, and the remedy.
        JudgeConfigurationError: if answers need a judge and no suitable judge is set.
        SettingError: if a setting has an invalid value.
    """
    from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter

    CmmathGradeFilter()  # filters check their settings when created
    check_problems(images)


def check_rpts() -> None:
    """Check what ``cmmath_rpts`` needs: settings, a judge, problems and images.

    Raises:
        DataError, JudgeConfigurationError, SettingError: as `check_cmmath`.
    """
    from lmms_rpts.filters import AggregateFilter, ScoreFilter
    from lmms_rpts.tasks.cmmath.reasoning_filter import CmmathTransformFilter

    CmmathTransformFilter()
    ScoreFilter()
    AggregateFilter()
    check_problems()


def check_problems(images: bool = True) -> None:
    """Check the problems and, if a task shows them, their images.

    Raises:
        DataError: listing the first faults, each with its problem, and the remedy.
        SettingError: if a setting has an invalid value.
    """
    read = load_problems(images)
    faults = [fault for of_image, fault in read.faults if images or not of_image]
    if images and not faults:
        shown = [(f"problem {each.id!r}", each.img_path) for each in read.problems]
        faults += named_faults(shown, read.images, read.images.parent)
    if not faults and not read.problems:
        faults.append(_nothing(read))
    raise_faults(read.file, faults, read.remedy)
    prepare(read.problems)
    _tell_left_out(read.file, read.left_out, len(read.problems))


def _nothing(read: Problems) -> str:
    if read.left_out:
        return f"it contains no usable problem: none of its {read.left_out} problems has an answer"
    return "it contains no problem; expected a list of objects with problem_id, question, answer"


@lru_cache  # tasks are checked several times
def _tell_left_out(file: Path, left_out: int, kept: int) -> None:
    if left_out and load_settings().rank == 0:
        logger.info(
            "CMMaTH: {} of {} problems in {} have no answer and are left out",
            left_out,
            left_out + kept,
            file,
        )


def examine() -> list[Check]:
    """Check CMMATH_PATH; no checks if it is not set. Downloads a data set that it names."""
    return [] if CmmathSettings.load().path is None else [examined("CMMaTH", _describe)]


def _describe() -> str:
    check_cmmath()
    read = load_problems()
    left_out = f" ({read.left_out:,} without an answer left out)" if read.left_out else ""
    return f"{len(read.problems):,} problems{left_out}, all images, in {read.file.parent}"


CHECKS: dict[str, Callable[[], None]] = {
    "cmmath": check_cmmath,
    "cmmath_en_cot": check_cmmath,
    "cmmath_clp": check_cmmath,
    "cmmath_ocr": partial(check_cmmath, images=False),
    "cmmath_steps": check_cmmath,
    "cmmath_all": check_cmmath,
    "cmmath_rpts": check_rpts,
}
