"""Formulas: parsing, values, and equality, exact where possible, else at fixed points.

A formula has no value if a part of it has no real value: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, TypeAlias, cast

import mpmath

from lmms_rpts.grading.formula_grammar import (
    PLAIN,
    TRIGONOMETRIC,
    NotAFormulaError,
    Tree,
    minus,
    node,
    number,
    read,
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
    text = text.rstrip(" .。").lstrip(" ")
    try:
        tree = read(text)
        value = None if tree.names else _constant_value(tree)
    except (NotAFormulaError, RecursionError):  # the latter if the call stack is deep already
        return None
    plain = PLAIN.fullmatch(text)
    return Expression(text, tree.names, value, len(plain[1] or "") if plain else None, tree)


def constant(text: str, value: Fraction, decimals: int | None) -> Expression:
    """A number that was read from words."""
    return Expression(text, frozenset(), value, decimals, number(value))


def times(one: Expression, factor: Fraction) -> Expression:
    """A multiple of a formula."""
    value = one.number * factor if isinstance(one.number, Fraction) else None
    return Expression(one.text, one.names, value, None, node("product", number(factor), one.tree))


# Values

Real: TypeAlias = Any
"""A Fraction, or a real number of 640 bits; mpmath is not typed."""
_BITS = 640
_UNSURE = 64  # bits at the end of a value that rounding may have changed
_LARGEST_SIZE = 40  # bits of the exponent of a power, so that powers are fast
_LARGEST_ANGLE = 120  # bits
_LARGEST_DEGREE = 1_000
_LARGEST_DENOMINATOR = 10**9
_LONGEST = 4_000  # bits of an exact value
_NOISE = Fraction(1, 1 << 150)
# A context that is never changed, so that threads need no lock, with its constants precomputed:
# threads that extend them at the same time could read a wrong one.
_REALS = mpmath.mp.clone()
_REALS.prec = _BITS
for _constant in ("mpf_pi", "mpf_ln2", "mpf_ln10", "mpf_e"):
    getattr(mpmath.libmp, _constant)(2 * _BITS, "n")


class NoValueError(ArithmeticError):
    """The formula has no real value here, or one that is too large."""


def _real(value: Real) -> Real:
    if isinstance(value, Fraction):
        return _REALS.mpf(value.numerator) / value.denominator
    return value


def _as_fraction(value: Real) -> Fraction:
    """A value, converted exactly."""
    if isinstance(value, Fraction):
        return value
    mantissa, exponent = (int(part) for part in value.man_exp)
    return Fraction(-mantissa if value < 0 else mantissa) * Fraction(2) ** exponent


def _size(value: Real) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    return cast(int, value.man_exp[1] + value.bc) if value else -(1 << _LARGEST_SIZE)


def _agree(one: Real, other: Real) -> bool:
    """Whether two values are equal, of real numbers up to rounding errors."""
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return one == other
    one, other = _real(one), _real(other)
    left, largest = _size(one - other), max(_size(one), _size(other))
    tiny = one != 0 and other != 0 and largest < -_BITS * 2  # 1/4^2018 is a value, not noise
    return left < largest - _BITS // 2 or (left < -_BITS * 3 // 4 and not tiny)


def _constant_value(tree: Tree) -> Fraction | float | None:
    """The value of a formula without unknowns, exactly if it is rational; None if it has none."""
    try:
        value = _evaluate(tree, {})
    except NoValueError:
        return None
    if isinstance(value, Fraction):
        return value
    if _size(value) > 1023:
        return None
    found = _as_fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return found if _agree(found, value) else float(value)


def _evaluate(tree: Tree, names: Mapping[str, Real]) -> Real:
    """The value of a formula for these values of its unknowns, or a NoValueError."""
    if tree.operator == "number":
        return tree.value
    if tree.operator == "name":
        return names[str(tree.value)]
    if tree.operator == "pi":
        return +_REALS.pi
    value = _applied(tree, [_evaluate(part, names) for part in tree.parts])
    if value and not isinstance(value, Fraction) and abs(_size(value)) > 1 << _LARGEST_SIZE:
        raise NoValueError("too large")
    return value


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _applied(tree: Tree, values: list[Real]) -> Real:
    """The value of an operation: of short Fractions a Fraction, if it is certainly rational."""
    exact = all(isinstance(value, Fraction) for value in values)
    if not (exact and max(map(_bits, values)) * len(values) <= _LONGEST):
        exact, values = False, [*map(_real, values)]
    operator, first, last = tree.operator, values[0], values[-1]
    if operator == "sum":
        return sum(values, Fraction(0)) if exact else _sum(values)
    if operator == "product":
        return math.prod(values)
    if operator == "abs":
        return abs(first)
    if operator == "power":
        whole = exact and last.denominator == 1 and (first or last > 0)
        if whole and _bits(first) * abs(last) <= _LONGEST:
            return first ** int(last)
        return _power(_real(first), _real(last), tree.parts[1])
    if operator in TRIGONOMETRIC:
        return _trigonometric(operator, _real(first))
    if operator in ("ln", "log"):
        if first <= 0 or last <= 0:
            raise NoValueError("a logarithm of a number that is not positive")
        last, first = _REALS.ln(_real(first)), _REALS.ln(_real(last))
    if operator == "ln":
        return first
    if not last:
        raise NoValueError("division by zero")
    return first / last


def _sum(values: list[Real]) -> Real:
    total = values[0]
    for value in values[1:]:
        sizes = _size(total), _size(value)
        total = total + value
        if _size(total) < max(sizes) - _BITS + _UNSURE:
            total = _REALS.zero
    return total


def _trigonometric(function: str, value: Real) -> Real:
    if _size(value) > _LARGEST_ANGLE or (function in ("arcsin", "arccos") and abs(value) > 1):
        raise NoValueError("too large an angle, or no such angle")
    result = getattr(_REALS, TRIGONOMETRIC[function])(value)
    noise = _BITS - max(_size(value), 0) - _UNSURE
    if _size(result) > noise:
        raise NoValueError("a right angle has no tangent")
    # the sine of π, but not of a very small angle
    return _REALS.zero if _size(result) < -noise and _size(value) > 0 else result


def _power(base: Real, exponent: Real, tree: Tree) -> Real:
    if _size(exponent) > _LARGEST_SIZE or (not base and exponent <= 0):
        raise NoValueError("too large a power, or zero to a power that is not positive")
    negative = base < 0
    if negative:
        # (-8)^{1/3} is a root; (-1)^{n} has no value if n is not a whole number
        share = _as_fraction(exponent).limit_denominator(_LARGEST_DEGREE)
        if share.denominator % 2 == 0 or (tree.names and share.denominator > 1):
            raise NoValueError("such a power of a negative number")
        negative, base = bool(share.numerator % 2), -base
    if (abs(_size(base)) + 1) * abs(exponent) > 1 << _LARGEST_SIZE:
        raise NoValueError("too large a power")
    if exponent == 0.5:
        result = _REALS.sqrt(base)
    else:
        result = base ** (int(exponent) if _REALS.isint(exponent) else exponent)
    return -result if negative else result


# Equality at fixed points

# Number of points where both formulas must have values that agree.
_ENOUGH = 12
_MOST_POINTS = 40
_MOST_UNKNOWNS = 80
_WORK = 40_000
_PRIMES = (17, 19, 23, 29, 31, 37, 41, 43)  # so large that 2n is whole only if n is
# How far from zero the points are: formulas may differ near it, or far away, alone
_REACHES = (4, 1, 30, 2, 1_000, 12, 100, 8, 3, 40)


def _coordinate(generator: random.Random, index: int, place: int) -> Fraction:
    """The value of an unknown, by its place in the alphabet, at one of the points.

    In turn positive, of either sign, positive and whole, whole of either sign; from below 1 to
    above 1000. The first two unknowns have all four combinations of signs.
    """
    kind, turn = index % 4, index // 4
    reach, prime = _REACHES[turn % len(_REACHES)], _PRIMES[(index + place) % len(_PRIMES)]
    value = Fraction(generator.randint(1, reach + 12))
    if kind < 2:
        value = Fraction(generator.randrange(prime * reach), prime)
        value += Fraction(value.denominator == 1, prime)
    signs = turn + kind // 2
    negative = kind % 2 and (signs >> place & 1 if place < 2 else generator.random() < 0.5)
    return -value if negative else value


_GENERATOR = random.Random(14)
_TABLE = [
    [_coordinate(_GENERATOR, index, place) for place in range(_MOST_UNKNOWNS)]
    for index in range(_MOST_POINTS)
]


def equal(one: Expression, other: Expression) -> bool | None:
    """Whether two formulas are equal for all values of their unknowns.

    Equal means equal wherever both have a real value. None if neither exact evaluation nor fixed
    points decide it.
    """
    return _compare(one.tree, other.tree)


def rounds_to(whole: Expression, rounded: Expression) -> bool:
    """Whether ``rounded`` is the other number, rounded (half up) or truncated to its own places.

    False if they are equal, or if ``rounded`` is not a plain integer or decimal.
    """
    if rounded.decimals is None or whole.number is None or equal(whole, rounded) is not False:
        return False
    value = _as_fraction(_evaluate(whole.tree, {}))
    # A number that has N places except for noise in its last bits counts as one with N places.
    scaled = abs(value) * 10**rounded.decimals + _NOISE
    sign = -1 if value < 0 else 1
    candidates = {sign * (scaled + shift).__floor__() for shift in (0, Fraction(1, 2))}
    return cast(Fraction, rounded.number) * 10**rounded.decimals in candidates


def _points(*trees: Tree) -> Iterator[list[Real]]:
    """The values of formulas at the fixed points where all of them have one."""
    names = sorted(frozenset[str]().union(*(tree.names for tree in trees)))
    if len(names) > _MOST_UNKNOWNS:
        return
    rows = _TABLE[: _WORK // sum(tree.cost for tree in trees)] if names else _TABLE[:1]
    euler = "e" in names and any(map(_has_logarithm, trees))
    for row in rows:
        point: dict[str, Real] = dict(zip(names, row, strict=False))
        if euler:  # and not, say, the eccentricity of an ellipse
            point["e"] = +_REALS.e
        try:
            yield [_evaluate(tree, point) for tree in trees]
        except NoValueError:
            continue


def _compare(one: Tree, other: Tree) -> bool | None:
    """Whether two formulas have the same real values.

    False if they clearly differ at a point where both have a value; True if they agree, to at
    least 1e-30, at all such points and there are 12 or more of them (one for formulas without
    unknowns); else None. The points are the same for all formulas with the same unknowns.
    """
    names = one.names | other.names
    if one == other and names:
        return True
    for agreed, values in enumerate(_points(one, other), 1):
        if not _agree(*values):
            return None if "i" in names else False  # i may be the imaginary unit
        if agreed >= _ENOUGH or not names:
            return True
    return None


def orders(formulas: Sequence[Expression]) -> Iterator[list[int]]:
    """The ranks of formulas by value, from 0, at up to 12 points where all of them have a value."""
    for values in islice(_points(*(each.tree for each in formulas)), _ENOUGH):
        distinct: list[Real] = []
        for value in sorted(map(_real, values)):
            distinct += [] if distinct and _agree(distinct[-1], value) else [value]
        yield [[_agree(each, value) for each in distinct].index(True) for value in values]


def _has_logarithm(tree: Tree) -> bool:
    return tree.operator == "ln" or any(map(_has_logarithm, tree.parts))


# Equations as conditions


def same_equation(one: Equation, other: Equation) -> bool | None:
    """Whether two equations are equivalent: one is the other times a constant.

    None if they have other unknowns, or if one of them says nothing (x=x).
    """
    if one[0].names | one[1].names != other[0].names | other[1].names:
        return None
    texts, others = ((left.text, right.text) for left, right in (one, other))
    if texts in (others, others[::-1]):
        return True
    if any(equal(*sides) is not False for sides in (one, other)):
        return None
    first, second = (node("sum", left.tree, minus(right.tree)) for left, right in (one, other))
    if _is_multiple(first, second) or _is_multiple(*(_whole(*sides) for sides in (one, other))):
        return True
    return False if first.names else None


def _whole(left: Expression, right: Expression) -> Tree:
    """The difference of two sides times their divisors: xy+6 for y=-6/x."""
    difference = node("sum", left.tree, minus(right.tree))
    for side in (left.tree, right.tree):
        if side.operator == "product" and side.parts[0].value == -1:
            side = side.parts[1]
        if side.operator == "quotient":
            difference = node("product", difference, side.parts[1])
    return difference


def _is_multiple(first: Tree, second: Tree) -> bool:
    """Whether the quotient of two formulas is the same at all points."""
    agreed, base = 0, None
    for values in _points(first, second):
        one, other = map(_real, values)
        if one or other:
            base = base or (one, other)
            agreed += 1
            if not _agree(one * base[1], other * base[0]):
                return False
        if agreed == _ENOUGH:
            return True
    return False
