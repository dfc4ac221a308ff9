"""Small problems in CMMaTH's format, with a placeholder for each image."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from lmms_rpts.filters.grading import all_filters


def make_problem(**fields: Any) -> dict[str, Any]:
    """A problem in the publishers' format; its image is named after its id."""
    identity = fields.get("problem_id", "90001")
    return {
        "problem_id": identity,
        "question": "如图，正方形的边长是$$3$$，则它的面积是 $$\\underline{}$$ ．\n",
        "image": [f"{identity}_img.png"],
        "answer": "$$9$$\n",
        "answer_type": "free_form",
        "grade_id": 4,
        "grade_group": 1,
        "knowledge_point": "图形(面积(正方形的面积))",
        "analysis": "正方形的面积等于边长乘边长：$$3\\times 3=9$$．",
        "metadata": {"multimodal-category": "Plane Geometry"},
        "ocr": ", 存在文字:A, 文字区域的位置为:[(10, 20), (30, 40)]",
    } | fields


PROBLEMS: tuple[dict[str, Any], ...] = (
    make_problem(),
    make_problem(
        problem_id="90002",
        question="图中有几个三角形？（   ）\n\nA.$$2$$\nB.$$3$$\nC.$$4$$\nD.$$5$$\n",
        answer="B\n",
        answer_type="choice",
        grade_id=2,
        knowledge_point="图形(三角形(认识三角形),计数)",
        ocr="",
    ),
    make_problem(
        problem_id="90003",
        question="观察折线图．\n\n(1) 求$$a$$的值．\n(2) 求平均数．",
        answer="(1)$$a=4$$．\n(2)$$5$$．",
        answer_type="choice",
        grade_id=11,
        grade_group=3,
        knowledge_point="统计与概率(统计(平均数))",
        metadata={"multimodal-category": "Line Chart"},
    ),
    make_problem(
        problem_id="90004",
        question="比较两幅图，求$$\\angle 1$$的度数．",
        image=["90004_a.png", "90004_b.png"],
        answer="$$70{}^\\circ $$\n",
        grade_id=8,
        grade_group=2,
        knowledge_point="图形(角)",
    ),
    make_problem(problem_id="90005", answer="暂无\n"),
)
"""All forms, one and several images, and one problem without an answer."""


def make_doc(**fields: Any) -> dict[str, Any]:
    """A document as in a CMMaTH task, without its images."""
    return {
        "id": "90001",
        "question": "如图，正方形的边长是$$3$$，则它的面积是 $$\\underline{}$$ ．",
        "reference": "$$9$$",
        "form": "blank",
        "analysis": "正方形的面积等于边长乘边长：$$3\\times 3=9$$．",
        "ocr": ", 存在文字:A, 文字区域的位置为:[(10, 20), (30, 40)]",
        "caption": None,
        "category": "Plane Geometry",
        "grade_id": 4,
        "grade_group": 1,
        "knowledge_point": "图形(面积(正方形的面积))",
        "img_path": ["90001_img.png"],
    } | fields


def grade(*responses: str | None, **fields: Any) -> list[dict[str, Any]]:
    """The records of responses to one problem, whose answer is 9."""
    (found,) = all_filters()["cmmath_grade"]().apply([list(responses)], [make_doc(**fields)])
    return [json.loads(each) for each in ([found] if isinstance(found, str) else found)]


def write_cmmath(folder: Path, problems: Iterable[Mapping[str, Any]] = PROBLEMS) -> Path:
    """A folder for CMMATH_PATH: ``cmmath.json`` and a placeholder for each image.

    The k-th image of a problem is k levels of red above black.
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(list(problems), ensure_ascii=False)
    (folder / "cmmath.json").write_text(text, encoding="utf-8")
    for problem in problems:
        for number, name in enumerate(problem["image"]):
            image = Image.new("RGB", (16, 16), (number, 0, 0))
            ImageDraw.Draw(image).rectangle((4, 4, 11, 11), fill=(0, 0, 255))
            path = folder / "images" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            image.save(path)
    return folder
