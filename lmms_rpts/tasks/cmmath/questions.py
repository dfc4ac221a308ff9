"""The problems of CMMaTH: settings, the model of a problem, and their files.

The layout is that of github.com/zzli2022/CMMaTH: one JSON file, a list of problems, and a folder of
images.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, AliasChoices, BeforeValidator, Field

from lmms_rpts.base.rows import Row, read_rows
from lmms_rpts.base.schema import Line, Model, Several, Text
from lmms_rpts.base.settings import Place, Table, setting
from lmms_rpts.scoring.question import Asked, ShownQuestion
from lmms_rpts.tasks.cmmath.knowledge import Point, knowledge_points
from lmms_rpts.tasks.cmmath.notation import blanks, readable
from lmms_rpts.tasks.data import DataError, raise_faults
from lmms_rpts.tasks.questions import Identity, QuestionFiles, Questions, Source, image_names

DATASET = "zzli2022/CMMaTH"
REPOSITORY = f"https://github.com/{DATASET}"
FILE, IMAGES = "cmmath.json", "images"

Form = Literal["choice", "parts", "blank", "open"]

_WITH_IMAGES = (IMAGES, "image_ocr")
CAPTIONS_WANTED = "Set CMMATH_CAPTIONS to a JSONL file with id and caption in each line."
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


class CmmathSettings(Table, env_prefix="CMMATH_"):
    """The settings of CMMaTH."""

    TABLE: ClassVar[str] = "cmmath"
    path: Place | None = setting(None, "folder or file of CMMaTH")
    captions: Place | None = setting(None, "captions of images: a JSONL file, `id` and `caption`")
    prompts: Place | None = setting(None, "prompts for the model: your copy of its `prompts.yml`")
    grader: Literal["rule", "judge", "both"] = setting(
        "rule", "`both`: a judge grades what rules leave undecided"
    )
    errors: bool = setting(False, "whether a judge classifies the mistakes of wrong responses")


# --- problems ------------------------------------------------------------------------------------


def _as_text(value: object) -> object:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if number else "" if value is None else value


_Words = Annotated[Text, BeforeValidator(_as_text), AfterValidator(str.strip)]


class Problem(Asked):
    """One problem: read from the file, shown to a model, and part of the record."""

    id: Identity = Field(validation_alias="problem_id", description="id of the problem")
    question: Annotated[Line, AfterValidator(str.strip)] = Field(
        description="the problem in the publishers' notation"
    )
    reference: _Words = Field(
        validation_alias="answer", description="the publishers' answer in the same notation"
    )
    form: Form = Field(
        description="what the problem asks for; the publishers call problems of parts choices"
    )
    analysis: _Words = Field(default="", description="the publishers' solution; may be empty")
    ocr: _Words = Field(
        default="", description="the text recognized in the images, as published; may be empty"
    )
    caption: Text | None = Field(default=None, description="caption of the images; null: not known")
    category: Text | None = Field(default=None, description="kind of picture; null: not known")
    grade_id: int | None = Field(default=None, description="school year, from 1; null as above")
    grade_group: int | None = Field(
        default=None, description="school: 1 primary, 2 middle, 3 high; null as above"
    )
    knowledge_point: Text | None = Field(
        default=None, description="knowledge points, as published; null as above"
    )
    img_path: Several[Text] = Field(description="file names of the images")

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The knowledge points that it needs."""
        return knowledge_points(self.knowledge_point)

    @property
    def cluster(self) -> tuple[str, str]:
        """What the ways of asking a problem share."""
        return ("cmmath", self.id)

    @property
    def area(self) -> tuple[str, ...]:
        """The areas of its knowledge points."""
        return tuple(dict.fromkeys(point[0] for point in self.points))

    @property
    def image_files(self) -> tuple[str, ...]:
        """The file names of its images."""
        return self.img_path

    @property
    def shown(self) -> ShownQuestion:
        """How tables and reports show it."""
        details = {"school year": self.grade_id, "knowledge points": self.knowledge_point}
        known = {**details, "caption": self.caption}
        return ShownQuestion(
            text=readable(self.question),
            gold=(readable(self.reference),),
            language="zh",
            images=self.img_path,
            details={name: str(value) for name, value in known.items() if value is not None},
        )

    def asked(self, kind: str, answer: str, thinking: str) -> tuple[str, dict[str, Any]]:
        """The language and the fields of a request about a response."""
        reference = readable(self.reference)
        fields = {"question": readable(self.question), "answer": answer}
        if kind == "compare":
            # In English: the publishers found that a grader that restates the Chinese answer in
            # English compares better (GradeGPT, arXiv 2407.12023).
            return "en", fields | {"reference": reference}
        solution = [reference, readable(self.analysis)]
        return "zh", fields | {"solution": "\n\n".join(filter(None, solution))}


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


# --- their files ---------------------------------------------------------------------------------


def _source(part: str) -> Source:
    """The file of problems at CMMATH_PATH; its images are in the folder ``images`` next to it."""
    path = CmmathSettings.load().path
    file = path / FILE if path and path.is_dir() else path
    if file is None or not file.is_file():
        fault = f"={str(path)!r} is no folder with {FILE}, and no file" if path else " is not set"
        raise DataError(
            f"CMMATH_PATH{fault}. CMMaTH is not on the Hub: git clone {REPOSITORY} and set "
            f"CMMATH_PATH to its folder with {FILE} and {IMAGES}/, or to the JSON file in it."
        )
    folder = file.parent
    remedy = f"Fix or complete {folder} (CMMATH_PATH); {REPOSITORY} has the complete data."
    images = folder / IMAGES if part in _WITH_IMAGES else None
    return Source(file, (file,), remedy, folder, images)


def _prepare(entry: dict[str, Any], row: Row, source: Source) -> tuple[str, str]:
    """Faults of images matter only where images are shown."""
    try:
        entry["img_path"], fault = image_names(entry.get("image")), ""
    except ValueError as error:
        entry["img_path"], fault = (), f"image {error}"
    metadata = entry.get("metadata")
    kind = metadata.get("multimodal-category") if isinstance(metadata, dict) else metadata
    question, answer = (str(entry.get(name, "")).strip() for name in ("question", "answer"))
    entry |= {"category": kind, "form": form_of(question, answer)}
    return "", fault


FILES: QuestionFiles[Problem] = QuestionFiles(
    what="problem",
    kind=Problem,
    source=_source,
    identity="problem_id",
    prepare=_prepare,
    usable=lambda problem: problem.reference.strip(" \t\r\n$.。．") not in _NO_ANSWER,
)


def load(part: str) -> Questions[Problem]:
    """The problems, for a part of the data; with images or captions, if it shows them."""
    found = FILES.load(IMAGES if part in _WITH_IMAGES else "text")
    captions = CmmathSettings.load().captions
    if part == "caption" and captions:
        found = _captioned(found, captions, captions.stat().st_mtime if captions.exists() else 0)
    if not found.questions:
        fault = f"it contains no problem with an answer, and {found.left_out} without"
        raise_faults(found.source.place, [fault], found.source.remedy)
    return found


class _Caption(Model):
    id: Identity = Field(validation_alias=AliasChoices("id", "problem_id"))
    caption: _Words = ""


@lru_cache(maxsize=4)
def _captioned(found: Questions[Problem], path: Path, changed: float) -> Questions[Problem]:
    """The problems with the captions of a file that was last ``changed`` at this time."""
    known: dict[str, str] = {}
    for row in read_rows(path):
        each = row.parse(_Caption, CAPTIONS_WANTED)
        if known.setdefault(each.id, each.caption) != each.caption:
            raise row.error(f"a second caption of problem {each.id!r}", CAPTIONS_WANTED)
    named = (each.model_copy(update={"caption": known.get(each.id)}) for each in found.questions)
    return replace(found, questions=tuple(named))


def images_folder(part: str) -> Path | None:
    """The folder of the images; None if there is none."""
    path = CmmathSettings.load().path
    folder = path and (path.parent if path.is_file() else path) / IMAGES
    return folder if folder and folder.is_dir() else None
