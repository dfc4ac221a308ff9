"""``cmmath_grade``: which grade counts, the prompts of the judge, and the record; the verifier."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from lmms_eval.verifiers import VERIFIER_REGISTRY, build_verification_pipeline
from loguru import logger

import lmms_rpts.plugin
from lmms_rpts.filters import grading as filters_grading
from lmms_rpts.judging.prompts import Prompts
from lmms_rpts.tasks.benchmark import all_verifiers
from lmms_rpts.tasks.cmmath import RULES_VERSION, grading
from lmms_rpts.tasks.cmmath.filter import CmmathGradeFilter
from lmms_rpts.tasks.cmmath.grading import Grade, Outcome
from tests.support import oracle
from tests.support.cmmath import make_doc
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import JudgeServer, constant
from tests.support.tables import table

Record = dict[str, Any]
Judge = Callable[..., JudgeServer]
YES, NO = "Both are 9.\n<Yes>", "It says 6.\n<No>"
KIND = "It took 6 for 9.\nVerdict: perception"
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

    def grade(question: str, reference: str, response: str) -> Grade:
        asked.append((question, reference, response))
        outcome: Outcome = "correct" if "9" in response else "undecided"
        outcome = "incorrect" if "6" in response or not response.strip() else outcome
        found = {"correct": "9", "incorrect": "6" * bool(response.strip()), "undecided": ""}
        return Grade(outcome, found[outcome], "number", "number")

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


def settings(grader: str, mistakes: bool, judge: str | None) -> Record:
    return {
        "grader": grader,
        "mistakes": mistakes,
        "judge": judge,
        "prompt_version": Prompts().version("compare"),
        "rules_version": RULES_VERSION,
    }


def shown(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"])


def asks_for_mistake(body: dict[str, Any]) -> bool:
    return "感知" in body["messages"][0]["content"]


def both(verdict: Any, kind: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: kind if asks_for_mistake(body) else verdict


# --- rules ---------------------------------------------------------------------------------------


def test_a_record_by_rules_needs_no_judge(graded: list[tuple[str, str, str]]) -> None:
    (record,) = grade(f"<think>也许是6？</think>{NINE}")
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
            "question": QUESTION,
            "reference": "$$9$$",
            "form": "blank",
            "category": "Plane Geometry",
            "grade_id": 4,
            "grade_group": 1,
            "knowledge_point": "图形(面积(正方形的面积))",
            "images": ["90001_img.png"],
        },
        "settings": settings("rule", False, None),
    }
    assert graded == [(QUESTION, "$$9$$", NINE)]
    six, vague = grade(SIX, VAGUE)
    assert (six["outcome"], six["score"], six["grader"]) == ("scored", 0.0, "rule")
    assert (vague["outcome"], vague["score"], vague["grader"]) == ("unscored", None, None)
    assert vague["reason"] == "the rules leave it undecided: number"
    assert (vague["grades"]["rule"]["outcome"], vague["grades"]["judge"]) == ("undecided", None)


def test_warnings_name_what_is_undecided_and_what_failed(
    log: list[str], judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    grade(NINE, VAGUE, VAGUE, None)
    said = "".join(log)
    assert "2 of 4 responses are left undecided by the rules" in said
    assert "CMMATH_GRADER=both" in said
    assert "1 of 4 responses could not be graded" in said
    log.clear()
    judge(both(NO, "Hard to say."), grader="both", errors=True)
    grade(NINE, VAGUE)
    assert "1 of 1 mistakes could not be classified; first: " in "".join(log)
    assert "undecided" not in "".join(log)
    log.clear()
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    grade(NINE, VAGUE)
    assert not log


@pytest.mark.parametrize("rank", ["0", "1"])
def test_many_responses_have_a_progress_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rank: str, graded: Any
) -> None:
    monkeypatch.setenv("RANK", rank)
    many = filters_grading.MANY
    grade(*[NINE] * (many - 1))
    assert "Grading" not in capsys.readouterr().err
    assert len(grade(*[NINE] * many)) == many
    assert (f"{many}/{many}" in capsys.readouterr().err) == (rank == "0")


# --- a judge -------------------------------------------------------------------------------------


@table("reply, score", (YES, 1.0), (NO, 0.0), ("Yes", 1.0), ("**<No>**", 0.0))
def test_the_judges_grade_counts(judge: Judge, reply: str, score: float) -> None:
    server = judge(constant(reply), grader="judge")
    (record,) = grade(f"<think>也许是6？</think>{NINE}")
    assert (record["score"], record["grader"]) == (score, "judge")
    assert record["grades"]["rule"]["outcome"] == "correct"
    assert record["grades"]["judge"] == {"score": score, "reply": reply, "error": None}
    assert record["settings"] == settings("judge", False, "openai:test")
    (body,) = server.requests
    # The problem in readable notation, and the response unchanged, without thinking.
    readable = "<<<如图，正方形的边长是$3$，则它的面积是 ____ ．>>>"
    assert all(text in shown(body) for text in (readable, "<<<$9$>>>", f"<<<{NINE}>>>"))
    assert "也许是6" not in shown(body)
    assert body["messages"][0]["content"].startswith("You check whether")


def test_both_ask_only_about_what_is_undecided(judge: Judge) -> None:
    server = judge(constant(YES), grader="both")
    records = grade(NINE, SIX, VAGUE)
    assert [record["score"] for record in records] == [1.0, 0.0, 1.0]
    assert [record["grader"] for record in records] == ["rule", "rule", "judge"]
    judged = {"score": 1.0, "reply": YES, "error": None}
    assert [record["grades"]["judge"] for record in records] == [None, None, judged]
    assert {record["settings"]["judge"] for record in records} == {"openai:test"}
    (body,) = server.requests
    assert f"<<<{VAGUE}>>>" in shown(body)
    server = judge(grader="rule")
    assert {record["settings"]["judge"] for record in grade(NINE, SIX, VAGUE)} == {None}
    assert server.calls == 0


# --- kinds of mistakes ---------------------------------------------------------------------------


@table(
    "reply, kind",
    (KIND, "perception"),
    ("判定：推理", "reasoning"),
    ("判定：计算", "calculation"),
    ("判定：拒答", "reject"),
)
def test_the_kind_of_a_mistake(judge: Judge, reply: str, kind: str) -> None:
    server = judge(constant(reply), grader="rule", errors=True)
    (record,) = grade(f"<think>也许是9？</think>{SIX}")
    assert record["mistake"] == {"kind": kind, "reply": reply, "error": None}
    assert (record["score"], record["grader"], record["grades"]["judge"]) == (0.0, "rule", None)
    assert record["settings"] == settings("rule", True, "openai:test")
    (body,) = server.requests
    assert "<<<$9$\n\n正方形的面积等于边长乘边长：$3\\times 3=9$．>>>" in shown(body)
    assert f"<<<{SIX}>>>" in shown(body)
    assert "也许是9" not in shown(body)


def test_only_incorrect_answers_have_a_mistake(judge: Judge) -> None:
    server = judge(constant("判定：计算"), grader="rule", errors=True)
    records = grade(NINE, SIX, VAGUE, "", None, analysis="")
    kinds = [record["mistake"] and record["mistake"]["kind"] for record in records]
    assert kinds == [None, "calculation", None, "reject", None]
    (body,) = server.requests
    assert "<<<$9$>>>" in shown(body), "without a solution, the answer stands for it"


@table(
    "reply, kind, error",
    ("判定：推理", "reasoning", ""),
    ("感知或推理", None, "one of perception, reasoning, calculation and reject"),
)
def test_a_mistake_is_asked_for_after_the_judge_found_one(
    judge: Judge, reply: str, kind: str | None, error: str
) -> None:
    server = judge(both(NO, reply), grader="judge", errors=True)
    (record,) = grade(NINE)
    assert (record["outcome"], record["score"]) == ("scored", 0.0)
    assert (record["mistake"]["kind"], record["mistake"]["reply"]) == (kind, reply)
    assert error in (record["mistake"]["error"] or "")
    assert [asks_for_mistake(body) for body in server.requests[:2]] == [False, True]


def test_the_judge_none_leaves_answers_to_be_graded_later(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = judge(grader="both", errors=True)
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "none")
    vague, six, nine = grade(VAGUE, SIX, NINE)
    assert vague["reason"] == "not judged: the judge is 'none'"
    assert vague["grades"]["judge"] == {"score": None, "reply": None, "error": vague["reason"]}
    assert vague["mistake"] is None
    assert (six["score"], six["mistake"]["kind"]) == (0.0, None)
    assert six["mistake"]["error"] == "not judged: the judge is 'none'"
    assert (nine["score"], nine["settings"]["judge"]) == (1.0, "none")
    assert server.calls == 0


# --- a verifier of lmms-eval ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def verifiers() -> None:
    lmms_rpts.plugin.register()
    lmms_rpts.plugin._add_verifiers(sys.modules["lmms_eval.verifiers"])
    for name, verifier in all_verifiers().items():
        assert VERIFIER_REGISTRY[name] is verifier
    assert {"rome", "cmmath", "exact_match", "contains", "composite"} <= set(VERIFIER_REGISTRY)


def pipeline(**config: Any) -> Any:
    return build_verification_pipeline({"verifier": {"type": "cmmath", **config}})


@table(
    "prediction, score, confident, outcome",
    ("9", 1.0, True, "correct"),
    ("6", 0.0, True, "incorrect"),
    ("about ten", 0.0, False, "undecided"),
    ("<think>9</think>6", 0.0, True, "incorrect"),
    ("<think>6</think>9", 1.0, True, "correct"),
    ("<think>9", 0.0, True, "incorrect"),
)
def test_text_is_graded_as_in_the_tasks(
    verifiers: None, graded: Any, prediction: str, score: float, confident: bool, outcome: str
) -> None:
    found = pipeline()(QUESTION, prediction, "$$9$$")
    assert (found.score, found.is_correct) == (score, score == 1.0)
    assert (found.metadata["confident"], found.metadata["answer_type"]) == (confident, "number")
    assert found.raw_output == f"cmmath: {outcome}: number"
    assert graded[0][:2] == (QUESTION, "$$9$$")


@table("prediction, score", ("9", 1.0), ("about ten", 1.0), ("6", 0.0), ("eleven", 0.0))
def test_another_verifier_is_asked_where_the_rules_are_undecided(
    verifiers: None, graded: Any, prediction: str, score: float
) -> None:
    chain = [{"type": "cmmath"}, {"type": "contains"}]
    assert pipeline(type="composite", verifiers=chain)("", prediction, "ten").score == score


@table("prediction", "", "\ud800", "$$" * 1000, "</think>" * 100)
def test_the_real_rules_take_any_text(verifiers: None, prediction: str) -> None:
    found = pipeline()("面积是多少？", prediction, "$$9$$")
    assert (found.score, found.is_correct) == (0.0, False)
