"""A failed model request, which lmms-eval stores as if it were a response."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from lmms_rpts.filters.grading import all_filters
from lmms_rpts.scoring.record import RptsRecord
from tests.support import rome
from tests.support.filtered import filtered
from tests.support.instances import make_doc
from tests.support.tables import table

Doc = dict[str, Any]
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Error code: 500 - the\x1b[31m model is gone"
STEPS = "Conclusion 0: from Image 0, the clock shows nine.\nFinal answer: agree"


def grades(name: str, *given: Any) -> Any:
    return all_filters()[name]().apply(*given)


TASKS: dict[str, tuple[Callable[..., Any], Callable[[], Doc]]] = {
    "rpts_eval": (filtered, make_doc),
    "own data": (partial(filtered, answer="text"), partial(make_doc, answer="blue", options=[])),
    "rome": (partial(grades, "rome_answer"), rome.make_doc),
}


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")


@table("task", *TASKS)
def test_a_failed_request_is_left_out_and_an_empty_response_is_wrong(
    task: str, logged: list[str]
) -> None:
    apply, doc = TASKS[task]
    logged.clear()
    said = [FAILED, "", STEPS, FAILED.replace("500", "503"), FAILED, " \n"]
    failed, empty, *_ = map(json.loads, apply([[each] for each in said], [doc()] * 6))
    assert failed["outcome"] == "unscored"
    told = "Error code: 500 - the\N{REPLACEMENT CHARACTER}[31m model is gone"
    assert failed["reason"] == f"the model request failed: {told}"
    assert failed.get("answer", {}) in ("", {}) or failed["answer"]["correct"] is None
    assert failed.get("score", failed.get("rpts")) is None
    assert empty.get("score", empty.get("rpts")) == 0
    failures, empties = (each for each in logged if "s failed" in each or "are empty" in each)
    assert failures.startswith("3 of 6 model requests failed")
    assert told in failures
    assert empties.startswith("2 of 6 responses are empty and count as wrong")


@table(
    "response, message",
    (FAILED, "Error code: 500"),
    ("\n[LMMS_EVAL_REQUEST_FAILED after 1 retries] ", "lmms-eval gives no reason"),
    ('Error: can only concatenate str (not "NoneType") to str', "can only concatenate str"),
    ("Error: Error code: 400 - {'error': {'message': 'image 1 is too large'}}", "image 1 is too"),
    (
        "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Incorrect API key provided: sk-abcdefgh12345",
        "provided: ***",
    ),
    ("[LMMS_EVAL_BUDGET_EXCEEDED]", "the token budget of the run is spent (--max_tokens)"),
    ("[GENERATION_FAILED] CUDA out of memory", "CUDA out of memory"),
    ("Batch failed", "Batch failed"),
    ("Video a.mp4 generate failed, check the source", "generate failed, check the source"),
    ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] " + "x " * 10_000, "x x…"),
)
def test_what_wrappers_store_for_it(response: str, message: str) -> None:
    apply, doc = TASKS["rome"]
    reason = json.loads(str(apply([[response]], [doc()])[0]))["reason"]
    assert reason.startswith("the model request failed: ")
    assert message in reason
    assert "sk-abc" not in reason
    assert len(reason) < 400


@table(
    "response",
    "The log says [LMMS_EVAL_REQUEST_FAILED after 5 retries]. Final Answer: B",
    "[SAFETY_BLOCKED:PROHIBITED_CONTENT]",
    "Video 3 can not load: check the source of the statement.",
    "Batch failed, so the machine stands still.",
    "Error: the clock is misread. Final answer: disagree",
    "Error: the clock is misread by the statement.\nIt shows nine.",
    "Error: " + "the clock of the shop is misread, it seems to me. " * 10,
    "none",
)
def test_what_is_a_response(response: str) -> None:
    apply, doc = TASKS["rome"]
    assert json.loads(str(apply([[response]], [doc()])[0]))["outcome"] == "scored"


@table("response", FAILED, None, "None", STEPS)
def test_a_grade_from_elsewhere_is_none_of_a_failed_request(response: str | None) -> None:
    """The metric of a task calls a failed request wrong."""
    apply, doc = TASKS["rpts_eval"]
    record = RptsRecord.parse(json.loads(str(apply([[response]], [doc()])[0])))
    graded = record.graded(False)
    assert graded.answer.correct is (False if response == STEPS else None)
    assert record.graded(None).answer.correct is None
