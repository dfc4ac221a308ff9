"""Formulas: which texts are parsed, and which are equal. Values are worked manually."""

from __future__ import annotations

import sys
from fractions import Fraction
from fractions import Fraction as F  # noqa: N817 - tables read better
from math import e, isclose, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_rpts.grading.formulas import Expression, equal, parse, rounds_to
from tests.support.growth import SHORTEST_TEXT, assert_linear, assert_linear_in_text

# text, its value, the number of places if it is a plain number
NUMBERS: list[tuple[str, Fraction | float | None, int | None]] = [
    ("3.6", F(18, 5), 1), ("-5", F(-5), 0), ("- 5", F(-5), 0), ("+3", F(3), 0),
    ("-0.330", F(-33, 100), 3), (".5", F(1, 2), 1), ("1,000", F(1000), 0),
    ("12 000", F(12000), 0), (r"\frac{1,000}{8}", F(125), None),
    ("1,234,567.89", F(123456789, 100), 2), ("007", F(7), 0), ("5.", F(5), 0), (" 5。", F(5), 0),
    ("(5)", F(5), None), ("20%", F(1, 5), None), ("20 %", F(1, 5), None),
    ("12.5%", F(1, 8), None), (r"2\frac{1}{2}", F(5, 2), None),
    (r"-2\frac{1}{2}", F(-5, 2), None), (r"3×2\frac{1}{2}", F(15, 2), None),
    (r"(2)\frac{1}{2}", F(1), None), (r"2\frac{\sqrt{9}}{2}", F(3), None),
    ("2 1/2", F(5, 2), None), ("3/4", F(3, 4), None), ("-3/4", F(-3, 4), None),
    ("9÷15", F(3, 5), None), ("5:3", F(5, 3), None), ("1/2:1/3", F(3, 2), None),
    ("2+1:3", F(1), None), ("2×3", F(6), None), ("2*3", F(6), None), ("2×-3", F(-6), None),
    ("2--3", F(5), None), ("12÷2×3", F(18), None), ("12÷2÷3", F(2), None), ("2+3×4", F(14), None),
    ("[2(3+4)-1](2)", F(26), None), ("-2^{2}", F(-4), None), ("(-2)^{2}", F(4), None),
    ("2^{-3}", F(1, 8), None), ("2^{3^{2}}", F(512), None), ("1.2e4", F(12000), None),
    ("1e5", F(100000), None), ("1.5e-4", F(3, 20000), None), ("3.84×10^{5}", F(384000), None),
    (r"\sqrt{144}", F(12), None), (r"\sqrt{\frac{9}{16}}", F(3, 4), None),
    (r"\sqrt[3]{8}", F(2), None), (r"\sqrt[3]{-8}", F(-2), None),
    (r"8^{\frac{2}{3}}", F(4), None), (r"(-8)^{\frac{1}{3}}", F(-2), None), ("|3-5|", F(2), None),
    ("||-3|-5|", F(2), None), ("2|-3||4|", F(24), None),
    ("cos90°", F(0), None), (r"\sqrt{13}", sqrt(13), None),
    (r"2\sqrt{3}", 2 * sqrt(3), None), ("π", pi, None), ("9π", 9 * pi, None),
    ("4/3π", 4 / 3 * pi, None), ("sin30°", F(1, 2), None), ("sin 30°", F(1, 2), None),
    ("sin(10°+20°)", F(1, 2), None), ("sin30°/2", F(1, 4), None),
    (r"sin\frac{π}{6}", F(1, 2), None), ("sin^{2}30°", F(1, 4), None),
    ("sin(30°)^{2}", F(1, 4), None),
    ("tan45°+1", F(2), None), ("2sin60°cos60°", sqrt(3) / 2, None), ("arccos(-1)", pi, None),
    ("log_{2}8", F(3), None), ("lg100", F(2), None), ("ln1", F(0), None), ("1/0", None, None),
    (r"\frac{1}{2-2}", None, None), (r"\frac{1}{\sqrt{2}\sqrt{2}-2}", None, None),
    (r"\sqrt{-2}", None, None), ("0^{0}", None, None), ("tan90°", None, None),
    ("ln0", None, None), ("arcsin2", None, None), ("9^{9^{9^{9}}}", None, None),
    ("x+1", None, None),
]  # fmt: skip

NAMES = [
    ("2a", "a"), ("2(a+b)", "a b"), ("ab", "a b"), ("abc", "a b c"), ("m:n", "m n"), ("AB", "AB"),
    ("BA", "AB"), ("2AB+CD", "AB CD"), ("A_{1}B", "A_{1}B"), ("A'B'", "A'B'"),
    ("x_{1}+x_{2}", "x_{1} x_{2}"), ("x1x2", "x_{1} x_{2}"), ("a_{n+1}", "a_{n+1}"),
    ("a^{n+1}", "a n"), ("S_{△ABC}", "S_{△ABC}"), ("∠ABC", "∠ABC"), ("∠CBA+∠1", "∠ABC ∠1"),
    ("e", "e"), ("e^{x}", "e x"), ("2πr", "r"), ("αβ", "α β"), ("2sinx", "x"),
    ("sin x cos y", "x y"), ("ln x", "x"), ("f(x)+P(A)", "f(x) P(A)"), ("bsinC", "b C"),
    ("2e-4", "e"), ("5km+m^{2}", "k m"), ("|x-1|", "x"),
]  # fmt: skip

NO_FORMULA = [
    "[130,150]", "(-4,100)", "(130 150)",
    "", " ", ".", "=", "x=1", "x<1", "x≤1", "±1", "x±1", "五", "5个", "5厘米",
    r"\overrightarrow{AB}", "→AB", "∞", "+∞", "+", "-", "×", "2×", "×2", "2+", "2,",
    ",2", "5:", "1:2:3", "30°", "90°-α", "()", "[]", "(1,2)", "(1", "1)", "(1]", "||", "|x",
    "|x|y|", "{x}", "x^2", "x^{}", "x^{2}^{3}", r"\frac{1}2", r"\frac{1}{}", r"\sqrt",
    r"\sqrt{}", r"\pi", "12,34", "0,123", "1,0000", "1 0000", "1.2.3", "1..2", "3 4", "x 2",
    "(2)3", "a%%", "%", "no", "yes", "x or y", "no solution", "cannot be determined", "Yes",
    "None", "Left side", "Rt", "2x3", "a/bc", "6÷2(3)", "x/2y", "x/2π", "sin x/2", "sin π/6",
    "C_{5}^{2}", "sin^{-1}x",
    "log8", "f(x+1)", "A_{1}^{2}", "x!", "x;y", "1…", "x\ny", "x\x00", "²", "٣", "１",
    "1e999999999", "9" * 401, "x" + "'" * 9, "sin", "sin+1", "_{1}", "^{2}", "✓", "△=",
]  # fmt: skip

EQUAL = r"""
0.5 = \frac{1}{2} ;; 50% = 1/2 ;; 1,000 = 1000 ;; 2.50 = 2.5 ;; 5:3 = \frac{5}{3} ;; 10:6 = 5:3
1e3 = 1000 ;; 2\frac{1}{3} = 7/3 ;; 3.84×10^{5} = 384000 ;; -0 = 0 ;; \sqrt{8} = 2\sqrt{2}
\frac{1}{\sqrt{2}} = \frac{\sqrt{2}}{2} ;; \frac{1}{\sqrt{3}-1} = \frac{\sqrt{3}+1}{2}
\sqrt{5+2\sqrt{6}} = \sqrt{2}+\sqrt{3} ;; \sqrt{2}\sqrt{3} = \sqrt{6}
\sqrt[3]{16} = 2\sqrt[3]{2} ;; sin30° = 1/2 ;; sin60° = \frac{\sqrt{3}}{2}
sin15° = \frac{\sqrt{6}-\sqrt{2}}{4} ;; cos120° = -1/2 ;; tan60° = \sqrt{3} ;; log_{2}8 = 3
lg2+lg5 = 1 ;; log_{2}3×log_{3}2 = 1 ;; 9π = π×3^{2} ;; arctan1 = \frac{π}{4} ;; e^{ln2} = 2
ln e = 1 ;; 2^{100} = 4^{50} ;; 9^{9^{9}} = 9^{387420489} ;; a+b = b+a ;; ab = ba ;; ab = a×b
AB = BA ;; x_{1}x_{2} = x_{2}x_{1} ;; 2(a+b) = 2a+2b ;; (a+b)^{2} = a^{2}+2ab+b^{2}
(a+b)(a-b) = a^{2}-b^{2} ;; a^{3}-b^{3} = (a-b)(a^{2}+ab+b^{2}) ;; (b-a)^{2} = (a-b)^{2}
x+y-y = x ;; x-x = 0 ;; 0.5x = \frac{1}{2}x ;; 1/2x = \frac{x}{2} ;; 3/4πr^{2} = \frac{3πr^{2}}{4}
\frac{x^{2}-1}{x-1} = x+1 ;; \frac{x}{x} = 1 ;; \frac{1}{a}+\frac{1}{b} = \frac{a+b}{ab}
\frac{1}{n(n+1)} = \frac{1}{n}-\frac{1}{n+1} ;; m:n = \frac{m}{n} ;; a% = \frac{a}{100}
\sqrt{x^{2}} = |x| ;; \sqrt[3]{x^{3}} = x ;; x^{\frac{1}{2}} = \sqrt{x}
x^{\frac{1}{3}} = \sqrt[3]{x} ;; \sqrt{x}\sqrt{y} = \sqrt{xy}
\frac{1}{\sqrt{x}} = \frac{\sqrt{x}}{x} ;; |a-b| = |b-a| ;; |a||b| = |ab| ;; a^{m}a^{n} = a^{m+n}
2^{n+1}-2 = 2(2^{n}-1) ;; 4^{n} = 2^{2n} ;; (\frac{1}{2})^{n} = 2^{-n} ;; (-1)^{n} = (-1)^{n+2}
(-1)^{2n} = 1 ;; (-1)^{n} = cos nπ ;; \frac{1+(-1)^{n}}{2} = |cos\frac{nπ}{2}|
e^{x+1} = e×e^{x} ;; exp(x) = e^{x} ;; 2^{100000}x = 2^{99999}×2x ;; sin^{2}x+cos^{2}x = 1
sin2x = 2sinxcosx ;; sin^{2}x = (sinx)^{2} ;; cos2α = 1-2sin^{2}α ;; tan x = \frac{sin x}{cos x}
cot x = \frac{1}{tan x} ;; sin(x+90°) = cos x ;; sin(-x) = -sin x ;; ln(ab) = ln a+ln b
ln x^{2} = 2ln x ;; log_{a}x = \frac{ln x}{ln a} ;; lnx/x = \frac{lnx}{x} ;; 2+3i = 3i+2
"""

DIFFERENT = r"""
0.333 = \frac{1}{3} ;; 3.14 = π ;; 3 = -3 ;; 330 = 33 ;; \sqrt{5-2\sqrt{6}} = \sqrt{2}-\sqrt{3}
\sqrt{2}+\sqrt{3} = \sqrt{5} ;; 2\sqrt{3} = 3\sqrt{2} ;; \sqrt{2} = 1.41421356237309504880
sin30 = 1/2 ;; 2^{1000}+1 = 2^{1000} ;; a+b = x+y ;; a+b = a-b ;; AB = AC ;; A = a
x_{1} = x_{2} ;; (a+b)^{2} = a^{2}+b^{2} ;; (b-a)^{3} = (a-b)^{3} ;; 1/(2x) = \frac{x}{2}
\frac{1}{a}+\frac{1}{b} = \frac{2}{a+b} ;; m:n = \frac{n}{m} ;; \sqrt{x^{2}} = x
\sqrt{x}+\sqrt{y} = \sqrt{x+y} ;; |a-b| = a-b ;; |a||b| = ab ;; \sqrt{a^{2}+b^{2}} = a+b
a^{m}a^{n} = a^{mn} ;; 2^{n}-1 = 2^{n-1} ;; (-1)^{n} = (-1)^{n+1} ;; (-1)^{n} = 1
(-2)^{n} = 2^{n} ;; x^{100} = x^{101} ;; sin2x = 2sinx ;; ln(a+b) = ln a+ln b
"""

# Few points have a value, or i may be the imaginary unit.
UNSETTLED = r"""
(1+i)^{2} = 2i ;; (1+i)^{2} = 3i
9^{9^{9^{9}}} = 9^{9^{9^{9}}}+1 ;; 1/0 = 1/0 ;; 1/0 = 5 ;; \sqrt{-4} = 2 ;; \sqrt{-1-x^{2}} = x
\sqrt{100-x}+\sqrt{x-99} = \sqrt{x-99}+\sqrt{100-x}
\sqrt{100-x}+\sqrt{x-99} = \sqrt{x-99}+\sqrt{100-x}+1 ;; arcsin(x-500)+1 = 1+arcsin(x-500)
"""

# exact value, rounded value, whether the rounding is right
ROUNDED = [
    ("2/3", "0.67", True), ("2/3", "0.66", True), ("2/3", "0.68", False), ("2/3", "0.667", True),
    ("2/3", "1", True), ("2/3", "2", False), ("-2/3", "-0.67", True), ("-2/3", "-0.66", True),
    ("-2/3", "0.67", False), ("1/8", "0.13", True), ("1/8", "0.12", True),
    ("1/8", "0.125", False), ("1/2", "0.50", False), ("π", "3.14", True), ("π", "3.15", False),
    ("π", "3.1416", True), ("π", "3.1415", True), ("π", "22/7", False), ("sin30°", "0.5", False),
    ("sin30°", "0.4", False), (r"\sqrt{2}", "1.414", True), ("123.456", "123", True),
    ("x", "1", False), ("1", "x", False), ("1/0", "1", False), ("9^{9^{9}}", "1", False),
]  # fmt: skip

HOSTILE = [
    "9^{9^{9^{9}}}", "1e999999999",
    "9" * 399 + "^{" + "9" * 399 + "}", "x^{99999999999}", r"0.5^{99999999999999}",
    "1+" * 5000 + "1", "x+" * 900 + "1", "-" * 1900 + "x", "(" * 500 + "x" + ")" * 500,
    "(" * 1900, "|" * 1900,
    r"\frac" * 390,
    r"\sqrt[" * 300, "sin" * 600 + "x", ("sin1+" * 390)[:-1] + "x", "tan x" * 380, "x^{y}" * 300,
    "e^{x}" * 300, "(x+1)^{1000}" * 160, r"\sqrt[1000]{x}" * 130, "_{" * 900, "x_{" * 600,
    "a_{" + "{" * 900, "'" * 1900, "A" * 1900, "a" * 1900, "∠" * 1900, "1 " * 900, "1," * 900,
    "1,000" * 300, "1 000" * 300, "1." * 900, "1/" * 900 + "1", "\u0660" * 900,
    "+".join(f"x^{{{power}}}" for power in range(90, 320)),
    "+".join(rf"\frac{{1}}{{{below}}}" for below in range(1, 130)),
    "9" * 300 + r"\frac{" + "7" * 300 + "}{" + "3" * 300 + "}" + "x" * 4,
    r"\sqrt[997]{" + "9" * 390 + "}+x",
]  # fmt: skip


def expression(text: str) -> Expression:
    found = parse(text)
    assert found is not None, text
    return found


def test_numbers() -> None:
    wrong = []
    for text, value, decimals in NUMBERS:
        found = expression(text)
        number = found.number
        same = type(number) is type(value) and found.decimals == decimals
        if isinstance(value, float) and isinstance(number, float):
            same = same and isclose(number, value, rel_tol=1e-15)
        elif number != value:
            same = False
        wrong += [] if same else [(text, value, found)]
    assert not wrong


def test_names() -> None:
    wrong = [(text, names) for text, names in NAMES if expression(text).names != {*names.split()}]
    assert not wrong


def test_what_is_no_formula() -> None:
    assert not [text for text in NO_FORMULA if parse(text) is not None]


def test_equal_or_not() -> None:
    wrong = []
    for table, expected in ((EQUAL, True), (DIFFERENT, False), (UNSETTLED, None)):
        for pair in table.strip().replace("\n", " ;; ").split(" ;; "):
            one, other = map(expression, pair.split(" = "))
            told = equal(one, other), equal(other, one)
            wrong += [] if told == (expected, expected) else [(pair, told)]
    assert not wrong


def test_rounding() -> None:
    wrong = [row for row in ROUNDED if rounds_to(*map(expression, row[:2])) is not row[2]]
    assert not wrong


def test_eulers_number_is_one_beside_a_logarithm_alone() -> None:
    assert equal(expression("e"), expression(f"{e:.15f}")) is False
    assert equal(expression("ln x^{2}-2ln x+e"), expression("e")) is True


def compare(text: str) -> None:
    parse.cache_clear()
    found = parse(text)
    if found is not None:
        equal(found, expression("x+0"))
        equal(found, found)
        rounds_to(found, expression("1.5"))


def test_hostile_text_takes_linear_time() -> None:
    for text in HOSTILE:
        compare(text)
        if len(text) >= SHORTEST_TEXT:
            assert_linear_in_text(compare, text)


@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [("(", "x", ")"), ("(1-2", "x", ")"), (r"\frac{1}{", "x", "}"), (r"\sqrt{", "x", "}"),
     ("9^{", "9", "}"), ("x^{", "9", "}")],
)  # fmt: skip
def test_nested_text_takes_linear_time(opening: str, inside: str, closing: str) -> None:
    """At most 60 levels are parsed."""
    assert_linear(compare, lambda depth: opening * depth + inside + closing * depth, size=7)


def test_deep_nesting_is_read_to_sixty_levels_however_deep_the_caller_is() -> None:
    text = "(" * 60 + "7" + ")" * 60
    assert expression(text).number == 7
    assert parse("(" * 61 + "7" + ")" * 61) is None

    def at_depth(depth: int) -> Expression | None:
        return at_depth(depth - 1) if depth else parse.__wrapped__(text)

    deepest = sys.getrecursionlimit() - 250
    for depth in range(deepest - 400, deepest, 100):
        assert at_depth(depth) in (None, expression(text))


@given(st.tuples(*[st.integers(-20, 20)] * 4), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_products_are_their_expansions_and_nothing_else(
    factors: tuple[int, int, int, int], off: int
) -> None:
    a, b, c, d = factors
    product = expression(f"({a}x+{b}y)({c}x+{d}y)")
    expanded = "({})x^{{2}}+({})xy+({})y^{{2}}"
    assert equal(product, expression(expanded.format(a * c, a * d + b * c, b * d))) is True
    assert equal(product, expression(expanded.format(a * c, a * d + b * c + off, b * d))) is False


PIECES = st.sampled_from([*r"0123456789abxyAB+-×÷/^_{}()[]|:%°π.,=√∠ '", r"\frac{", r"\sqrt{", "}",
                          "sin", "ln", "log_{", "^{", "1,000", "且", "e9", "x_{1}"])  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join)))
@settings(deadline=None, max_examples=400)
def test_no_text_raises(text: str) -> None:
    found = parse(text)
    if found is not None:
        assert equal(found, found) is not False
        assert (found.number is None) or not found.names
        assert found.decimals is None or isinstance(found.number, Fraction)
        assert rounds_to(found, found) is False
