"""Data of CMMaTH: problems as published, their checks, and the documents for lmms-eval.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems. The YAML files
refer to ``kwargs`` and ``metadata`` of this module. These are computed whenever a task is built,
not once at import, so that CMMATH_PATH is read again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from loguru import logger
from pydantic import AfterValidator, BeforeValidator, Field, TypeAdapter
from pydantic.dataclasses import dataclass

from lmms_rpts.base.rows import ReadError, read_rows
from lmms_rpts.base.schema import Line, Text, wrong
from lmms_rpts.base.settings import load_settings
from lmms_rpts.tasks.cmmath.benchmark import CmmathSettings
from lmms_rpts.tasks.cmmath.notation import blanks, without_image_tags
from lmms_rpts.tasks.data import Check, DataError, dataset_kwargs, digest, examined, store
from lmms_rpts.tasks.images import add_image_column
from lmms_rpts.tasks.questions import Identity, Questions, image_names, name_of, validated

if TYPE_CHECKING:
    from datasets import Dataset

REPOSITORY = "https://github.com/zzli2022/CMMaTH"
FILE = "cmmath.json"
IMAGES = "images"

Form = Literal["choice", "parts", "blank", "open"]

_NO_ANSWER = frozenset({"", "暂无", "暂无答案"})
# "(1)", "（2）", "($$1$$)"; behind another one: "求a；(2)求b", but not "f(1)".
_PART = r"[(（] ?\$*(\d)\$* ?[)）]"
_PART_ON_ITS_LINE = re.compile(rf"^[ \t\u3000]{{0,8}}{_PART}", re.MULTILINE)
_PART_BEHIND_ANOTHER = re.compile(rf"(?:^|[\s;；。．.，,、]){_PART}")
# "A.甲" at the start of a line, "哪个？A. 甲 B. 乙" within one.
_OPTION = re.compile(
    r"^[ \t]{0,8}([A-H]) ?[.．、:：)）]|(?<=[\s?？。．)）])([A-H])[.．:：)）]", re.MULTILINE
)
# "A\nC", "A、C", "$${AC}$$"
_BETWEEN_LETTERS = re.compile(r"[\s$,、;.&和及{}]")


# --- problems ------------------------------------------------------------------------------------


def _answer(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else value


def _year(value: object) -> object:
    if isinstance(value, bool):  # pydantic takes it for 0 or 1
        raise wrong("a whole number", value)
    return value


def _category(value: object) -> object:
    if not isinstance(value, dict | None):
        raise wrong("an object", value)
    return (value or {}).get("multimodal-category")


_Label = Text | None
_Year = Annotated[int | None, BeforeValidator(_year)]
_Words = Annotated[
    Text, BeforeValidator(lambda value: "" if value is None else value), AfterValidator(str.strip)
]


@dataclass(frozen=True)
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
    reference: Annotated[_Words, BeforeValidator(_answer), Field(alias="answer")]
    answer_type: Literal["choice", "free_form"]
    form: Form
    analysis: Annotated[_Words, AfterValidator(lambda v: without_image_tags(v).strip())] = ""
    ocr: _Words = ""
    category: Annotated[_Label, BeforeValidator(_category), Field(alias="metadata")] = None
    grade_id: _Year = None
    grade_group: _Year = None
    knowledge_point: _Label = None
    skill: _Label = None
    img_path: tuple[str, ...]


_PROBLEM = TypeAdapter(Problem)


def read_file(path: Path) -> Questions[Problem]:
    """The problems of a file that have an answer; those without are only counted.

    Its images are in the folder ``images`` next to it. Faults of images are a part of their own:
    they matter only where images are shown.
    """
    problems: list[Problem] = []
    faults: list[tuple[str, str]] = []
    seen: set[str] = set()
    left_out = 0
    try:
        rows = list(read_rows(path))
    except ReadError as error:
        rows, faults = [], [("", f"{error} (fix it)")]
    for row in rows:
        name = name_of("problem", row, row.fields.get("problem_id"))
        if name in seen:
            faults.append(("", f"{name} occurs more than once"))
            continue
        seen.add(name)
        entry, image_fault = dict(row.fields), ""
        try:
            entry["img_path"] = image_names(entry.get("image"))
        except ValueError as error:
            entry["img_path"], image_fault = (), f"{name}: image {error}"
        question, answer = (str(entry.get(each, "")).strip() for each in ("question", "answer"))
        entry["form"] = form_of(question, answer)
        found = validated(_PROBLEM, name, row, entry)
        if not isinstance(found, Problem):
            faults += (("", fault) for fault in found)
        elif found.reference.strip(" \t\r\n$.。．") in _NO_ANSWER:
            left_out += 1
            continue  # its images are not used
        else:
            problems.append(found)
        faults += [(IMAGES, image_fault)] if image_fault and not row.fault else []
    folder = path.parent
    remedy = f"Fix or complete {folder} (CMMATH_PATH); {REPOSITORY} has the complete data."
    return Questions(
        path, folder, folder / IMAGES, remedy, tuple(problems), tuple(faults), left_out
    )


def form_of(question: str, reference: str) -> Form:
    """What a question really asks for, by its text and its answer.

    Args:
        question, reference: in the publishers' notation.
    """
    if _letters(reference) and {"A", "B"} <= set(chain(*_OPTION.findall(question))):
        return "choice"
    if _has_parts(_PART_ON_ITS_LINE, question) or _has_parts(_PART_BEHIND_ANOTHER, reference):
        return "parts"
    return "blank" if blanks(question) else "open"


def _letters(reference: str) -> str:
    """The letters of an answer that consists of option letters, such as ``A\\nC``."""
    bare = _BETWEEN_LETTERS.sub("", unicodedata.normalize("NFKC", reference))
    return bare if re.fullmatch(r"[A-H]{1,8}", bare) and len(set(bare)) == len(bare) else ""


def _has_parts(pattern: re.Pattern[str], text: str) -> bool:
    return {"1", "2"} <= set(pattern.findall(text))


# --- where they are ------------------------------------------------------------------------------


def source() -> Path:
    """The file of problems at CMMATH_PATH.

    Raises:
        DataError: if CMMATH_PATH is not set, or has no file of problems.
    """
    path = CmmathSettings.load().path
    if path is None:
        raise DataError(
            "CMMATH_PATH is not set, and CMMaTH is not on the Hub: git clone "
            f"{REPOSITORY} and set CMMATH_PATH to its folder with {FILE} and {IMAGES}/."
        )
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        fault = f"not a folder with {FILE}" if path.is_dir() else "neither a folder nor a file"
        raise DataError(
            f"CMMATH_PATH={str(path)!r} is {fault}. Set it to a copy of {REPOSITORY}: its folder "
            f"with {FILE} and {IMAGES}/, or the JSON file in it."
        )
    return file


def load_problems() -> Questions[Problem]:
    """All problems and faults of the data; errors as ``source``."""
    return read_file(source())


# --- documents for lmms-eval ---------------------------------------------------------------------


def attach_images(dataset: Dataset) -> Dataset:
    """Add a column of images, each decoded only when its document is accessed."""
    folder = source().parent
    return add_image_column(dataset, folder / IMAGES, folder)


def leave_out_images(dataset: Dataset) -> Dataset:
    """The documents unchanged, for tasks that show no image."""
    return dataset


def __getattr__(name: str) -> Any:
    if name == "kwargs":
        return dataset_kwargs(load_problems().questions, Problem, "CMMaTH", "problems")
    if name != "metadata":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cmmath = CmmathSettings.load()
    judge = load_settings().judge if cmmath.asks_judge else None
    grading = {"grader": cmmath.grader, "mistakes": cmmath.errors, "judge": judge}
    return problems_metadata() | grading


def problems_metadata() -> dict[str, Any]:
    """The problems in the metadata of every task."""
    read = load_problems()
    return {
        "version": 1.0,
        "problems": len(read.questions),
        "left_out_without_answer": read.left_out,
        "data_sha256": digest(read.questions),
    }


# --- checks before a run -------------------------------------------------------------------------


def check_cmmath(images: bool = True) -> None:
    """Check settings, problems and, if the task shows them, images."""
    from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter

    CmmathGradeFilter()  # filters check their settings when created
    check_problems(images)


def check_rpts() -> None:
    """Check what ``cmmath_rpts`` needs."""
    from lmms_rpts.filters.aggregate import AggregateFilter
    from lmms_rpts.filters.score import ScoreFilter
    from lmms_rpts.tasks.cmmath.reasoning import CmmathTransformFilter

    for each in (CmmathTransformFilter, ScoreFilter, AggregateFilter):
        each()
    check_problems()


def check_problems(images: bool = True) -> None:
    """Check the problems and, if a task shows them, their images."""
    read = load_problems()
    empty = ""
    if not read.questions:
        empty = "it contains no problem; expected objects with problem_id, question, answer"
        if read.left_out:
            empty = (
                f"it contains no usable problem: none of its {read.left_out} problems has an answer"
            )
    faults = read.faults_of(*[IMAGES] * images)
    # Images are looked at only if everything else is in order.
    read.refuse(faults, "problem", read.questions if images and not faults else (), empty)
    store(read.questions, "CMMaTH", "problems")
    if read.left_out:
        every = read.left_out + len(read.questions)
        say_once(
            f"CMMaTH: {read.left_out} of {every} problems in {read.place} have no answer and are "
            "left out"
        )


@lru_cache  # tasks are checked and built several times
def say_once(message: str) -> None:
    """Log a message about the data, in the first process only."""
    if load_settings().rank == 0:
        logger.info("{}", message)


def examine() -> list[Check]:
    """Check CMMATH_PATH; no checks if it is not set."""
    return [] if CmmathSettings.load().path is None else [examined("CMMaTH", _describe)]


def _describe() -> str:
    check_cmmath()
    read = load_problems()
    left_out = f" ({read.left_out:,} without an answer left out)" if read.left_out else ""
    return f"{len(read.questions):,} problems{left_out}, all images, in {read.root}"


CHECKS: dict[str, Callable[[], None]] = {
    **dict.fromkeys(
        ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_steps", "cmmath_all"), check_cmmath
    ),
    "cmmath_ocr": partial(check_cmmath, images=False),
    "cmmath_rpts": check_rpts,
}
