"""Points: read, and compared by hand."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.points import Point, parse_points, same_points

from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import SHORTEST_TEXT, assert_linear, assert_linear_in_text


def points(text: str) -> tuple[Point, ...]:
    found = parse_points(clean(text))
    assert found is not None, text
    return found


def equal(one: str, other: str) -> bool | None:
    """In both directions."""
    left, right = points(one), points(other)
    forth, back = same_points(left, right), same_points(right, left)
    assert forth is back
    return forth


SAME = [
    ("(4,0)", "（4，0）"),
    ("(4,0)", "$\\left( 4,0 \\right)$。"),
    ("(4,0)", "( 4 , 0 )"),
    ("(4,0)", "P(4,0)"),
    ("(4,0)", "点P(4,0)"),
    ("(4,0)", "点P的坐标为(4,0)"),
    ("(4,0)", "P=(4,0)"),
    ("(4,0)", "P: (4,0)"),
    ("(4,0)", "point P(4, 0)"),
    ("(4,0)", "(x,y)=(4,0)"),
    ("(4,0)或(-4,0)", "(-4,0)或(4,0)"),
    ("(4,0)或(-4,0)", "(±4,0)"),
    ("(4,0)或(-4,0)", "(4,0),(-4,0)"),
    ("(4,0)或(-4,0)", "(4,0)、(-4,0)"),
    ("(4,0)或(-4,0)", "(4,0)和(-4,0)"),
    ("(4,0)或(-4,0)", "(4,0) or (-4,0)"),
    ("(1,2) and (3,4)", "(3,4)与(1,2)"),
    ("A(1,2),B(3,4)", "B(3,4)、A(1,2)"),
    ("A(1,2),B(3,4)", "(1,2)，(3,4)"),
    ("A(1,2),B(3,4)", "$A\\left(1,2\\right)$，$B(3,4)$."),
    ("A(1,2),(1,2)", "(1,2),A(1,2)"),
    ("A(1,2),B(1,2)", "(1,2),A(1,2)"),
    ("P_1(1,2),P_2(3,4)", "P₂(3，4)，P₁(1，2)"),
    ("P_1(1,2),P_2(3,4)", "P(3,4)或P(1,2)"),
    ("A'(1,2)", "A^{\\prime}(1,2)"),
    ("(x,y)=(1/2,1/2)", "(\\frac{1}{2},0.5)"),
    ("(0.5,-1)", "(½,－1)"),
    ("(\\sqrt{8},1)", "(2√2,1)"),
    ("(1+\\sqrt{2},0)", "(\\sqrt{2}+1,0)"),
    ("(\\frac{1±\\sqrt{5}}{2},0)", "(\\frac{1-\\sqrt{5}}{2},0),(\\frac{1+\\sqrt{5}}{2},0)"),
    ("(1,2,3)", "（1,2,3）"),
    ("(a,2a+2)", "(a,2(a+1))"),
    ("(m,-n)", "(m,-n)"),
    ("(4,π)", "(4,\\pi)"),
    ("\\overrightarrow{AB}=(1,2)", "AB=(1,2)"),
    ("\\vec{a}=(1,2)", "(1,2)"),
    ("(0,0)", "O(0,0)"),
    ("(-1.50,2)", "(-\\frac{3}{2},2)"),
    ("(cos60°,1)", "(\\frac{1}{2},1)"),
    # A point that stands twice is one point.
    ("A(1,2),A(1,2)", "A(1,2)"),
    ("A(1,2),A(1,2)", "(1,2)"),
    ("(1,2),(3,4),(1,2)", "(3,4),(1,2),(3,4)"),
    ("(0.5,a+1)", "(\\frac{1}{2},a+1),(0.5,1+a)"),
    ("P_1(1,2),P_1(1,2),P_2(1,2),P_2(1,2)", "P_2(1,2),P_1(1,2)"),
]
DIFFERENT = [
    ("(4,0)", "(0,4)"),
    ("(4,0)", "(-4,0)"),
    ("(4,0)", "(4,0)或(-4,0)"),
    ("(4,0)", "(±4,0)"),
    ("(4,0)", "(4,0,0)"),
    ("(1,2),(3,4)", "(1,4),(3,2)"),
    ("(1,2),(3,4)", "(1,2),(3,5)"),
    ("(1,2),(1,2)", "(1,2),(3,4)"),
    ("A(1,2),A(1,2)", "A(1,2),B(3,4)"),
    ("A(1,2),A(3,4)", "A(1,2)"),
    ("A(1,2),B(3,4)", "A(3,4),B(1,2)"),
    ("A(1,2)", "B(3,4)"),
    ("P_1(1,2),P_2(3,4)", "P_1(3,4),P_2(5,6)"),
    ("(\\sqrt{2},1)", "(1.414,1)"),
    ("(\\frac{1}{3},1)", "(0.33,1)"),
    ("(a,b)", "(b,a)"),
    ("(a,2a+1)", "(a,2a+2)"),
    ("(m,n)", "(a,b)"),
]
UNTOLD = [
    # The same place by another name.
    ("D(1,2)", "M(1,2)"),
    ("A(1,2),B(3,4)", "C(1,2),B(3,4)"),
    ("A(1,2)", "A'(1,2)"),
    # Which of two is called the first is mostly free.
    ("P_1(1,2),P_2(3,4)", "P_1(3,4),P_2(1,2)"),
]
NO_POINTS = [
    "", " ", ",", "()", "(,)", "(1)", "(1,)", "(,2)", "(1,2", "1,2)", "1,2", "[1,2]", "(1,2]",
    "[1,2)", "(1,2))", "((1,2)", "(1,2,3,4)", "(1,+∞)", "(1;2)", "(1或2,3)", "(1 or 2,3)", "(1、2)",
    "(1和2,3)", "(±1,±2)", "(1±2±3,4)", "A", "A,B", "A(1,2)B(3,4)", "A,B(1,2)", "(1,2)是", "原点",
    "(1,2)(舍去)", "x=1,y=2", "❴(1,2)❵", "(x>1,2)", "(1,2)或", "或(1,2)", "f(1,2)=3", "(1cm,2cm)",
    "(a,b)=(c,d)=(1,2)", "点", "P(1,2)=", "P==(1,2)",
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


@pytest.mark.parametrize("text", NO_POINTS)
def test_no_points(text: str) -> None:
    assert parse_points(clean(text)) is None


def test_what_was_read() -> None:
    first, second = points("P_1(1,2)或(±x, 0)")[:2]
    assert (first.name, [each.number for each in first.coordinates]) == ("P_{1}", [1, 2])
    assert second.name is None
    assert [each.text for each in second.coordinates] == ["+x", "0"]


def test_a_comma_in_a_point_parts_its_coordinates() -> None:
    assert [each.number for each in points("(1,200)")[0].coordinates] == [1, 200]


# Properties

_numbers = st.fractions(min_value=-99, max_value=99, max_denominator=12)
_places = st.lists(st.tuples(_numbers, _numbers), min_size=1, max_size=5)


def _listed(places: list[tuple[Fraction, Fraction]], joiner: str) -> str:
    return joiner.join(f"({x},{y})" for x, y in places)


@settings(max_examples=50)
@given(_places, st.randoms(), st.sampled_from([",", "或", "、", " and ", "；", "\n"]))
def test_the_order_does_not_matter(places, random, joiner) -> None:
    shuffled = list(places)
    random.shuffle(shuffled)
    assert equal(_listed(places, ","), _listed(shuffled, joiner)) is True


@settings(max_examples=50)
@given(_places, _places)
def test_points_are_the_same_if_their_numbers_are(one, other) -> None:
    assert equal(_listed(one, ","), _listed(other, "或")) is (set(one) == set(other))


@given(st.lists(st.tuples(st.sampled_from(["", "A", "B", "P_{1}", "P_{2}", "P"]),
                          st.integers(0, 1)), min_size=1, max_size=4))  # fmt: skip
@example([("P_{1}", 1)] * 2 + [("P_{2}", 1)] * 2)  # which goes with which could not be told
@example([("P_{1}", 1)] * 3)
@example([(f"P_{{{number}}}", 1) for number in range(4)])
@example([(f"P_{{{number}}}", 1) for number in range(4)] * 2)
def test_points_are_the_same_as_themselves(named) -> None:
    text = ",".join(f"{name}({x},1)" for name, x in named)
    assert equal(text, text) is True


def test_names_are_paired_off_as_a_whole() -> None:
    """Whatever the order in which they are tried."""
    for one in itertools.permutations(["A(1,2)", "B(1,2)", "(1,2)"]):
        for other in itertools.permutations(["A(1,2)", "(1,2)", "C(1,2)"]):
            assert equal(",".join(one), ",".join(other)) is True


_words = st.lists(
    st.sampled_from(["A", "P_{1}", "x", "1", "2", "-", "(", ")", ",", "或", "、", "±", "=", ":",
                     "点", " ", "\\frac{1}{2}", "的坐标为", "→", "。"]),
    max_size=14,
).map("".join)  # fmt: skip


@given(_words, _words)
def test_any_text_is_read_and_compared_alike_from_both_sides(one: str, other: str) -> None:
    left, right = parse_points(one), parse_points(other)
    if left is not None and right is not None:
        assert same_points(left, right) is same_points(right, left)


# Hostile

HOSTILE = [
    "(1,2)" * 20_000,
    "(1,2)," * 16_000,
    "," * 10_000,
    "(" + "," * 10_000 + ")",
    "(" + "1," * 300 + "1)",
    "(" * 100_000,
    ")" * 100_000,
    "(" * 900 + "1,2" + ")" * 900,
    "点" * 100_000,
    "P" + "'" * 100_000 + "(1,2)",
    "P_{" * 1_000 + "(1,2)",
    "(" + "9" * 99_998 + ",1)",
    "(9^{9^{9^{9}}},",
    "(±" * 500 + ",1)",
    "\x00(1,2)\ud800",
    "(٣,٥)",
    " " * 100_000,
    "(1,2) " + " " * 1_900 + "x",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_no_points(text: str) -> None:
    assert parse_points(text) is None
    parse_points(clean(text))


LONG = [text for text in HOSTILE if len(text) >= SHORTEST_TEXT]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    assert_linear_in_text(parse_points, text)
    assert_linear_in_text(parse_points, text[:1_999])  # a longer one is refused unread


def test_many_points_that_are_nearly_the_same() -> None:
    """Each of one list is compared with each of the other, and no more than that."""

    def compare(count: int) -> None:
        one = ",".join(f"(a+{n},(a+1)^{{2}})" for n in range(count))
        other = ",".join(f"({n + 1}+a,a^{{2}}+2a+1)" for n in range(count))
        assert equal(one, one) is True
        assert equal(one, other) is False

    assert_linear(compare, lambda count: count, size=2, power=2)
