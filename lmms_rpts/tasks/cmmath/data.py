"""Data of CMMaTH: problems as published, their checks, and the documents for lmms-eval.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems. The YAML files
refer to ``kwargs`` and ``metadata`` of this module. These are computed whenever a task is built,
not once at import, so that CMMATH_PATH is read again.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY
from functools import lru_cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from loguru import logger
from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.dataclasses import dataclass

from lmms_rpts.base.escaping import storable
from lmms_rpts.base.rows import ReadError, Row, read_rows
from lmms_rpts.base.schema import Line, Text, wrong
from lmms_rpts.base.settings import load_settings
from lmms_rpts.tasks.cmmath.benchmark import CmmathSettings
from lmms_rpts.tasks.cmmath.notation import blanks, without_image_tags
from lmms_rpts.tasks.cmmath.prompts import read_wording, recognised
from lmms_rpts.tasks.data import Check, DataError, digest
from lmms_rpts.tasks.questions import (
    IMAGES,
    Identity,
    QuestionFiles,
    Questions,
    Source,
    image_names,
)

if TYPE_CHECKING:
    from datasets import Dataset

REPOSITORY = "https://github.com/zzli2022/CMMaTH"
FILE = "cmmath.json"

_CAPTIONS = "Set CMMATH_CAPTIONS to a JSONL file with id and caption in each line."
IMAGE_TEXTS = {
    "ocr": ("text in its field 'ocr'", f"Use data that have it, as those of {REPOSITORY}."),
    "caption": ("a caption", _CAPTIONS),
}
"""What may be shown in place of the images: what it is, and where to get it."""
_IDS = ("id", "problem_id")

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


def _fields(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """Faults of images are a part of their own: they matter only where images are shown."""
    fault = ""
    try:
        entry["img_path"] = image_names(entry.get("image"))
    except ValueError as error:
        entry["img_path"], fault = (), f"image {error}"
    question, answer = (str(entry.get(each, "")).strip() for each in ("question", "answer"))
    entry["form"] = form_of(question, answer)
    return "", fault


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


def source() -> Source:
    """The file of problems at CMMATH_PATH; its images are in the folder ``images`` next to it."""
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
    folder = file.parent
    remedy = f"Fix or complete {folder} (CMMATH_PATH); {REPOSITORY} has the complete data."
    return Source(file, folder, folder / IMAGES, [file], remedy)


DATA: QuestionFiles[Problem] = QuestionFiles(
    title="CMMaTH",
    what="problem",
    kind=Problem,
    settings=CmmathSettings,
    source=source,
    identity="problem_id",
    fields=_fields,
    usable=lambda problem: problem.reference.strip(" \t\r\n$.。．") not in _NO_ANSWER,
)
attach_images = DATA.attach_images


def images_folder(task: str) -> Path | None:
    """The folder of the images; None if there is none."""
    path = CmmathSettings.load().path
    folder = path and (path.parent if path.is_file() else path) / IMAGES
    return folder if folder and folder.is_dir() else None


# --- documents for lmms-eval ---------------------------------------------------------------------


def leave_out_images(dataset: Dataset) -> Dataset:
    """The documents unchanged, for tasks that show no image."""
    return dataset


def image_texts(kind: str, rows: Iterable[tuple[str, str]]) -> list[str]:
    """The text shown in place of the images of each problem; empty if there is none.

    Args:
        kind: a key of ``IMAGE_TEXTS``.
        rows: id and ``ocr`` of each problem.

    Raises:
        DataError: if captions cannot be read, or if no problem has a text.
    """
    known = read_captions() if kind == "caption" else {}
    found = [recognised(ocr) if kind == "ocr" else known.get(name, "") for name, ocr in rows]
    if found and not any(found):
        what, remedy = IMAGE_TEXTS[kind]
        raise DataError(f"cmmath_{kind}: none of the {len(found)} problems has {what}. {remedy}")
    return found


def read_captions() -> dict[str, str]:
    """Captions by the ids of problems; empty ones are left out.

    They are in rows of ``id`` and ``caption`` at CMMATH_CAPTIONS; else in the field ``caption`` of
    the problems.
    """
    path = CmmathSettings.load().captions
    captions: dict[str, str] = {}
    try:
        for row in read_rows(path or source().place):
            fields = row.fields
            name = next((fields[each] for each in _IDS if each in fields), row.key)
            caption = fields.get("caption")
            if path and (row.fault or name == ""):
                raise row.error(row.fault or f"has no id ({', '.join(_IDS)})", _CAPTIONS)
            if not isinstance(caption, str | None):
                raise row.error(f"caption should be a string, not {caption!r:.60}", _CAPTIONS)
            text = storable(caption or "").strip()
            if text and captions.setdefault(str(name), text) != text:
                raise row.error(f"a second caption of problem {str(name)!r:.60}", _CAPTIONS)
    except ReadError as error:
        raise DataError(f"CMMATH_CAPTIONS: {error}") from None
    return captions


def add_captions(dataset: Dataset) -> Dataset:
    """The documents with their captions, for tasks that show these in place of the images."""
    texts = image_texts("caption", zip(dataset["id"], dataset["ocr"], strict=True))
    return dataset.add_column("caption", texts)


def __getattr__(name: str) -> Any:
    if name == "kwargs":
        return DATA.kwargs(DATA.load().questions)
    word, _, kind = name.partition("_")
    if word != "metadata" or kind not in ("", *IMAGE_TEXTS):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    cmmath = CmmathSettings.load()
    judge = load_settings().judge if cmmath.asks_judge else None
    grading = {"grader": cmmath.grader, "mistakes": cmmath.errors, "judge": judge}
    read = DATA.load()
    found = problems_metadata(read) | grading
    if not kind:
        return found
    texts = image_texts(kind, [(each.id, each.ocr) for each in read.questions])
    return found | {"without_text": texts.count(""), "texts_sha256": digest([{"texts": texts}])}


def problems_metadata(read: Questions[Problem]) -> dict[str, Any]:
    """The problems in the metadata of every task."""
    return DATA.metadata(read.questions) | {"left_out_without_answer": read.left_out}


# --- checks before a run -------------------------------------------------------------------------


def check_cmmath(images: bool = True, text: str = "") -> None:
    """Check settings, problems and what the task shows: images, or the text in their place."""
    from lmms_rpts.tasks.cmmath.scorer import CmmathScorer

    CmmathScorer(load_settings())  # scorers check their settings when created
    read_wording()
    read = check_problems(images)
    if text:
        texts = image_texts(text, [(each.id, each.ocr) for each in read.questions])
        if missing := texts.count(""):
            say_once(
                f"cmmath_{text}: {missing} of {len(texts)} problems do not have "
                f"{IMAGE_TEXTS[text][0]}; their prompts say so"
            )


def check_problems(images: bool = True) -> Questions[Problem]:
    """Check the problems and, if a task shows them, their images."""
    read = DATA.load()
    empty = ""
    if not read.questions:
        empty = "it contains no problem; expected objects with problem_id, question, answer"
        if read.left_out:
            empty = (
                f"it contains no usable problem: none of its {read.left_out} problems has an answer"
            )
    DATA.check(read, read.faults_of(*[IMAGES] * images), read.questions if images else (), empty)
    DATA.store(read.questions)
    if read.left_out:
        every = read.left_out + len(read.questions)
        say_once(
            f"CMMaTH: {read.left_out} of {every} problems in {read.source.place} have no answer "
            "and are left out"
        )
    return read


@lru_cache  # tasks are checked and built several times
def say_once(message: str) -> None:
    """Log a message about the data, in the first process only."""
    if load_settings().rank == 0:
        logger.info("{}", message)


def examine() -> list[Check]:
    """Check CMMATH_PATH; no checks if it is not set."""

    def check(read: Questions[Problem]) -> str:
        check_cmmath()
        return ""

    return DATA.examine(check)


CHECKS: dict[str, Callable[[], object]] = {
    **dict.fromkeys(
        ("cmmath", "cmmath_en_cot", "cmmath_clp", "cmmath_steps", "cmmath_all"), check_cmmath
    ),
    "cmmath_text": partial(check_cmmath, images=False),
    "cmmath_ocr": partial(check_cmmath, images=False, text="ocr"),
    "cmmath_image_ocr": partial(check_cmmath, text="ocr"),
    "cmmath_caption": partial(check_cmmath, images=False, text="caption"),
    "cmmath_inputs": partial(check_cmmath, text="caption"),
    "cmmath_describe": check_problems,
}
