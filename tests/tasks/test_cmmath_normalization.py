"""The one notation that CMMaTH's graders read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_rpts.tasks.cmmath.grading.normalization import LONGEST, clean
from tests.support.growth import assert_linear

CASES = [
    (r"$$\frac{4+2\sqrt{3}}{3} \pi a$$", r"\frac{4+2\sqrt{3}}{3} π a"),
    (r"$$\left(-\sqrt{13},0\right)$$", r"(-\sqrt{13},0)"),
    ("$${{x}_{1}}=2$$，$${{x}_{2}}=3$$", "x_{1}=2,x_{2}=3"),
    (r"\begin{cases} x=1 \\ y=-1 \end{cases}", "x=1 , y=-1"),
    (r"{c}{{{m}}^{2}}", "cm^{2}"),
    (r"{\rm{cm}}^2", "cm^{2}"),
    (r"\sqrt{2}{+}1", r"\sqrt{2}+1"),
    (r"\frac45, \frac12\sqrt2, \frac\pi 2", r"\frac{4}{5}, \frac{1}{2}\sqrt{2}, \frac{π}{2}"),
    (r"{S\over{4^{2018}}}", r"\frac{S}{4^{2018}}"),
    ("3<{}x<{}6", "3<x<6"),
    (r"\angle C={{90}^{{}^\circ }}", "∠ C=90°"),
    (r"45{}^\circ", "45°"),
    ("（－∞，－3］", "(-∞,-3]"),
    ("3.84×10⁵", "3.84×10^{5}"),
    ("x₁＝2", "x_{1}=2"),
    (r"2 \* √(a+b)", r"2 × \sqrt{a+b}"),
    ("√12=2√3", r"\sqrt{12}=2\sqrt{3}"),
    ("∛8", r"\sqrt[3]{8}"),
    ("2^(n+1)·x^10·x^-1", "2^{n+1}×x^{10}×x^{-1}"),
    (r"\left\{ x|x>2 \right\}", "❴ x|x>2 ❵"),
    ("{1,2}", "❴1,2❵"),
    (r"\{1,2\}", "❴1,2❵"),
    (r"$1{,}000$", "1,000"),
    ("𝐀Ｂ", "AB"),
    (r"\textcircled{1}\textcircled 3", "①③"),
    (r"x\sin x", "x sin x"),
    (r"20\%", "20%"),
    ("AB//CD", "AB∥CD"),
    ("x<=3, x&gt;1", "x≤3, x>1"),
    ("½", r"\frac{1}{2}"),
    ("**答案**：`4`", "答案:4"),
    ("①③④", "①③④"),
    ("a\u200bb\u202ec", "abc"),
    (r"A'B′C^{\prime}", "A'B'C'"),
    (r"\overrightarrow{AB}", "→AB"),
    ("$3$$4$", "3 4"),
    (r"\unknown{x}", r"\unknownx"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "wanted"), CASES)
def test_one_notation(text: str, wanted: str) -> None:
    assert clean(text) == wanted


@pytest.mark.parametrize(
    "piece",
    [
        "{",
        "}",
        "\\",
        "$",
        "^",
        "_",
        "\\frac",
        "\\sqrt{",
        "a^{",
        "√",
        "∛(",
        "\\over",
        "\\left.",
        "&",
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    # 8 times the size is all that is read of a longer text. Behind clean() is a cache.
    size = LONGEST // (8 * len(piece))
    assert_linear(clean.__wrapped__, lambda times: piece * times, size)


def test_of_a_text_that_is_too_long_no_more_is_read() -> None:
    assert clean("{" * 200_000) == clean("{" * LONGEST)


def test_of_a_long_text_the_end_is_read() -> None:
    assert clean("x" * LONGEST + "42").endswith("42")
    assert len(clean("x" * 5 * LONGEST)) <= LONGEST


@given(st.text(max_size=80) | st.text(alphabet=r"\{}$^_ab1 √(),|fracsqrtover", max_size=80))
def test_any_text_can_be_cleaned(text: str) -> None:
    assert "$" not in clean(text)


@given(st.integers(0, 10**6), st.integers(1, 10**6))
def test_numbers_pass_unchanged(one: int, other: int) -> None:
    assert clean(f"{one}/{other} = {one}.{other}") == f"{one}/{other} = {one}.{other}"
