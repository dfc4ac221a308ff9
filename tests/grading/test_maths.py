"""Maths: formulas and plain text worked by hand, and the grades of short answers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.formulas import equal, formula
from lmms_rpts.grading.grader import grade
from lmms_rpts.grading.plain import LONGEST, plain


def outcome(gold: str, response: str, question: str = "") -> str:
    return grade(response, gold, kind="maths", question=question).outcome


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\frac{1}{2}", "1/2"),
        (r"\dfrac{a+1}{b}", "(a+1)/b"),
        (r"\frac12", "1/2"),
        (r"2\frac{1}{2}", "2 1/2"),  # a mixed number
        (r"\frac{4}{3}\pi", "(4/3)π"),
        (r"\frac{\sqrt{3}+1}{2}", "(√(3)+1)/2"),
        (r"\sqrt[3]{8}", "√[3](8)"),
        (r"$${{x}_{1}}=2$$", "x_1=2"),
        (r"x^{n+1}", "x^(n+1)"),
        (r"$$36{}^\circ$$", "36°"),
        (r"{{15}^{{}^\circ }}", "15°"),
        (r"$$12{c}{{{m}}^{2}}$$", "12cm^2"),
        (r"\left\{ 2,4 \right\}", "{ 2,4 }"),
        (r"{1,4}", "{1,4}"),
        (r"\begin{cases} x=3 \\ y=-2 \end{cases}", "x=3 ; y=-2"),
        (r"\text{B}", "B"),
        (r"$$\underline{}$$", "____"),
        (r"0.\dot{3}", r"0.\dot{3}"),  # no sign of its own
        ("**B**", "B"),
        ("*B*", "B"),
        ("**26；36", "26;36"),
        ("3**n", "3**n"),
        ("2**(1/2)", "2**(1/2)"),
        ("6*10**-4", "6*10**-4"),
        ("3**n + 4**n", "3**n + 4**n"),
        ("8 * 10", "8 * 10"),
        ("x²≤½", "x^2≤ 1/2"),
    ],
)
def test_plain_form(text: str, expected: str) -> None:
    assert plain(text) == expected


@given(st.text(max_size=80))
def test_plain_form_is_one_short_line_for_any_text(text: str) -> None:
    assert "\n" not in plain(text)
    assert len(plain(text)) <= 2 * LONGEST


@given(st.text(alphabet="ab12 +-=*_$.,是", max_size=40))
def test_plain_form_of_a_plain_text_is_stable(text: str) -> None:
    once = plain(plain(text))
    assert plain(once) == once


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1,000", Fraction(1000)),
        (".6", Fraction(3, 5)),
        ("2 1/2", Fraction(5, 2)),
        ("20%", Fraction(1, 5)),
        ("- 7", Fraction(-7)),
        ("2^10", Fraction(1024)),
        ("6*10**-4", Fraction(3, 5000)),
        ("√(4/9)", Fraction(2, 3)),
        ("1-2/3", Fraction(1, 3)),
        ("(1+2)(3+4)", Fraction(21)),
    ],
)
def test_numbers(text: str, value: Fraction) -> None:
    parsed, same = formula(text), formula(f"({value.numerator})/({value.denominator})")
    assert parsed is not None
    assert same is not None
    assert equal(parsed, same)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("4n+1", "1+4n", True),
        ("4n+1", "4n-1", False),
        ("(x+1)^2", "x^2+2x+1", True),
        ("3**n", "3n", False),
        ("2√(3)", "√12", True),
        ("√2-√2", "0", True),
        ("√(x^2)", "x", False),  # of negative numbers
        ("4π", "4", False),
        ("3.1415926535897", "π", None),  # too close to tell
        ("2x+1", "2y+1", None),  # other unknowns
    ],
)
def test_formulas_are_compared(one: str, other: str, expected: bool | None) -> None:
    first, second = formula(one), formula(other)
    assert first is not None
    assert second is not None
    assert equal(first, second) is expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "1/2x", "x2", "1 2", "1,2", "1e9", "1/0", "9**9**9**9", "9" * 50, "sin x", "abcd"),
        *(
            "(" * 50,
            "(" * 20 + "1" + ")" * 20 + "+" * 200,
            "__import__('os')",
            "x.y",
            "a if b else c",
        ),
        *("(-8)^(1/2)", "5²!", "lambda: 1", "1//0", "[1]", "1=1", "(lambda)(1)", "√"),
    ],
)
def test_what_is_no_formula_with_one_value(text: str) -> None:
    assert formula(text) is None


@given(st.text(alphabet="019.+-*/^()√π%xn ,", max_size=60))
def test_any_arithmetic_is_read_or_refused(text: str) -> None:
    parsed = formula(text)
    if parsed is not None:
        assert equal(parsed, parsed) in (True, None)


@given(st.integers(-999, 999), st.integers(-999, 999))
def test_whole_numbers_are_right_only_if_equal(one: int, other: int) -> None:
    found = outcome(str(other), f"答案：{one}")
    assert (found == "correct") == (one == other)


BLANK = r"$$\underline{}$$"


@pytest.mark.parametrize(
    ("gold", "response", "expected"),
    [
        ("7", r"\boxed{- 7}", "incorrect"),
        ("-7", r"\boxed{- 7}", "correct"),
        ("7", "$x = - 7$", "incorrect"),
        ("6 m", ".6 m", "incorrect"),
        ("0.6", ".6", "correct"),
        ("2:3", "2比3", "correct"),
        ("12厘米", "12 cm", "correct"),
        ("12米", "1200 cm", "undecided"),
        ("12米", "12厘米", "incorrect"),
        ("12", "12万", "incorrect"),
        ("12", "12%", "undecided"),
        ("25600", "答案：25,600", "correct"),
        (r"$$2\frac{1}{3}$$", "7/3", "correct"),
        (r"$$\frac{2}{3}$$", "0.67", "undecided"),  # rounded
        (r"$$\frac{1}{3}$$", r"$0.\dot{3}$", "undecided"),
        (r"$$90{}^\circ $$", r"$\frac{\pi}{2}$", "undecided"),
        ("1.2", "答案是1.2或1.3", "undecided"),
        ("5", "答案是5吗？", "undecided"),
        ("5", "答案不是5。", "undecided"),
        ("23", "Answer: 17. I mean 23.", "undecided"),
        ("17", "Answer: 17. I mean 23.", "undecided"),
        ("10.5~12.5", "10.5~12.5", "correct"),
        ("10.5~12.5", "110.5~12.5", "undecided"),
        ("$3n$", "3**n", "incorrect"),
        ("$3^n$", "3**n", "correct"),
        ("$$y=3x-2$$", "答案：y=3x-2", "correct"),
        ("$$y=3x-2$$", "答案：y=3x+2", "incorrect"),
        ("x=4", "4", "correct"),
        ("x=4", "y=4", "undecided"),
        ("$$(-2,5)$$", "(5,-2)", "incorrect"),
        ("$(1,2,3,4)$", "$(1,2,3,4,5)$", "undecided"),
        (r"$$\left\{ 1,4 \right\}$$", "{4,1}", "correct"),
        (r"$$\left\{ 1,4 \right\}$$", "(1,4)", "undecided"),
        (r"$$-3\le x<1$$", "[-3,1)", "correct"),
        (r"$$-3\le x<1$$", "-3<x≤1", "incorrect"),
        ("x>3", "3<x", "correct"),
        ("x>3", "3>x", "incorrect"),
        ("$$x_1=2$$，$$x_2=-7$$", "x=-7或x=2", "correct"),
        ("$$x_1=2$$，$$x_2=-7$$", "x=-7且x=2", "undecided"),
        (r"$$m=\pm 2$$", "m=2或m=-2", "correct"),
        (r"$$\begin{cases} x=3 \\ y=-2 \end{cases}$$", "x=3，y=-2", "correct"),
        ("26\n36", "26；36", "correct"),
        ("26\n36", "36；26", "incorrect"),
        ("26\n36", "26或36", "undecided"),
        ("-2,0,1", "-2,10,1", "incorrect"),
        ("①③④", "①、③、④", "correct"),
        ("①③④", "①③", "incorrect"),
        ("③①②", "①②③", "incorrect"),  # in order
        ("×", "错误", "correct"),
        ("√", "不正确", "incorrect"),
        ("√", "对，也不对", "undecided"),
        ("√", "√2", "undecided"),
        ("无解", r"$\varnothing$", "correct"),
        ("平行", "平行", "correct"),
        ("平行", "不平行", "undecided"),
        ("圆", "圆锥", "undecided"),
        ("(1)$$k=4$$．\n(2)$$12$$．", "(1) k=4；(2) 12", "correct"),
        ("C", "选C不选D", "correct"),
        ("D", "选C不选D", "incorrect"),
        ("", "5", "undecided"),
        ("5", "答案：", "incorrect"),
    ],
)
def test_answers_without_a_problem(gold: str, response: str, expected: str) -> None:
    assert outcome(gold, response) == expected


@pytest.mark.parametrize(
    ("question", "gold", "response", "expected"),
    [
        (f"这辆汽车的速度是 {BLANK} ．", "60千米/时", "所以这辆汽车的速度是 60 km/h。", "correct"),
        (f"最短距离是 {BLANK} cm．", "10", "所以最短距离是 10 cm。", "correct"),
        (f"最短距离是 {BLANK} cm．", "10", "所以最短距离是 10 m。", "incorrect"),
        (f"如图，则∠1= {BLANK} ．", "70°", "∠2=70°", "undecided"),
        (f"如图，则∠1= {BLANK} ．", "70°", "所以∠1=130°-60°=70°", "correct"),
        (f"众数是 {BLANK} ，中位数是 {BLANK} ．", "7\n8", "众数是7，中位数是8", "correct"),
        (f"众数是 {BLANK} ，中位数是 {BLANK} ．", "7\n8", "中位数是7，众数是8", "undecided"),
        (f"用科学记数法表示为 {BLANK} ．", r"$$5.2\times 10^{-4}$$", "0.00052", "undecided"),
        (f"是 {BLANK} 事件．（填“必然”“随机”）", "随机", "必然", "incorrect"),
        (f"是 {BLANK} 事件．（填“必然”“随机”）", "随机", "所以是随机事件", "correct"),
        (f"则还需补充的条件是 {BLANK} ．（只需填一个）", "$$AC=DF$$", "AB=5", "undecided"),
        ("女生有（   ）．\nA.16人\nB.18人\nC.20人\nD.24人", "B", "所以女生有18人。", "correct"),
        ("女生有（   ）．\nA.16人\nB.18人\nC.20人\nD.24人", "B", "女生有15人。", "incorrect"),
        ("女生有（   ）．\nA.16人\nB.18人\nC.20人\nD.24人", "B", "故选：B．", "correct"),
        ("偶数有（   ）．\nA.2\nB.5\nC.8", "A,C", "答案：AC", "correct"),
        ("偶数有（   ）．\nA.2\nB.5\nC.8", "A,C", "答案：AB", "incorrect"),
        ("原来长多少？", "1.5米", "无法求出原来的长度。", "incorrect"),
    ],
)
def test_answers_to_a_problem(question: str, gold: str, response: str, expected: str) -> None:
    assert outcome(gold, response, question) == expected


@pytest.mark.parametrize(
    "part", ["(", r"\frac{", "{", "1+", "√", "**", "是1，", "x=1或", "(1)", "9^", "①"]
)
@pytest.mark.parametrize("gold", ["5", "26\n36", "x>3", "平行", "√", "(1)5\n(2)6"])
def test_long_and_nested_texts_are_graded(part: str, gold: str) -> None:
    assert outcome(gold, part * 20_000) != "correct"
    assert outcome(part * 20_000, "5", part * 20_000) != "correct"


@given(st.text(max_size=60), st.sampled_from(["5", "x=2", "(1,2)", "A", "√", "①③", "平行", "x<3"]))
def test_any_text_is_graded(response: str, gold: str) -> None:
    assert outcome(gold, response, response) in ("correct", "incorrect", "undecided")
