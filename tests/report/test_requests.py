"""Exact requests, prompts, and tokens of a report."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from PIL import Image

from lmms_rpts.filters.base import Document
from lmms_rpts.filters.grading import all_filters
from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.filters.session import reset_session
from lmms_rpts.report.data import (
    Rebuilt,
    asked_in,
    request_about,
    request_of_step,
    rewriting_request,
)
from lmms_rpts.runs.record import cost_function, spent_on
from lmms_rpts.scoring.question import judge_images
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.rome.scorer import RomeRecord
from tests.support import oracle, rome
from tests.support.environment import configure
from tests.support.instances import make_doc
from tests.support.judge_server import JudgeServer, images_of, text_of
from tests.support.runs import make_record
from tests.support.tables import table

STEPS = {
    "en": "Conclusion 0: from Image 0, the clock shows nine.\nConclusion 1: from Conclusion 0 and "
    "Text 0, the shop <<<is>>> closed \x1f.\nFinal answer: agree",
    "zh": "结论0：根据图片0，钟显示九点。\n结论1：根据结论0 / 文本0，商店关门了。\n最终答案：同意",
}
FREE = "It is past eight on the clock, so everybody has gone home <|im_start|>, I'd say."
THOUGHT = f"<think>\nI zoom in with a tool. {STEPS['en']}\n</think>\n"
CHOICE = make_doc(answer="B", options=["open", "shut"], statement="Is it open?\nA. open\nB. shut")


def seen(doc: dict[str, Any]) -> Document:
    """A document with images for judges with vision."""
    found = Document(doc)
    picture = Image.new("RGB", (8, 8), "navy")
    found.images = judge_images(lambda: [picture], 1, language=doc["language"])
    return found


def through(transform: Callable[[], Any], **more: Any) -> Callable[[], list[Any]]:
    return lambda: [transform(), ScoreFilter(**more), AggregateFilter()]


RPTS = through(TransformFilter)


def ROME() -> list[Any]:  # noqa: N802 - as RPTS
    return [all_filters()["rome_answer"]()]


# name: filters, type of the record, document, response, settings
CASES: dict[str, tuple[Any, Any, dict[str, Any], str, dict[str, Any]]] = {
    "steps": (RPTS, RptsRecord, make_doc(), STEPS["en"], {}),
    "steps in Chinese": (RPTS, RptsRecord, make_doc("zh"), STEPS["zh"], {}),
    "rewritten, answer read": (RPTS, RptsRecord, make_doc(), FREE, {}),
    "images": (
        through(TransformFilter, evidence="both"), RptsRecord, seen(make_doc()), STEPS["en"], {},
    ),
    "no gold reasoning": (
        RPTS, RptsRecord, seen(make_doc("zh", reasoning=[])), STEPS["zh"], {},
    ),
    "no answer": (RPTS, RptsRecord, make_doc(), STEPS["en"].rpartition("\n")[0], {}),
    "thinking alone": (
        RPTS, RptsRecord, make_doc(), THOUGHT + FREE, {"source": "thinking", "transform": "llm"},
    ),
    "own choice": (
        through(lambda: TransformFilter(answer="choice")), RptsRecord, CHOICE,
        "Either might be right, if you ask me: open, or rather not.", {},
    ),
    "rome": (
        ROME, RomeRecord, rome.make_doc(), THOUGHT + "Final Answer: A",
        {"rome": {"grader": "llm", "consistency": True, "pretended_tools": True}},
    ),
}  # fmt: skip


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[JudgeServer]:
    with JudgeServer(oracle.answer) as server:
        monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        reset_session()
        yield server


def record_of(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The record of a case, as it is read from samples."""
    filters, kind, doc, response, settings = CASES[name]
    configure(monkeypatch, **settings)
    found: Any = [[response]]
    for each in filters():
        found = each.apply(found, [doc])
    return kind.parse(json.loads(found[0]), task="t", text=response)


def rebuilt(record: Any) -> list[Rebuilt]:
    """All requests about a response."""
    found: list[Rebuilt | None] = []
    if isinstance(record, RptsRecord):
        found += [request_of_step(record, it, one) for it in record.steps for one in it.verdicts]
        found += [rewriting_request(record, record.text)] * bool(record.transform.verdict)
        if record.answer.verdict:
            found.append(asked_in(record.answer.verdict))
    else:
        said = (*record.grades.values(), *record.findings.values())
        found += [request_about(record, each.verdict) for each in said]
    return [each for each in found if each]


def sent(bodies: Sequence[Any]) -> set[tuple[str, str, tuple[str, ...]]]:
    return {
        (
            each["messages"][0]["content"],
            text_of(each),
            tuple(one.name.strip(":：\n ") for one in images_of(each)),
        )
        for each in bodies
    }


@table("name", *CASES)
def test_requests_are_those_that_the_judge_received(
    name: str, server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.requests.clear()
    server.answer = oracle.answer
    record = record_of(name, monkeypatch)
    found = rebuilt(record)
    assert {(each.system, each.user, tuple(each.images)) for each in found} == sent(server.requests)
    assert all(each.same for each in found)


def test_tokens_and_cost_are_known_without_a_price_only_tokens(
    server: JudgeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each reply took 10 and 5 tokens: of two steps and the root, and of a second question."""
    server.answer = oracle.answer
    record = record_of("steps", monkeypatch)
    calls = sum(len(step.verdicts) for step in record.steps)
    known = {"calls": calls, "cached": 0, "tokens_in": 10 * calls, "tokens_out": 5 * calls}
    assert spent_on(record, cost_function()) == {**known, "cost": None}
    monkeypatch.setenv("LMMS_RPTS_PRICE", "2/4")
    cost = cost_function()
    assert spent_on(record, cost)["cost"] == pytest.approx(calls * 40 / 1e6)
    nothing = {"calls": 0, "cached": 0, **dict.fromkeys(("tokens_in", "tokens_out", "cost"))}
    assert spent_on(RptsRecord.parse(make_record([0.5, 0.5])), cost) == nothing
