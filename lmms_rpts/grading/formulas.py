"""Formulas: parsing, values, and equality, exact where possible, else at fixed points.

A formula has no value if a part of it has no real value: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

import mpmath

from lmms_rpts.grading.formula_grammar import (
    FUNCTIONS,
    PLAIN_NUMBER,
    NotAFormulaError,
    Tree,
    name,
    node,
    number,
    read,
    steps,
)

_ENDS = " .。"
_NOISE = Fraction(1, 1 << 150)
_SIGN = re.compile(r"[+-]? ?")
# Most answers are such numbers: 5, -3.5, 2/3, \frac{2}{3}. They need no parser.
_SIMPLE = re.compile(
    r"(?P<sign>[+-]?)(?:(?P<whole>\d{1,15})(?:\.(?P<decimals>\d{1,15})|/(?P<below>\d{1,15}))?"
    r"|\\frac\{(?P<top>\d{1,15})\}\{(?P<bottom>\d{1,15})\})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Expression:
    """Arithmetic over numbers and letters, read from cleaned text.

    Attributes:
        text: the text as read.
        names: its unknowns: "a", "x_{1}", "α". A run of capitals such as AB (a segment) is one
            name, in alphabetical order if it has two points: AB for BA. e is an unknown, π is not.
        number: its value if it has no unknowns: a Fraction if that is exact (integers, decimals,
            fractions, exact roots), else a float; None if it has unknowns or no finite real value.
        decimals: number of decimal places of a plain decimal such as -0.330 (3); 0 for an integer;
            None for anything else.
    """

    text: str
    names: frozenset[str]
    number: Fraction | float | None
    decimals: int | None
    tree: Tree = field(repr=False, compare=False)

    @property
    def bare_name(self) -> str | None:
        """The name, if it is only a name; else None."""
        return str(self.tree.value) if self.tree.operator == "name" else None


Equation: TypeAlias = tuple[Expression, Expression]
"""Its left and its right side."""


@lru_cache(maxsize=512)  # "2" may be an end, a coordinate and a value in one answer
def parse(text: str) -> Expression | None:
    """A whole cleaned text as a formula; None if it is not entirely one.

    Accepts numbers (``3.6``, ``1,000``, ``12 000``, ``20%``, ``1.2e4``), mixed numbers, fractions,
    roots, powers, ``|x|``, trigonometric functions (degrees inside them alone), logarithms, and one
    ratio ``a:b``. Adjacent lower-case letters are factors. Ambiguous text (``a/bc``, ``6÷2(3)``) is
    not a formula; nor are words, units, comparisons, or more than 2,000 characters or 60 levels of
    brackets. Full stops and spaces around it are ignored.
    """
    text = text.rstrip(_ENDS).lstrip(" ")
    simple = _SIMPLE.fullmatch(text)
    if simple is not None:
        return _simple(simple)
    try:
        tree = read(text)
    except (NotAFormulaError, RecursionError):  # the latter if the call stack is deep already
        return None
    sign = _SIGN.match(text)
    plain = PLAIN_NUMBER.fullmatch(text, sign.end() if sign else 0)
    decimals = len(plain[1] or "") if plain else None
    return Expression(text, tree.names, None if tree.names else _exact(tree), decimals, tree)


def constant(text: str, value: Fraction, decimals: int | None) -> Expression:
    """A number that was read from words."""
    return Expression(text, frozenset(), value, decimals, number(value))


def _simple(found: re.Match[str]) -> Expression:
    above, below = found["whole"] or found["top"], found["below"] or found["bottom"]
    decimals = None if below else len(found["decimals"] or "")
    if below:
        tree = node("quotient", number(int(above)), number(int(below)))
        value = Fraction(int(above), int(below)) if int(below) else None
    else:
        places = found["decimals"] or ""
        value = Fraction(int(above + places), 10 ** len(places))
        tree = number(value)
    if found["sign"] == "-":
        tree, value = node("minus", tree), None if value is None else -value
    return Expression(found[0], tree.names, value, decimals, tree)


def equal(one: Expression, other: Expression) -> bool | None:
    """Whether two formulas are equal for all values of their unknowns.

    Equal means equal wherever both have a real value. None if neither exact evaluation nor fixed
    points decide it.
    """
    if isinstance(one.number, Fraction) and isinstance(other.number, Fraction):
        return one.number == other.number
    told = _compare(one.tree, other.tree)
    return None if told == "unsettled" else told == "equal"


def rounds_to(whole: Expression, rounded: Expression) -> bool:
    """Whether ``rounded`` is the other number, rounded (half up) or truncated to its own places.

    False if they are equal, or if ``rounded`` is not a plain integer or decimal.
    """
    if rounded.decimals is None or whole.number is None:
        return False
    value = _as_fraction(_evaluate(steps(whole.tree), {}))
    if equal(whole, rounded) is not False:
        return False
    # A number that has N places except for noise in its last bits counts as one with N places.
    scaled = abs(value) * 10**rounded.decimals + _NOISE
    sign = -1 if value < 0 else 1
    candidates = {sign * (scaled + shift).__floor__() for shift in (0, Fraction(1, 2))}
    return cast(Fraction, rounded.number) * 10**rounded.decimals in candidates


# Values

Real: TypeAlias = Any
"""A real number of 640 bits; mpmath is not typed."""
_BITS = 640
_UNSURE = 64  # bits at the end of a value that rounding may have changed
_LARGEST_SIZE = 40  # bits of the exponent of a power, so that powers are fast
_LARGEST_ANGLE = 120  # bits
_LARGEST_DEGREE = 1_000
_LARGEST_DENOMINATOR = 10**9
_LONGEST = 4_000  # bits of an exact power
# A context that is never changed, so that threads need no lock, with its constants precomputed:
# threads that extend them at the same time could read a wrong one.
_REALS = mpmath.mp.clone()
_REALS.prec = _BITS
for _constant in ("mpf_pi", "mpf_ln2", "mpf_ln10", "mpf_e"):
    getattr(mpmath.libmp, _constant)(2 * _BITS, "n")


class NoValueError(ArithmeticError):
    """The formula has no real value here, or one that is too large."""


def _real(value: Fraction) -> Real:
    return _REALS.mpf(value.numerator) / value.denominator


def _agree(one: Real, other: Real) -> bool:
    """Whether two values are equal up to rounding errors."""
    left, largest = _size(one - other), max(_size(one), _size(other))
    tiny = one != 0 and other != 0 and largest < -_BITS * 2  # 1/4^2018 is a value, not noise
    return left < largest - _BITS // 2 or (left < -_BITS * 3 // 4 and not tiny)


def _exact(tree: Tree) -> Fraction | float | None:
    """The value of a formula without unknowns, exactly if it is rational; None if it has none."""
    rational = _rational(tree)
    if rational is not None:
        return rational
    try:
        value = _evaluate(steps(tree), {})
    except NoValueError:
        return None
    if _size(value) > 1023:
        return None
    found = _as_fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return found if _agree(_real(found), value) else float(value)


def _rational(tree: Tree) -> Fraction | None:
    """The value of sums, products, quotients and powers of numbers; None for others."""
    if tree.operator == "number":
        return cast(Fraction, tree.value)
    if tree.operator not in ("sum", "product", "quotient", "minus", "power"):
        return None
    values = [_rational(part) for part in tree.parts]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    first, last = known[0], known[-1]
    if tree.operator == "minus":
        return -first
    if tree.operator == "sum":
        return sum(known, Fraction(0))
    if tree.operator == "product":
        return math.prod(known, start=Fraction(1))
    if tree.operator == "quotient":
        return first / last if last else None
    length = max(first.numerator.bit_length(), first.denominator.bit_length())
    small = last.denominator == 1 and length * abs(last) <= _LONGEST and (first or last > 0)
    return first ** int(last) if small else None


def _as_fraction(value: Real) -> Fraction:
    """A value, converted exactly."""
    mantissa, exponent = (int(part) for part in value.man_exp)
    return Fraction(-mantissa if value < 0 else mantissa) * Fraction(2) ** exponent


def _evaluate(postfix: Sequence[Tree], names: Mapping[str, Real]) -> Real:
    """The value of a formula, given as ``steps``, for these values of its unknowns.

    Raises:
        NoValueError: if it has none.
    """
    values: list[Real] = []
    for step in postfix:
        count = len(step.parts)
        if count:
            values[-count:] = [_applied(step, values[-count:])]
            if values[-1] and abs(_size(values[-1])) > 1 << _LARGEST_SIZE:
                raise NoValueError("too large")
        elif step.operator == "number":
            values.append(_real(cast(Fraction, step.value)))
        else:
            values.append(names[str(step.value)] if step.operator == "name" else +_REALS.pi)
    return values[0]


def _size(value: Real) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    if isinstance(value, _REALS.mpc):
        return max(_size(value.real), _size(value.imag))
    return cast(int, value.man_exp[1] + value.bc) if value else -(1 << _LARGEST_SIZE)


def _applied(tree: Tree, values: list[Real]) -> Real:
    operator, first, last = tree.operator, values[0], values[-1]
    if operator == "sum":
        return _sum(values)
    if operator == "product":
        return math.prod(values)
    if operator == "minus":
        return -first
    if operator == "abs":
        return abs(first)
    if operator == "power":
        return _power(first, last, tree.parts[1])
    if operator == "root":
        if first not in range(2, _LARGEST_DEGREE + 1):
            raise NoValueError("no root of such a degree")
        return _rational_power(last, Fraction(1, int(first)))
    if operator in ("log", "quotient"):
        above, below = (first, last) if operator == "quotient" else (_ln(last), _ln(first))
        return above * _inverse(below)
    return _ln(first) if operator == "ln" else _trigonometric(operator, first)


def _sum(values: list[Real]) -> Real:
    total = values[0]
    for value in values[1:]:
        sizes = _size(total), _size(value)
        total = total + value
        if _size(total) < max(sizes) - _BITS + _UNSURE:
            total = _REALS.zero
    return total


def _inverse(value: Real) -> Real:
    if not value:
        raise NoValueError("division by zero")
    return 1 / value


def _ln(value: Real) -> Real:
    if value <= 0:
        raise NoValueError("a logarithm of a number that is not positive")
    return _REALS.ln(value)


def _trigonometric(function: str, value: Real) -> Real:
    if _size(value) > _LARGEST_ANGLE or (function in ("arcsin", "arccos") and abs(value) > 1):
        raise NoValueError("too large an angle, or no such angle")
    result = getattr(_REALS, _LIBRARY.get(function, function))(value)
    noise = _BITS - max(_size(value), 0) - _UNSURE
    if _size(result) > noise:
        raise NoValueError("a right angle has no tangent")
    if _size(result) < -noise and _size(value) > 0:
        result = _REALS.zero  # the sine of π, but not of a very small angle
    return _inverse(result) if function in ("cot", "sec", "csc") else result


_LIBRARY = {
    "cot": "tan",
    "sec": "cos",
    "csc": "sin",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
}


def _power(base: Real, exponent: Real, tree: Tree) -> Real:
    if _size(exponent) > _LARGEST_SIZE:
        raise NoValueError("too large a power")
    if isinstance(base, _REALS.mpc):  # i, as the imaginary unit
        if not _REALS.isint(exponent):
            raise NoValueError("a power of a complex number")
        return _bounded_power(base, int(exponent))
    if _REALS.isint(exponent):
        return _rational_power(base, Fraction(int(exponent)))
    if base < 0 and not tree.names:  # (-8)^{1/3} is a root
        return _rational_power(base, _as_fraction(exponent).limit_denominator(_LARGEST_DEGREE))
    if base <= 0:  # (-1)^{n} has no value if n is not a whole number
        raise NoValueError("such a power of a number that is not positive")
    return _bounded_power(base, exponent)


def _rational_power(base: Real, exponent: Fraction) -> Real:
    if base < 0:
        if exponent.denominator % 2 == 0:
            raise NoValueError("an even root of a negative number")
        positive = _rational_power(-base, exponent)
        return -positive if exponent.numerator % 2 else positive
    if not base and exponent <= 0:
        raise NoValueError("zero to a power that is not positive")
    if exponent == Fraction(1, 2):
        return _REALS.sqrt(base)
    whole = exponent.denominator == 1
    return _bounded_power(base, int(exponent) if whole else _real(exponent)) if base else base


def _bounded_power(base: Real, exponent: Real) -> Real:
    if (abs(_size(base)) + 1) * abs(exponent) > 1 << _LARGEST_SIZE:
        raise NoValueError("too large a power")
    return base**exponent


# Equality at fixed points

Steps: TypeAlias = tuple[Tree, ...]
Told: TypeAlias = Literal["equal", "different", "unsettled"]
ENOUGH = 12
"""Number of points where both formulas must have values that agree."""
_POINTS = 40
_WORK = 40_000
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43)  # so large that 2n is whole only if n is
_REACHES = (4, 1, 30, 2, 1_000, 12, 100, 8, 3, 40)


def _compare(one: Tree, other: Tree) -> Told:
    """Whether two formulas have the same real values.

    ``different`` if they clearly differ at a point where both have a value; ``equal`` if they
    agree, to at least 1e-30, at all such points and there are 12 or more of them (one for formulas
    without unknowns); else ``unsettled``. The points are positive and negative, whole and
    fractional, and the same for all formulas with the same unknowns. If they differ and contain an
    i, it may be the imaginary unit.
    """
    names = sorted(one.names | other.names)
    first, second = steps(one), steps(other)
    if not names:
        return _at(first, second, {})
    if [_flat(step) for step in first] == [_flat(step) for step in second]:
        return "equal"
    told = _at_points(first, second, names)
    if told == "different" and "i" in names:
        return _at_points(first, second, names, {"i": _REALS.mpc(0, 1)})
    return told


def _flat(step: Tree) -> tuple[object, ...]:
    return (step.operator, step.value, len(step.parts))


def _at_points(
    first: Steps, second: Steps, names: list[str], fixed: Mapping[str, Real] = MappingProxyType({})
) -> Told:
    agreed, work = 0, _WORK
    both = (*first, *second)
    cost = sum(20 if _is_costly(step) else 2 for step in both)
    euler = "e" in names and any(step.operator == "ln" for step in both)
    for index in range(_POINTS):
        point = {each: _real(_coordinate(index, place)) for place, each in enumerate(names)}
        point |= fixed
        if euler:  # and not, say, the eccentricity of an ellipse
            point["e"] = +_REALS.e
        told = _at(first, second, point)
        if told == "different":
            return told
        agreed += told == "equal"
        work -= cost
        if work < 0 or agreed >= ENOUGH:
            break
    return "equal" if agreed >= ENOUGH else "unsettled"


def _is_costly(tree: Tree) -> bool:
    if tree.operator == "power":
        exponent = tree.parts[1].value
        return not (isinstance(exponent, Fraction) and exponent.denominator == 1)
    return tree.operator in FUNCTIONS or tree.operator in ("log", "root")


def _at(one: Steps, other: Steps, point: dict[str, Real]) -> Told:
    try:
        return "equal" if _agree(_evaluate(one, point), _evaluate(other, point)) else "different"
    except (NoValueError, TypeError):  # complex numbers have no order
        return "unsettled"


def _coordinate(index: int, place: int) -> Fraction:
    """The value of an unknown, by its place in the alphabet, at one of the points.

    In turn positive, of either sign, positive and whole, whole of either sign; from below 1 to
    above 1000. The first two unknowns have all four combinations of signs.
    """
    noise = (index * 7_919 + place * 104_729 + index * place * 1_299_709 + 12_345) * 2_654_435_761
    noise = noise % 4_294_967_296 >> 7
    kind, turn = index % 4, index // 4
    reach = _REACHES[turn % len(_REACHES)]
    if kind < 2:
        prime = _PRIMES[(index + place) % len(_PRIMES)]
        value = Fraction(1 + noise % (prime * reach), prime)
        value += Fraction(value.denominator == 1, prime)
    else:
        value = Fraction(1 + noise % (reach + 12))
    signs = turn + kind // 2
    negative = kind % 2 and (signs >> place if place < 2 else noise >> 20) & 1
    return -value if negative else value


# Equations as conditions

_LARGEST = 600
"""Maximum number of nodes of an equation that another's solution is substituted into."""


def same_equation(one: Equation, other: Equation) -> bool | None:
    """Whether two equations are equivalent.

    Returns:
        True if one is the other times a constant. False if they have the same unknowns and a
        solution of one for an unknown does not solve the other, or if both are polynomials. None
        otherwise: they may still be equivalent by more than a factor.
    """
    if one[0].names | one[1].names != other[0].names | other[1].names:
        return None
    if (one[0].text, one[1].text) in (
        (other[0].text, other[1].text),
        (other[1].text, other[0].text),
    ):
        return True
    first, second = (
        node("sum", left.tree, node("minus", right.tree)) for left, right in (one, other)
    )
    if any(equal(*sides) is not False for sides in (one, other)):
        return None  # x=x says nothing
    if _is_multiple(first, second) or _is_multiple(*map(_without_quotient, (first, second))):
        return True
    solved = _solves(one, other), _solves(other, one)
    if _is_polynomial(first) and _is_polynomial(second):
        return None if True in solved else False  # x=2 is only one solution of x^2=4
    return False if False in solved else None


def _without_quotient(difference: Tree) -> Tree:
    """The difference of two sides times their divisors: xy+6 for y=-6/x."""
    left, right = difference.parts[0], difference.parts[1].parts[0]
    for side in (left, right):
        if side.operator == "minus":
            side = side.parts[0]
        if side.operator == "quotient":
            difference = node("product", difference, side.parts[1])
    return difference


def _is_polynomial(tree: Tree) -> bool:
    if tree.operator == "power":
        exponent = tree.parts[1].value
        whole = isinstance(exponent, Fraction) and exponent.denominator == 1 and exponent >= 0
        return whole and _is_polynomial(tree.parts[0])
    if tree.operator == "quotient":
        return _is_polynomial(tree.parts[0]) and not tree.parts[1].names
    known = tree.operator in ("number", "name", "pi", "sum", "product", "minus")
    return (known or not tree.names) and all(map(_is_polynomial, tree.parts))


def _is_multiple(first: Tree, second: Tree) -> bool:
    """Whether F(x)·G(y) = F(y)·G(x) for F = 0 and G = 0, the equations: F/G is then constant."""
    names = (first.names | second.names) - {"e"}  # which may be the base of a logarithm
    renamed = {each: name(f"{each}′") for each in names}
    left = node("product", first, _put(second, renamed))
    return _compare(left, node("product", _put(first, renamed), second)) == "equal"


def _solves(one: Equation, other: Equation) -> bool | None:
    """Whether a solution of one equation for an unknown solves the other; None: no solution."""
    for left, right in (one, one[::-1]):
        if left.bare_name is None or left.bare_name in right.names:
            continue
        sides = [_put(side.tree, {left.bare_name: right.tree}) for side in other]
        if max(side.size for side in sides) > _LARGEST:
            return None
        told = _compare(sides[0], sides[1])
        return None if told == "unsettled" else told == "equal"
    return None


def _put(tree: Tree, values: dict[str, Tree]) -> Tree:
    """A formula with its names replaced by values."""
    if tree.operator == "name":
        return values.get(str(tree.value), tree)
    if not tree.parts:
        return tree
    return node(tree.operator, *(_put(part, values) for part in tree.parts))
