"""Diagnosis of a chain against its document."""

from __future__ import annotations

from lmms_rpts.scoring.record import Diagnosis, RptsRecord
from tests.reasoning.short import clues
from tests.support.instances import make_doc
from tests.support.runs import make_record
from tests.support.tables import table

CONTEXT = "The picture was taken on a Monday in May."
CLUES = ("The shop closes at eight.", "The shop sells bread.")
GOLD = ("Image0 -> The clock shows nine.", "Conclusion0 + Text0 -> The shop is closed.")


def diagnosed(*lines: str, gold: tuple[str, ...] = GOLD, language: str = "en") -> Diagnosis:
    doc = make_doc(
        language,
        context=CONTEXT,
        textual_clue=list(CLUES),
        visual_clue=["a.png"],
        reasoning=list(gold),
    )
    return RptsRecord.parse(make_record([1.0] * len(lines), steps=lines, doc=doc)).diagnosis


@table(
    "lines, restating",
    (("Text0 -> The shop closes at eight.", "Conclusion0 -> It is closed."), {0}),
    # A restatement of a clue that is not the cited one, and of the context.
    (("Text0 -> The shop sells bread.", "Conclusion0 -> It is closed."), {0}),
    (("Context -> The picture was taken on a Monday in May.", "Conclusion0 -> Spring."), {0}),
    (("Image0 -> It is nine.", "Conclusion0 -> It is nine."), {1}),
    (("Image0 -> It is nine.", "Image0 + Text0 -> It is nine."), set()),
    (("Image0 -> The shop sells bread.", "Conclusion0 -> It is a bakery."), set()),
)
def test_restating_steps(lines: tuple[str, ...], restating: set[int]) -> None:
    assert set(diagnosed(*lines).restating) == restating


@table(
    "gold, needed",
    (GOLD, "i0 t0"),
    ((), "i0 t0 t1"),
    (("No line that anybody could read.",), "i0 t0 t1"),
    # Gold reasoning is repaired as model chains are: a step that only copies a clue becomes the
    # clue.
    (("Text1 -> The shop sells bread.", "Conclusion0 + Image0 -> It smells."), "i0 t1"),
)
def test_what_the_gold_reasoning_needs(gold: tuple[str, ...], needed: str) -> None:
    found = diagnosed("Image0 -> It is nine.", gold=gold)
    assert found.needed == tuple(clues(needed))
    assert found.used == tuple(clues("i0"))


def test_gold_reasoning_is_read_in_the_language_of_the_chain() -> None:
    gold = ("图片0 -> 钟指向九点。", "结论0 + 文本1 -> 商店已经关门。")
    found = diagnosed("图片0 -> 现在九点。", gold=gold, language="zh")
    assert found.needed == tuple(clues("i0 t1"))
