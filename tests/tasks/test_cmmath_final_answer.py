"""Where a response states its final answer, and how references are read."""

from __future__ import annotations

import pytest
from lmms_rpts.tasks.cmmath.grading.final_answer import find_statement
from lmms_rpts.tasks.cmmath.grading.references import read_reference

from tests.support.growth import assert_linear_in_text

STATEMENTS = [
    ("计算得 x=3。\n答案：x=3。", "x=3", True),
    ("**答案：D**\n再算一遍。\n所以最终答案应为 C。", "C", True),
    ("因此选 B.", "B.", True),
    ("故选：A．", "A．", True),
    ("答：一共 12 个。\n希望对你有帮助！", "一共 12 个", True),
    ("The answer is $7$. Let me know if you have questions.", "$7$", True),
    (r"So \[\boxed{\frac{1}{2}}\]", r"So \[\boxed{\frac{1}{2}}\]", True),
    ("### 答案\n\n42", "42", True),
    ("所以面积为：\n\n$$\n12\n$$", "所以面积为： $$ 12 $$", False),
    ("先算 2+3=5。\n所以长度是 5 cm。\n经检验，符合题意。", "所以长度是 5 cm", False),
    ("<think>答案：9</think>所以是 8。", "所以是 8", False),
    ("<STEP1> 设 x。\n<STEP2> 得 x=1。", "得 x=1", False),
    ("综上所述，答案：①②", "①②", True),
    ("<answer>C</answer>", "C", True),
    ("答案：把 x 代入，得到：\n所以 k=1。", "所以 k=1", False),
    ("", "", False),
    ("<think>只有思考", "", False),
]


@pytest.mark.parametrize(("response", "text", "marked"), STATEMENTS)
def test_the_last_statement_wins(response: str, text: str, marked: bool) -> None:
    found = find_statement(response)
    assert (found.text.strip(" 。"), found.marked) == (text.strip(" 。"), marked)


@pytest.mark.parametrize(
    ("response", "boxed"),
    [
        (r"\boxed{A}", "A"),
        (r"so $\boxed{\frac{1}{2}}$", r"\frac{1}{2}"),
        (r"$\boxed{2}$ and $\boxed{3}$", "2; 3"),
        (r"\boxed{old}" "\n" r"\boxed{new}", "new"),
        (r"\boxed{never closed", "never closed"),
        (r"\boxed{}", ""),
    ],
)
def test_boxes(response: str, boxed: str) -> None:
    assert find_statement(response).boxed == boxed


@pytest.mark.parametrize(
    ("response", "revised"),
    [
        ("答案：5。等等，上面有误，重新计算得 6", True),
        ("Answer: 5. Wait, that is the radius", True),
        ("答案：5。\n解析：5=2+3。", False),
    ],
)
def test_what_follows_may_take_it_back(response: str, revised: bool) -> None:
    assert find_statement(response).revised is revised


@pytest.mark.parametrize(
    "piece",
    [
        *("答案：", "故选", "\\boxed{", "**", "$$", "answer is ", "(1)", "\n- "),
        *("\\[", "=  \n\\[", "|" * 4100 + "x\n", "A\n", "A.x\n", "`", "<think>", "是否"),
    ],
)
def test_hostile_responses_take_linear_time(piece: str) -> None:
    assert_linear_in_text(find_statement, piece * (200_000 // len(piece)))


CHOICE = "下列正确的是（   ）．\n\nA.$$1$$\nB.$$2$$"
BLANK = r"它的长是 $$\underline{}$$ ．"
REFERENCES = [
    (CHOICE, "B\n", "choice_single", 0),
    (CHOICE, "A\nB", "choice_multi", 0),
    ("判断：（   ）", "×", "true_false", 0),
    (BLANK, "$$12$$", "number", 0),
    (BLANK, "$$70{}^\\circ $$", "number_unit", 0),
    (r"长 $$\underline{}$$ cm．", "12", "number_unit", 0),
    (BLANK, "$$-\\frac{5}{12}$$", "fraction", 0),
    (BLANK, "$$m+n-180$$", "expression", 0),
    (BLANK, "$${{x}_{1}}=2$$，$${{x}_{2}}=3$$", "equation", 0),
    (BLANK, "无解", "equation", 0),
    (BLANK, "$$\\varnothing $$", "set", 0),
    (BLANK, "$$(4,0)$$或$$(-4,0)$$", "coordinate", 0),
    (BLANK, "$$x\\geqslant 2$$", "interval", 0),
    ("取值范围是 $$\\underline{}$$", "$$(1,2)$$", "interval", 0),
    (BLANK, "$$(1,2)$$", "coordinate", 0),
    (BLANK, ",①,③,", "circled", 0),
    (BLANK, "稳定性", "statement", 0),
    (BLANK, "右\n下", "multi_blank", 2),
    (r"$$\underline{}$$ 和 $$\underline{}$$", "3；4", "multi_blank", 2),
    ("求．", "(1)$$a=1$$．\n(2)$$600$$．", "multi_part", 2),
    (CHOICE, "（1）$$x=1$$；（2）$$\\frac{3}{5}$$.", "multi_part", 2),
]


@pytest.mark.parametrize(("question", "reference", "kind", "parts"), REFERENCES)
def test_the_type_of_a_reference(question: str, reference: str, kind: str, parts: int) -> None:
    found = read_reference(question, reference)
    assert (found.type, len(found.parts)) == (kind, parts)


@pytest.mark.parametrize(
    ("reference", "alternates"),
    [("80°/ 80度", 2), (r"0.8/ $$\frac45$$", 2), ("3/4", 1), ("60千米/时", 1), ("1 / 3", 1)],
)
def test_other_ways_to_write_a_reference(reference: str, alternates: int) -> None:
    assert len(read_reference(BLANK, reference).alternates) == alternates
