"""``cmmath_grade``: which grade counts, the prompts of the judge, and the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import ANY

import pytest
from loguru import logger

from lmms_rpts.filters.session import reset_session
from lmms_rpts.grading import grader as grading
from lmms_rpts.grading.grader import Grade, Outcome
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.cmmath import RULES_VERSION
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.prompts import read_wording
from tests.support import oracle
from tests.support.cmmath import make_doc
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import JudgeServer
from tests.support.tables import table

Record = dict[str, Any]
Judge = Callable[..., JudgeServer]
YES, NO = "Both are 9.\n<Yes>", "It says 6.\n<No>"
NINE, SIX, VAGUE = "面积是9．", "面积是6．", "面积是3乘3．"
QUESTION = "如图，正方形的边长是$$3$$，则它的面积是 $$\\underline{}$$ ．"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Rules that read only a 9 or a 6; returns the list of their calls."""
    asked: list[tuple[str, str, str]] = []

    def grade(response: str, gold: str, *, kind: str, question: str) -> Grade:
        asked.append((question, gold, response))
        outcome: Outcome = "correct" if "9" in response else "undecided"
        outcome = "incorrect" if "6" in response or not response.strip() else outcome
        found = {"correct": "9", "incorrect": "6" * bool(response.strip()), "undecided": ""}
        return Grade(outcome, found[outcome], "number")

    monkeypatch.setattr(grading, "grade", grade)
    return asked


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch, graded: Any) -> Iterator[Judge]:
    """Starts a judge and points the settings to it."""
    with ExitStack() as stack:

        def start(answer: Any = oracle.answer, grader: str = "", errors: bool = False) -> Any:
            server = stack.enter_context(JudgeServer(answer))
            monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("CMMATH_GRADER", grader)
            configure(monkeypatch, cmmath={"errors": errors})
            return server

        yield start


@pytest.fixture
def log() -> Iterator[list[str]]:
    said: list[str] = []
    number = logger.add(lambda message: said.append(str(message)), level="WARNING")
    yield said
    logger.remove(number)


def grade(*responses: str | None, **fields: Any) -> list[Record]:
    """The records of responses to one problem."""
    (found,) = CmmathGradeFilter().apply([list(responses)], [make_doc(**fields)])
    return [json.loads(each) for each in ([found] if isinstance(found, str) else found)]


def shown(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])


def asks_for_mistake(body: dict[str, Any]) -> bool:
    return "感知" in body["messages"][0]["content"]


def both(verdict: Any, kind: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: kind if asks_for_mistake(body) else verdict


# grader, whether mistakes are asked for, response, verdict of the judge, its reply on the mistake;
# the score, who gave it, the kind of mistake, and the number of questions
GRADES = [
    ("rule", False, NINE, NO, "", 1.0, "rule", None, 0),
    ("rule", False, SIX, YES, "", 0.0, "rule", None, 0),
    ("rule", False, VAGUE, YES, "", None, None, None, 0),
    ("judge", False, NINE, YES, "", 1.0, "judge", None, 1),
    ("judge", False, NINE, NO, "", 0.0, "judge", None, 1),
    ("judge", False, NINE, "Yes", "", 1.0, "judge", None, 1),
    ("judge", False, NINE, "**<No>**", "", 0.0, "judge", None, 1),
    ("both", False, NINE, NO, "", 1.0, "rule", None, 0),
    ("both", False, SIX, YES, "", 0.0, "rule", None, 0),
    ("both", False, VAGUE, YES, "", 1.0, "judge", None, 1),
    ("rule", True, NINE, NO, "判定：计算", 1.0, "rule", None, 0),
    ("rule", True, VAGUE, NO, "判定：计算", None, None, None, 0),
    ("rule", True, "", NO, "判定：计算", 0.0, "rule", "reject", 0),
    ("rule", True, " \n", NO, "判定：计算", 0.0, "rule", "reject", 0),
    ("rule", True, None, NO, "判定：计算", None, None, None, 0),
    ("rule", True, SIX, NO, "It took 6.\nVerdict: perception", 0.0, "rule", "perception", 1),
    ("rule", True, SIX, NO, "判定：推理", 0.0, "rule", "reasoning", 1),
    ("rule", True, SIX, NO, "判定：计算", 0.0, "rule", "calculation", 1),
    ("rule", True, SIX, NO, "判定：拒答", 0.0, "rule", "reject", 1),
    ("judge", True, NINE, NO, "判定：推理", 0.0, "judge", "reasoning", 2),
    ("judge", True, NINE, NO, "感知或推理", 0.0, "judge", None, 2),
]


@table("grader, errors, response, verdict, kind, score, by, mistake, requests", *GRADES)
def test_which_grade_counts_and_what_the_judge_is_asked(
    judge: Judge,
    grader: str,
    errors: bool,
    response: str | None,
    verdict: str,
    kind: str,
    score: float | None,
    by: str | None,
    mistake: str | None,
    requests: int,
) -> None:
    server = judge(both(verdict, kind), grader=grader, errors=errors)
    (record,) = grade(response and f"<think>也许是6？</think>{response}")
    assert (record["score"], record["grader"]) == (score, by)
    assert record["outcome"] == ("unscored" if score is None else "scored")
    judged = {"verdict": ANY, "score": score}
    assert record["grades"]["judge"] == (judged if by == "judge" else None)
    assert record["settings"] == {
        "grader": grader,
        "mistakes": errors,
        "judge": "openai:test" if errors or grader != "rule" else None,
        "prompts": read_wording()[1],
        "prompt_version": Prompts().version("compare"),
        "rules_version": RULES_VERSION,
    }
    if errors and score == 0:
        entry = record["mistake"]
        said = entry.get("verdict") or {"reply": None, "error": None}
        assert (entry["kind"], said["reply"]) == (mistake, kind if requests else None)
        named = "one of perception, reasoning, calculation and reject" if mistake is None else ""
        assert named in (said["error"] or "")
    else:
        assert record["mistake"] is None
    first = [body for body in server.requests if "不要写理由" not in shown(body)]
    compared = [shown(body) for body in first if not asks_for_mistake(body)]
    explained = [shown(body) for body in first if asks_for_mistake(body)]
    assert len({*compared, *explained}) == requests
    # The problem in readable notation, and the response unchanged, without thinking.
    readable = "<<<如图，正方形的边长是$3$，则它的面积是 ____ ．>>>"
    solution = "<<<$9$\n\n正方形的面积等于边长乘边长：$3\\times 3=9$．>>>"
    for text in compared:
        assert all(part in text for part in (readable, "<<<$9$>>>", f"<<<{response}>>>"))
    for text in explained:
        assert all(part in text for part in (readable, solution, f"<<<{response}>>>"))
    assert not any("也许是6" in text for text in (*compared, *explained))


def test_without_a_solution_the_answer_stands_for_it(judge: Judge) -> None:
    server = judge(both(NO, "判定：计算"), errors=True)
    grade(SIX, analysis="")
    assert "<<<$9$>>>" in shown(server.requests[0])


def test_the_judge_none_leaves_answers_to_be_graded_later(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = judge(grader="both", errors=True)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    vague, six, nine = grade(VAGUE, SIX, NINE)
    assert vague["reason"] == "not judged: the judge is 'none'"
    assert vague["grades"]["judge"] == {"score": None, "reason": vague["reason"]}
    assert vague["mistake"] is None
    assert (six["score"], six["mistake"]["kind"]) == (0.0, None)
    assert six["mistake"]["verdict"]["error"] == "not judged: the judge is 'none'"
    assert (nine["score"], nine["settings"]["judge"]) == (1.0, "none")
    assert server.calls == 0


def test_warnings_name_what_is_undecided_and_what_failed(
    log: list[str], judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(NINE, VAGUE, VAGUE, None)
    said = "".join(log)
    assert "2 of 4 responses are left undecided by the rules" in said
    assert "CMMATH_GRADER=both LMMS_RPTS_JUDGE=" in said
    assert "1 of 4 model requests failed" in said
    log.clear()
    judge(both(NO, "Hard to say."), grader="both", errors=True)
    grade(NINE, VAGUE)
    assert "1 of 1 mistakes could not be classified; first: " in "".join(log)
    assert "undecided" not in "".join(log)
    log.clear()
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    reset_session()
    grade(NINE, VAGUE)
    assert not log


def test_the_rules_get_the_question_and_the_answer_without_thinking(
    graded: list[tuple[str, str, str]],
) -> None:
    (record,) = grade(f"<think>也许是6？</think>{VAGUE}")
    assert graded == [(QUESTION, "$$9$$", VAGUE)]
    assert record["reason"] == "the rules leave it undecided: number"
    assert record["grades"]["rule"] == {"outcome": "undecided", "answer": "", "rule": "number"}
    assert (record["answer"], record["source"]) == (VAGUE, "thinking")
