"""Maths: formulas and plain text worked by hand."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.grading.formulas import equal, formula
from lmms_rpts.grading.grader import grade
from lmms_rpts.grading.plain import LONGEST, plain
from tests.support.tables import table


def outcome(gold: str, response: str, question: str = "") -> str:
    return grade(response, gold, kind="maths", question=question).outcome


@table(
    "text, expected",
    (r"\frac{1}{2}", "1/2"), (r"\dfrac{a+1}{b}", "(a+1)/b"), (r"\frac12", "1/2"),
    (r"2\frac{1}{2}", "2 1/2"),  # a mixed number
    (r"\frac{4}{3}\pi", "(4/3)π"), (r"\frac{\sqrt{3}+1}{2}", "(√(3)+1)/2"),
    (r"\sqrt[3]{8}", "√[3](8)"), (r"$${{x}_{1}}=2$$", "x_1=2"), (r"x^{n+1}", "x^(n+1)"),
    (r"$$36{}^\circ$$", "36°"), (r"{{15}^{{}^\circ }}", "15°"),
    (r"$$12{c}{{{m}}^{2}}$$", "12cm^2"), (r"\left\{ 2,4 \right\}", "{ 2,4 }"), (r"{1,4}", "{1,4}"),
    (r"\begin{cases} x=3 \\ y=-2 \end{cases}", "x=3 ; y=-2"), (r"\text{B}", "B"),
    (r"$$\underline{}$$", "____"),
    (r"0.\dot{3}", r"0.\dot{3}"),  # no sign of its own
    ("**B**", "B"), ("*B*", "B"), ("**26；36", "26;36"), ("3**n", "3**n"), ("8 * 10", "8 * 10"),
    ("2**(1/2)", "2**(1/2)"), ("6*10**-4", "6*10**-4"), ("3**n + 4**n", "3**n + 4**n"),
    ("x²≤½", "x^2≤ 1/2"),
)  # fmt: skip
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


@table(
    "text, value",
    ("1,000", Fraction(1000)), (".6", Fraction(3, 5)), ("2 1/2", Fraction(5, 2)),
    ("20%", Fraction(1, 5)), ("- 7", Fraction(-7)), ("2^10", Fraction(1024)),
    ("6*10**-4", Fraction(3, 5000)), ("√(4/9)", Fraction(2, 3)), ("1-2/3", Fraction(1, 3)),
    ("(1+2)(3+4)", Fraction(21)),
)  # fmt: skip
def test_numbers(text: str, value: Fraction) -> None:
    parsed, same = formula(text), formula(f"({value.numerator})/({value.denominator})")
    assert parsed is not None
    assert same is not None
    assert equal(parsed, same)


@table(
    "one, other, expected",
    ("4n+1", "1+4n", True), ("4n+1", "4n-1", False), ("(x+1)^2", "x^2+2x+1", True),
    ("3**n", "3n", False), ("2√(3)", "√12", True), ("√2-√2", "0", True),
    ("√(x^2)", "x", False),  # of negative numbers
    ("4π", "4", False),
    ("3.1415926535897", "π", None),  # too close to tell
    ("2x+1", "2y+1", None),  # other unknowns
)  # fmt: skip
def test_formulas_are_compared(one: str, other: str, expected: bool | None) -> None:
    first, second = formula(one), formula(other)
    assert first is not None
    assert second is not None
    assert equal(first, second) is expected


@table(
    "text",
    *("", "1/2x", "x2", "1 2", "1,2", "1e9", "1/0", "9**9**9**9", "9" * 50, "sin x", "abcd", "√"),
    *("(" * 50, "(" * 20 + "1" + ")" * 20 + "+" * 200, "__import__('os')", "x.y", "lambda: 1"),
    *("a if b else c", "(-8)^(1/2)", "5²!", "1//0", "[1]", "1=1", "(lambda)(1)"),
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
