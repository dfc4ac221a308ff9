"""``cmmath_grade``: which grade counts, the prompts of the judge, and the record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from lmms_rpts.filters import grading as filters_grading
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.cmmath import grading
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.grading import ANSWER_TYPES, Grade
from lmms_rpts.tasks.cmmath.grading import grade as grade_by_rules
from tests.support import oracle
from tests.support.cmmath import make_doc
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import JudgeServer, constant

Record = dict[str, Any]
YES, NO = "Both are 9.\n<Yes>", "It says 6.\n<No>"
KIND = "It took 6 for 9.\nVerdict: perception"
NINE, SIX, VAGUE = "面积是9．", "面积是6．", "面积是3乘3．"
JUDGED = {"score": 1.0, "reply": YES, "error": None}


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def graded(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Rules that read only a 9 or a 6; returns the list of their calls."""
    asked: list[tuple[str, str, str]] = []

    def grade(question: str, reference: str, response: str) -> Grade:
        asked.append((question, reference, response))
        if "9" in response:
            return Grade("correct", "9", "number", "number")
        if "6" in response or not response.strip():
            return Grade("incorrect", "6" if response.strip() else "", "number", "number")
        return Grade("undecided", "", "no answer was found", "number")

    monkeypatch.setattr(grading, "grade", grade)
    return asked


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., JudgeServer]]:
    """Starts a judge and points the settings to it."""
    with ExitStack() as stack:

        def start(answer: Any = oracle.answer, grader: str = "", errors: str = "") -> JudgeServer:
            server = stack.enter_context(JudgeServer(answer))
            monkeypatch.setenv("LMMS_RPTS_JUDGE", "openai:test")
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            monkeypatch.setenv("CMMATH_GRADER", grader)
            configure(monkeypatch, cmmath={"errors": errors == "1"})
            return server

        yield start


def grade(*responses: str | None, **fields: Any) -> list[Record]:
    """The records of responses to one problem."""
    (found,) = CmmathGradeFilter().apply([list(responses)], [make_doc(**fields)])
    return [json.loads(each) for each in ([found] if isinstance(found, str) else found)]


def shown(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def asks_for_mistake(body: dict[str, Any]) -> bool:
    return "感知" in body["messages"][0]["content"]


def both(verdict: Any, kind: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: kind if asks_for_mistake(body) else verdict


# --- rules ---------------------------------------------------------------------------------------


def test_a_record_by_rules_needs_no_judge(graded: list[tuple[str, str, str]]) -> None:
    (record,) = grade(f"<think>也许是6？</think>{NINE}")
    question = "如图，正方形的边长是$$3$$，则它的面积是 $$\\underline{}$$ ．"
    assert record == {
        "schema": "lmms_rpts.cmmath",
        "schema_version": 1,
        "outcome": "scored",
        "reason": None,
        "score": 1.0,
        "grader": "rule",
        "grades": {"rule": {"outcome": "correct", "answer": "9", "rule": "number"}, "judge": None},
        "answer_type": "number",
        "answer": NINE,
        "source": "thinking",
        "mistake": None,
        "instance": {
            "id": "90001",
            "question": question,
            "reference": "$$9$$",
            "form": "blank",
            "category": "Plane Geometry",
            "grade_id": 4,
            "grade_group": 1,
            "knowledge_point": "图形(面积(正方形的面积))",
            "images": ["90001_img.png"],
        },
        "settings": {
            "grader": "rule",
            "mistakes": False,
            "judge": None,
            "prompt_version": Prompts().version("compare"),
            "rules_version": "5",
        },
    }
    assert graded == [(question, "$$9$$", NINE)]


def test_an_incorrect_answer_is_a_zero() -> None:
    (record,) = grade(SIX)
    assert (record["outcome"], record["score"], record["grader"]) == ("scored", 0.0, "rule")


def test_what_the_rules_leave_undecided_has_no_score() -> None:
    (record,) = grade(VAGUE)
    assert (record["outcome"], record["score"], record["grader"]) == ("unscored", None, None)
    assert record["reason"] == "the rules leave it undecided: no answer was found"
    assert record["grades"]["rule"]["outcome"] == "undecided"
    assert record["grades"]["judge"] is None


def test_a_plain_answer_is_graded_by_the_real_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "grade", grade_by_rules)
    question = "图中有几个三角形？（   ）\n\nA.$$2$$\nB.$$3$$\nC.$$4$$\nD.$$5$$"
    right, wrong = grade(
        "最终答案：B", "最终答案：C", question=question, reference="B", form="choice"
    )
    assert right["answer_type"] in ANSWER_TYPES
    assert (right["score"], wrong["score"]) == (1.0, 0.0)
    assert right["grades"]["rule"]["answer"] == "B"


# --- progress and final messages -----------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[list[str]]:
    from loguru import logger

    said: list[str] = []
    number = logger.add(lambda message: said.append(str(message)), level="WARNING")
    yield said
    logger.remove(number)


def test_it_is_said_what_is_left_undecided_and_what_failed(
    log: list[str], judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(NINE, VAGUE, VAGUE, None)
    assert "2 of 4 responses are left undecided by the rules" in "".join(log)
    assert "CMMATH_GRADER=both" in "".join(log)
    assert "1 of 4 responses could not be graded" in "".join(log)
    log.clear()
    judge(both(NO, "Hard to say."), grader="both", errors="1")
    grade(NINE, VAGUE)
    assert "1 of 1 mistakes could not be classified; first: " in "".join(log)
    assert "undecided" not in "".join(log)
    log.clear()
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    grade(NINE, VAGUE)
    assert not log


@pytest.mark.parametrize(("rank", "told"), [("0", True), ("1", False)])
def test_many_responses_are_graded_in_sight(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rank: str, told: bool
) -> None:
    monkeypatch.setenv("RANK", rank)
    grade(*[NINE] * (filters_grading.MANY - 1))
    assert "Grading" not in capsys.readouterr().err
    assert len(grade(*[NINE] * filters_grading.MANY)) == filters_grading.MANY
    assert (f"{filters_grading.MANY}/{filters_grading.MANY}" in capsys.readouterr().err) == told


# --- a judge -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "score"), [(YES, 1.0), (NO, 0.0), ("Yes", 1.0), ("**<No>**", 0.0)]
)
def test_the_judges_grade_counts(
    judge: Callable[..., JudgeServer], reply: str, score: float
) -> None:
    server = judge(constant(reply), grader="judge")
    (record,) = grade(f"<think>也许是6？</think>{NINE}")
    assert (record["score"], record["grader"]) == (score, "judge")
    assert record["grades"] == {
        "rule": {"outcome": "correct", "answer": "9", "rule": "number"},
        "judge": {"score": score, "reply": reply, "error": None},
    }
    assert record["settings"] == {
        "grader": "judge",
        "mistakes": False,
        "judge": "openai:test",
        "prompt_version": Prompts().version("compare"),
        "rules_version": "5",
    }
    (body,) = server.requests
    # the problem in readable notation, and the response unchanged
    for text in (
        "<<<如图，正方形的边长是$3$，则它的面积是 ____ ．>>>",
        "<<<$9$>>>",
        f"<<<{NINE}>>>",
    ):
        assert text in shown(body)
    assert "也许是6" not in shown(body)
    assert body["messages"][0]["content"].startswith("You check whether")


def test_both_ask_only_about_what_is_undecided(judge: Callable[..., JudgeServer]) -> None:
    server = judge(constant(YES), grader="both")
    records = grade(NINE, SIX, VAGUE)
    assert [record["score"] for record in records] == [1.0, 0.0, 1.0]
    assert [record["grader"] for record in records] == ["rule", "rule", "judge"]
    assert [record["grades"]["judge"] for record in records] == [None, None, JUDGED]
    assert {record["settings"]["judge"] for record in records} == {"openai:test"}
    assert server.calls == 1
    assert f"<<<{VAGUE}>>>" in shown(server.requests[0])


@pytest.mark.parametrize("errors", ["", "0"])
def test_rules_never_ask(judge: Callable[..., JudgeServer], errors: str) -> None:
    server = judge(grader="rule", errors=errors)
    records = grade(NINE, SIX, VAGUE)
    assert {record["settings"]["judge"] for record in records} == {None}
    assert server.calls == 0


# --- kinds of mistakes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (KIND, "perception"),
        ("判定：推理", "reasoning"),
        ("判定：计算", "calculation"),
        ("判定：拒答", "reject"),
    ],
)
def test_the_kind_of_a_mistake_is_told(
    judge: Callable[..., JudgeServer], reply: str, kind: str
) -> None:
    server = judge(constant(reply), grader="rule", errors="1")
    (record,) = grade(f"<think>也许是9？</think>{SIX}")
    assert record["mistake"] == {"kind": kind, "reply": reply, "error": None}
    assert (record["score"], record["grader"], record["grades"]["judge"]) == (0.0, "rule", None)
    assert record["settings"] == {
        "grader": "rule",
        "mistakes": True,
        "judge": "openai:test",
        "prompt_version": Prompts().version("compare"),
        "rules_version": "5",
    }
    (body,) = server.requests
    assert "<<<$9$\n\n正方形的面积等于边长乘边长：$3\\times 3=9$．>>>" in shown(body)
    assert f"<<<{SIX}>>>" in shown(body)
    assert "也许是9" not in shown(body)


def test_only_incorrect_answers_have_a_mistake(judge: Callable[..., JudgeServer]) -> None:
    server = judge(constant("判定：计算"), grader="rule", errors="1")
    records = grade(NINE, SIX, VAGUE, "", None)
    kinds = [record["mistake"] and record["mistake"]["kind"] for record in records]
    assert kinds == [None, "calculation", None, "reject", None]
    assert server.calls == 1


def test_a_mistake_is_asked_for_after_the_judge_found_one(
    judge: Callable[..., JudgeServer],
) -> None:
    server = judge(both(NO, "判定：推理"), grader="judge", errors="1")
    (record,) = grade(NINE)
    assert (record["score"], record["mistake"]["kind"]) == (0.0, "reasoning")
    assert [asks_for_mistake(body) for body in server.requests] == [False, True]


def test_a_mistake_that_can_not_be_told_leaves_the_grade(judge: Callable[..., JudgeServer]) -> None:
    judge(both(NO, "感知或推理"), grader="judge", errors="1")
    (record,) = grade(NINE)
    assert (record["outcome"], record["score"]) == ("scored", 0.0)
    assert record["mistake"]["kind"] is None
    assert record["mistake"]["reply"] == "感知或推理"
    assert "one of perception, reasoning, calculation and reject" in record["mistake"]["error"]


def test_a_problem_without_a_solution_shows_its_answer(judge: Callable[..., JudgeServer]) -> None:
    server = judge(constant("判定：计算"), grader="rule", errors="1")
    grade(SIX, analysis="")
    assert "<<<$9$>>>" in shown(server.requests[0])


# --- settings ------------------------------------------------------------------------------------


def test_the_judge_none_leaves_answers_to_be_graded_later(
    judge: Callable[..., JudgeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = judge(grader="both", errors="1")
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    vague, six, nine = grade(VAGUE, SIX, NINE)
    assert vague["reason"] == "not judged: the judge is 'none'"
    assert vague["grades"]["judge"] == {"score": None, "reply": None, "error": vague["reason"]}
    assert vague["mistake"] is None
    assert (six["score"], six["mistake"]["kind"]) == (0.0, None)
    assert six["mistake"]["error"] == "not judged: the judge is 'none'"
    assert nine["score"] == 1.0
    assert vague["settings"]["judge"] == "none"
    assert server.calls == 0
