"""Wordings of instructions: every prompt of ours has five, and only the instructions differ."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_rpts.base.settings import SettingError
from lmms_rpts.host.documents import messages_with_steps, with_steps
from lmms_rpts.tasks.cmmath import prompts as cmmath
from lmms_rpts.tasks.cmmath import reasoning as cmmath_rpts
from lmms_rpts.tasks.own import prompts as own
from lmms_rpts.tasks.rome import prompts as rome
from lmms_rpts.tasks.rpts_eval import prompts as rpts_eval
from lmms_rpts.tasks.wordings import known_sentences, levels_in, reword
from tests.support.instances import make_doc
from tests.support.tables import table

IMAGES = {"images": [Image.new("RGB", (4, 4)), Image.new("RGB", (4, 4))]}
FIXED = {
    "statement": "Is the shop closed?",
    "context": "Image 0 shows a clock.",
    "textual_clue": ["It closes at eight."],
    "visual_clue": ["a.png", "b.png"],
    "options": ["a green door", "a red door"],
}
OWN = {"background": FIXED["context"], "answer": "A"}
MATHS = {
    **IMAGES,
    "question": "甲是多少？乙是多少？$$\\underline{}$$，$$\\underline{}$$",
    "img_path": ["a.png", "b.png"],
    "caption": "一个圆",
    "ocr": "",
}


def prompts() -> Iterator[tuple[str, Any, dict[str, Any], dict[str, Any] | None]]:
    """Name, module, document and kwargs of a prompt in each variant and language."""
    for language in ("en", "zh"):
        doc = make_doc(language, **FIXED, **IMAGES)
        for variant in rpts_eval.VARIANTS:
            yield f"rpts_eval {language} {variant}", rpts_eval, doc, {"variant": variant}
        for variant in own.VARIANTS:
            for form in ("agree", "choice", "number", "text", "function"):
                name = f"own {language} {variant} {form}"
                yield name, own, doc | OWN | {"form": form}, {"variant": variant}
        for evaluator in rome.SUFFIXES:
            if evaluator != "key_items_matching":  # has no instruction
                question = {"question": FIXED["statement"], "img_path": ["a.png", "b.png"]}
                asked = {"evaluator": evaluator, "language": language, **question, **IMAGES}
                yield f"rome {language} {evaluator}", rome, asked, None
    for variant in cmmath.VARIANTS:
        for form in ("choice", "parts", "blank", "open"):
            yield f"cmmath {variant} {form}", cmmath, MATHS | {"form": form}, {"variant": variant}
    yield "cmmath_rpts", cmmath_rpts, make_doc("zh", **FIXED, **IMAGES), None


PROMPTS = {name: rest for name, *rest in prompts()}


@table("name", *PROMPTS)
def test_every_prompt_has_five_wordings_with_the_same_question(name: str) -> None:
    module, doc, kwargs = PROMPTS[name]
    text, messages = module.doc_to_text(doc, kwargs), module.doc_to_messages(doc, kwargs)
    check(text, doc)
    check("\n".join(part.get("text", "<image>") for part in messages[0]["content"]), doc)


@table(
    "language, question", ("en", "Which door is red? A. left B. right"), ("zh", "哪扇门是红色的？")
)
def test_the_request_for_steps_has_five_wordings(language: str, question: str) -> None:
    check(with_steps(question), {"question": question})
    (message,) = messages_with_steps([{"role": "user", "content": question}])
    check(message["content"], {"question": question})


def check(text: str, doc: dict[str, Any]) -> None:
    assert levels_in(text, known_sentences()) == 5
    worded = [reword(text, level, known_sentences()) for level in range(5)]
    assert worded[0] is text
    assert len(set(worded)) == 5
    fixed = [doc.get("statement"), doc.get("context"), *doc.get("textual_clue", ())]
    fixed += [doc.get("options", [""])[0], doc.get("question", "").partition("？")[0]]
    for part in (part for part in fixed if part and part in text):
        assert all(part in each for each in worded)
    # The form of steps and of the answer is a line of its own, or follows these words.
    for form in (
        "Conclusion k: from",
        "结论k：根据",
        "inal answer:",
        "inal Answer:",
        "最终答案：",
        "<STEP1>",
    ):
        assert {form in each for each in worded} == {form in text}


def test_only_the_last_occurrence_is_the_instruction() -> None:
    asked = "Question: Who wrote: Answer the question.?\nAnswer the question."
    assert (
        reword(asked, 1, known_sentences())
        == "Question: Who wrote: Answer the question.?\nGive the answer to the question."
    )


def test_sentences_of_other_tasks_keep_what_is_filled_in() -> None:
    asked = "What is it?\nAnswer with the option's letter (A or B) from the given choices directly."
    assert levels_in(asked, known_sentences()) == 5
    assert all("(A or B)" in reword(asked, level, known_sentences()) for level in range(5))
    assert levels_in("What is it?", known_sentences()) == 1
    assert reword("What is it?", 3, known_sentences()) == "What is it?"


def test_the_users_own_wordings_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        "- [Answer the question., Say it., Tell me.]\n- ['Why {}?', 'For what reason {}?']\n"
    )
    monkeypatch.setenv("LMMS_RPTS_WORDINGS", str(file))
    assert levels_in("Answer the question.", known_sentences()) == 3
    said = [reword("Answer the question. Why not?", level, known_sentences()) for level in range(4)]
    assert said == [
        "Answer the question. Why not?",
        "Say it. For what reason not?",
        "Tell me. Why not?",
        "Answer the question. For what reason not?",
    ]


@table(
    "content, fault",
    (None, "No such file"),
    ("- [", "while parsing"),
    ("a: b", "should be a valid list"),
    ("- [one]", r"\[0\] should have at least two texts"),
    ("- [one, 2]", r"\[0\]\[1\] should be a non-empty string, not 2"),
    ("- [one, one]", r"\[0\] should have at least two texts, none of them twice"),
    ("- ['one {}', one]", r"\[0\] has wordings with different numbers"),
)
def test_a_file_of_another_form_is_refused(
    content: str | None, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "w.yaml"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("LMMS_RPTS_WORDINGS", str(file))
    with pytest.raises(SettingError, match=f"LMMS_RPTS_WORDINGS='.*w.yaml': .*{fault}.*Make it"):
        known_sentences()
