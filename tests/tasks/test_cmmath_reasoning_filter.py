"""Solutions of maths problems in the filters of RPTS, with a real judge server."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from lmms_rpts.cli import app
from lmms_rpts.filters.aggregate import AggregateFilter
from lmms_rpts.filters.base import FilterInputError
from lmms_rpts.filters.metrics import METRICS
from lmms_rpts.filters.response_reading import nothing_read
from lmms_rpts.filters.score import ScoreFilter
from lmms_rpts.reasoning import ImageQuery, InferenceQuery, parse_chain, plan_steps
from lmms_rpts.reasoning.answer_lines import is_any_answer_line as is_answer_line
from lmms_rpts.reasoning.answer_lines import without_answer
from lmms_rpts.reasoning.planning import gold_facts
from lmms_rpts.tasks.cmmath import grading as module
from lmms_rpts.tasks.cmmath.grading import Grade
from lmms_rpts.tasks.cmmath.reasoning import LONGEST_SOLUTION, CmmathTransformFilter, rpts_fields
from lmms_rpts.tasks.rpts_eval.results import process_results
from tests.support import oracle
from tests.support.cmmath import make_doc
from tests.support.instances import make_doc as make_instance
from tests.support.judge_server import JudgeServer, ServerReply
from tests.support.runs import make_record, write_run

Answer = Callable[[dict[str, Any]], "str | ServerReply"]
Graded = Callable[..., None]

SOLUTION = (
    "结论0：根据图片0和文本0（题目），这是边长为$3$的正方形。\n"
    "结论1：根据结论0，面积为$3\\times 3=9$。\n"
    "最终答案：9"
)
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


def judge(
    compared: str | ServerReply = "<Yes>", steps: str = REWRITTEN, score: str = "分数：1"
) -> Answer:
    """A judge with the same reply to all requests of a kind."""

    def answer(body: dict[str, Any]) -> str | ServerReply:
        if instructions(body).endswith("<Yes>\n<No>"):
            return compared
        return steps if "结论0：" in instructions(body) else score

    return answer


@pytest.fixture
def graded(monkeypatch: pytest.MonkeyPatch) -> Graded:
    """Replaces the rules by a fixed grade for every solution."""

    def fix(outcome: str, answer: str = "9") -> None:
        monkeypatch.setattr(
            module, "grade", lambda *texts: Grade(outcome, answer, "as the test says", "number")
        )

    return fix


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Runs responses through all filters; returns their records and the requests to the judge."""
    servers: list[JudgeServer] = []

    def run(
        responses: list[Any],
        answer: Answer | None = None,
        doc: Any = None,
        mode: str = "auto",
        chosen: str = "openai:test",
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        server = JudgeServer(answer=answer or judge())
        server.__enter__()
        servers.append(server)
        monkeypatch.setenv("LMMS_RPTS_JUDGE", chosen)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        docs = [doc or document()]
        resps: Any = CmmathTransformFilter(mode=mode).apply([responses], docs)
        resps = ScoreFilter(evidence="facts").apply(resps, docs)
        (found,) = AggregateFilter().apply(resps, docs)
        records = [json.loads(each) for each in ([found] if isinstance(found, str) else found)]
        return records, list(server.requests)

    yield run
    for server in servers:
        server.__exit__(None, None, None)


def test_our_format_is_read_and_graded_without_a_judge(
    judged: Callable[..., Any], graded: Graded
) -> None:
    graded("correct")
    (record,), asked = judged([SOLUTION], judge(score="分数：0.8"))
    assert record["transform"]["read_by"] == "rule"
    assert record["chain"] == [
        "图片0 + 文本0 -> 结论0:这是边长为$3$的正方形。",
        "结论0 -> 结论1:面积为$3\\times 3=9$。",
    ]
    assert record["answer"] == {"value": "9", "by": "rule", "correct": True, "error": None}
    assert record["rpts"] == pytest.approx(0.8)
    assert record["schema"] == "lmms_rpts.rpts"
    assert len(asked) == 3, "one question for each step, one for the root, and no others"


def test_a_step_is_judged_by_the_reference_solution(
    judged: Callable[..., Any], graded: Graded
) -> None:
    graded("correct")
    _, asked = judged(["结论0：根据图片0，边长是3。\n最终答案：9"])
    # Both are asked at the same time, in any order.
    question, root = sorted(asked, key=lambda body: "作答者的答案" in material(body))
    assert "正方形的面积等于边长乘边长：$3\\times 3=9$．" in material(question)
    assert "边长是3。" in material(question)
    assert "作答者的答案：\n<<<9>>>" in material(root)


def test_free_text_is_rewritten_by_the_judge(judged: Callable[..., Any], graded: Graded) -> None:
    graded("correct")
    (record,), asked = judged([FREE])
    assert record["transform"]["read_by"] == "llm"
    assert record["chain"][1].endswith("面积为9")
    shown = material(asked[0])
    assert FREE in shown
    assert "文本0（题目）：<<<如图，正方形的边长是$3$" in shown
    assert "小学四年级" in shown
    assert "图片数量：1（图片0）" in shown
    assert shown.count("如图，正方形") == 1, "the problem is shown once"


@pytest.mark.parametrize(
    ("outcome", "correct"), [("correct", True), ("incorrect", False)], ids=["right", "wrong"]
)
def test_what_the_rules_decide_no_judge_is_asked(
    judged: Callable[..., Any], graded: Graded, outcome: str, correct: bool
) -> None:
    graded(outcome)
    (record,), asked = judged([SOLUTION], judge("<No>"))
    assert record["answer"]["correct"] is correct
    assert record["answer"]["by"] == "rule"
    assert not any("<Yes>" in instructions(body) for body in asked)


@pytest.mark.parametrize(("said", "correct"), [("<Yes>", True), ("相同。\n<No>", False)])
def test_the_judge_decides_what_the_rules_leave(
    judged: Callable[..., Any], graded: Graded, said: str, correct: bool
) -> None:
    graded("undecided", "")
    (record,), asked = judged([f"<think>其实是8</think>{SOLUTION}"], judge(said))
    expected = {"value": "undetermined", "by": "judge", "correct": correct, "error": None}
    assert record["answer"] == expected
    assert (record["guarded"] is None) is (record["root"] is None) is correct
    (compared,) = [body for body in asked if "<Yes>" in instructions(body)]
    for text in ("<<<$9$>>>", SOLUTION):
        assert text in material(compared)
    assert "其实是8" not in material(compared), "thinking is not an answer"


@pytest.mark.parametrize("said", ["It may be so.", ServerReply("blocked", status=400)])
def test_a_failing_judge_leaves_the_answer_open(
    judged: Callable[..., Any], graded: Graded, said: str | ServerReply
) -> None:
    graded("undecided", "九")
    (record,), _ = judged([SOLUTION], judge(said))
    assert record["answer"]["value"] == "九"
    assert record["answer"]["correct"] is None
    assert record["answer"]["error"]
    assert record["outcome"] == "scored", "the reasoning was judged"
    metrics = process_results({}, [json.dumps(record)])
    assert metrics["rpts"] == 1
    assert metrics["accuracy"] is metrics["accuracy_rpts"] is None
    assert metrics["right_for_wrong_reason"] is None


def test_without_a_judge_that_writes_the_answer_stays_open(
    judged: Callable[..., Any], graded: Graded
) -> None:
    graded("undecided", "九")
    (record,), asked = judged([SOLUTION], chosen="lexical")
    assert record["answer"]["correct"] is None
    assert "as the test says" in record["answer"]["error"]
    assert record["rpts"] is not None
    assert not asked


@pytest.mark.parametrize("response", ["", "<think>所以面积是9", "<think>是9</think>"])
def test_no_answer_is_no_right_one(
    judged: Callable[..., Any], graded: Graded, response: str
) -> None:
    graded("undecided", "")
    (record,), asked = judged([response], judge("<Yes>", steps="无"))
    assert record["answer"] == {
        "value": "undetermined",
        "by": "rule",
        "correct": False,
        "error": None,
    }
    assert not any("<Yes>" in instructions(body) for body in asked)


def test_no_response_is_no_wrong_answer(judged: Callable[..., Any]) -> None:
    (record,), asked = judged([])
    assert record["answer"]["correct"] is None
    assert record["outcome"] == "unscored"
    assert not asked


def test_answers_are_kept_on_one_short_line(judged: Callable[..., Any], graded: Graded) -> None:
    graded("correct", "(1) 3\n(2)" + "5" * 1000)
    (record,), _ = judged([SOLUTION])
    assert record["answer"]["value"].startswith("(1) 3 (2)55")
    assert len(record["answer"]["value"]) == 200


def test_an_image_without_reference_solution_needs_no_judge(
    judged: Callable[..., Any], graded: Graded
) -> None:
    graded("correct")
    text = "结论0：根据图片0，边长是3。\n结论1：根据结论0，面积是9。\n最终答案：9"
    (record,), asked = judged([text], doc=document(analysis=" \n"))
    assert record["steps"][0]["score"] == 1
    assert "says nothing about image 0" in record["steps"][0]["note"]
    assert len(asked) == 2, "the second step and the root"


def test_a_record_of_each_metric(judged: Callable[..., Any], graded: Graded) -> None:
    """Right answer, step scores 0.2 (twice below 0.5: 0.2, then 0.2 * 0.8): an RPTS of 0.2."""
    graded("correct")
    (record,), _ = judged([SOLUTION], judge(score="分数：0.2"))
    metrics = process_results({}, [json.dumps(record)])
    assert set(metrics) == set(METRICS)
    assert metrics["rpts"] == pytest.approx(0.2)
    assert metrics["accuracy"] == metrics["right_for_wrong_reason"] == 1
    assert metrics["accuracy_rpts"] == 0
    assert record["first_error"]["step"] == 0


def test_a_wrong_pairing_would_change_every_record(
    judged: Callable[..., Any], graded: Graded
) -> None:
    graded("undecided", "")
    records, _ = judged([FREE, SOLUTION, FREE + "完"], oracle.answer)
    again = [judged([each], oracle.answer)[0][0] for each in (FREE, SOLUTION, FREE + "完")]
    assert records == again


def test_any_reference_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """In own task files, too, whose documents are checked before a run."""
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    assert list(CmmathTransformFilter().document_faults(document(answer="12"))) == []


def test_documents_of_another_benchmark_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    with pytest.raises(FilterInputError, match=r"CMMaTH; missing: question, reference"):
        CmmathTransformFilter().apply([[SOLUTION]], [make_instance("zh")])
    read = nothing_read(make_instance("zh"), "")
    with pytest.raises(FilterInputError, match="cmmath_transform, rpts_score"):
        CmmathTransformFilter().apply([[read]], [document()])  # type: ignore[list-item]


def test_bad_arguments_name_this_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_RPTS_JUDGE", "lexical")
    with pytest.raises(ValueError, match="cmmath_transform: max_steps"):
        CmmathTransformFilter(max_steps=0)
    with pytest.raises(ValueError, match="cmmath_transform: mode"):
        CmmathTransformFilter(mode="clever")


# --- documents -----------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("year", "school", "begins"),
    [
        (1, 1, "这是一道中国小学一年级（1年级）数学题，可以使用该年级及以前学过的"),
        (9, 2, "这是一道中国初三（9年级）"),
        (12, 3, "这是一道中国高三（12年级）"),
        (None, 3, "这是一道中国高中数学题，可以使用高中及以前学过的"),
        (13, 3, "这是一道中国高中数学题"),
        (0, None, "这是一道中国中小学数学题，可以使用中小学学过的"),
        (None, 9, "这是一道中国中小学数学题"),
    ],
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


def test_no_image_and_no_category() -> None:
    fields = rpts_fields(make_doc(img_path=[], category=None))
    assert fields["ability"] == []
    (line,) = fields["reasoning"]
    assert line.startswith("文本0 -> 结论0：")


def test_an_endless_solution_keeps_its_beginning_and_its_result() -> None:
    (line,) = rpts_fields(make_doc(analysis="首先" + "x" * 50_000 + "故选B"))["reasoning"]
    fact = gold_facts([line])[0][0]
    assert len(fact) <= LONGEST_SOLUTION
    assert fact.startswith("首先")
    assert fact.endswith("故选B")


@given(st.text(), st.integers(0, 3))
def test_any_solution_is_one_step(analysis: str, images: int) -> None:
    fields = rpts_fields(make_doc(analysis=analysis, img_path=[f"{k}.png" for k in range(images)]))
    reasoning = fields["reasoning"]
    assert len(reasoning) <= 1
    assert len(parse_chain("\n".join(reasoning)).steps) == len(reasoning)
    assert set(gold_facts(reasoning)) == (set(range(images)) if reasoning else set())


# --- answers -------------------------------------------------------------------------------------

ANSWER_LINES = [
    *(
        "最终答案：B",
        "**最终答案：** $9$",
        "Final answer: 3",
        "The final answer is $\\frac{1}{2}$.",
    ),
    *(
        "最终答案",
        "最终答案：图2",
        "最终答案：相等，因为是对顶角",
        "答案：(1) 3；(2) 5",
        "【答案】B",
        "- **答案**：1:2",
    ),
    *("故选：B．", "故选$${C}$$．", "所以答案选B", "因此，选 B、D", "故选 ACD"),
    *("综上所述，正确答案是 A。", "So the answer is 24.", "(2) 答案为270人"),
    *("\\boxed{9}", "$$\\boxed{\\frac{1}{2}}$$"),
]
STEPS = [
    *("结论3：根据结论2，故选B", "根据图片0，边长为3", "所以面积是9", "面积是\\boxed{9}"),
    *("答案是24，因为边长是3", "最终答案：根据结论3，面积是9", "答案是否唯一"),
    *("选择方案A更划算", "选A点为原点", "Answering the question needs care", ""),
]


@pytest.mark.parametrize("line", ANSWER_LINES)
def test_lines_that_state_the_answer(line: str) -> None:
    assert is_answer_line(line)


@pytest.mark.parametrize("line", STEPS)
def test_lines_that_reason(line: str) -> None:
    assert not is_answer_line(line)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("结论0：根据图片0，边长为3。最终答案：9", "结论0：根据图片0，边长为3。"),
        ("结论0：根据图片0，边长为3\n**最终答案：**\n(1) 3\n(2) 5", "结论0：根据图片0，边长为3"),
        ("最终答案：9\n结论0：根据图片0，边长为3", "最终答案：9\n结论0：根据图片0，边长为3"),
        ("面积是9\n答案：9", "面积是9\n答案：9"),
        ("", ""),
    ],
)
def test_the_answer_at_the_end_may_take_several_lines(text: str, kept: str) -> None:
    assert without_answer(text) == kept


@pytest.mark.parametrize(
    "ending",
    [
        "最终答案：B",
        "最终答案：\n(1) 3\n(2) $\\frac{1}{2}$",
        "\n故选：B",
        "Final answer: 3",
        "\\boxed{9}",
    ],
)
def test_an_answer_is_no_step_and_leaves_no_doubt(
    judged: Callable[..., Any], graded: Graded, ending: str
) -> None:
    graded("correct")
    steps = "\n".join(SOLUTION.splitlines()[:2])
    (record,), _ = judged([f"{steps}\n{ending}"])
    assert record["transform"]["read_by"] == "rule"
    assert len(record["chain"]) == 2


def test_an_answer_alone_is_no_reasoning(judged: Callable[..., Any], graded: Graded) -> None:
    graded("correct")
    steps = "\n".join(SOLUTION.splitlines()[:2])
    (record,), _ = judged([f"<think>{steps}</think>因此，答案是9"])
    assert record["transform"]["source"] == "thinking"
    assert len(record["chain"]) == 2
    assert record["answer"]["correct"] is True


@given(st.lists(st.sampled_from(["最终答案：", "故选", "B", "。", "\n", "结论0：", "9", "*", "$"])))
def test_any_text_can_be_asked_for_its_answer(parts: list[str]) -> None:
    text = "".join(parts)
    kept = without_answer(text)
    assert kept.replace("\n", "") in text.replace("\n", "")
    assert is_answer_line(text) in (True, False)


# --- readers -------------------------------------------------------------------------------------


def test_an_answer_that_nobody_could_grade_is_shown_as_such(tmp_path: Path) -> None:
    record = make_record([1.0], doc=document(), steps=["图片0 -> 结论0：边长是3"], answer=None)
    record["answer"] |= {"value": "九", "error": "the rules leave it undecided"}
    write_run(tmp_path / "a", {0: record}, task="cmmath_rpts")
    page = tmp_path / "report.html"
    assert CliRunner().invoke(app, ["report", str(tmp_path / "a"), "-o", str(page)]).exit_code == 0
    text = page.read_text(encoding="utf-8")
    assert "The correctness of the answer could not be determined" in text
    assert "answer: <b>九</b>" in text
