"""Expression trees: their real values, exact where possible, and the terms of polynomials.

A value is a Fraction where it is exact, else a number of mpmath, of any precision. A formula has
no value where a part of it has none among the reals: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, cast

import mpmath

Big: TypeAlias = Any
"""A number of mpmath, which has no types."""
Value: TypeAlias = "Fraction | Big"

FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "ln"}
)
"""Functions of one argument, which are operators of their own name."""
BITS, MORE_BITS = 256, 1024
"""Precisions of inexact values."""
LONGEST_EXACT = 4_000
"""Bits of a Fraction's numerator or denominator; a longer one goes on inexactly."""
_MOST_BITS = 1 << 40  # of the integer part: to reckon with such a number still takes no time
_LARGEST_ANGLE = 120  # bits
_NOISE = 32  # bits at the end of an inexact value that rounding may have changed
_LARGEST_DEGREE = 1_000


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula.

    Attributes:
        operator: number, name, pi, sum, product, quotient (above, below), minus, power (base,
            exponent), root (degree, content), abs, log (base, argument) or one of FUNCTIONS.
        parts: its operands, in order.
        value: the Fraction of a number, the text of a name.
        size: how many nodes it has.
        names: its unknowns.
    """

    operator: str
    parts: tuple[Tree, ...] = ()
    value: Fraction | str | None = None
    size: int = 1
    names: frozenset[str] = frozenset()


def node(operator: str, *parts: Tree) -> Tree:
    """A tree of other trees."""
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
    """The formula has no real value here, or too large a one."""


def _context(bits: int) -> Any:
    """A context that nobody changes, so that threads need no lock, with its constants at hand."""
    context = mpmath.mp.clone()
    context.prec = bits
    return context


_CONTEXTS = {bits: _context(bits) for bits in (BITS, MORE_BITS)}
EULER: Big = +_CONTEXTS[MORE_BITS].e
# Threads that made mpmath's constants longer at the same time could read a wrong one.
for _constant in ("mpf_pi", "mpf_ln2", "mpf_ln10", "mpf_e"):
    getattr(mpmath.libmp, _constant)(4_096, "n")


def as_big(value: Value, bits: int) -> Big:
    """A value as an inexact one of this precision; such a value stays as it is."""
    if isinstance(value, Fraction):
        return _CONTEXTS[bits].mpf(value.numerator) / value.denominator
    return value


def size(value: Value) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    if isinstance(value, Fraction):
        return value.numerator.bit_length() - value.denominator.bit_length() + 1
    return cast(int, value.man_exp[1] + value.bc) if value else -_MOST_BITS


def as_fraction(value: Value) -> Fraction | None:
    """A value as it stands, exactly; None where that would be too long a number."""
    if isinstance(value, Fraction):
        return value
    mantissa, exponent = (int(part) for part in value.man_exp)
    return Fraction(mantissa) * Fraction(2) ** exponent if abs(exponent) <= LONGEST_EXACT else None


def as_float(value: Value) -> float | None:
    """A value as a float; None where it is beyond them."""
    if size(value) > 1023:
        return None
    return float(value) if size(value) > -1000 else 0.0


def evaluate(
    postfix: Sequence[Tree],
    names: Mapping[str, Value],
    bits: int = BITS,
    longest_exact: int = LONGEST_EXACT,
) -> Value:
    """The value of a formula where its unknowns have these values.

    ``postfix`` is the formula as ``steps`` has it, ``bits`` the precision of inexact values (BITS
    or MORE_BITS); a Fraction of more than ``longest_exact`` bits goes on inexactly. NoValueError
    is raised where there is no value.
    """
    evaluator = _Evaluator(bits, longest_exact)
    values: list[Value] = []
    for step in postfix:
        count = len(step.parts)
        if count:
            values[-count:] = [evaluator.operation(step, values[-count:])]
        elif step.operator == "number":
            values.append(step.value)
        elif step.operator == "name":
            values.append(names[cast(str, step.value)])
        else:
            values.append(+_CONTEXTS[bits].pi)
    return values[0]


class _Evaluator:
    def __init__(self, bits: int, longest_exact: int) -> None:
        self._bits = bits
        self._context = _CONTEXTS[bits]
        self._longest_exact = longest_exact

    def operation(self, tree: Tree, values: list[Value]) -> Value:
        operator, first = tree.operator, values[0]
        if operator == "sum":
            return functools.reduce(self._add, values)
        if operator == "product":
            return functools.reduce(self._multiply, values)
        if operator == "power":
            return self._power(*values, varied=bool(tree.parts[1].names))
        if operator == "quotient":
            return self._multiply(first, self._inverse(values[1]))
        if operator == "minus":
            return -first
        if operator == "abs":
            return abs(first)
        if operator == "root":
            return self._root(values[1], first)
        if operator == "log":
            return self._multiply(self._ln(values[1]), self._inverse(self._ln(first)))
        return self._ln(first) if operator == "ln" else self._trigonometric(operator, first)

    def _big(self, value: Value) -> Big:
        return as_big(value, self._bits)

    def _bounded(self, value: Value) -> Value:
        """A Fraction that is not too long, or an inexact value that is not too large."""
        if isinstance(value, Fraction):
            bits = max(value.numerator.bit_length(), value.denominator.bit_length())
            return value if bits <= self._longest_exact else self._big(value)
        if value and abs(size(value)) > _MOST_BITS:
            raise NoValueError("too large")
        return value

    def _add(self, one: Value, other: Value) -> Value:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return self._bounded(one + other)
        first, second = self._big(one), self._big(other)
        total = first + second
        noise = max(size(first), size(second)) - self._bits + _NOISE
        return Fraction(0) if size(total) < noise else total

    def _multiply(self, one: Value, other: Value) -> Value:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return self._bounded(one * other)
        return self._bounded(self._big(one) * self._big(other))

    def _inverse(self, value: Value) -> Value:
        if not value:
            raise NoValueError("division by zero")
        return 1 / value

    def _ln(self, value: Value) -> Value:
        if value == 1:
            return Fraction(0)
        if value <= 0:
            raise NoValueError("a logarithm of no positive number")
        return self._context.ln(self._big(value))

    def _trigonometric(self, function: str, value: Value) -> Value:
        big = self._big(value)
        if size(value) > _LARGEST_ANGLE:
            raise NoValueError("too large an angle")
        if function in ("arcsin", "arccos") and abs(value) > 1:
            raise NoValueError("no such angle")
        result: Value = getattr(self._context, _TRIGONOMETRIC[function])(big)
        noise = self._bits - max(size(value), 0) - _NOISE
        if size(result) > noise:
            raise NoValueError("a right angle has no tangent")
        if size(result) < -noise and size(value) > 0:
            result = Fraction(0)  # the sine of π, but not of a very small angle
        return self._inverse(result) if function in ("cot", "sec", "csc") else result

    def _root(self, content: Value, degree: Value) -> Value:
        if degree not in range(2, _LARGEST_DEGREE + 1):
            raise NoValueError("a root of no such degree")
        return self._rational_power(content, Fraction(1, int(degree)))

    def _power(self, base: Value, exponent: Value, *, varied: bool) -> Value:
        if isinstance(exponent, Fraction):
            if exponent.denominator == 1:
                return self._integer_power(base, exponent.numerator)
            # (-8)^{1/3} is a root; (-1)^{n} has no value where n is no whole number.
            if base >= 0 or not varied:
                return self._rational_power(base, exponent)
        return self._real_power(base, exponent)

    def _integer_power(self, base: Value, exponent: int) -> Value:
        if not base:
            if exponent <= 0:
                raise NoValueError("zero to no positive power")
            return Fraction(0)
        if isinstance(base, Fraction):
            if abs(base) == 1:
                return base if exponent % 2 else Fraction(1)
            longest = max(base.numerator.bit_length(), base.denominator.bit_length())
            if abs(exponent) * longest <= self._longest_exact:
                return base**exponent
        if (abs(size(base)) + 1) * abs(exponent) > _MOST_BITS:
            raise NoValueError("too large a power")
        return self._bounded(self._big(base) ** exponent)

    def _rational_power(self, base: Value, exponent: Fraction) -> Value:
        if base < 0:
            if exponent.denominator % 2 == 0:
                raise NoValueError("an even root of a negative number")
            positive = self._rational_power(-base, exponent)
            return -positive if exponent.numerator % 2 else positive
        if not base:
            return self._integer_power(base, 1 if exponent > 0 else 0)
        root = _exact_root(base, exponent.denominator) if isinstance(base, Fraction) else None
        if root is not None:
            return self._integer_power(root, exponent.numerator)
        if exponent == Fraction(1, 2):
            return self._context.sqrt(self._big(base))
        return self._real_power(base, exponent)

    def _real_power(self, base: Value, exponent: Value) -> Value:
        if base <= 0:
            raise NoValueError("such a power of no positive number")
        if size(exponent) + size(Fraction(abs(size(base)) + 1)) > 40:
            raise NoValueError("too large a power")
        return self._bounded(self._big(base) ** self._big(exponent))


_TRIGONOMETRIC = {"cot": "tan", "sec": "cos", "csc": "sin"}
_TRIGONOMETRIC |= {name: name for name in ("sin", "cos", "tan")}
_TRIGONOMETRIC |= {f"arc{name}": f"a{name}" for name in ("sin", "cos", "tan")}


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if above is None or below is None else Fraction(above, below)


def _whole_root(value: int, degree: int) -> int | None:
    """The positive whole number whose power of this degree is the value."""
    if degree == 2:
        low = math.isqrt(value)
    else:
        low, high = 1, 1 << (value.bit_length() // degree + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low if low**degree == value else None


# Polynomials with rational coefficients, and π as one more unknown

Monomial: TypeAlias = tuple[tuple[str, int], ...]
Polynomial: TypeAlias = dict[Monomial, Fraction]
_MOST_TERMS = 80
_HIGHEST = 40
_LONGEST = 400  # bits of a coefficient


def polynomial(tree: Tree) -> Polynomial | None:
    """The terms of a formula, none of them zero; None where it is no polynomial, or a large one."""
    if tree.operator == "number":
        return {(): tree.value} if tree.value and isinstance(tree.value, Fraction) else {}
    if tree.operator in ("name", "pi"):
        return {((str(tree.value) if tree.value else "π", 1),): Fraction(1)}
    if tree.operator == "power":
        exponent = tree.parts[1].value
        whole = isinstance(exponent, Fraction) and exponent.denominator == 1
        if not (whole and isinstance(exponent, Fraction) and 0 < exponent <= _HIGHEST):
            return None
        base = polynomial(tree.parts[0])
        result: Polynomial | None = {(): Fraction(1)}
        for _ in range(int(exponent) if base is not None else 0):
            result = result and _times(result, base or {})
        return result if base is not None else None
    if tree.operator not in ("sum", "product", "minus", "quotient"):
        return None
    parts = [polynomial(part) for part in tree.parts]
    known = [part for part in parts if part is not None]
    return _combined(tree.operator, known) if len(known) == len(parts) else None


def _combined(operator: str, parts: list[Polynomial]) -> Polynomial | None:
    if operator == "quotient":
        if parts[1].keys() != {()}:
            return None
        return {each: value / parts[1][()] for each, value in parts[0].items()}
    if operator == "minus":
        return {each: -value for each, value in parts[0].items()}
    result: Polynomial | None = parts[0]
    combine = _times if operator == "product" else _plus
    for part in parts[1:]:
        result = None if result is None else combine(result, part)
    return result


def _plus(one: Polynomial, other: Polynomial) -> Polynomial | None:
    result = dict(one)
    for each, value in other.items():
        result[each] = result.get(each, Fraction(0)) + value
    return _bounded(result)


def _times(one: Polynomial, other: Polynomial) -> Polynomial | None:
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
    """Whether one is the other times a number other than zero."""
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
