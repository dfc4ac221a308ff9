"""``cmmath_rpts``: problems of CMMaTH as documents of RPTS, their prompts, and their filter.

The question is Text 0, its images are the images, and the reference solution is the one gold
step: it cites every image and Text 0, so that it stands for what is known of each image.

The YAML file refers to ``metadata`` of this module, computed whenever the task is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lmms_rpts.base.schema import Line, Text
from lmms_rpts.filters.documents import ReasoningDocument
from lmms_rpts.filters.record import Answer
from lmms_rpts.filters.response_reading import QuestionReading, Reading
from lmms_rpts.filters.responses import Doc
from lmms_rpts.filters.transform import TransformFilter
from lmms_rpts.judging import Dialogue
from lmms_rpts.reasoning import JudgedText
from lmms_rpts.reasoning.answer_lines import UNDETERMINED
from lmms_rpts.tasks.cmmath.data import DATA, attach_images, problems_metadata, say_once
from lmms_rpts.tasks.cmmath.filter import UNDECIDED, compare_request
from lmms_rpts.tasks.cmmath.notation import readable
from lmms_rpts.tasks.images import doc_to_visual
from lmms_rpts.tasks.rpts_eval import data as rpts_eval
from lmms_rpts.tasks.rpts_eval.prompts import PROMPT

if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["doc_to_messages", "doc_to_text", "doc_to_visual", "process_docs"]

TASK = "cmmath_rpts"

LONGEST_SOLUTION = 4000
"""Maximum number of characters of a reference solution that judges see; of a longer one, its
beginning and its end, with the result."""

LONGEST_ANSWER = 200
"""Maximum number of characters of a final answer in a record."""

_CUT = " …… "
_SCHOOLS = {1: "小学", 2: "初中", 3: "高中"}
_YEARS = (
    *("小学一年级", "小学二年级", "小学三年级", "小学四年级", "小学五年级", "小学六年级"),
    *("初一", "初二", "初三", "高一", "高二", "高三"),
)
_INSTRUCTIONS = (
    "请根据图片和题目解答这道数学题，并写出推理过程。\n"
    "每行只写一步，从0开始编号，格式为：\n"
    "结论k：根据图片i / 文本0（题目） / 结论l，由此得出的内容\n"
    "先写出从每张图片中读出的条件（根据图片0，……），再一步一步推导（根据结论0和文本0，……）。"
    "请写明每一步的全部依据：图片、文本0、前面各行的结论；用到学过的定理或公式时，"
    "依据中可以写上下文。\n"
    "最后单独一行写：最终答案：……。选择题写出全部正确选项的字母；"
    "有几个空或几个小问时，按题目的顺序写出每个答案，中间用分号隔开。"
)


def process_docs(dataset: Dataset) -> Dataset:
    """Add the fields of RPTS and the images to the problems; logs once how many have no solution.

    A problem without a reference solution is kept: its steps from images only score 1, like steps
    that the gold reasoning does not mention.
    """
    fields = [rpts_fields(row) for row in dataset]
    missing = sum(not each["reasoning"] for each in fields)
    if missing:
        say_once(
            f"{TASK}: {missing} of {len(fields)} problems have no reference solution: in these, "
            "steps based only on images are not judged and score 1"
        )
    for name in fields[0] if fields else ():
        if name in dataset.column_names:
            dataset = dataset.remove_columns(name)
        dataset = dataset.add_column(name, [each[name] for each in fields])
    return attach_images(dataset)


def rpts_fields(row: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that the filters of RPTS need in addition to a problem's own."""
    question, images = readable(row["question"]), list(row["img_path"])
    return {
        "statement": question,
        "context": _context(row["grade_id"], row["grade_group"]),
        "textual_clue": [question],
        "visual_clue": images,
        "reasoning": _reasoning(row["analysis"], len(images)),
        "answer": readable(row["reference"]),
        "ability": [row["category"]] if row["category"] else [],
        "relation": None,
    }


def read_documents(task: str) -> dict[str, list[dict[str, Any]]]:
    """The documents of the task without their images, by its name."""
    read = DATA.load()
    DATA.check(read, read.faults_of(), (), "")
    rows = list(map(asdict, read.questions))
    return {task: [row | rpts_fields(row) for row in rows]}


def _context(year: int | None, school: int | None) -> str:
    if year is not None and 1 <= year <= len(_YEARS):
        whose, until = f"{_YEARS[year - 1]}（{year}年级）", "该年级及以前"
    elif school in _SCHOOLS:
        whose, until = _SCHOOLS[school], f"{_SCHOOLS[school]}及以前"
    else:
        whose, until = "中小学", "中小学"
    return f"这是一道中国{whose}数学题，可以使用{until}学过的定理和公式。"


def _reasoning(solution: str, images: int) -> list[str]:
    # A step is one line, whatever character ends lines.
    said = " ".join(readable(solution).split())
    if not said:
        return []
    if len(said) > LONGEST_SOLUTION:
        half = (LONGEST_SOLUTION - len(_CUT)) // 2
        said = f"{said[:half]}{_CUT}{said[-half:]}"
    premises = " + ".join([*(f"图片{k}" for k in range(images)), "文本0"])
    return [f"{premises} -> 结论0：{said}"]


def _parts(doc: Mapping[str, Any], kwargs: Mapping[str, Any] | None) -> Iterator[str | int]:
    """The lines of the prompt; a number stands for the image of that number."""
    yield f"上下文：{doc['context']}"
    yield from range(len(doc["visual_clue"]))
    yield f"文本0（题目）：{doc['statement']}"
    yield _INSTRUCTIONS


_PROMPT = replace(PROMPT, parts=_parts)
doc_to_text, doc_to_messages = _PROMPT.doc_to_text, _PROMPT.doc_to_messages


def __getattr__(name: str) -> Any:
    if name != "metadata":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    read = DATA.load()
    unsolved = sum(not _reasoning(each.analysis, 1) for each in read.questions)
    return {**rpts_eval.metadata, **problems_metadata(read), "without_solution": unsolved}


# --- the filter ----------------------------------------------------------------------------------


class SolutionDocument(ReasoningDocument):
    """A problem with the fields that RPTS needs."""

    question: Text
    reference: Line


class CmmathTransformFilter(TransformFilter):
    """Turns each solution into a ``TransformedResponse``, as ``rpts_transform`` does.

    The final answer is graded by the rules of CMMaTH. A judge that writes text compares undecided
    answers with the reference. If neither decides, ``correct`` is None.

    Args:
        mode, judge, max_steps: as those of ``rpts_transform``.
    """

    DATA = "CMMaTH"
    DOCUMENT = SolutionDocument
    ORDER = "use cmmath_transform, rpts_score and rpts_aggregate in this order"
    NAME = "cmmath_transform"

    def reading(self) -> Reading:
        """How solutions are read."""
        return self.read_as(SolutionReading)

    def gold_faults(self, doc: Doc) -> Iterator[str]:
        """No faults: the rules of CMMaTH accept any reference."""
        return iter(())


class SolutionReading(QuestionReading):
    """The conversations with a judge that reads solutions."""

    STEPS = "solution"
    ASKED = "question"

    def read_answer(self, part: JudgedText, doc: Doc) -> Dialogue[Answer]:
        """The final answer of a solution; thinking alone is not an answer.

        The rules grade it immediately, so that no request to a judge is delayed.
        """
        from lmms_rpts.tasks.cmmath.grading import grade  # imported here: every run imports filters

        said = part.spoken
        found = grade(doc["question"], doc["reference"], said)
        value = " ".join((found.answer or "").split()) or UNDETERMINED
        if len(value) > LONGEST_ANSWER:
            value = f"{value[: LONGEST_ANSWER - 1]}…"
        request = partial(compare_request, self.prompts, doc, said)
        return self.settle(value, found.outcome, f"{UNDECIDED} ({found.rule})", said, request)
