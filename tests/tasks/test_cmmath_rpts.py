"""``cmmath_rpts``: solutions of maths problems in the filters of RPTS, with a real judge server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.base import FilterInputError
from lmms_rpts.filters.response_reading import nothing_read
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.reasoning import ImageQuery, InferenceQuery, parse_chain, plan_steps
from lmms_rpts.reasoning.answer_lines import is_any_answer_line as is_answer_line
from lmms_rpts.reasoning.answer_lines import without_answer
from lmms_rpts.reasoning.planning import gold_facts
from lmms_rpts.tasks.cmmath import grading as module
from lmms_rpts.tasks.cmmath.grading import Grade
from lmms_rpts.tasks.cmmath.reasoning import LONGEST_SOLUTION, CmmathTransformFilter, rpts_fields
from lmms_rpts.tasks.rpts_eval.results import METRICS, process_results
from tests.support import oracle
from tests.support.cmmath import make_doc
from tests.support.instances import make_doc as make_instance
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.runs import make_record, write_run
from tests.support.tables import table

Answer = Callable[[dict[str, Any]], "str | ServerReply"]
Scored = tuple[list[dict[str, Any]], list[dict[str, Any]]]
Judged = Callable[..., Scored]

STEPS = (
    "结论0：根据图片0和文本0（题目），这是边长为$3$的正方形。\n"
    "结论1：根据结论0，面积为$3\\times 3=9$。\n"
)
SOLUTION = f"{STEPS}最终答案：9"
FREE = "图中是边长为3的正方形，所以面积是3×3=9。故答案为9。"
REWRITTEN = "图片0 + 文本0 -> 结论0：正方形边长为3\n结论0 -> 结论1：面积为9"


def document(**fields: Any) -> dict[str, Any]:
    """A problem in the form that the filters receive."""
    doc = make_doc(**fields)
    return doc | rpts_fields(doc)


def instructions(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def material(body: dict[str, Any]) -> str:
    return str(body["messages"][1]["content"])


def compares(body: dict[str, Any]) -> bool:
    """Whether the judge is asked to compare an answer with the reference."""
    return instructions(body).endswith("<Yes>\n<No>")


def judge(
    compared: str | ServerReply = "<Yes>", steps: str = REWRITTEN, score: str = "分数：1"
) -> Answer:
    """A judge with the same reply to all requests of a kind."""

    def answer(body: dict[str, Any]) -> str | ServerReply:
        return compared if compares(body) else steps if "结论0：" in instructions(body) else score

    return answer


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Judged]:
    """Runs responses through all filters; returns their records and the requests to the judge.

    ``outcome`` and ``found``: the grade by rules of every response.
    """
    with ExitStack() as stack:

        def run(
            *responses: Any,
            answer: Answer | None = None,
            doc: Any = None,
            outcome: str = "correct",
            found: str = "9",
            chosen: str = "openai:test",
        ) -> Scored:
            grade = Grade(outcome, found, "as the test says", "number")  # type: ignore[arg-type]
            monkeypatch.setattr(module, "grade", lambda *texts: grade)
            server = stack.enter_context(JudgeServer(answer=answer or judge()))
            monkeypatch.setenv("LMMS_RPTS_JUDGE", chosen)
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            docs = [doc or document()]
            resps: Any = CmmathTransformFilter(mode="auto").apply([list(responses)], docs)
            resps = ScoreFilter(evidence="facts").apply(resps, docs)
            (written,) = AggregateFilter().apply(resps, docs)
            listed = [written] if isinstance(written, str) else written
            return [json.loads(each) for each in listed], list(server.requests)

        yield run


# --- steps ---------------------------------------------------------------------------------------


def test_our_format_is_read_and_graded_without_a_judge(judged: Judged) -> None:
    (record,), asked = judged(SOLUTION, answer=judge(score="分数：0.8"))
    assert record["transform"]["read_by"] == "rule"
    assert record["chain"] == [
        "图片0 + 文本0 -> 结论0:这是边长为$3$的正方形。",
        "结论0 -> 结论1:面积为$3\\times 3=9$。",
    ]
    assert record["answer"] == {"value": "9", "by": "rule", "correct": True, "error": None}
    assert (record["schema"], record["rpts"]) == ("lmms_rpts.rpts", pytest.approx(0.8))
    assert len(asked) == 2, "one question for each step, and no others"


def test_a_step_is_judged_by_the_reference_solution(judged: Judged) -> None:
    _, (question,) = judged("结论0：根据图片0，边长是3。\n最终答案：9")
    assert "正方形的面积等于边长乘边长：$3\\times 3=9$．" in material(question)
    assert "边长是3。" in material(question)


def test_free_text_is_rewritten_by_the_judge(judged: Judged) -> None:
    (record,), asked = judged(FREE)
    assert record["transform"]["read_by"] == "llm"
    assert record["chain"][1].endswith("面积为9")
    shown = material(asked[0])
    clue = "文本0（题目）：<<<如图，正方形的边长是$3$"
    assert all(text in shown for text in (FREE, clue, "小学四年级", "图片数量：1（图片0）"))
    assert shown.count("如图，正方形") == 1, "the problem is shown once"


@table(
    "ending",
    *("最终答案：B", "最终答案：\n(1) 3\n(2) $\\frac{1}{2}$", "\n故选：B", "Final answer: 3"),
    "\\boxed{9}",
)
def test_an_answer_is_no_step_and_leaves_no_doubt(judged: Judged, ending: str) -> None:
    (record,), _ = judged(STEPS + ending)
    assert record["transform"]["read_by"] == "rule"
    assert len(record["chain"]) == 2


def test_an_answer_alone_is_no_reasoning(judged: Judged) -> None:
    (record,), _ = judged(f"<think>{STEPS}</think>因此，答案是9")
    assert record["transform"]["source"] == "thinking"
    assert len(record["chain"]) == 2
    assert record["answer"]["correct"] is True


def test_an_image_without_reference_solution_needs_no_judge(judged: Judged) -> None:
    text = "结论0：根据图片0，边长是3。\n结论1：根据结论0，面积是9。\n最终答案：9"
    (record,), asked = judged(text, doc=document(analysis=" \n"))
    assert record["steps"][0]["score"] == 1
    assert "says nothing about image 0" in record["steps"][0]["note"]
    assert len(asked) == 1, "the second step"


def test_a_record_of_each_metric(judged: Judged) -> None:
    """Right answer, step scores 0.2 (twice below 0.5: 0.2, then 0.2 * 0.8): an RPTS of 0.2."""
    (record,), _ = judged(SOLUTION, answer=judge(score="分数：0.2"))
    metrics = process_results({}, [json.dumps(record)])
    assert set(metrics) == set(METRICS)
    assert metrics["rpts"] == pytest.approx(0.2)
    assert metrics["accuracy"] == metrics["right_for_wrong_reason"] == 1
    assert metrics["accuracy_rpts"] == 0
    assert record["first_error"]["step"] == 0


def test_each_response_is_paired_with_its_own_replies(judged: Judged) -> None:
    given = {"answer": oracle.answer, "outcome": "undecided", "found": ""}
    responses = (FREE, SOLUTION, FREE + "完")
    records, _ = judged(*responses, **given)
    assert records == [judged(each, **given)[0][0] for each in responses]


# --- answers -------------------------------------------------------------------------------------


@table(
    "outcome, said, correct, by",
    ("correct", "<No>", True, "rule"),
    ("incorrect", "<Yes>", False, "rule"),
    ("undecided", "<Yes>", True, "judge"),
    ("undecided", "相同。\n<No>", False, "judge"),
)
def test_the_judge_decides_what_the_rules_leave(
    judged: Judged, outcome: str, said: str, correct: bool, by: str
) -> None:
    response = f"<think>其实是8</think>{SOLUTION}"
    found = "9" if by == "rule" else ""
    (record,), asked = judged(response, answer=judge(said), outcome=outcome, found=found)
    value = found or "undetermined"
    asked_for = {"call": ANY, "reply": said} if by == "judge" else {}
    answer = {"value": value, "by": by, "correct": correct, "error": None}
    assert record["answer"] == answer | asked_for
    compared = [material(body) for body in asked if compares(body)]
    assert len(compared) == (by == "judge")
    for text in compared:
        assert "<<<$9$>>>" in text
        assert SOLUTION in text
        assert "其实是8" not in text, "thinking is not an answer"


@table(
    "said, chosen, error",
    ("It may be so.", "openai:test", "one of <Yes> and <No>"),
    (ServerReply("blocked", status=400), "openai:test", "blocked"),
    ("<Yes>", "lexical", "as the test says"),
)
def test_an_answer_that_nobody_could_grade_stays_open(
    judged: Judged, said: str | ServerReply, chosen: str, error: str
) -> None:
    given = {"outcome": "undecided", "found": "九", "chosen": chosen}
    (record,), _ = judged(SOLUTION, answer=judge(said), **given)
    assert (record["answer"]["value"], record["answer"]["correct"]) == ("九", None)
    assert error in record["answer"]["error"]
    assert record["outcome"] == "scored", "the reasoning was judged"
    metrics = process_results({}, [json.dumps(record)])
    assert metrics["rpts"] is not None
    assert metrics["accuracy"] is metrics["accuracy_rpts"] is None
    assert metrics["right_for_wrong_reason"] is None


@table("response", "", "<think>所以面积是9", "<think>是9</think>")
def test_no_answer_is_no_right_one(judged: Judged, response: str) -> None:
    given = {"outcome": "undecided", "found": ""}
    (record,), asked = judged(response, answer=judge("<Yes>", steps="无"), **given)
    answer = record["answer"]
    assert (answer["value"], answer["by"], answer["correct"]) == ("undetermined", "rule", False)
    assert not any(map(compares, asked))


def test_no_response_is_no_wrong_answer(judged: Judged) -> None:
    (record,), asked = judged()
    assert (record["answer"]["correct"], record["outcome"]) == (None, "unscored")
    assert not asked


def test_answers_are_kept_on_one_short_line(judged: Judged) -> None:
    (record,), _ = judged(SOLUTION, found="(1) 3\n(2)" + "5" * 1000)
    assert record["answer"]["value"].startswith("(1) 3 (2)55")
    assert len(record["answer"]["value"]) == 200


ANSWER_LINES = (
    *("最终答案：B", "**最终答案：** $9$", "Final answer: 3", "最终答案", "最终答案：图2"),
    *("The final answer is $\\frac{1}{2}$.", "最终答案：相等，因为是对顶角", "【答案】B"),
    *("答案：(1) 3；(2) 5", "- **答案**：1:2", "故选：B．", "故选$${C}$$．", "所以答案选B"),
    *("因此，选 B、D", "故选 ACD", "综上所述，正确答案是 A。", "So the answer is 24."),
    *("(2) 答案为270人", "\\boxed{9}", "$$\\boxed{\\frac{1}{2}}$$"),
)
STEP_LINES = (
    *("结论3：根据结论2，故选B", "根据图片0，边长为3", "所以面积是9", "面积是\\boxed{9}"),
    *("答案是24，因为边长是3", "最终答案：根据结论3，面积是9", "答案是否唯一", "选择方案A更划算"),
    *("选A点为原点", "Answering the question needs care", ""),
)


def test_lines_that_state_the_answer() -> None:
    assert [line for line in ANSWER_LINES if not is_answer_line(line)] == []
    assert [line for line in STEP_LINES if is_answer_line(line)] == []


@table(
    "text, kept",
    ("结论0：根据图片0，边长为3。最终答案：9", "结论0：根据图片0，边长为3。"),
    ("结论0：根据图片0，边长为3\n**最终答案：**\n(1) 3\n(2) 5", "结论0：根据图片0，边长为3"),
    *((text, text) for text in ("最终答案：9\n结论0：根据图片0，边长为3", "面积是9\n答案：9", "")),
)
def test_the_answer_at_the_end_may_take_several_lines(text: str, kept: str) -> None:
    assert without_answer(text) == kept


@given(st.lists(st.sampled_from(["最终答案：", "故选", "B", "。", "\n", "结论0：", "9", "*", "$"])))
def test_any_text_can_be_asked_for_its_answer(parts: list[str]) -> None:
    text = "".join(parts)
    assert without_answer(text).replace("\n", "") in text.replace("\n", "")
    assert is_answer_line(text) in (True, False)


def test_a_report_shows_an_answer_that_nobody_could_grade(tmp_path: Path) -> None:
    record = make_record([1.0], doc=document(), steps=["图片0 -> 结论0：边长是3"], answer=None)
    record["answer"] |= {"value": "九", "error": "the rules leave it undecided"}
    write_run(tmp_path / "a", {0: record}, task="cmmath_rpts")
    page = tmp_path / "report.html"
    assert CliRunner().invoke(app, ["report", str(tmp_path / "a"), "-o", str(page)]).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "The correctness of the answer could not be determined" in text
    assert "answer: <b>九</b>" in text


# --- documents -----------------------------------------------------------------------------------


def test_what_the_filter_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    with pytest.raises(FilterInputError, match=r"CMMaTH; missing: question, reference"):
        CmmathTransformFilter().apply([[SOLUTION]], [make_instance("zh")])
    read = nothing_read(make_instance("zh"), "")
    with pytest.raises(FilterInputError, match="cmmath_transform, rpts_score"):
        CmmathTransformFilter().apply([[read]], [document()])  # type: ignore[list-item]
    for wrong in ({"max_steps": 0}, {"mode": "clever"}):
        with pytest.raises(ValueError, match=f"cmmath_transform: {next(iter(wrong))}"):
            CmmathTransformFilter(**wrong)  # type: ignore[arg-type]
    # Any reference is accepted, in own task files too.
    assert list(CmmathTransformFilter().document_faults(document(answer="12"))) == []


def test_the_fields_of_a_problem() -> None:
    fields = rpts_fields(make_doc(analysis="由图得边长$$3$$．\r\n∴面积\u2028为$$9$$．"))
    assert fields == {
        "statement": "如图，正方形的边长是$3$，则它的面积是 ____ ．",
        "context": "这是一道中国小学四年级（4年级）数学题，可以使用该年级及以前学过的定理和公式。",
        "textual_clue": ["如图，正方形的边长是$3$，则它的面积是 ____ ．"],
        "visual_clue": ["90001_img.png"],
        "reasoning": ["图片0 + 文本0 -> 结论0：由图得边长$3$． ∴面积 为$9$．"],
        "answer": "$9$",
        "ability": ["Plane Geometry"],
        "relation": None,
    }
    fields = rpts_fields(make_doc(img_path=[], category=None))
    assert fields["ability"] == []
    assert fields["reasoning"][0].startswith("文本0 -> 结论0：")


@table(
    "year, school, begins",
    (1, 1, "这是一道中国小学一年级（1年级）数学题，可以使用该年级及以前学过的"),
    (9, 2, "这是一道中国初三（9年级）"),
    (12, 3, "这是一道中国高三（12年级）"),
    (None, 3, "这是一道中国高中数学题，可以使用高中及以前学过的"),
    (13, 3, "这是一道中国高中数学题"),
    (0, None, "这是一道中国中小学数学题，可以使用中小学学过的"),
    (None, 9, "这是一道中国中小学数学题"),
)
def test_the_context_names_the_grade(year: int | None, school: int | None, begins: str) -> None:
    context = rpts_fields(make_doc(grade_id=year, grade_group=school))["context"]
    assert context.startswith(begins)


def test_the_solution_is_the_fact_of_every_image() -> None:
    doc = document(img_path=["a.png", "b.png"], analysis="第一幅图有 3 个。-> 共5个")
    fact = "第一幅图有 3 个。-> 共5个"
    assert gold_facts(doc["reasoning"]) == {0: [fact], 1: [fact]}
    chain = parse_chain("图片1 -> 结论0：有2个\n图片0 + 图片1 + 文本0 -> 结论1：共5个", "zh")
    alone, together = plan_steps(chain, doc)
    assert isinstance(alone, ImageQuery)
    assert alone.facts == (fact,)
    assert isinstance(together, InferenceQuery)
    assert together.premises == (fact, doc["statement"]), "the solution once, not for each image"


@given(st.text(), st.integers(0, 3))
def test_any_solution_is_one_step(analysis: str, images: int) -> None:
    fields = rpts_fields(make_doc(analysis=analysis, img_path=[f"{k}.png" for k in range(images)]))
    reasoning = fields["reasoning"]
    assert len(reasoning) <= 1
    assert len(parse_chain("\n".join(reasoning)).steps) == len(reasoning)
    assert set(gold_facts(reasoning)) == (set(range(images)) if reasoning else set())


def test_an_endless_solution_keeps_its_beginning_and_its_result() -> None:
    (line,) = rpts_fields(make_doc(analysis="首先" + "x" * 50_000 + "故选B"))["reasoning"]
    fact = gold_facts([line])[0][0]
    assert len(fact) <= LONGEST_SOLUTION
    assert (fact[:2], fact[-3:]) == ("首先", "故选B")
