"""The grader of CMMaTH: the corpus, hostile texts, and harmless changes.

The tables of cases are rows of the grading corpus.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.tasks.cmmath.grading import ANSWER_TYPES, FAILED, Grade, Outcome, grade
from tests.support.growth import assert_linear_in_text
from tests.support.reference import reference
from tests.support.tables import table

CORPUS = Path(__file__).parents[1] / "grading" / "corpus.jsonl"
LONG = 1_000
"""Number of characters from which a text counts as long."""
Given = tuple[str, str, str]


@cache
def rows() -> tuple[tuple[dict[str, Any], Given], ...]:
    """The rows of CMMaTH in the grading corpus, and the arguments of ``grade``."""
    found = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
    return tuple(
        (row, (row.get("question", ""), row["gold"], row["response"]))
        for row in found
        if row["origin"].startswith("cmmath")
    )


def graded(question: str, answer: str, response: str) -> Grade:
    found = grade(question, answer, response)
    assert not found.rule.startswith(FAILED), found
    return found


def test_every_type_of_answer_is_in_the_corpus() -> None:
    found = {graded(*texts).answer_type for _, texts in rows()[::3]}
    assert found == set(ANSWER_TYPES)


BLANKS = "二次项系数是 $$\\underline{}$$ ，一次项系数是 $$\\underline{}$$ ．"
PARTS = "计算：\n(1) $$(-3)+8$$\n(2) $$12\\div (-4)$$"


@table(
    "question, answer, response, outcome",
    (BLANKS, "3；5", "②5；①3", "correct"),
    (BLANKS, "3；5", "②3；①5", "incorrect"),
    (BLANKS, "3；5", "第二空填5，第一空填3", "correct"),
    (BLANKS, "3；5", "第二空填3，第一空填5", "incorrect"),
    (PARTS, "(1)$$5$$\n(2)$$-3$$", "答案是(1)5\n(2)−3", "correct"),
    (PARTS, "(1)$$5$$\n(2)$$-3$$", "答案是 1. 5\n2. −3", "correct"),
    (PARTS, "(1)$$5$$\n(2)$$-3$$", "答案是(1)5\n(2)3", "incorrect"),
)
def test_labels_of_blanks_and_parts(
    question: str, answer: str, response: str, outcome: str
) -> None:
    assert graded(question, answer, response).outcome == outcome


def test_long_rows_take_linear_time() -> None:
    for _, texts in rows():
        for at, text in enumerate(texts):
            if len(text) >= LONG:
                assert_linear_in_text(
                    lambda part, at=at, texts=texts: graded(*texts[:at], part, *texts[at + 1 :]),
                    text,
                )


@pytest.mark.parametrize("name", ["graded.jsonl", "sample.json"])
def test_no_row_is_copied(name: str) -> None:
    text = reference("cmmath", name).read_text(encoding="utf-8")
    others = json.loads(text) if name.endswith(".json") else map(json.loads, text.splitlines())
    known = {squeezed(row[key]) for row in others for key in ("question", "response") if key in row}
    for _, (question, _, response) in rows():
        texts = [question, response if len(response) > 20 else ""]
        assert not [text for text in texts if text and squeezed(text) in known]


def squeezed(text: str) -> str:
    return re.sub(r"[\s$]+", "", text)


GIRLS = (
    "某班$$48$$名学生中，有$$\\frac{3}{8}$$是女生，则女生有（   ）．\n\nA.$$16$$人\nB.$$18$$人\n"
    "C.$$20$$人\nD.$$24$$人"
)
NEGATIVE = (
    "（多选题）下列各式中，运算结果为负数的有（   ）．\n\nA.$$-(-2)$$\nB.$$-\\left| -2 \\right|$$\n"
    "C.$${{(-2)}^{3}}$$\nD.$${{(-2)}^{2}}$$"
)
EVEN = "判断：所有的偶数都是合数．（   ）"
QUADRATIC = (
    "二次函数图象如图所示，有下列结论：①$$abc<0$$；②$$b=2a$$；③$$4a+c>0$$；④$${{b}^{2}}>4ac$$．"
    "其中正确的是 $$\\underline{}$$ ．（填序号）"
)

# question, reference, the type of the reference
TYPES: list[tuple[str, str, str]] = [
    ("下列正确的是（   ）．\n\nA.$$1$$\nB.$$2$$", "B\n", "choice_single"),
    ("下列正确的是（   ）．\n\nA.$$1$$\nB.$$2$$", "A\nB", "choice_multi"),
    ("判断：（   ）", "×", "true_false"),
    (r"它的长是 $$\underline{}$$ ．", "$$12$$", "number"),
    (r"它的长是 $$\underline{}$$ ．", r"$$70{}^\circ $$", "number_unit"),
    (r"长 $$\underline{}$$ cm．", "12", "number_unit"),
    (r"它的长是 $$\underline{}$$ ．", r"$$-\frac{5}{12}$$", "fraction"),
    (r"它的长是 $$\underline{}$$ ．", "$$m+n-180$$", "expression"),
    (r"它的长是 $$\underline{}$$ ．", "$${{x}_{1}}=2$$，$${{x}_{2}}=3$$", "equation"),
    (r"它的长是 $$\underline{}$$ ．", "无解", "equation"),
    (r"它的长是 $$\underline{}$$ ．", r"$$\varnothing $$", "set"),
    (r"它的长是 $$\underline{}$$ ．", "$$(4,0)$$或$$(-4,0)$$", "coordinate"),
    (r"它的长是 $$\underline{}$$ ．", r"$$x\geqslant 2$$", "interval"),
    (r"取值范围是 $$\underline{}$$", "$$(1,2)$$", "interval"),
    (r"它的长是 $$\underline{}$$ ．", "$$(1,2)$$", "coordinate"),
    (r"它的长是 $$\underline{}$$ ．", ",①,③,", "circled"),
    (r"它的长是 $$\underline{}$$ ．", "稳定性", "statement"),
    (r"它的长是 $$\underline{}$$ ．", "右\n下", "multi_blank"),
    (r"$$\underline{}$$ 和 $$\underline{}$$", "3；4", "multi_blank"),
    ("求．", "(1)$$a=1$$．\n(2)$$600$$．", "multi_part"),
    ("下列正确的是（   ）．\n\nA.$$1$$\nB.$$2$$", "（1）$$x=1$$；（2）$$3$$.", "multi_part"),
    # a question that states the unit
    (r"则最短距离是 $$\underline{}$$ cm．", "5", "number_unit"),
    ("AB是____cm,AC是____km", "5", "number_unit"), ("AB是____cm,AC是____", "5", "number"),
    ("∠E=____°", "5", "number_unit"), (r"(度数是$$\underline{}$$)°．", "5", "number_unit"),
    ("面积是____平方厘米", "5", "number_unit"), ("面积是____厘米", "5", "number_unit"),
    ("长（   ）$${c}{{{m}}^{2}}$$．", "5", "number_unit"), ("长____(cm)", "5", "number_unit"),
    ("共有(  )个三角形", "5", "number"), ("付____元", "5", "number_unit"),
    ("∠1是____角", "5", "number"),
    ("需要____小时", "5", "number_unit"), ("当x=____时,y最大", "5", "number"),
    ("速度是____千米/时", "5", "number_unit"), ("收入____万元", "5", "number_unit"),
    ("共____亿人", "5", "number"), ("长____m", "5", "number_unit"),
    ("长____m^2", "5", "number_unit"), ("得____m+n", "5", "number"), ("得____mn", "5", "number"),
    ("是____元一次方程", "5", "number"), ("是____次函数", "5", "number"),
    ("转____次", "5", "number"), ("____ square units", "5", "number_unit"),
    ("____%", "5", "number"), ("y=____x", "5", "number"),
    ("如图(单位:cm),则体积是____", "5", "number"),
    ("得分(单位:分).则x和y为(  )", "5", "number"), ("长____cm,宽", "5", "number_unit"),
    ("圆的周长", "5", "number"), ("____", "5", "number"),
    # several forms of one value count as one value
    (r"它的长是 $$\underline{}$$ ．", "80°/ 80度", "number_unit"),
    (r"概率是 $$\underline{}$$ ．", r"$$\frac{1}{2}$$或$$0.5$$", "fraction"),
    (r"概率是 $$\underline{}$$ ．", "25%(0.25)", "number"),
]  # fmt: skip


@table("question, answer, answer_type", *TYPES)
def test_answer_types(question: str, answer: str, answer_type: str) -> None:
    assert graded(question, answer, "").answer_type == answer_type


# a response, and the statement in it that is graded, or the content of its box
STATEMENTS = [
    ("计算得 x=3。\n答案：x=3。", "x=3"), ("因此选 B.", "B"), ("故选：A．", "A"),
    ("**答案：D**\n再算一遍。\n所以最终答案应为 C。", "C"), ("### 答案\n\n42", "42"), ("", ""),
    ("答：一共 12 个。\n希望对你有帮助！", "一共 12 个"), ("<think>只有思考", ""),
    ("The answer is $7$. Let me know if you have questions.", "$7$"),
    ("所以面积为：\n\n$$\n12\n$$", "所以面积为： $$ 12 $$"), ("综上所述，答案：①②", "①②"),
    ("先算 2+3=5。\n所以长度是 5 cm。\n经检验，符合题意。", "所以长度是 5 cm"),
    ("<think>答案：9</think>所以是 8。", "所以是 8"), ("<answer>C</answer>", "C"),
    ("<STEP1> 设 x。\n<STEP2> 得 x=1。", "得 x=1"), (r"$\boxed{2}$ and $\boxed{3}$", "2; 3"),
    ("答案：把 x 代入，得到：\n所以 k=1。", "所以 k=1"), (r"\boxed{never closed", "never closed"),
    (r"so $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"), ("\\boxed{old}\n\\boxed{new}", "new"),
]  # fmt: skip


@table("response, statement", *STATEMENTS)
def test_the_statement_that_is_graded(response: str, statement: str) -> None:
    assert (graded("", "7", response).answer or "").strip(" 。") == statement.strip(" 。")


Plain = tuple[str, str, str, str]
# question, reference, a right answer, a wrong one; none of them in LaTeX
PLAIN: list[Plain] = [
    (GIRLS, "B", "B", "C"),
    (NEGATIVE, "B,C", "BC", "BD"),
    (EVEN, "×", "错误", "正确"),
    ("计算：$$-7+12=$$ $$\\underline{}$$ ．", "$$5$$", "5", "-5"),
    ("如图，求$$\\angle 2$$的度数．", "$$65{}^\\circ $$", "65°", "115°"),
    ("概率是 $$\\underline{}$$ ．", "$$\\frac{1}{3}$$", "1/3", "2/3"),
    ("高为 $$\\underline{}$$ ．", "$$2\\sqrt{3}$$", "2√3", "3√2"),
    ("用含$$n$$的式子表示：$$\\underline{}$$ ．", "$$4n+1$$", "4n+1", "4n-1"),
    ("解析式为 $$\\underline{}$$ ．", "$$y=3x-2$$", "y=3x-2", "y=3x+2"),
    ("点$$P$$的坐标是 $$\\underline{}$$ ．", "$$(-2,5)$$", "(-2,5)", "(5,-2)"),
    ("不等式组的解集为 $$\\underline{}$$ ．", "$$-3\\le x<1$$", "-3≤x<1", "-3<x≤1"),
    ("则$$A\\cap B=$$ $$\\underline{}$$ ．", "$$\\left\\{ 1,4,6 \\right\\}$$", "{1,4,6}", "{1,4}"),
    (QUADRATIC, "①③④", "①③④", "①③"),
    ("是 $$\\underline{}$$ 事件．（填“必然”“不可能”或“随机”）", "不可能", "不可能", "随机"),
    (
        "周长是 $$\\underline{}$$ ，面积是 $$\\underline{}$$ ．",
        "$$26$$\n$$36$$",
        "26；36",
        "36；26",
    ),
]
LEADS = [
    *("{}", "答案：{}", "故答案为：{}", "解：由题意计算即可。\n\n因此，最终答案是 {} 。"),
    *("The answer is {} .", "**{}**", "**答案：{}**", "### 最终答案\n\n**{}**", "最终答案：\n\n{}"),
]
CLOSINGS = [
    *("\n\n希望对你有帮助！", "\n\n如果还有其他问题，欢迎随时向我提问。"),
    "\n\n以上就是完整的解答过程。",
    "\n\nI hope this helps! Let me know if you have any questions.",
]
THOUGHTS = ["<think>{}</think>\n\n", "<think>\n答案：{}\n</think>\n"]


def boxed(text: str) -> str:
    marked = re.sub(r"[\u4e00-\u9fff]+", lambda found: rf"\text{{{found[0]}}}", text)
    for sign, latex in (("{", r"\{"), ("}", r"\}"), ("°", r"^\circ")):
        marked = marked.replace(sign, latex) if r"\text" not in marked else marked
    return rf"$$\boxed{{{marked}}}$$"


def full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


def spaced(text: str) -> str:
    return re.sub(r"([+=<≤,，；/])", r" \1 ", text)


def check(row: Plain, right: str, wrong: str) -> None:
    """Checks the grades of a response with the right answer and of one with the wrong answer."""
    for outcome, response in (("correct", right), ("incorrect", wrong)):
        found = graded(row[0], row[1], response)
        assert found.outcome == outcome, (row, response, found)


def test_a_plain_answer_in_a_box() -> None:
    for row in PLAIN:
        check(row, boxed(row[2]), boxed(row[3]))
        check(row, f"所以\n\n{boxed(row[2])}\n\n{CLOSINGS[0]}", f"所以\n\n{boxed(row[3])}")


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLAIN), st.sampled_from(LEADS), st.data())
def test_harmless_changes(row: Plain, lead: str, data: st.DataObject) -> None:
    closing = data.draw(st.sampled_from(["", *CLOSINGS, " ", "\n\n", "\u3000"]))
    thought = data.draw(st.sampled_from(["", *THOUGHTS]))
    written = data.draw(st.sampled_from([str, spaced, full_width if lead in LEADS[:5] else str]))
    right, wrong = (lead.format(written(text)) + closing for text in row[2:])
    check(row, thought.format(row[3]) + right, thought.format(row[2]) + wrong)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(PLAIN))
def test_a_later_answer_replaces_an_earlier_one(row: Plain) -> None:
    turn = "答案：{}\n\n等等，上面算错了，重新计算。\n\n最终答案：{}"
    check(row, turn.format(row[3], row[2]), turn.format(row[2], row[3]))


ALPHABET = "ABCDx12345.,，；()（）{}[]$\\^_/+-=<>≤√π°①② \n对错答案是不或"
any_text = st.text(alphabet=st.sampled_from(ALPHABET), max_size=60)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(PLAIN), any_text, any_text)
def test_any_text_has_a_grade(row: Plain, question: str, text: str) -> None:
    for texts in ((row[0], row[1], text), (row[0], text, row[2]), (question, text, text)):
        assert graded(*texts).outcome in get_args(Outcome)
        assert graded(*texts) == grade(*texts)
