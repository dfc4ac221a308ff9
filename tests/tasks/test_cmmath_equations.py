"""Equations: read, and compared by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.algebra import equal_trees
from lmms_rpts.tasks.cmmath.grading.trees import Tree

from lmms_rpts.tasks.cmmath.grading import expressions
from lmms_rpts.tasks.cmmath.grading.equations import (
    Equation,
    parse_equations,
    same_equations,
    values_of,
)
from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import SHORTEST_TEXT, assert_linear, assert_linear_in_text


def equations(text: str) -> tuple[Equation, ...]:
    found = parse_equations(clean(text))
    assert found is not None, text
    return found


def equal(one: str, other: str) -> bool | None:
    """In both directions."""
    left, right = equations(one), equations(other)
    forth, back = same_equations(left, right), same_equations(right, left)
    assert forth is back
    return forth


SAME = [
    # Values.
    ("x=2", "x = 2."),
    ("x=0.5", "$x=\\frac{1}{2}$"),
    ("x=2", "x_1=2"),
    ("x=2", "x_{1}=x_{2}=2"),
    ("x=2", "x_1=2,x_2=2"),
    ("x=4", "x=2+2=4"),
    ("x=1,000", "x=1000"),
    ("x_1=2,x_2=3", "x=2或x=3"),
    ("x_1=2,x_2=3", "x=3或2"),
    ("x_1=2,x_2=3", "x=2,3"),
    ("x_1=2,x_2=3", "x₁=3，x₂=2"),
    ("x_1=2,x_2=3", "$x_{1}=2$；$x_{2}=3$。"),
    ("x_1=2,x_2=3", "x1=2, x2=3"),
    ("x_1=2,x_2=3", "x=2 or x=3"),
    ("x_1=2,x_2=3", "x = 2 and x = 3"),
    ("t_1=1,t_2=4", "t=4或t=1"),
    ("x=±2", "x=2或x=-2"),
    ("x=±2", "x_1=-2,x_2=2"),
    ("x=1±\\sqrt{2}", "x_1=1+\\sqrt{2},x_2=1-\\sqrt{2}"),
    ("x=\\frac{1±\\sqrt{5}}{2}", "x=\\frac{1-\\sqrt{5}}{2}或x=\\frac{1+\\sqrt{5}}{2}"),
    ("x=1,y=-1", "y=-1,x=1"),
    ("x=1,y=-1", "$\\begin{cases}x=1\\\\y=-1\\end{cases}$"),
    ("x=1,y=-1", "$\\left\\{\\begin{array}{l}x=1\\\\y=-1\\end{array}\\right.$"),
    ("x=1,y=-1", "$\\left\\{ x=1，y=-1 \\right\\}$"),
    ("x=1,y=-1", "x=1且y=-1"),
    ("x=1,y=-1", "x=1\ny=-1"),
    ("a=18,b=12,C=0.015", "a=18，b=12，C=\\frac{3}{200}。"),
    ("a_1=2,a_2=3", "a_2=3,a_1=2"),
    ("x=1,y=2或x=3,y=4", "x=3,y=4或x=1,y=2"),
    ("x=1,y=2或x=3,y=4", "x_1=1,y_1=2;x_2=3,y_2=4"),
    ("x=1,y=2或x=3,y=4", "x_1=1,x_2=3,y_1=2,y_2=4"),
    ("x=m或x=2m", "x_1=2m,x_2=m"),
    ("AB=5", "BA=5"),
    # Functions and curves.
    ("y=2x+1", "$y=2x+1$"),
    ("y=2x+1", "y=1+2x"),
    ("y=2x+1", "2x-y+1=0"),
    ("y=2x+1", "2x+1=y"),
    ("y=2x+1", "y-1=2x"),
    ("y=\\frac{1}{2}x", "x=2y"),
    ("y=\\frac{1}{2}x", "x-2y=0"),
    ("y=x^2-2x+1", "y=(x-1)^2"),
    ("y=±2x", "y=2x或y=-2x"),
    ("y=±\\frac{3}{4}x", "3x-4y=0或3x+4y=0"),
    ("x+2y-3=0", "2x+4y=6"),
    ("x+2y-3=0", "3-x-2y=0"),
    ("(x-1)^{2}+(y+2)^{2}=9", "x²+y²-2x+4y-4=0"),
    ("\\frac{x^2}{4}+\\frac{y^2}{3}=1", "3x^2+4y^2=12"),
    ("y^2=4x", "x=\\frac{y^2}{4}"),
    ("y=\\frac{6}{x}", "y=6x^{-1}"),
    ("x=2", "2x=4"),
    ("y=2^x", "y-2^x=0"),
    ("y=ln x+1", "ln x-y+1=0"),
    ("ρ=2cosθ", "ρ-2cosθ=0"),
    # Segments and angles.
    ("AC=DF", "DF=AC"),
    ("AC=DF", "CA=FD"),
    ("∠B=∠E", "∠E=∠B"),
    ("∠ABC=∠D", "∠D=∠CBA"),
    ("AB=2CD", "CD=\\frac{1}{2}AB"),
    ("AC=DF,AB=DE", "DE=AB,AC=DF"),
    ("a^2+b^2=c^2", "c^2-a^2=b^2"),
    ("S=\\frac{1}{2}ah", "2S=ah"),
]
DIFFERENT = [
    ("x=2", "x=3"),
    ("x=2", "x=-2"),
    ("x=2", "x=±2"),
    ("x=2", "y=3"),
    ("x=1.41", "x=\\sqrt{2}"),
    ("x_1=2,x_2=3", "x=2"),
    ("x_1=2,x_2=3", "x_1=2,x_2=4"),
    ("x_1=2,x_2=3", "x_1=-2,x_2=-3"),
    ("x=1,y=-1", "x=-1,y=1"),
    ("x=1,y=-1", "x=1,y=1"),
    ("a=18,b=12", "a=12,b=18"),
    ("x=1,y=2", "x=2,z=3"),
    ("y=2x+1", "y=2x-1"),
    ("y=2x+1", "y=3"),
    ("y=2x+1", "y=2t+1"),
    ("y=2x+1", "2x+y+1=0"),
    ("y=2x+1", "x=2y+1"),
    ("y=x^2", "y^2=x"),
    ("y=±2x", "y=2x"),
    ("x+2y-3=0", "x+2y+3=0"),
    ("(x-1)^{2}+(y+2)^{2}=9", "(x+1)^{2}+(y-2)^{2}=9"),
    ("(x-1)^{2}+(y+2)^{2}=9", "(x-1)^{2}+(y+2)^{2}=3"),
    ("\\frac{x^2}{4}+\\frac{y^2}{3}=1", "\\frac{x^2}{4}-\\frac{y^2}{3}=1"),
    ("y=\\frac{6}{x}", "xy=-6"),
    ("y=\\frac{6}{x}", "y=\\frac{x}{6}"),
    ("y=\\sqrt{x}", "y^2=x"),
    ("AB=2CD", "CD=2AB"),
    ("AB=5", "AB=6"),
    ("x=m或x=2m", "x=m或x=3m"),
    ("f(x)=x+1", "y=x+2"),
]
UNTOLD = [
    # Other names.
    ("x=2", "t=2"),
    ("f(x)=x+1", "y=x+1"),
    ("y=2x+1", "s=2t+3"),
    ("AC=DF", "AB=DE"),
    ("∠B=∠E", "BC=EF"),
    # One says more.
    ("x=1,y=2", "x=1"),
    ("a=1,b=2", "a=1,b=2,c=3"),
    ("AC=DF,AB=DE", "AC=DF"),
    # One may follow from the other.
    ("x=2", "x^2=4"),
    ("y=\\frac{6}{x}", "xy=6"),
    ("x+y=5,x-y=-1", "x=2,y=3"),
    ("a=2b,b=3", "a=6,b=3"),
    ("x=x", "2x=2x+1"),
    ("x=y", "z+x=x+z"),
    # Which value goes with which.
    ("x=1,y=2或x=3,y=4", "x=1,y=4或x=3,y=2"),
    ("x=1,y=2或x=3,y=4", "x=1,y=2,x=3,x=1,y=4"),
    ("a_1=2,a_2=3", "a_1=3,a_2=2"),
]
NO_EQUATIONS = [
    "", " ", ",", "=", "==", "x=", "=2", "x==2", "x", "2", "2,3", "x>2", "x=2,x>1", "x=2(舍去)",
    "x≠2", "x≈2", "y=2x+1,x", "y=2x+1,3", "y=2x(x>0)", "x=2或", "或x=2", "x=±2±3", "±x=±2",
    "解得x=2", "x=(2", "x=2)", "x=❴1,2❵", "❴1,2❵", "(1,2)", "x=2cm", "AB∥CD", "x=1=,2", "❴❵", "❴",
    "x=∞", "x=有理数",
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same(one: str, other: str) -> None:
    assert equal(one, other) is True


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different(one: str, other: str) -> None:
    assert equal(one, other) is False


@pytest.mark.parametrize(("one", "other"), UNTOLD)
def test_what_cannot_be_told(one: str, other: str) -> None:
    assert equal(one, other) is None


@pytest.mark.parametrize("text", NO_EQUATIONS)
def test_no_equations(text: str) -> None:
    assert parse_equations(clean(text)) is None


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("y=2x+1", [("y", "2x+1")]),
        ("a=b=c", [("a", "c")]),
        ("AB = BC = 5", [("AB", "5")]),
        ("x=±2", [("x", "+2"), ("x", "-2")]),
        ("x=3∓1", [("x", "3-1"), ("x", "3+1")]),
        ("x=\\frac{2±4}{2}=1±2", [("x", "1+2"), ("x", "1-2")]),
        ("x=2,-3", [("x", "2"), ("x", "-3")]),
        ("x=±1,0", [("x", "+1"), ("x", "-1"), ("x", "0")]),
        ("x=a或b", [("x", "a"), ("x", "b")]),
        ("x=1,y=2,3", [("x", "1"), ("y", "2"), ("y", "3")]),
    ],
)
def test_what_was_read(text: str, sides: list[tuple[str, str]]) -> None:
    assert [(each.left.text, each.right.text) for each in equations(text)] == sides


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("x=2", {"x": ["2"]}),
        ("x_1=2,x_2=3", {"x": ["2", "3"]}),
        ("x1=2,x2=3", {"x": ["2", "3"]}),
        ("a=18,b=12,C=0.015", {"a": ["18"], "b": ["12"], "C": ["0.015"]}),
        ("y=2x+1", {"y": ["2x+1"]}),
        ("BA=5", {"AB": ["5"]}),
        ("x_1=1,y_1=2,x_2=3,y_2=4", {"x": ["1", "3"], "y": ["2", "4"]}),
        ("AC=DF", None),
        ("∠A=∠B", None),
        ("2x=4", None),
        ("x=2,2y=4", None),
        ("x=x+1", None),
        ("a=2b,b=3", None),
    ],
)
def test_values(text: str, values: dict[str, list[str]] | None) -> None:
    found = values_of(equations(text))
    told = found and {name: [each.text for each in listed] for name, listed in found.items()}
    assert told == values


def test_no_equations_have_no_values() -> None:
    assert values_of(()) is None


# Properties

_numbers = st.fractions(min_value=-99, max_value=99, max_denominator=12)
_whole = st.integers(min_value=-9, max_value=9)


@settings(max_examples=50)
@given(st.lists(_numbers, min_size=1, max_size=6), st.randoms(), st.sampled_from([",", "或", "；"]))
def test_the_order_of_roots_does_not_matter(roots, random, joiner) -> None:
    shuffled = list(roots)
    random.shuffle(shuffled)
    numbered = joiner.join(f"x_{{{at}}}={root}" for at, root in enumerate(shuffled, 1))
    assert equal("或".join(f"x={root}" for root in roots), numbered) is True


@settings(max_examples=50)
@given(st.sets(_numbers, min_size=1, max_size=4), st.sets(_numbers, min_size=1, max_size=4))
def test_roots_are_the_same_if_their_numbers_are(one, other) -> None:
    left, right = (", ".join(f"x={root}" for root in roots) for roots in (one, other))
    assert equal(left, right) is (one == other)


@settings(max_examples=50)
@given(_whole, _whole, _whole, st.integers(1, 9), st.sampled_from([1, -1]))
def test_a_constant_factor_changes_nothing(a, b, c, factor, sign) -> None:
    factor *= sign
    line = f"{a}x+({b})y+7y^{{2}}={c}"
    other = f"{factor * a}x+({factor * b})y-({factor * c})=-({7 * factor})y^{{2}}"
    assert equal(line, other) is True
    assert equal(line, f"{a}x+({b})y+7y^{{2}}={c + factor}") is False


_words = st.lists(
    st.sampled_from(["x", "y", "x_{1}", "a", "AB", "1", "2", "-", "=", "=", "(", ")", ",", "或",
                     "±", " ", "\\frac{1}{2}", "^{2}", "❴", "❵", "。"]),
    max_size=12,
).map("".join)  # fmt: skip


@given(_words, _words)
def test_any_text_is_read_and_compared_alike_from_both_sides(one: str, other: str) -> None:
    left, right = parse_equations(one), parse_equations(other)
    if left is not None:
        assert same_equations(left, left) is not False
    if left is not None and right is not None:
        assert same_equations(left, right) is same_equations(right, left)


# Hostile

HOSTILE = [
    "x=" * 50_000,
    "x=1," * 25_000,
    "x=2,x=" * 300,
    "," * 10_000,
    "=" * 100_000,
    "=" * 1_900,
    "±" * 1_900,
    "x=" + "(" * 100_000,
    "x=" + "(" * 900 + "1" + ")" * 900,
    "❴" * 1_900,
    "x=" + "1+" * 49_999 + "1",
    "x=9^{9^{9^{9}}},",
    "x=1e999999999",
    "x=\\frac{1}{",
    "x=" + "_{" * 900,
    "\x00=\ud800",
    "٣x=٥",
    "或" * 1_900 + "x=1",
]


def compared_with_itself(text: str) -> None:
    found = parse_equations(text)
    if found is not None:
        same_equations(found, found)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_compared(text: str) -> None:
    compared_with_itself(text)
    compared_with_itself(clean(text))


LONG = [text for text in HOSTILE if len(text) >= SHORTEST_TEXT]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_compared_in_linear_time(text: str) -> None:
    assert_linear_in_text(compared_with_itself, text)
    assert_linear_in_text(compared_with_itself, text[:1_999])  # a longer one is refused unread


@pytest.mark.parametrize("text", [text for text in HOSTILE if "9^" not in text], ids=len)
def test_hostile_texts_are_no_equations(text: str) -> None:
    assert parse_equations(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x^{9^{9}}=y", "y=x^{9^{8}}"),
        ("9^{x^{9^{x}}}+y=1", "y=2-9^{x^{9^{x}}}"),
        ("(" * 35 + "x+1" + ")^{2}" * 35 + "=y", "y=" + "(" * 35 + "x-1" + ")^{2}" * 35),
        ("+".join(f"x^{{{n}}}" for n in range(250)) + "=y^{2}",
         "y^{2}=" + "+".join(["x^{3}"] * 250)),
        (",".join(f"x+{n}y^{{2}}=sin(x)+ln(y)" for n in range(6)),
         ",".join(f"2x+{2 * n + 1}y^{{2}}=2sin(x)+2ln(y)" for n in range(6))),
        (",".join(f"x={n}a^{{0.5}}+lnb" for n in range(16)),
         ",".join(f"x=lnb+a^{{0.5}}({n}+1)" for n in range(16))),
        (",".join(f"x=a+{n}\\sqrt{{-1-b^{{2}}}}" for n in range(16)),
         ",".join(f"x=a+{n}\\sqrt{{-2-b^{{2}}}}" for n in range(16))),
    ],
    ids=range(7),
)  # fmt: skip
def test_costly_equations_are_compared(
    one: str, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ask(*both: Tree) -> bool | None:
        asked.append(both)
        return equal_trees(*both)

    monkeypatch.setattr(expressions, "equal_trees", ask)
    assert equal(one, other) in (False, None)
    assert equal(one, one) in (True, None)
    # Four comparisons of up to 256 pairs: each is given up after seven that can't be told.
    assert len(asked) < 4 * 16


@pytest.mark.parametrize(
    ("make", "size", "power"),
    [
        (lambda n: "(" * n + "x+1" + ")^{2}" * n + "=y", 4, 1),
        (lambda n: "+".join(f"x^{{{k}}}" for k in range(n)) + "=y^{2}", 30, 1),
        (lambda n: ",".join(f"x={k}a^{{0.5}}+lnb" for k in range(n)), 2, 2),
    ],
    ids=["nested", "terms", "list"],
)
def test_the_comparison_of_costly_equations_grows_with_them(
    make: Callable[[int], str], size: int, power: int
) -> None:
    assert_linear(compared_with_itself, make, size, power=power)
