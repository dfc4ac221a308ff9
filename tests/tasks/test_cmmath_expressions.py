"""Formulas: what is read as one, and when two are equal. All values are worked by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from fractions import Fraction as F  # noqa: N817 - tables read better
from math import e, pi, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.expressions import (
    Expression,
    parse_expression,
    rounds_to,
    same,
)

from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import SHORTEST_TEXT, assert_linear, assert_linear_in_text

# text, its value, its places where it is a plain number
NUMBERS: list[tuple[str, Fraction | float | None, int | None]] = [
    ("3.6", F(18, 5), 1),
    ("-5", F(-5), 0),
    ("- 5", F(-5), 0),
    ("+3", F(3), 0),
    ("-0.330", F(-33, 100), 3),
    (".5", F(1, 2), 1),
    ("1,000", F(1000), 0),
    ("12 000", F(12000), 0),
    (r"\frac{1,000}{8}", F(125), None),
    ("1,234,567.89", F(123456789, 100), 2),
    ("007", F(7), 0),
    ("5.", F(5), 0),
    (" 5。", F(5), 0),
    ("(5)", F(5), None),
    ("20%", F(1, 5), None),
    ("20 %", F(1, 5), None),
    ("12.5%", F(1, 8), None),
    (r"2\frac{1}{2}", F(5, 2), None),
    (r"-2\frac{1}{2}", F(-5, 2), None),
    (r"3×2\frac{1}{2}", F(15, 2), None),
    (r"(2)\frac{1}{2}", F(1), None),
    (r"2\frac{\sqrt{9}}{2}", F(3), None),  # no mixed number: a product
    ("2 1/2", F(5, 2), None),
    ("3/4", F(3, 4), None),
    ("-3/4", F(-3, 4), None),
    ("9÷15", F(3, 5), None),
    ("5:3", F(5, 3), None),
    ("1/2:1/3", F(3, 2), None),
    ("2+1:3", F(1), None),
    ("2×3", F(6), None),
    ("2*3", F(6), None),
    ("2×-3", F(-6), None),
    ("2--3", F(5), None),
    ("12÷2×3", F(18), None),
    ("12÷2÷3", F(2), None),
    ("2+3×4", F(14), None),
    ("[2(3+4)-1](2)", F(26), None),
    ("-2^{2}", F(-4), None),
    ("(-2)^{2}", F(4), None),
    ("2^{-3}", F(1, 8), None),
    ("2^{3^{2}}", F(512), None),
    ("1.2e4", F(12000), None),
    ("1e5", F(100000), None),
    ("1.5e-4", F(3, 20000), None),
    ("3.84×10^{5}", F(384000), None),
    (r"\sqrt{144}", F(12), None),
    (r"\sqrt{\frac{9}{16}}", F(3, 4), None),
    (r"\sqrt[3]{8}", F(2), None),
    (r"\sqrt[3]{-8}", F(-2), None),
    (r"8^{\frac{2}{3}}", F(4), None),
    (r"(-8)^{\frac{1}{3}}", F(-2), None),
    ("|3-5|", F(2), None),
    ("||-3|-5|", F(2), None),
    ("2|-3||4|", F(24), None),
    ("C_{5}^{2}", F(10), None),
    ("A_{5}^{2}", F(20), None),
    ("cos90°", F(0), None),
    (r"\sqrt{13}", sqrt(13), None),
    (r"2\sqrt{3}", 2 * sqrt(3), None),
    ("π", pi, None),
    ("9π", 9 * pi, None),
    ("4/3π", 4 / 3 * pi, None),
    ("sin30°", 0.5, None),
    ("sin 30°", 0.5, None),
    ("sin(10°+20°)", 0.5, None),
    ("sin30°/2", 0.25, None),
    ("sin π/6", 0.5, None),
    (r"sin\frac{π}{6}", 0.5, None),
    ("sin^{2}30°", 0.25, None),
    ("sin(30°)^{2}", 0.25, None),
    ("tan45°+1", 2.0, None),
    ("2sin60°cos60°", sqrt(3) / 2, None),
    ("arccos(-1)", pi, None),
    ("log_{2}8", 3.0, None),
    ("lg100", 2.0, None),
    ("ln1", F(0), None),
    ("1/0", None, None),
    (r"\frac{1}{2-2}", None, None),
    (r"\frac{1}{\sqrt{2}\sqrt{2}-2}", None, None),
    (r"\sqrt{-2}", None, None),
    ("0^{0}", None, None),
    ("tan90°", None, None),
    ("ln0", None, None),
    ("arcsin2", None, None),
    ("9^{9^{9^{9}}}", None, None),
    ("x+1", None, None),
]


@pytest.mark.parametrize(("text", "value", "decimals"), NUMBERS)
def test_numbers(text: str, value: Fraction | float | None, decimals: int | None) -> None:
    found = expression(text)
    assert found.decimals == decimals
    if isinstance(value, float):
        assert isinstance(found.number, float)
        assert found.number == pytest.approx(value, rel=1e-15)
    else:
        assert found.number == value
        assert type(found.number) is type(value)


NAMES = [
    ("2a", "a"),
    ("2(a+b)", "a b"),
    ("ab", "a b"),
    ("abc", "a b c"),
    ("m:n", "m n"),
    ("AB", "AB"),
    ("BA", "AB"),
    ("2AB+CD", "AB CD"),
    ("A_{1}B", "A_{1}B"),
    ("A'B'", "A'B'"),
    ("x_{1}+x_{2}", "x_{1} x_{2}"),
    ("x1x2", "x_{1} x_{2}"),
    ("a_{n+1}", "a_{n+1}"),
    ("a^{n+1}", "a n"),
    ("S_{△ABC}", "S_{△ABC}"),
    ("∠ABC", "∠ABC"),
    ("∠CBA+∠1", "∠ABC ∠1"),
    ("e", "e"),
    ("e^{x}", "e x"),
    ("2πr", "r"),
    ("αβ", "α β"),
    ("2sinx", "x"),
    ("sin x cos y", "x y"),
    ("ln x", "x"),
    ("f(x)+P(A)", "f(x) P(A)"),
    ("bsinC", "b C"),
    ("2e-4", "e"),  # and not 0.0002
    ("5km+m^{2}", "k m"),  # products, as there are other letters
    ("|x-1|", "x"),
]


@pytest.mark.parametrize(("text", "names"), NAMES)
def test_names(text: str, names: str) -> None:
    assert expression(text).names == set(names.split())


NO_FORMULA = [
    "[130,150]", "(-4,100)", "(130 150)", "A(0.9kg)", "2(5cm)",
    "", " ", ".", "=", "x=1", "x<1", "x≤1", "±1", "x±1", "五", "5个", "5厘米", "5cm", "8km",
    "60km/h", r"\overrightarrow{AB}", "→AB", "∞", "+∞", "+", "-", "×", "2×", "×2", "2+", "2,",
    ",2", "5:", "1:2:3", "30°", "90°-α", "()", "[]", "(1,2)", "(1", "1)", "(1]", "||", "|x",
    "|x|y|", "{x}", "x^2", "x^{}", "x^{2}^{3}", r"\frac{1}2", r"\frac{1}{}", r"\sqrt",
    r"\sqrt{}", r"\pi", "12,34", "0,123", "1,0000", "1 0000", "1.2.3", "1..2", "3 4", "x 2",
    "(2)3", "a%%", "%", "no", "yes", "x or y", "no solution", "cannot be determined", "Yes",
    "None", "Left side", "Rt", "2x3", "a/bc", "6÷2(3)", "x/2y", "x/2π", "sin x/2", "sin^{-1}x",
    "log8", "f(x+1)", "A_{1}^{2}", "x!", "x;y", "1…", "x\ny", "x\x00", "²", "٣", "１",
    "1e999999999", "9" * 401, "x" + "'" * 9, "sin", "sin+1", "_{1}", "^{2}", "✓", "△=",
]  # fmt: skip


@pytest.mark.parametrize("text", NO_FORMULA)
def test_what_is_no_formula(text: str) -> None:
    assert parse_expression(text) is None


SAME: list[tuple[str, str, bool | None]] = [
    # numbers
    ("0.5", r"\frac{1}{2}", True),
    ("50%", "1/2", True),
    ("1,000", "1000", True),
    ("2.50", "2.5", True),
    ("5:3", r"\frac{5}{3}", True),
    ("10:6", "5:3", True),
    ("1e3", "1000", True),
    (r"2\frac{1}{3}", "7/3", True),
    ("3.84×10^{5}", "384000", True),
    ("-0", "0", True),
    ("0.333", r"\frac{1}{3}", False),
    ("3.14", "π", False),
    ("3", "-3", False),
    ("330", "33", False),
    (r"\sqrt{8}", r"2\sqrt{2}", True),
    (r"\frac{1}{\sqrt{2}}", r"\frac{\sqrt{2}}{2}", True),
    (r"\frac{1}{\sqrt{3}-1}", r"\frac{\sqrt{3}+1}{2}", True),
    (r"\sqrt{5+2\sqrt{6}}", r"\sqrt{2}+\sqrt{3}", True),
    (r"\sqrt{5-2\sqrt{6}}", r"\sqrt{2}-\sqrt{3}", False),  # the sign
    (r"\sqrt{2}\sqrt{3}", r"\sqrt{6}", True),
    (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5}", False),
    (r"\sqrt[3]{16}", r"2\sqrt[3]{2}", True),
    (r"2\sqrt{3}", r"3\sqrt{2}", False),
    (r"\sqrt{2}", "1.41421356237309504880", False),
    ("sin30°", "1/2", True),
    ("sin60°", r"\frac{\sqrt{3}}{2}", True),
    ("sin15°", r"\frac{\sqrt{6}-\sqrt{2}}{4}", True),
    ("cos120°", "-1/2", True),
    ("tan60°", r"\sqrt{3}", True),
    ("sin30", "1/2", False),  # radians
    ("log_{2}8", "3", True),
    ("lg2+lg5", "1", True),
    ("log_{2}3×log_{3}2", "1", True),
    ("9π", "π×3^{2}", True),
    ("arctan1", r"\frac{π}{4}", True),
    ("e^{ln2}", "2", True),
    ("ln e", "1", True),
    ("2^{100}", "4^{50}", True),
    ("2^{1000}+1", "2^{1000}", False),
    ("9^{9^{9}}", "9^{387420489}", True),
    ("9^{9^{9^{9}}}", "9^{9^{9^{9}}}+1", None),
    ("1/0", "1/0", None),
    ("1/0", "5", None),
    (r"\sqrt{-4}", "2", None),
    # letters
    ("a+b", "b+a", True),
    ("a+b", "x+y", False),
    ("a+b", "a-b", False),
    ("ab", "ba", True),
    ("ab", "a×b", True),
    ("AB", "BA", True),
    ("AB", "AC", False),
    ("A", "a", False),
    ("x_{1}", "x_{2}", False),
    ("x_{1}x_{2}", "x_{2}x_{1}", True),
    ("2(a+b)", "2a+2b", True),
    ("(a+b)^{2}", "a^{2}+2ab+b^{2}", True),
    ("(a+b)^{2}", "a^{2}+b^{2}", False),
    ("(a+b)(a-b)", "a^{2}-b^{2}", True),
    ("a^{3}-b^{3}", "(a-b)(a^{2}+ab+b^{2})", True),
    ("(b-a)^{2}", "(a-b)^{2}", True),
    ("(b-a)^{3}", "(a-b)^{3}", False),
    ("x+y-y", "x", True),
    ("x-x", "0", True),
    ("0.5x", r"\frac{1}{2}x", True),
    ("1/2x", r"\frac{x}{2}", True),
    ("1/(2x)", r"\frac{x}{2}", False),
    ("3/4πr^{2}", r"\frac{3πr^{2}}{4}", True),
    (r"\frac{x^{2}-1}{x-1}", "x+1", True),
    (r"\frac{x}{x}", "1", True),
    (r"\frac{1}{a}+\frac{1}{b}", r"\frac{a+b}{ab}", True),
    (r"\frac{1}{a}+\frac{1}{b}", r"\frac{2}{a+b}", False),
    (r"\frac{1}{n(n+1)}", r"\frac{1}{n}-\frac{1}{n+1}", True),
    ("m:n", r"\frac{m}{n}", True),
    ("m:n", r"\frac{n}{m}", False),
    ("a%", r"\frac{a}{100}", True),
    # roots and absolute values
    (r"\sqrt{x^{2}}", "x", False),
    (r"\sqrt{x^{2}}", "|x|", True),
    (r"\sqrt[3]{x^{3}}", "x", True),
    (r"x^{\frac{1}{2}}", r"\sqrt{x}", True),
    (r"x^{\frac{1}{3}}", r"\sqrt[3]{x}", True),
    (r"\sqrt{x}\sqrt{y}", r"\sqrt{xy}", True),  # where both have a value
    (r"\sqrt{x}+\sqrt{y}", r"\sqrt{x+y}", False),
    (r"\frac{1}{\sqrt{x}}", r"\frac{\sqrt{x}}{x}", True),
    ("|a-b|", "|b-a|", True),
    ("|a-b|", "a-b", False),
    ("|a||b|", "|ab|", True),
    ("|a||b|", "ab", False),
    (r"\sqrt{a^{2}+b^{2}}", "a+b", False),
    # powers
    ("a^{m}a^{n}", "a^{m+n}", True),
    ("a^{m}a^{n}", "a^{mn}", False),
    ("2^{n+1}-2", "2(2^{n}-1)", True),
    ("2^{n}-1", "2^{n-1}", False),
    ("4^{n}", "2^{2n}", True),
    (r"(\frac{1}{2})^{n}", "2^{-n}", True),
    ("(-1)^{n}", "(-1)^{n+2}", True),
    ("(-1)^{n}", "(-1)^{n+1}", False),
    ("(-1)^{n}", "1", False),
    ("(-1)^{2n}", "1", True),
    ("(-1)^{n}", "cos nπ", True),  # where both have a value: where n is whole
    (r"\frac{1+(-1)^{n}}{2}", r"|cos\frac{nπ}{2}|", True),
    ("(-2)^{n}", "2^{n}", False),
    ("e^{x+1}", "e×e^{x}", True),
    ("exp(x)", "e^{x}", True),
    ("x^{100}", "x^{101}", False),
    ("2^{100000}x", "2^{99999}×2x", True),
    # functions
    ("sin^{2}x+cos^{2}x", "1", True),
    ("sin2x", "2sinxcosx", True),
    ("sin2x", "2sinx", False),
    ("sin^{2}x", "(sinx)^{2}", True),
    ("cos2α", "1-2sin^{2}α", True),
    ("tan x", r"\frac{sin x}{cos x}", True),
    ("cot x", r"\frac{1}{tan x}", True),
    ("sin(x+90°)", "cos x", True),
    ("sin(-x)", "-sin x", True),
    ("ln(ab)", "ln a+ln b", True),
    ("ln(a+b)", "ln a+ln b", False),
    ("ln x^{2}", "2ln x", True),
    ("log_{a}x", r"\frac{ln x}{ln a}", True),
    ("lnx/x", r"\frac{lnx}{x}", True),
    # the imaginary unit, if i is one
    ("2+3i", "3i+2", True),
    ("2+3i", "2-3i", False),
    ("(1+i)^{2}", "2i", True),
    ("(1+i)^{2}", "3i", False),
    (r"\frac{1}{i}", "-i", True),
    # few points have a value: told by algebra, if at all
    (r"\sqrt{100-x}+\sqrt{x-99}", r"\sqrt{x-99}+\sqrt{100-x}", True),
    (r"\sqrt{100-x}+\sqrt{x-99}", r"\sqrt{x-99}+\sqrt{100-x}+1", False),
    ("arcsin(x-500)+1", "1+arcsin(x-500)", True),
    (r"\sqrt{-1-x^{2}}", "x", None),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "expected"), SAME)
def test_equal_or_not(one: str, other: str, expected: bool | None) -> None:
    first, second = expression(one), expression(other)
    assert same(first, second) is expected
    assert same(second, first) is expected


def test_the_tables_are_as_large_as_they_should_be() -> None:
    assert len({(one, other) for one, other, _ in SAME}) == len(SAME) >= 120


# exact, rounded, whether it is
ROUNDED = [
    ("2/3", "0.67", True),
    ("2/3", "0.66", True),  # cut
    ("2/3", "0.68", False),
    ("2/3", "0.667", True),
    ("2/3", "1", True),
    ("2/3", "2", False),
    ("-2/3", "-0.67", True),
    ("-2/3", "-0.66", True),
    ("-2/3", "0.67", False),
    ("1/8", "0.13", True),  # half up
    ("1/8", "0.12", True),
    ("1/8", "0.125", False),  # equal
    ("1/2", "0.50", False),
    ("π", "3.14", True),
    ("π", "3.15", False),
    ("π", "3.1416", True),
    ("π", "3.1415", True),
    ("π", "22/7", False),  # no decimal number
    ("sin30°", "0.5", False),
    ("sin30°", "0.4", False),  # a half but for the noise of its last bits
    (r"\sqrt{2}", "1.414", True),
    ("123.456", "123", True),
    ("x", "1", False),
    ("1", "x", False),
    ("1/0", "1", False),
    ("9^{9^{9}}", "1", False),
]


@pytest.mark.parametrize(("exact", "rounded", "expected"), ROUNDED)
def test_rounding(exact: str, rounded: str, expected: bool) -> None:
    assert rounds_to(expression(exact), expression(rounded)) is expected


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


@pytest.fixture
def no_algebra(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has a limit of its own."""
    monkeypatch.setattr("lmms_rpts.tasks.cmmath.grading.expressions.equal_trees", lambda *_: None)


def compare(text: str) -> None:
    found = parse_expression(text)
    if found is not None:
        same(found, expression("x+0"))
        same(found, found)
        rounds_to(found, expression("1.5"))


@pytest.mark.usefixtures("no_algebra")
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_takes_linear_time(text: str) -> None:
    compare(text)
    if len(text) >= SHORTEST_TEXT:
        assert_linear_in_text(compare, text)


@pytest.mark.usefixtures("no_algebra")
@pytest.mark.parametrize(
    ("opening", "inside", "closing"),
    [("(", "x", ")"), ("(1-2", "x", ")"), (r"\frac{1}{", "x", "}"), (r"\sqrt{", "x", "}"),
     ("9^{", "9", "}"), ("x^{", "9", "}")],
)  # fmt: skip
def test_nested_text_takes_linear_time(opening: str, inside: str, closing: str) -> None:
    """Up to 60 levels are read."""
    assert_linear(compare, lambda depth: opening * depth + inside + closing * depth, size=7)


def test_deep_nesting_is_read_to_sixty_levels() -> None:
    assert expression("(" * 60 + "7" + ")" * 60).number == 7
    assert parse_expression("(" * 61 + "7" + ")" * 61) is None


def test_a_deep_caller_gets_an_answer() -> None:
    """Reading never fails for want of stack, however deep the program is already."""

    def at_depth(depth: int) -> Expression | None:
        return at_depth(depth - 1) if depth else parse_expression("(" * 60 + "7" + ")" * 60)

    reached = at_depth(100)
    assert reached is not None
    assert reached.number == 7
    deepest = sys.getrecursionlimit() - 250
    for depth in range(deepest - 400, deepest, 100):
        assert at_depth(depth) in (None, reached)


Forms = tuple[str, str, Fraction | None]
"""One tree in LaTeX and on one line, and its value if it has one and no letters."""


def joined(one: Forms, other: Forms, sign: str) -> Forms:
    left, right = (one[2], other[2])
    value = None
    if left is not None and right is not None:
        value = {"+": lambda: left + right, "-": lambda: left - right, "×": lambda: left * right,
                 "/": lambda: left / right if right else None}[sign]()  # fmt: skip
    if sign == "/":
        return rf"\frac{{{one[0]}}}{{{other[0]}}}", f"({one[1]})/({other[1]})", value
    if sign == "×":
        return f"({one[0]})×({other[0]})", f"[{one[1]}] [{other[1]}]", value
    return f"({one[0]}){sign}[{other[0]}]", f"({one[1]}) {sign} ({other[1]})", value


def raised(form: Forms, power: int) -> Forms:
    value = form[2]
    if value is not None:
        value = value**power if value or power > 0 else None
    return f"({form[0]})^{{{power}}}", f"[{form[1]}]^{{{power}}}", value


ATOMS = st.one_of(
    st.integers(0, 99).map(lambda number: (str(number), str(number), F(number))),
    st.integers(0, 999).map(lambda n: (f"{n / 100:.2f}", f"{n / 100:.2f}", F(n, 100))),
    st.sampled_from(["a", "b", "x_{1}", "AB", "α"]).map(lambda name: (name, name, None)),
)
TREES: st.SearchStrategy[Forms] = st.recursive(
    ATOMS,
    lambda parts: st.one_of(
        st.builds(joined, parts, parts, st.sampled_from("+-×/")),
        st.builds(raised, parts, st.integers(-2, 3)),
    ),
    max_leaves=12,
)


@given(TREES)
@settings(deadline=None)
def test_two_notations_of_one_formula_are_read_the_same(forms: Forms) -> None:
    one, other = expression(forms[0]), expression(forms[1])
    assert one.tree == other.tree
    if not one.names:
        assert one.number == forms[2]
    assert expression(clean(f"$${forms[0]}$$")).tree == one.tree


@given(st.tuples(*[st.integers(-20, 20)] * 4), st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_products_are_their_expansions_and_nothing_else(
    factors: tuple[int, int, int, int], off: int
) -> None:
    a, b, c, d = factors
    product = expression(f"({a}x+{b}y)({c}x+{d}y)")
    expanded = "({})x^{{2}}+({})xy+({})y^{{2}}"
    assert same(product, expression(expanded.format(a * c, a * d + b * c, b * d))) is True
    assert same(product, expression(expanded.format(a * c, a * d + b * c + off, b * d))) is False


PIECES = st.sampled_from([*r"0123456789abxyAB+-×÷/^_{}()[]|:%°π.,=√∠ '", r"\frac{", r"\sqrt{", "}",
                          "sin", "ln", "log_{", "^{", "1,000", "且", "e9", "x_{1}"])  # fmt: skip


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=25).map("".join)))
@settings(deadline=None, max_examples=400)
def test_no_text_raises(text: str) -> None:
    for form in (text, clean(text)):
        found = parse_expression(form)
        if found is not None:
            assert same(found, found) is not False
            assert (found.number is None) or not found.names
            assert found.decimals is None or isinstance(found.number, Fraction)
            assert rounds_to(found, found) is False


def test_the_same_points_in_every_process() -> None:
    code = (
        "from lmms_rpts.tasks.cmmath.grading.sampling import _points;"
        "from lmms_rpts.tasks.cmmath.grading.expressions import parse_expression as p;"
        "from lmms_rpts.tasks.cmmath.grading import sampling as s;"
        "print([*_points(['a', 'b'])], s.compare(p('|a||b|').tree, p('ab').tree))"
    )
    outputs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        outputs.add(done.stdout)
    (output,) = outputs
    assert output.endswith("different\n")


def test_eulers_number_is_one_beside_a_logarithm_alone() -> None:
    assert same(expression("e"), expression(f"{e:.15f}")) is False
    assert same(expression("ln x^{2}-2ln x+e"), expression("e")) is True


def expression(text: str) -> Expression:
    found = parse_expression(text)
    assert found is not None, text
    return found
