"""CMMaTH's grades: which one counts, what the judge is asked, the metrics of records."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger

from lmms_rpts.filters.session import reset_session
from lmms_rpts.tasks.cmmath import scorer as scoring
from lmms_rpts.tasks.cmmath.knowledge import THRESHOLDS
from lmms_rpts.tasks.cmmath.scorer import METRICS, CmmathRecord
from lmms_rpts.tasks.cmmath.task import process_results, ssr_03
from tests.support.cmmath import grade
from tests.support.environment import VARIABLES, configure
from tests.support.judge_server import JudgeServer, Serve
from tests.support.tables import table

Judge = Callable[..., JudgeServer]
YES, NO, UNCLEAR = "Both are 9.\n<Yes>", "It says 6.\n<No>", "Hard to say."
NINE, SIX, VAGUE = "最终答案：9", "最终答案：6", "面积是3乘3．"


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    reset_session()


@pytest.fixture
def judge(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Judge:
    """Starts a judge and points the settings to it."""

    def start(answer: Any, grader: str = "", errors: bool = False) -> JudgeServer:
        monkeypatch.setenv("CMMATH_GRADER", grader)
        configure(monkeypatch, cmmath={"errors": errors})
        return serve(answer)

    return start


@pytest.fixture
def log() -> Iterator[list[str]]:
    said: list[str] = []
    number = logger.add(lambda message: said.append(str(message)), level="WARNING")
    yield said
    logger.remove(number)


def shown(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])


def asks_for_mistake(body: dict[str, Any]) -> bool:
    return "感知" in body["messages"][0]["content"]


def both(verdict: Any, kind: Any) -> Callable[[dict[str, Any]], Any]:
    return lambda body: kind if asks_for_mistake(body) else verdict


# grader, whether mistakes are asked for; response; the judge's verdict, its reply on the mistake;
# score, who gave it, kind of mistake, number of questions
GRADES = [
    (("rule", False), NINE, (NO, ""), (1.0, "rule", None, 0)),
    (("rule", False), VAGUE, (YES, ""), (None, None, None, 0)),
    (("judge", False), NINE, (NO, ""), (0.0, "judge", None, 1)),
    (("judge", False), NINE, (UNCLEAR, ""), (None, None, None, 1)),
    (("both", False), SIX, (YES, ""), (0.0, "rule", None, 0)),
    (("both", False), VAGUE, (YES, ""), (1.0, "judge", None, 1)),
    (("rule", True), VAGUE, (NO, "判定：计算"), (None, None, None, 0)),
    (("rule", True), " \n", (NO, "判定：计算"), (0.0, "rule", "reject", 0)),
    (("rule", True), SIX, (NO, "It took 6.\nVerdict: perception"), (0.0, "rule", "perception", 1)),
    (("judge", True), NINE, (NO, "判定：计算"), (0.0, "judge", "calculation", 2)),
    (("judge", True), NINE, (NO, "感知或推理"), (0.0, "judge", None, 2)),
]


@table("settings, response, replies, expected", *GRADES)
def test_which_grade_counts_and_what_the_judge_is_asked(
    judge: Judge,
    settings: tuple[str, bool],
    response: str,
    replies: tuple[str, str],
    expected: tuple[float | None, str | None, str | None, int],
) -> None:
    score, by, mistake, requests = expected
    server = judge(both(*replies), *settings)
    (record,) = grade(f"<think>也许是6？</think>{response}")
    assert (record["score"], record["grader"]) == (score, by)
    assert record["outcome"] == ("unscored" if score is None else "scored")
    assert ("judge" in record["grades"]) == (by == "judge" or UNCLEAR in replies)
    assert record.get("findings", {}).get("mistake", {"value": None})["value"] == mistake
    assert len({*map(asks_for_mistake, server.requests)}) == requests
    for text in map(shown, server.requests):
        # The problem in readable notation, and the response unchanged, without thinking.
        assert "<<<如图，正方形的边长是$3$，则它的面积是 ____ ．>>>" in text
        assert f"<<<{response}>>>" in text
        assert re.search(r"<<<\$9\$(\n\n正方形的面积等于边长乘边长：\$3\\times 3=9\$．)?>>>", text)
        assert "也许是6" not in text


def test_warnings_name_what_is_undecided_and_what_failed(log: list[str], judge: Judge) -> None:
    grade(NINE, VAGUE, VAGUE, None)
    said = "".join(log)
    assert "2 of 4 responses are left undecided by the rules" in said
    assert "CMMATH_GRADER=both lmms-rpts score RESULTS --judge openai:MODEL -o" in said
    assert "1 of 4 model requests failed" in said


# --- metrics, by hand ----------------------------------------------------------------------------


def parsed(*records: dict[str, Any]) -> list[CmmathRecord]:
    return [CmmathRecord.parse(each) for each in records]


def test_metrics_of_records(judge: Judge) -> None:
    judge(both(NO, "判定：推理"), grader="rule", errors=True)
    right, wrong, undecided, missing = grade(NINE, SIX, VAGUE, None)
    judge(both(YES, ""), grader="judge")
    overruled, decided = grade(SIX, VAGUE)
    rows = parsed(right, wrong, undecided, decided, overruled, missing)
    values = {name: [*map(each.value, rows)] for name, each in METRICS.items() if each.value}
    assert values == {
        "accuracy": [1.0, 0.0, None, 1.0, 1.0, None],
        "undecided_rate": [0.0, 0.0, 1.0, 1.0, 0.0, None],
        "grader_coverage": [1.0, 1.0, 0.0, 1.0, 1.0, 0.0],
        "accuracy_if_wrong": [1.0, 0.0, 0.0, 1.0, 1.0, 0.0],
        "accuracy_if_right": [1.0, 0.0, 1.0, 1.0, 1.0, 1.0],
        **{
            f"mistake_{kind}": [None, float(kind == "reasoning"), *[None] * 4]
            for kind in scoring.MISTAKES
        },
    }


POINTS = [
    *((NINE, "几何(圆,三角形(全等))"), (SIX, "几何(三角形(全等))"), (SIX, "几何(圆)")),
    *(
        (NINE, "几何(圆)"),
        (SIX, "代数"),
        (VAGUE, "统计"),
        (NINE, "代数(集合),几何(圆)"),
        (NINE, None),
    ),
]


def test_ssr_of_records_and_by_lmms_eval() -> None:
    rows = [
        grade(response, knowledge_point=text, id=f"{at}")[0]
        for at, (response, text) in enumerate(POINTS)
    ]
    # 圆 3/4, 全等 1/2, 代数 0/1, 集合 1/1; 统计 has no score.
    ssr = [METRICS[f"ssr_{each}"].over for each in THRESHOLDS]
    assert [each and each(parsed(*rows)) for each in ssr] == [3 / 4, 3 / 4, 3 / 4, 2 / 4]
    documents = [process_results({}, [json.dumps(each)])["ssr_0.3"] for each in rows]
    assert ssr_03(documents) == 3 / 4
    assert math.isnan(ssr_03([[], []]))
    # Several responses to a problem count as their mean: (1/2 + 0) / 2.
    twice = grade(NINE, SIX, VAGUE)
    rows = [*twice, *grade(SIX, id="2")]
    assert [each and each(parsed(*rows)) for each in ssr] == [1.0, 1.0, 0.0, 0.0]
    assert process_results({}, list(map(json.dumps, twice)))["accuracy"] == 0.5


_PARTS = ("最终答案：", "\\boxed{", "}", "<think>", "</think>", "9", "$$", "6" * 5000, "\ud800")


@given(st.lists(st.text(max_size=20) | st.sampled_from(_PARTS), max_size=8).map("".join))
def test_no_response_breaks_the_grading(response: str) -> None:
    """lmms-eval retries process_results and hides its errors."""
    found = process_results({}, list(map(json.dumps, grade(response))))
    assert found["accuracy"] in (0.0, 1.0, None)
    assert len(found["ssr_0.1"]) == 1
