"""Isolation: an internal error affects one response only, never the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from lmms_rpts.filters.grading import all_filters
from lmms_rpts.scoring import reading, score, steps
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.cmmath import scorer
from lmms_rpts.tasks.rpts_eval.task import process_results
from tests.support.cmmath import make_doc as make_problem
from tests.support.filtered import records_of
from tests.support.instances import make_doc
from tests.support.tables import table

GOOD = (
    "Conclusion 0: from Image 0, the clock shows nine.\n"
    "Conclusion 1: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree"
)
BAD = GOOD.replace("closed", "closed, poison")


def poisoned(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original``, which fails on arguments that contain the word "poison"."""

    def fail(*arguments: Any, **named: Any) -> Any:
        # The repr of a tree is short, so look at its steps.
        if "poison" in repr([getattr(each, "chain", each) for each in arguments]):
            raise KeyError("poison \x1b[31m")
        return original(*arguments, **named)

    return fail


def run_rpts(*responses: str, doc: dict[str, Any] | None = None) -> list[RptsRecord]:
    """The records of responses, the second one to another document."""
    docs = [make_doc() for _ in responses]
    docs[1:2] = [doc or make_doc()] * len(docs[1:2])
    return records_of(*responses, docs=docs)


@table(
    "module, name, stage",
    (reading, "select_reasoning", "reading a response"),
    (reading, "extract_chain", "reading a response"),
    (steps, "repair_chain", "judging a response's steps"),
    (steps, "plan_steps", "judging a response's steps"),
    (steps, "judge_step", "judging a response's steps"),
    (score, "rpts_score", "aggregating a response's scores"),
    (score, "locate_error", "aggregating a response's scores"),
)
def test_a_fault_in_any_stage_leaves_one_response_unscored(
    monkeypatch: pytest.MonkeyPatch, logged: list[str], module: Any, name: str, stage: str
) -> None:
    logged.clear()
    (alone,) = run_rpts(GOOD)
    monkeypatch.setattr(module, name, poisoned(getattr(module, name)))
    first, bad, worse, last = run_rpts(GOOD, BAD, BAD, GOOD)
    assert first == last == alone
    for record in (bad, worse):
        assert (record.outcome, record.rpts) == ("unscored", None)
        assert f"internal error while {stage}: KeyError" in str(record.reason)
        assert "\x1b" not in str(record.reason)
        values = process_results(make_doc(), [record.to_json()])
        assert (values["judge_coverage"], values["rpts"]) == (0.0, None)
    said = "".join(logged)
    assert said.count("Traceback") == 1
    assert "\x1b" not in said


@table(
    "change",
    *({"id": own} for own in ([1, 2], {"a": 1}, 10**50, b"x", float("nan"), "\ud800")),
    *({name: None} for name in ("context", "textual_clue")),
    *({name: 7} for name in ("relation", "statement", "answer", "ability", "visual_clue")),
    {"language": "fr"},
)
def test_an_odd_document_is_its_own_outcome(change: dict[str, Any]) -> None:
    records = run_rpts(GOOD, GOOD, GOOD, doc=make_doc() | change)
    assert [records[0].outcome, records[2].outcome] == ["scored", "scored"]


def test_cmmath_leaves_it_ungraded(monkeypatch: pytest.MonkeyPatch, logged: list[str]) -> None:
    monkeypatch.setattr(scorer, "grade", poisoned(scorer.grade))
    doc = make_problem()
    right = f"最终答案：{doc['reference']}"
    found = all_filters()["cmmath_grade"]().apply(
        [[right], [f"poison {right}"], [right]], [doc] * 3
    )
    records = [json.loads(str(each)) for each in found]
    assert [record["score"] for record in records] == [1.0, None, 1.0]
    assert right in str(found[0]), "records are readable text"
    assert records[1]["instance"] == records[0]["instance"]
    assert "KeyError" in records[1]["reason"]
    assert "".join(logged).count("Traceback") == 1


@table("odd", ["a", "b"], [], b"x", 0.5, None)
def test_what_is_no_text_is_no_response(odd: Any) -> None:
    """A model that returned a list once ended the run after generation."""
    found = all_filters()["cmmath_grade"]().apply([[odd]], [make_problem()])
    assert json.loads(str(found[0]))["reason"] == "the model gave no response"
    reasons = [record.reason for record in records_of(odd, GOOD, docs=[make_doc()] * 2)]
    assert reasons == ["the model gave no response", None]
