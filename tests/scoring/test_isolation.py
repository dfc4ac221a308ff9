"""Isolation: an internal error affects one response only, never the run."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from loguru import logger

from lmms_rpts.filters.rpts import AggregateFilter, ScoreFilter, TransformFilter
from lmms_rpts.scoring import grading as shared
from lmms_rpts.scoring import reading, score, steps
from lmms_rpts.scoring.metrics import METRICS
from lmms_rpts.scoring.record import RptsRecord
from lmms_rpts.tasks.cmmath import grading as cmmath_grading
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.record import CmmathRecord
from lmms_rpts.tasks.cmmath.record import process_results as process_cmmath
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.record import RomeRecord
from lmms_rpts.tasks.rome.record import process_results as process_rome
from lmms_rpts.tasks.rome.scorer import RomeScorer
from lmms_rpts.tasks.rpts_eval.results import process_results
from tests.support.cmmath import make_doc as make_problem
from tests.support.instances import make_doc
from tests.support.rome import make_doc as make_question
from tests.support.tables import table

GOOD = (
    "Conclusion 0: from Image 0, the clock shows nine.\n"
    "Conclusion 1: from Conclusion 0 and Text 0, the shop is closed.\nFinal answer: agree"
)
BAD = GOOD.replace("closed", "closed, poison")


@pytest.fixture
def logged() -> Any:
    """The log messages."""
    run_rpts([GOOD])  # this imports lmms-eval, which replaces the handlers
    lines: list[str] = []
    handler = logger.add(lines.append, format="{message}", diagnose=False)
    yield lines
    logger.remove(handler)


def poisoned(original: Callable[..., Any]) -> Callable[..., Any]:
    """``original``, which fails on arguments that contain the word "poison"."""

    def fail(*arguments: Any, **named: Any) -> Any:
        # The repr of a tree is short, so look at its steps.
        if "poison" in repr([getattr(each, "chain", each) for each in arguments]):
            raise KeyError("poison \x1b[31m")
        return original(*arguments, **named)

    return fail


def run_rpts(responses: list[str]) -> list[dict[str, Any]]:
    docs = [make_doc() for _ in responses]
    resps: Any = TransformFilter(judge="lexical").apply([[each] for each in responses], docs)
    resps = ScoreFilter(judge="lexical").apply(resps, docs)
    return [json.loads(str(each)) for each in AggregateFilter().apply(resps, docs)]


@pytest.mark.parametrize(
    ("module", "name", "stage"),
    [
        (reading, "select_reasoning", "reading a response"),
        (reading, "extract_chain", "reading a response"),
        (steps, "repair_chain", "judging a response's steps"),
        (steps, "plan_steps", "judging a response's steps"),
        (steps, "judge_step", "judging a response's steps"),
        (score, "rpts_score", "aggregating a response's scores"),
        (score, "locate_error", "aggregating a response's scores"),
    ],
)
def test_a_fault_in_any_stage_leaves_one_response_unscored(
    monkeypatch: pytest.MonkeyPatch, logged: list[str], module: Any, name: str, stage: str
) -> None:
    (alone,) = run_rpts([GOOD])
    monkeypatch.setattr(module, name, poisoned(getattr(module, name)))
    first, bad, worse, last = run_rpts([GOOD, BAD, BAD, GOOD])
    assert first == last == alone
    for record in (bad, worse):
        assert (record["outcome"], record["rpts"]) == ("unscored", None)
        assert f"internal error while {stage}: KeyError" in record["reason"]
        assert "\x1b" not in record["reason"]
        metrics = process_results(make_doc(), [json.dumps(record)])
        assert metrics["judge_coverage"] == 0.0
        assert metrics["rpts"] is metrics["accuracy_rpts"] is None
        assert set(metrics) == set(METRICS)
    said = "".join(logged)
    assert said.count("Traceback") == 1
    assert "\x1b" not in said


def test_a_fault_in_writing_a_record_is_one_responses_too(
    monkeypatch: pytest.MonkeyPatch, logged: list[str]
) -> None:
    write = RomeScorer.record

    def record(self: Any, given: Any, *others: Any) -> Any:
        if "poison" in given.answer:
            raise KeyError("poison")
        return write(self, given, *others)

    monkeypatch.setattr(RomeScorer, "record", record)
    docs = [make_question() for _ in range(3)]
    found = RomeAnswerFilter().apply([["B"], ["B poison"], ["B"]], docs)
    records = [json.loads(str(each)) for each in found]
    assert [each["score"] for each in records] == [1.0, None, 1.0]
    assert records[1]["reason"].startswith("internal error while grading a response: KeyError")
    assert records[1]["instance"] == records[0]["instance"]


@pytest.mark.parametrize(
    ("grading", "doc", "field", "value"),
    [
        (RomeAnswerFilter, make_question(), "image_type", 7),
        (CmmathGradeFilter, make_problem(), "category", ["Table"]),
        (CmmathGradeFilter, make_problem(), "grade_id", "nine"),
    ],
)
def test_what_a_record_can_not_hold_is_a_fault_of_its_document(
    grading: Any, doc: dict[str, Any], field: str, value: object
) -> None:
    assert list(grading().document_faults(doc)) == []
    (fault,) = grading().document_faults(doc | {field: value})
    assert fault.startswith(f"{field} should be ")


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


ODD_IDS: list[object] = [
    [1, 2],
    {"a": 1},
    10**5000,
    Unprintable(),
    b"x",
    float("nan"),
    {1},
    "\ud800",
]


@table("own", *ODD_IDS)
def test_an_odd_id_costs_no_record(monkeypatch: pytest.MonkeyPatch, own: object) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    docs = [make_doc(), make_doc(id=own), make_doc()]
    scored = ScoreFilter("lexical").apply(TransformFilter().apply([[GOOD]] * 3, docs), docs)
    for each in AggregateFilter().apply(scored, docs):
        assert RptsRecord.parse(json.loads(str(each))).outcome == "scored"
    question, problem = make_question() | {"id": own}, make_problem() | {"id": own}
    for grading, record, doc in (
        (RomeAnswerFilter(), RomeRecord, question),
        (CmmathGradeFilter(), CmmathRecord, problem),
    ):
        (found,) = grading.apply([["B"]], [doc])
        assert record.parse(json.loads(str(found))).outcome == "scored"


@table(
    "change",
    {"relation": 7},
    {"statement": 7},
    {"context": None},
    {"answer": 3},
    {"ability": 5},
    {"visual_clue": 5},
    {"textual_clue": None},
    {"language": "fr"},
)
def test_an_odd_document_is_its_own_outcome(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    docs = [make_doc(), make_doc() | change, make_doc()]
    scored = ScoreFilter("lexical").apply(TransformFilter().apply([[GOOD]] * 3, docs), docs)
    records = [
        RptsRecord.parse(json.loads(str(each))) for each in AggregateFilter().apply(scored, docs)
    ]
    assert [records[0].outcome, records[2].outcome] == ["scored", "scored"]


@table("results", None, [None], [5], [{}], [["x"]], [float("nan")], ["{"], "text")
def test_metrics_of_what_is_no_record(results: Any) -> None:
    for process in (process_results, process_rome, process_cmmath):
        for doc in ({}, make_doc(), {"id": Unprintable(), "visual_clue": 5}):
            assert set(process(doc, results).values()) == {None}


def test_cmmath_leaves_it_ungraded(monkeypatch: pytest.MonkeyPatch, logged: list[str]) -> None:
    monkeypatch.setattr(cmmath_grading, "grade", poisoned(cmmath_grading.grade))
    doc = make_problem()
    right = f"最终答案：{doc['reference']}"
    found = CmmathGradeFilter().apply([[right], [f"poison {right}"], [right]], [doc] * 3)
    records = [json.loads(str(each)) for each in found]
    assert [record["score"] for record in records] == [1.0, None, 1.0]
    assert "KeyError" in records[1]["reason"]
    assert records[1]["answer_type"] == "unknown"
    assert "".join(logged).count("Traceback") == 1


@pytest.mark.parametrize("grader", ["judge", "both"])
def test_an_ungraded_answer_is_no_zero_where_a_judge_is_asked(
    monkeypatch: pytest.MonkeyPatch, grader: str
) -> None:
    monkeypatch.setenv("CMMATH_GRADER", grader)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    monkeypatch.setattr(shared, "select_reasoning", poisoned(shared.select_reasoning))
    (found,) = CmmathGradeFilter().apply([["poison"]], [make_problem()])
    record = json.loads(str(found))
    assert record["score"] is None
    assert "KeyError" in record["reason"]


@pytest.mark.parametrize("odd", [["a", "b"], [], {"text": "x"}, b"x", 3, 0.5, None, object()])
def test_what_is_no_text_is_no_response(odd: Any) -> None:
    """A model that returned a list once ended the run after generation."""
    found = CmmathGradeFilter().apply([[odd]], [make_problem()])
    assert json.loads(str(found[0]))["reason"] == "the model gave no response"
    resps: Any = TransformFilter(judge="lexical").apply([[odd], [GOOD]], [make_doc(), make_doc()])
    assert [each.transform.error for (each,) in resps] == ["the model gave no response", None]
