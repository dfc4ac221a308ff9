"""Prompts of own tasks, in both languages, with and without images, clues and options."""

from __future__ import annotations

import re
from typing import Any

from PIL import Image

from lmms_rpts.tasks.own.data import OwnQuestion
from lmms_rpts.tasks.own.prompts import doc_to_text, lettered
from tests.support.tables import table


def make(form: str = "choice", language: str = "en", **fields: Any) -> dict[str, Any]:
    record = {"question": "Which {bar}?", "answer": "B"} | fields
    given = {"id": "7", "form": form, "language": language}
    doc = OwnQuestion.model_validate(record | given).model_dump(by_alias=True)
    return doc | {"images": [Image.new("RGB", (2, 2)) for _ in doc["visual_clue"]]}


FULL: dict[str, Any] = {
    "context": "A chart of {sales}.",
    "images": ["a.png", "b.png"],
    "texts": ["Red is best."],
    "options": ["red", "blue"],
}


def test_the_whole_prompt() -> None:
    around = {"variant": "steps", "pre_prompt": "Look.\n", "post_prompt": "\nThink."}
    assert doc_to_text(make(**FULL), around).split("\n") == [
        "Look.",
        "Context: A chart of {sales}.",
        "Image 0: number 1 of the 2 attached",
        "Image 1: number 2 of the 2 attached",
        "Text 0: Red is best.",
        "Question: Which {bar}?",
        "Options:",
        "A. red",
        "B. blue",
        "Answer the question.",
        "Reason from what is given above. Write one step of reasoning per line, numbered from 0, "
        "in the form",
        "Conclusion k: from Image i / Text j / Context / Conclusion l, what follows from them",
        "First say what each image shows (from Image 0, ...), then draw your conclusions.",
        "Name all that a step rests on; Context stands for what is given and asked in words.",
        "End with one line: Final answer: <letter of the right option>",
        "Think.",
    ]


def test_the_shortest_prompt() -> None:
    """The prompt mentions only parts that exist."""
    assert doc_to_text(make("number", answer=4), {"variant": "free"}).split("\n") == [
        "Question: Which {bar}?",
        "Answer the question.",
        "Think it through step by step, and write your reasoning down.",
        "End with one line: Final answer: <number in digits, with its unit if any>",
    ]
    assert not re.search("Image|Text", doc_to_text(make("number", answer=4)))


@table(
    "form, fields, last",
    ("agree", {"answer": "agree"}, "Final answer: agree, or: Final answer: disagree."),
    ("none", {}, "Final answer: <your answer, as short as possible>"),
    ("function", {"options": ["x", "y"]}, "Final answer: <letter of the right option>"),
    ("text", {"options": ["x", "y"]}, "Final answer: <letter of the right option>"),
    ("text", {"options": ["x", "y"], "answer": "x!"}, "Final answer: <your answer, as short"),
)
def test_last_lines(form: str, fields: dict[str, Any], last: str) -> None:
    assert last in doc_to_text(make(form, **fields)).split("\n")[-1]


@table("form, answer", ("agree", "同意"), ("choice", "B"), ("number", 4), ("text", "红"))
@table("variant", "steps", "free")
def test_chinese_prompts_are_chinese(form: str, answer: Any, variant: str) -> None:
    chinese = {"question": "哪根？", "context": "一张图。", "texts": ["红最好。"], "images": "a"}
    doc = make(form, "zh", answer=answer, options=["红", "蓝"], **chinese)
    # The letters of options, and the variables in the format of a step.
    letters = re.findall(r"[A-Za-z]+", doc_to_text(doc, {"variant": variant}))
    assert set(letters) <= {"A", "B", "i", "j", "k", "l"}


@table(
    "options, shown",
    (["red", "blue"], ["A. red", "B. blue"]),
    (["(a) red", "(b) blue"], ["A. red", "B. blue"]),
    (["A、红", "B、蓝"], ["A. 红", "B. 蓝"]),
    (["B. red", "A. blue"], ["A. B. red", "B. A. blue"]),
)
def test_options_have_letters_once(options: list[str], shown: list[str]) -> None:
    assert lettered(options) == shown
    assert lettered(["x"] * 27)[-2:] == ["Z. x", "27. x"]
