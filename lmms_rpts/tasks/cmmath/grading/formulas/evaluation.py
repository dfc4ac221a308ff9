"""Expression trees: their real values, and the terms of those that are polynomials.

A formula has no value if a part of it has no real value: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, cast

import mpmath

Real: TypeAlias = Any
"""A real number of 640 bits; mpmath is not typed."""

FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "ln"}
)
"""Functions of one argument; each is an operator of the same name."""
_BITS = 640
_NOISE = 64  # bits at the end of a value that rounding may have changed
_LARGEST = 40  # bits of the exponent of a power, so that powers are fast
_LARGEST_ANGLE = 120  # bits
_LARGEST_DEGREE = 1_000
_LARGEST_DENOMINATOR = 10**9
# A context that is never changed, so that threads need no lock, with its constants precomputed:
# threads that extend them at the same time could read a wrong one.
_REALS = mpmath.mp.clone()
_REALS.prec = _BITS
for _constant in ("mpf_pi", "mpf_ln2", "mpf_ln10", "mpf_e"):
    getattr(mpmath.libmp, _constant)(2 * _BITS, "n")
EULER: Real = +_REALS.e


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula.

    Attributes:
        operator: number, name, pi, sum, product, quotient (above, below), minus, power (base,
            exponent), root (degree, content), abs, log (base, argument) or one of FUNCTIONS.
        parts: its operands, in order.
        value: the Fraction of a number, the text of a name.
        size: its number of nodes.
        names: its unknowns.
    """

    operator: str
    parts: tuple[Tree, ...] = ()
    value: Fraction | str | None = None
    size: int = 1
    names: frozenset[str] = frozenset()


def node(operator: str, *parts: Tree) -> Tree:
    """A tree with these parts."""
    names = frozenset[str]().union(*(part.names for part in parts))
    return Tree(operator, parts, None, 1 + sum(part.size for part in parts), names)


def number(value: Fraction | int) -> Tree:
    return Tree("number", (), value if isinstance(value, Fraction) else Fraction(value))


def name(text: str) -> Tree:
    return Tree("name", (), text, 1, frozenset((text,)))


def steps(tree: Tree) -> tuple[Tree, ...]:
    """Every node, operands before their operator: the order in which a stack evaluates it."""
    found: list[Tree] = []
    waiting = [tree]
    while waiting:
        found.append(waiting.pop())
        waiting.extend(found[-1].parts)
    return tuple(reversed(found))


class NoValueError(ArithmeticError):
    """The formula has no real value here, or one that is too large."""


def real(value: Fraction) -> Real:
    return _REALS.mpf(value.numerator) / value.denominator


def agree(one: Real, other: Real) -> bool:
    """Whether two values are equal up to rounding errors."""
    left, largest = _size(one - other), max(_size(one), _size(other))
    tiny = one != 0 and other != 0 and largest < -_BITS * 2  # 1/4^2018 is a value, not noise
    return left < largest - _BITS // 2 or (left < -_BITS * 3 // 4 and not tiny)


def exact(tree: Tree) -> Fraction | float | None:
    """The value of a formula without unknowns, exactly if it is rational; None if it has none."""
    terms = polynomial(tree)
    if terms is not None and terms.keys() <= {()}:
        return terms.get((), Fraction(0))
    try:
        value = evaluate(steps(tree), {})
    except NoValueError:
        return None
    if _size(value) > 1023:
        return None
    found = as_fraction(value).limit_denominator(_LARGEST_DENOMINATOR)
    return found if agree(real(found), value) else float(value)


def as_fraction(value: Real) -> Fraction:
    """A value, converted exactly."""
    mantissa, exponent = (int(part) for part in value.man_exp)
    return Fraction(-mantissa if value < 0 else mantissa) * Fraction(2) ** exponent


def evaluate(postfix: Sequence[Tree], names: Mapping[str, Real]) -> Real:
    """The value of a formula, given as ``steps``, for these values of its unknowns.

    Raises:
        NoValueError: if it has none.
    """
    values: list[Real] = []
    for step in postfix:
        count = len(step.parts)
        if count:
            values[-count:] = [_applied(step, values[-count:])]
            if values[-1] and abs(_size(values[-1])) > 1 << _LARGEST:
                raise NoValueError("too large")
        elif step.operator == "number":
            values.append(real(cast(Fraction, step.value)))
        else:
            values.append(names[str(step.value)] if step.operator == "name" else +_REALS.pi)
    return values[0]


def _size(value: Real) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    return cast(int, value.man_exp[1] + value.bc) if value else -(1 << _LARGEST)


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
        if _size(total) < max(sizes) - _BITS + _NOISE:
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
    noise = _BITS - max(_size(value), 0) - _NOISE
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
    if _size(exponent) > _LARGEST:
        raise NoValueError("too large a power")
    if _REALS.isint(exponent):
        return _rational_power(base, Fraction(int(exponent)))
    if base < 0 and not tree.names:  # (-8)^{1/3} is a root
        return _rational_power(base, as_fraction(exponent).limit_denominator(_LARGEST_DEGREE))
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
    return _bounded_power(base, int(exponent) if whole else real(exponent)) if base else base


def _bounded_power(base: Real, exponent: Real) -> Real:
    if (abs(_size(base)) + 1) * abs(exponent) > 1 << _LARGEST:
        raise NoValueError("too large a power")
    return base**exponent


# Polynomials with rational coefficients, and π as one more unknown

Monomial: TypeAlias = tuple[tuple[str, int], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]
_MOST_TERMS = 80
_HIGHEST = 40
_LONGEST = 4_000  # bits of a coefficient


def polynomial(tree: Tree) -> Polynomial | None:
    """The non-zero terms of a formula; None if it is not a polynomial, or a large one."""
    found = ratio(tree)
    if found is None or found[1].keys() != {()}:
        return None
    above, below = found[0], found[1][()]
    return above if below == 1 else {each: value / below for each, value in above.items()}


def ratio(tree: Tree) -> tuple[Polynomial, Polynomial] | None:
    """A formula as one polynomial over another, not reduced; None as for ``polynomial``."""
    if tree.operator == "number":
        return ({(): tree.value} if tree.value and isinstance(tree.value, Fraction) else {}), _ONE
    if tree.operator in ("name", "pi"):
        return {((str(tree.value) if tree.value else "π", 1),): Fraction(1)}, _ONE
    if tree.operator == "power":
        return _raised(ratio(tree.parts[0]), tree.parts[1].value)
    if tree.operator not in ("sum", "product", "minus", "quotient"):
        return None
    total: tuple[Polynomial, Polynomial] | None = None
    for part in map(ratio, tree.parts):
        if part is None:
            return None
        total = part if total is None else _combined(tree.operator, total, part)
        if total is None:
            return None
    if tree.operator == "minus" and total is not None:
        total = {each: -value for each, value in total[0].items()}, total[1]
    return total


_ONE: Polynomial = {(): Fraction(1)}


def _raised(
    base: tuple[Polynomial, Polynomial] | None, exponent: Fraction | str | None
) -> tuple[Polynomial, Polynomial] | None:
    if base is None or not isinstance(exponent, Fraction) or exponent.denominator != 1:
        return None
    if exponent < 0:
        base = base[1], base[0]
    powers = [_power_of(each, abs(int(exponent))) for each in base]
    return (powers[0], powers[1]) if powers[0] is not None and powers[1] else None


def _power_of(base: Polynomial, exponent: int) -> Polynomial | None:
    if base.keys() == {()}:
        value = base[()]
        length = max(value.numerator.bit_length(), value.denominator.bit_length())
        return {(): value**exponent} if length * exponent <= _LONGEST else None
    result: Polynomial | None = _ONE
    for _ in range(exponent) if 0 < exponent <= _HIGHEST else ():
        result = result and _times(result, base)
    return result if 0 < exponent <= _HIGHEST else None


def _combined(
    operator: str, one: tuple[Polynomial, Polynomial], other: tuple[Polynomial, Polynomial]
) -> tuple[Polynomial, Polynomial] | None:
    if operator == "quotient":
        operator, other = "product", (other[1], other[0])
    below = _times(one[1], other[1])
    if operator == "product":
        above = _times(one[0], other[0])
    else:
        left, right = _times(one[0], other[1]), _times(other[0], one[1])
        above = None if left is None or right is None else _plus(left, right)
    return (above, below) if above is not None and below else None


def _plus(one: Polynomial, other: Polynomial) -> Polynomial | None:
    result = dict(one)
    for each, value in other.items():
        result[each] = result.get(each, Fraction(0)) + value
    return _bounded(result)


def _times(one: Polynomial, other: Polynomial) -> Polynomial | None:
    if other is _ONE:
        return one
    if len(one) * len(other) > _MOST_TERMS**2 // 4:
        return None
    result: Polynomial = {}
    for left, factor in one.items():
        for right, value in other.items():
            powers = dict(left)
            for name, exponent in right:
                powers[name] = powers.get(name, 0) + exponent
            each = tuple(sorted(powers.items()))
            result[each] = result.get(each, Fraction(0)) + factor * value
    return _bounded(result)


def _bounded(terms: Polynomial) -> Polynomial | None:
    kept = {each: value for each, value in terms.items() if value}
    large = len(kept) > _MOST_TERMS or any(
        value.numerator.bit_length() > _LONGEST or value.denominator.bit_length() > _LONGEST
        for value in kept.values()
    )
    return None if large else kept


def proportional(one: Polynomial, other: Polynomial) -> bool:
    """Whether one is the other times a non-zero number."""
    if one.keys() != other.keys():
        return False
    return len({value / other[each] for each, value in one.items()}) == 1


def real_imaginary(terms: Polynomial) -> Polynomial:
    """The terms with -1 for i², as i may be the imaginary unit."""
    result: Polynomial = {}
    for each, value in terms.items():
        powers = dict(each)
        turns = powers.pop("i", 0)
        if turns % 2:
            powers["i"] = 1
        key = tuple(sorted(powers.items()))
        sign = -1 if turns % 4 > 1 else 1
        result[key] = result.get(key, Fraction(0)) + sign * value
    return {each: value for each, value in result.items() if value}
