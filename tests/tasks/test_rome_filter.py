"""``rome_answer``: which grader counts, the prompts of the judge, and the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest

from lmms_rpts.filters.session import reset_session
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.judging.types import JudgeConfigurationError
from lmms_rpts.reasoning.thinking import THINKING_SHOWN
from lmms_rpts.tasks import check_tasks
from lmms_rpts.tasks.data import DataError
from lmms_rpts.tasks.rome.filter import RomeAnswerFilter
from lmms_rpts.tasks.rome.record import process_results
from lmms_rpts.tasks.rome.thinking import CONCLUSION_SHOWN
from tests.support import oracle
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import JudgeServer, constant
from tests.support.rome import ENTRIES, changed, make_doc, write_rome

Record = dict[str, Any]
CORRECT, INCORRECT = "Both say B.\nVerdict: correct", "It says A.\nVerdict: incorrect"
AGREES, DIFFERS = "Verdict: consistent", "Verdict: inconsistent"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., JudgeServer]]:
    """Starts a judge and points the settings to it."""
    with ExitStack() as stack:

        def start(answer: Any = oracle.answer, grader: str = "llm") -> JudgeServer:
            server = stack.enter_context(JudgeServer(answer))
            monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("ROME_GRADER", grader)
            reset_session()
            return server

        yield start


def grade(*responses: str | None, **fields: Any) -> list[Record]:
    """The records of responses to one question."""
    (found,) = RomeAnswerFilter().apply([list(responses)], [make_doc(**fields)])
    return [json.loads(each) for each in ([found] if isinstance(found, str) else found)]


def shown(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def asks_to_compare(body: dict[str, Any]) -> bool:
    """Whether the request compares thinking and answer, instead of answer and reference."""
    return "inconsistent" in body["messages"][0]["content"]


def both(grade: Any, consistency: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: consistency if asks_to_compare(body) else grade


# --- rules ---------------------------------------------------------------------------------------


def test_a_document_that_no_rule_fits_is_told_in_its_record() -> None:
    for fields in ({"evaluator": "vibes"}, {"evaluator_kwargs": "{}"}, {"evaluator_kwargs": "{"}):
        (record,) = grade("Final Answer: B", **fields)
        assert record["outcome"] == "unscored"
        assert "can't be graded by rules" in record["reason"]


# --- a judge -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "score"), [(CORRECT, 1.0), (INCORRECT, 0.0), ("correct", 1.0), ("判定：错误", 0.0)]
)
def test_the_judges_grade_counts(
    judge: Callable[..., JudgeServer], reply: str, score: float
) -> None:
    server = judge(constant(reply))
    (record,) = grade("<think>Oak Hill? No.</think>Final Answer: B")
    assert record["score"] == score
    assert record["grader"] == "llm"
    assert record["grades"] == {"rule": 1.0, "strict": 1.0, "llm": {"verdict": ANY, "score": score}}
    assert record["settings"] == {
        "grader": "llm",
        "judge": "openai:test",
        "prompt_version": Prompts().version("grade"),
    }
    (body,) = server.requests
    for text in ("Which station does the line end at?", "<<<B, Mill Lane>>>", "Final Answer: B"):
        assert text in shown(body)
    assert "Oak Hill? No." not in shown(body)


# --- thinking and answer -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "consistent"), [(AGREES, True), (DIFFERS, False), ("判定：一致", True)]
)
def test_thinking_and_answer_are_compared(
    judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch, reply: str, consistent: bool
) -> None:
    configure(monkeypatch, rome={"consistency": True})
    server = judge(constant(reply), grader="rule")
    (record,) = grade("<think>It ends at Mill Lane.</think>Final Answer: B")
    assert record["consistency"] == {"verdict": ANY, "consistent": consistent}
    assert record["consistency"]["verdict"]["reply"] == reply
    assert record["grader"] == "rule"
    assert record["score"] == 1.0
    assert record["settings"]["judge"] == "openai:test"
    (body,) = server.requests
    assert "<<<It ends at Mill Lane.>>>" in shown(body)
    assert "<<<Final Answer: B>>>" in shown(body)
    assert "B, Mill Lane" not in shown(body), "the reference would reveal the right answer"
    metrics = process_results({}, [json.dumps(record)])
    assert metrics["thinking_answer_consistency"] == float(consistent)


def test_the_end_of_the_thinking_is_shown(
    judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, rome={"consistency": True})
    server = judge(constant(AGREES), grader="rule")
    end = "So it is B."
    grade(f"<think>first{'y' * (CONCLUSION_SHOWN - len(end))}{end}\n</think>Final Answer: B")
    fenced = shown(server.requests[0]).partition("thinking:\n<<<")[2].partition(">>>")[0]
    assert fenced == "y" * (CONCLUSION_SHOWN - len(end)) + end


@pytest.mark.parametrize(
    "response",
    ["Final Answer: B", "<think> \n</think>Final Answer: B", "<think>It is B.", "<think>B</think>"],
)
def test_nothing_is_compared_where_one_of_both_is_missing(
    judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch, response: str
) -> None:
    configure(monkeypatch, rome={"consistency": True})
    server = judge(grader="rule")
    (record,) = grade(response)
    assert record["consistency"] is None
    assert process_results({}, [json.dumps(record)])["thinking_answer_consistency"] is None
    assert server.calls == 0


@pytest.mark.parametrize(
    ("reply", "pretended"),
    [
        ("It says that it searched.\nVerdict: pretended", True),
        ("Nothing of that.\nVerdict: none", False),
        ("判定：假装", True),
        ("Hard to say.", None),
    ],
)
def test_pretended_tools_are_asked_for(
    judge: Callable[..., JudgeServer],
    monkeypatch: pytest.MonkeyPatch,
    reply: str,
    pretended: bool | None,
) -> None:
    """Of a long thinking, the judge sees the end, and what may be about tools."""
    configure(monkeypatch, rome={"pretended_tools": True})
    server = judge(constant(reply), grader="rule")
    filler, claim = "It may be A or B.\n" * 5000, "Running a quick image search: it is a heron.\n"
    (record,) = grade(f"<think>{filler}{claim}{filler}So B.</think>Final Answer: B")
    found = record["pretended_tools"]
    assert found["pretended"] is pretended
    assert (found["verdict"]["error"] is None) == (pretended is not None)
    assert len(2 * filler) - THINKING_SHOWN <= found["left_out"] <= len(2 * filler)
    said = shown(server.requests[0])
    assert claim in said
    assert "So B.>>>" in said
    assert len(said) < THINKING_SHOWN + 3000
    metrics = process_results({}, [json.dumps(record)])
    assert metrics["pretended_tools"] == (None if pretended is None else float(pretended))
    assert (record["consistency"], metrics["thinking_answer_consistency"]) == (None, None)
    calls = server.calls
    (record,) = grade("Final Answer: B")
    assert "pretended_tools" not in record
    assert server.calls == calls


def test_grade_and_consistency_fail_apart(
    judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(monkeypatch, rome={"consistency": True})
    response = "<think>It is A.</think>Final Answer: B"
    judge(both(CORRECT, "Hard to say."))
    (record,) = grade(response)
    assert record["outcome"] == "scored"
    assert record["consistency"]["consistent"] is None
    assert "consistent or inconsistent" in record["consistency"]["verdict"]["error"]
    judge(both("Hard to say.", DIFFERS))
    (record,) = grade(response)
    assert record["outcome"] == "unscored"
    assert record["consistency"]["consistent"] is False


# --- checks before generation --------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rome").mkdir()
    monkeypatch.setenv("ROME_PATH", str(tmp_path / "rome"))
    monkeypatch.setenv("LMMS_RPTS_CACHE", str(tmp_path / "cache"))
    return write_rome(tmp_path / "rome")


@pytest.mark.parametrize("task", ["rome_diagrams", "rome"])
def test_recommended_needs_a_judge_for_diagrams(
    data: Path, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    monkeypatch.setenv("ROME_GRADER", "recommended")
    with pytest.raises(JudgeConfigurationError, match=r"^ROME_GRADER=recommended needs a judge"):
        check_tasks([task])


def test_a_judge_that_nobody_checked_is_missed_in_the_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another package's task with our filter: the generated responses must not be lost."""
    monkeypatch.setenv("ROME_GRADER", "recommended")
    (record,) = grade("Final Answer: B")
    assert record["outcome"] == "unscored"
    assert record["reason"].startswith("not judged: ROME_GRADER=recommended needs a judge")


def test_a_question_without_a_reference_is_told(
    data: Path, monkeypatch: pytest.MonkeyPatch, judge: Callable[..., JudgeServer]
) -> None:
    write_rome(data, changed(ENTRIES, "question_diagrams_1", reference=None))
    check_tasks(["rome"])
    judge(grader="recommended")
    check_tasks(["rome_geo"])
    with pytest.raises(DataError, match="question 'question_diagrams_1': it has no 'reference'"):
        check_tasks(["rome"])
