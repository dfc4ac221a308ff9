"""Regions of the number line: read, and compared by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lmms_rpts.tasks.cmmath.grading.intervals import Region, parse_region, same_region

from lmms_rpts.tasks.cmmath.grading.normalization import clean
from tests.support.growth import SHORTEST_TEXT, assert_linear_in_text


def region(text: str) -> Region:
    found = parse_region(clean(text))
    assert found is not None, text
    return found


def equal(one: str, other: str) -> bool | None:
    """In both directions."""
    left, right = region(one), region(other)
    forth, back = same_region(left, right), same_region(right, left)
    assert forth is back
    return forth


SAME = [
    # One inequality.
    ("x>2", "x > 2."),
    ("x>2", "2<x"),
    ("x>2", "(2,+∞)"),
    ("x>2", "$\\left( 2,+\\infty \\right)$"),
    ("x>2", "(2,∞)"),
    ("x≥2", "$x\\geqslant 2$"),
    ("x≥2", "[2,+∞)"),
    ("x≤3", "(-∞，3]"),
    ("x<3", "$\\{x\\mid x<3\\}$"),
    ("y>-3", "y>－3"),
    ("x>0.5", "x>\\frac{1}{2}"),
    ("x>0.5", "x>½"),
    ("x>\\sqrt{8}", "x>2\\sqrt{2}"),
    ("m≥-1", "$m\\ge -1$。"),
    ("x>1,000", "x>1000"),
    ("∠A>30°", "∠ A>30^\\circ"),
    ("BA>3", "AB>3"),
    (">3", "x>3"),
    # Two inequalities.
    ("2≤a<3", "$2\\le a<3$"),
    ("2≤a<3", "3>a≥2"),
    ("2≤a<3", "[2,3)"),
    ("2≤a<3", "a≥2且a<3"),
    ("x>1,且x<4", "1<x<4"),
    ("x>1，x<4", "(1,4)"),
    ("x>1 and x<4", "1<x<4"),
    ("x>1∩x<4", "1<x<4"),
    ("0<x≤5", "❴x|0<x≤5❵"),
    ("-∞<x<3", "x<3"),
    ("x>1,x>2", "x>2"),
    ("2≤x≤2或x>3", "x=2或x>3"),
    # Unions.
    ("-4<x<-1或x>0", "(-4,-1)∪(0,+∞)"),
    ("-4<x<-1或x>0", "x>0或-4<x<-1"),
    ("-4<x<-1或x>0", "$\\left(-4,-1\\right)\\cup \\left(0,+\\infty \\right)$"),
    ("x>2 or x<-1", "x<-1,或x>2"),
    ("x>2 or x<-1", "x∈(-∞,-1)∪(2,+∞)"),
    ("x>2 or x<-1", "❴x|x<-1或x>2❵"),
    ("x>2 or x<-1", "❴x|x<-1❵∪❴x|x>2❵"),
    ("x>2 or x<-1", "x<-1或>2"),
    ("(-∞,0),(1,+∞)", "(-∞,0)和(1,+∞)"),
    ("(-∞,0),(1,+∞)", "(-∞,0)∪(1,+∞)"),
    ("(1,3)∪(2,5]", "1<x≤5"),
    ("(1,2]∪(2,3)", "(1,3)"),
    ("(1,2)∪[2,3)", "(1,3)"),
    ("k<-1或k=0", "k=0或k<-1"),
    ("(-∞,0)∪❴1❵", "x<0或x=1"),
    ("x=±2或x>3", "x=-2或x=2或x>3"),
    # Exceptions.
    ("x≠1", "(-∞,1)∪(1,+∞)"),
    ("x≠1", "x<1或x>1"),
    ("x≠1", "$\\{x\\in \\mathbf{R}|x\\ne 1\\}$"),
    ("x≠1", "x∈R且x≠1"),
    ("x≠±1", "x≠1且x≠-1"),
    ("x≠±1", "x≠-1,1"),
    ("x≠±1", "x≠1或-1"),
    ("x≠1,x≠-1", "x≠1和x≠-1"),
    ("x>2且x≠3", "(2,3)∪(3,+∞)"),
    ("1<x<3,x≠2", "(1,2)∪(2,3)"),
    ("x≥-1且x≠0", "$x\\ge -1$ and $x\\ne 0$"),
    ("x<1或x>2且x≠0", "(-∞,0)∪(0,1)∪(2,+∞)"),
    ("x>0且x≠±1", "(0,1)∪(1,+∞)"),
    ("x≥2,x≠1", "x≥2"),
    # All.
    ("R", "x∈R"),
    ("R", "(-∞,+∞)"),
    ("$\\mathbb{R}$", "全体实数"),
    ("x为任意实数", "all real numbers"),
    # Unknowns.
    ("x>a", "a<x"),
    ("a<x<b", "(a,b)"),
    ("x>a且x<b", "a<x<b"),
    ("x>2a+2", "x>2(a+1)"),
    ("x<a或x>a+1", "x>1+a或x<a"),
    ("m>n", "n<m"),
    # Degrees.
    ("0°<α<90°", "$0^\\circ <\\alpha <90{}^\\circ $"),
    ("0°<α<90°", "0<α<90°"),
    ("0°<α<90°", "0<α<\\frac{π}{2}"),
    ("0°<α<90°", "0<α<90"),
]
DIFFERENT = [
    ("x>2", "x≥2"),
    ("x>2", "x<2"),
    ("x>2", "x>3"),
    ("x>2", "x>-2"),
    ("x>2", "y>3"),
    ("x>0.33", "x>\\frac{1}{3}"),
    ("x>1.414", "x>\\sqrt{2}"),
    ("x>3.1415926535897", "x>π"),
    ("2≤a<3", "2<a<3"),
    ("2≤a<3", "(2,3]"),
    ("2≤a<3", "a≥2"),
    ("-4<x<-1或x>0", "-4<x<-1"),
    ("-4<x<-1或x>0", "-4<x≤-1或x>0"),
    ("(1,2)∪(2,3)", "(1,3)"),
    ("x≠1", "R"),
    ("x≠1", "x≠-1"),
    ("x>2且x≠3", "x>2"),
    ("x≥-1且x≠0", "x>-1且x≠0"),
    ("x=2或x>3", "x>3"),
    ("x<0或x>1", "0<x<1"),
    ("x>a", "x≥a"),
    ("x>a", "x>b"),
    ("a<x<b", "a<x<c"),
    ("x<a或x>b", "x<a或x>c"),
    ("x<a或x>b", "a<x<b"),
    ("30°<α<60°", "30°<α<90°"),
]
UNTOLD = [
    # Other names, the same numbers.
    ("x>2", "y>2"),
    ("1<m<2", "1<n<2"),
    # What may be degrees, and may be none.
    ("30°<α<60°", "30<α<90"),
    # The order of unknowns isn't known.
    ("(a,b)∪(c,d)", "(a,d)∪(c,b)"),
    ("(1,2)∪(a,b)", "(1,2)"),
]
NO_REGION = [
    "", " ", ".", ",", "2", "x", "x=2", "x=±2", "x=1,y=2", "y=2x+1", "❴1,2❵", "(4,0)", "(1,1)",
    "(4,0)或(-4,0)", "(1,2,3)", "(1", "1)", "(1,2", "[2,+∞]", "(+∞,2)", "(2,-∞)", "-∞≤x<2",
    "x>2且x<1", "x>3,x<1", "x<-1和x>2", "5<x<2", "x>1或", "或x>1", "x>1且", "x>", "<", "x>1,y<2",
    "x+1>3", "|x|<1", "-1<2x<3", "x<x", "x>2x", "1<x>2", "1<x<2<3", "1≤x=2", "x≠1或x≠2", "x∈N",
    "x∈", "∈R", "x∈Z且x>1", "x>2且x为整数", "x≠kπ+\\frac{π}{2},k∈Z", "x>\\frac{1}{0}",
    "❴x|y>2❵", "❴x|x>2", "x|x>2❵", "❴(x,y)|x>2❵", "❴x|x=2❵", "x>2(舍去)", "x大于2", "x>2>", "x>2∈R",
    "x>±2", "x≠±1±2", "(1;2)", "(1或2)", "()", "(,)", "[]", "❴❵", "❴|❵", "∅", "实数", "x>a且x>b",
    "1/2", "A", "AC=DF",
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


@pytest.mark.parametrize("text", NO_REGION)
def test_no_region(text: str) -> None:
    assert parse_region(clean(text)) is None


@pytest.mark.parametrize(
    ("text", "name"),
    [("x>2", "x"), ("(1,2)", None), ("R", None), ("x≠1", "x"), ("x_1>2", "x_{1}"),
     ("∠A>30°", "∠A"), ("a<x<b", "x"), ("x≤-1或≥2", "x"), ("x∈(0,1)", "x")],
)  # fmt: skip
def test_the_name(text: str, name: str | None) -> None:
    assert region(text).name == name


# Properties

_numbers = st.fractions(min_value=-50, max_value=50, max_denominator=9)
_pairs = (
    st.lists(_numbers, min_size=2, max_size=6, unique=True)
    .map(sorted)
    .map(lambda ends: list(zip(ends[::2], ends[1::2], strict=False)))
)
_closed = st.tuples(st.booleans(), st.booleans())


def _written(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"


def _as_interval(low: Fraction, high: Fraction, closed: tuple[bool, bool]) -> str:
    return f"{'(['[closed[0]]}{_written(low)},{_written(high)}{')]'[closed[1]]}"


def _as_inequality(low: Fraction, high: Fraction, closed: tuple[bool, bool]) -> str:
    return f"{_written(low)}{'<≤'[closed[0]]}x{'<≤'[closed[1]]}{_written(high)}"


@given(_pairs, _closed, st.randoms())
def test_interval_and_inequality_are_the_same_in_any_order(pairs, closed, random) -> None:
    intervals = [_as_interval(*pair, closed) for pair in pairs]
    inequalities = [_as_inequality(*pair, closed) for pair in pairs]
    random.shuffle(inequalities)
    assert equal("∪".join(intervals), "或".join(inequalities)) is True


@given(_pairs, _pairs, _closed)
def test_a_union_holds_the_numbers_of_its_parts(one, other, closed) -> None:
    """Against membership by hand, at all ends and between them."""
    parts = [*one, *other]
    found = region("∪".join(_as_interval(*pair, closed) for pair in parts))
    ends = sorted({end for pair in parts for end in pair})
    between = [(low + high) / 2 for low, high in pairwise(ends)]
    for number in [*ends, *between, ends[0] - 1, ends[-1] + 1]:
        wanted = any(_holds(*pair, closed, number) for pair in parts)
        told = any(
            _holds(each.low.number, each.high.number, (each.holds_low, each.holds_high), number)
            for each in found.intervals
        )
        assert told == wanted


def _holds(low: Fraction, high: Fraction, closed: tuple[bool, bool], number: Fraction) -> bool:
    return low < number < high or (number == low and closed[0]) or (number == high and closed[1])


_words = st.lists(
    st.sampled_from(
        ["x", "a", "1", "2", "-", "<", ">", "≤", "≠", "=", "∈", "R", "(", ")", "[", "]", ",", "∪",
         "或", "且", "❴", "❵", "|", "∞", "±", "°", " ", "\\frac{1}{2}", "和", "。"]
    ),
    max_size=14,
).map("".join)  # fmt: skip


@given(_words, _words)
def test_any_text_is_read_and_compared_alike_from_both_sides(one: str, other: str) -> None:
    left, right = parse_region(one), parse_region(other)
    if left is not None:
        assert same_region(left, left) is True
        assert left.intervals
    if left is not None and right is not None:
        assert same_region(left, right) is same_region(right, left)


# Hostile

HOSTILE = [
    "x>" * 50_000,
    "1<x<2<3<" * 12_500,
    "," * 10_000,
    "x≠1," * 10_000,
    "(1,2)∪" * 20_000 + "(1,2)",
    "(" * 100_000,
    ")" * 100_000,
    "(" * 900 + "1,2" + ")" * 900,
    "❴x|" * 600 + "x>1" + "❵" * 600,
    "❴x|" * 60 + "x>1" + "❵" * 60,
    "x>" + "9" * 99_998,
    "x>9^{9^{9^{9}}}",
    "x>1e999999999",
    "x" * 100_000,
    "或" * 100_000,
    "±" * 1_900,
    "\n" * 1_900,
    "x≠" + ",".join(map(str, range(400))),
    "1,000," * 300,
    "\x00\ud800<x<2",
    "٣<x<٥",
    "²<x",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_no_regions(text: str) -> None:
    assert parse_region(text) is None
    parse_region(clean(text))


LONG = [text for text in HOSTILE if len(text) >= SHORTEST_TEXT]


@pytest.mark.parametrize("text", LONG, ids=range(len(LONG)))
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    assert_linear_in_text(parse_region, text)
    assert_linear_in_text(parse_region, text[:1_999])  # a longer one is refused unread
