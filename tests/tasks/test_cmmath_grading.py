"""The grader of CMMaTH: labelled answers, harmless changes, hostile texts.

The grades of its rows in the grading corpus are tested in tests/grading/test_corpus.py.
"""

from __future__ import annotations

import json
import re
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cmmath_grading import grade_all
from lmms_rpts.grading.grader import Outcome
from lmms_rpts.tasks.cmmath.scorer import grade_by_rules as grade
from tests.grading.corpus import corpus
from tests.support.growth import assert_linear_in_text
from tests.support.reference import reference
from tests.support.tables import table

LONG = 1_000
"""Number of characters from which a text counts as long."""


def corpus_rows() -> list[tuple[str, str, str]]:
    """The arguments of ``grade`` for the rows of CMMaTH in the grading corpus."""
    rows = (row for row in corpus() if row["origin"].startswith("cmmath"))
    return [(row.get("question", ""), row["gold"], row["response"]) for row in rows]


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
    assert grade(question, answer, response).outcome == outcome


def test_long_rows_take_linear_time() -> None:
    for texts in corpus_rows():
        for at, text in enumerate(texts):
            if len(text) >= LONG:
                assert_linear_in_text(
                    lambda part, at=at, texts=texts: grade(*texts[:at], part, *texts[at + 1 :]),
                    text,
                )


def squeezed(text: str) -> str:
    return re.sub(r"[\s$]+", "", text)


def test_no_row_is_copied_from_the_publishers() -> None:
    graded_rows = reference("cmmath", "graded.jsonl").read_text(encoding="utf-8").splitlines()
    others = [*map(json.loads, graded_rows)]
    others += json.loads(reference("cmmath", "sample.json").read_text(encoding="utf-8"))
    known = {squeezed(row[key]) for row in others for key in ("question", "response") if key in row}
    for question, _, response in corpus_rows():
        texts = [question, response if len(response) > 20 else ""]
        assert not [text for text in texts if text and squeezed(text) in known]


def test_the_rules_agree_with_graded_answers_and_abstain_seldom() -> None:
    """Real answers with the publishers' labels, and our own."""
    sure = [e for e in grade_all(reference("cmmath", "graded.jsonl")) if not e.row["debatable"]]
    decided = [each for each in sure if each.decided]
    wrong = [each.grade for each in decided if not each.agrees]
    assert len(wrong) <= 0.02 * len(decided), wrong
    assert len(sure) - len(decided) <= 0.05 * len(sure)
    for source in {each.row["source"] for each in sure}:
        some = [each.decided for each in sure if each.row["source"] == source]
        assert some.count(False) <= 0.08 * len(some), source


OPTIONS = "正确的是（   ）．\n\nA.$$16$$人\nB.$$18$$人\nC.$$20$$人\nD.$$24$$人"
LENGTH = r"它的长是 $$\underline{}$$ ．"
# a response, and the statement in it that is graded, or the content of its box
STATEMENTS = [
    ("计算得 x=3。\n答案：x=3。", "x=3"), ("**答案：D**\n再算一遍。\n所以最终答案应为 C。", "C"),
    ("因此选 B.", "B"), ("故选：A．", "A"), ("答：一共 12 个。\n希望对你有帮助！", "一共 12 个"),
    ("The answer is $7$. Let me know if you have questions.", "$7$"), ("### 答案\n\n42", "42"),
    ("所以面积为：\n\n$$\n12\n$$", "所以面积为： $$ 12 $$"), ("<answer>C</answer>", "C"),
    ("先算 2+3=5。\n所以长度是 5 cm。\n经检验，符合题意。", "所以长度是 5 cm"),
    ("<think>答案：9</think>所以是 8。", "所以是 8"), ("<STEP1> 设 x\n<STEP2> 得 1", "得 1"),
    ("综上所述，答案：①②", "①②"), ("答案：把 x 代入，得到：\n所以 k=1。", "所以 k=1"),
    ("", ""), ("<think>只有思考", ""), (r"so $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
    (r"$\boxed{2}$ and $\boxed{3}$", "2; 3"), ("\\boxed{old}\n\\boxed{new}", "new"),
    (r"\boxed{never closed", "never closed"),
]  # fmt: skip


def test_the_statement_that_is_graded() -> None:
    found = [grade("", "7", response).answer or "" for response, _ in STATEMENTS]
    assert [each.strip(" 。") for each in found] == [each for _, each in STATEMENTS]


Plain = tuple[str, str, str, str]
# question, reference, a right answer, a wrong one; none of them in LaTeX
PLAIN: list[Plain] = [
    (OPTIONS, "B", "B", "C"),
    (f"（多选题）{OPTIONS}", "B,C", "BC", "BD"),
    ("判断：所有的偶数都是合数．（   ）", "×", "错误", "正确"),
    ("计算：$$-7+12=$$ $$\\underline{}$$ ．", "$$5$$", "5", "-5"),
    ("如图，求$$\\angle 2$$的度数．", "$$65{}^\\circ $$", "65°", "115°"),
    ("概率是 $$\\underline{}$$ ．", "$$\\frac{1}{3}$$", "1/3", "2/3"),
    ("高为 $$\\underline{}$$ ．", "$$2\\sqrt{3}$$", "2√3", "3√2"),
    ("用含$$n$$的式子表示：$$\\underline{}$$ ．", "$$4n+1$$", "4n+1", "4n-1"),
    ("解析式为 $$\\underline{}$$ ．", "$$y=3x-2$$", "y=3x-2", "y=3x+2"),
    ("点$$P$$的坐标是 $$\\underline{}$$ ．", "$$(-2,5)$$", "(-2,5)", "(5,-2)"),
    ("不等式组的解集为 $$\\underline{}$$ ．", "$$-3\\le x<1$$", "-3≤x<1", "-3<x≤1"),
    ("则$$A\\cap B=$$ $$\\underline{}$$ ．", "$$\\left\\{ 1,4,6 \\right\\}$$", "{1,4,6}", "{1,4}"),
    (r"①$$abc<0$$；②$$b=2a$$；③$$c>0$$．正确的是 $$\underline{}$$ ．（填序号）", "①③", "①③", "①②"),
    ("是 $$\\underline{}$$ 事件．（填“必然”“不可能”或“随机”）", "不可能", "不可能", "随机"),
    (r"周长是 $$\underline{}$$ ，面积是 $$\underline{}$$ ．", "$$26$$\n$$36$$", "26；36", "36；26"),
]
LEADS = [
    "{}",
    "答案：{}",
    "故答案为：{}",
    "解：由题意计算即可。\n\n因此，最终答案是 {} 。",
    "The answer is {} .",
    "**{}**",
    "**答案：{}**",
    "### 最终答案\n\n**{}**",
    "最终答案：\n\n{}",
]
CLOSINGS = [
    "\n\n希望对你有帮助！",
    "\n\n如果还有其他问题，欢迎随时向我提问。",
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
        found = grade(row[0], row[1], response)
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
        assert grade(*texts).outcome in get_args(Outcome)
        assert grade(*texts) == grade(*texts)
