"""Evaluation of an expression tree to a real value, exact where possible.

A value is a Fraction where it is exact, else binary floating point of any precision: a tuple, as
mpmath's ``libmp`` has it, whose functions are pure, so that threads need no lock. A formula has
no value where a part of it has none among the reals: 1/0, the root of a negative number, 0^0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, cast

from mpmath import libmp

Big: TypeAlias = tuple[int, int, int, int]
"""Sign, mantissa, exponent, bits of the mantissa."""
Value: TypeAlias = "Fraction | Big"

FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan", "ln"}
)
"""Functions of one argument, which are operators of their own name."""
LONGEST_EXACT = 4_000
"""Bits of a Fraction's numerator or denominator; a longer one goes on as a Big."""
_MOST_BITS = 1 << 40  # of the integer part: to reckon with such a number still takes no time
_LARGEST_ANGLE = 120  # bits
_NOISE = 32  # bits at the end of a Big that rounding may have changed
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
    return Tree("number", (), Fraction(value))


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


# mpmath's constants at the largest precision ever needed: threads that made them longer at the
# same time could read a wrong one.
for _constant in (libmp.mpf_pi, libmp.mpf_ln2, libmp.mpf_ln10, libmp.mpf_e):
    _constant(4_096, "n")


def as_big(value: Value, bits: int) -> Big:
    """A value as a Big of this precision; a Big stays as it is."""
    if isinstance(value, Fraction):
        ratio = (value.numerator, value.denominator)
        return cast(Big, libmp.from_rational(*ratio, bits, "n"))
    return value


def size(value: Value) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    if isinstance(value, Fraction):
        return value.numerator.bit_length() - value.denominator.bit_length() + 1
    return value[2] + value[3] if value[1] else -_MOST_BITS


def as_fraction(value: Value) -> Fraction | None:
    """A value as it stands, exactly; None where that would be too long a number."""
    if isinstance(value, Fraction):
        return value
    negative, mantissa, exponent, _ = value
    if abs(exponent) > LONGEST_EXACT:
        return None
    return Fraction(-mantissa if negative else mantissa) * Fraction(2) ** exponent


def as_float(value: Value) -> float | None:
    """A value as a float; None where it is beyond them."""
    value = as_big(value, 128)
    if size(value) > 1023:
        return None
    return float(libmp.to_float(value, rnd="n")) if size(value) > -1000 else 0.0


def evaluate(
    postfix: Sequence[Tree],
    names: Mapping[str, Value],
    bits: int = 256,
    longest_exact: int = LONGEST_EXACT,
) -> Value:
    """The value of a formula where its unknowns have these values.

    Args:
        postfix: the formula, as ``steps`` has it.
        names: the value of each unknown.
        bits: the precision of Bigs.
        longest_exact: beyond how many bits a Fraction becomes a Big.

    Raises:
        NoValueError: it has none.
    """
    evaluator = _Evaluator(bits, longest_exact)
    values: list[Value] = []
    for step in postfix:
        count = len(step.parts)
        if count:
            values[-count:] = [evaluator.operation(step, values[-count:])]
        elif step.operator == "number":
            values.append(cast(Fraction, step.value))
        elif step.operator == "name":
            values.append(names[cast(str, step.value)])
        else:
            values.append(cast(Big, libmp.mpf_pi(bits, "n")))
    return values[0]


class _Evaluator:
    def __init__(self, bits: int, longest_exact: int) -> None:
        self._bits = bits
        self._longest_exact = longest_exact

    def operation(self, tree: Tree, values: list[Value]) -> Value:
        operator, first = tree.operator, values[0]
        if operator == "sum":
            return self._fold(values, self._add)
        if operator == "product":
            return self._fold(values, self._multiply)
        if operator == "power":
            return self._power(*values, varied=bool(tree.parts[1].names))
        if operator == "quotient":
            return self._multiply(first, self._inverse(values[1]))
        if operator == "minus":
            return _negative(first)
        if operator == "abs":
            return abs(first) if isinstance(first, Fraction) else cast(Big, libmp.mpf_abs(first))
        if operator == "root":
            return self._root(values[1], first)
        if operator == "log":
            return self._multiply(self._ln(values[1]), self._inverse(self._ln(first)))
        return self._ln(first) if operator == "ln" else self._trigonometric(operator, first)

    def _big(self, value: Value) -> Big:
        return as_big(value, self._bits)

    def _fold(self, values: list[Value], combine: Callable[[Value, Value], Value]) -> Value:
        result = values[0]
        for value in values[1:]:
            result = combine(result, value)
        return result

    def _shortened(self, value: Fraction) -> Value:
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        return value if bits <= self._longest_exact else self._big(value)

    def _add(self, one: Value, other: Value) -> Value:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return self._shortened(one + other)
        first, second = self._big(one), self._big(other)
        total = cast(Big, libmp.mpf_add(first, second, self._bits, "n"))
        noise = max(size(first), size(second)) - self._bits + _NOISE
        return Fraction(0) if size(total) < noise else total

    def _multiply(self, one: Value, other: Value) -> Value:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return self._shortened(one * other)
        return _bounded(libmp.mpf_mul(self._big(one), self._big(other), self._bits, "n"))

    def _inverse(self, value: Value) -> Value:
        if not _sign(value):
            raise NoValueError("division by zero")
        if isinstance(value, Fraction):
            return 1 / value
        return cast(Big, libmp.mpf_div(libmp.fone, value, self._bits, "n"))

    def _ln(self, value: Value) -> Value:
        if value == 1:
            return Fraction(0)
        if _sign(value) <= 0:
            raise NoValueError("a logarithm of no positive number")
        return cast(Big, libmp.mpf_log(self._big(value), self._bits, "n"))

    def _trigonometric(self, function: str, value: Value) -> Value:
        big = self._big(value)
        if size(value) > _LARGEST_ANGLE:
            raise NoValueError("too large an angle")
        if function in ("arcsin", "arccos") and size(value) >= 1 and not _is_one(value):
            raise NoValueError("no such angle")
        result: Value = cast(Big, _TRIGONOMETRIC[function](big, self._bits, "n"))
        noise = self._bits - max(size(value), 0) - _NOISE
        if size(result) > noise:
            raise NoValueError("a right angle has no tangent")
        if size(result) < -noise and size(value) > 0:
            result = Fraction(0)  # the sine of π, but not of a very small angle
        return self._inverse(result) if function in ("cot", "sec", "csc") else result

    def _root(self, content: Value, degree: Value) -> Value:
        if not isinstance(degree, Fraction) or degree.denominator != 1:
            raise NoValueError("a root whose degree is no whole number")
        if not 2 <= degree <= _LARGEST_DEGREE:
            raise NoValueError("a root of no such degree")
        return self._rational_power(content, Fraction(1, degree.numerator))

    def _power(self, base: Value, exponent: Value, *, varied: bool) -> Value:
        if isinstance(exponent, Fraction):
            if exponent.denominator == 1:
                return self._integer_power(base, exponent.numerator)
            # (-8)^{1/3} is a root; (-1)^{n} has no value where n is no whole number.
            if _sign(base) >= 0 or not varied:
                return self._rational_power(base, exponent)
        return self._real_power(base, exponent)

    def _integer_power(self, base: Value, exponent: int) -> Value:
        if not _sign(base):
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
        return _bounded(libmp.mpf_pow_int(self._big(base), exponent, self._bits, "n"))

    def _rational_power(self, base: Value, exponent: Fraction) -> Value:
        if _sign(base) < 0:
            if exponent.denominator % 2 == 0:
                raise NoValueError("an even root of a negative number")
            positive = self._rational_power(_negative(base), exponent)
            return _negative(positive) if exponent.numerator % 2 else positive
        if not _sign(base):
            return self._integer_power(base, 1 if exponent > 0 else 0)
        root = _exact_root(base, exponent.denominator) if isinstance(base, Fraction) else None
        if root is not None:
            return self._integer_power(root, exponent.numerator)
        if exponent == Fraction(1, 2):
            return cast(Big, libmp.mpf_sqrt(self._big(base), self._bits, "n"))
        return self._real_power(base, exponent)

    def _real_power(self, base: Value, exponent: Value) -> Value:
        if _sign(base) <= 0:
            raise NoValueError("such a power of no positive number")
        if size(exponent) + size(Fraction(abs(size(base)) + 1)) > 40:
            raise NoValueError("too large a power")
        logarithm = libmp.mpf_log(self._big(base), self._bits + 64, "n")
        product = libmp.mpf_mul(logarithm, self._big(exponent), self._bits + 64, "n")
        return _bounded(libmp.mpf_exp(product, self._bits, "n"))


_TRIGONOMETRIC = {
    "sin": libmp.mpf_sin, "cos": libmp.mpf_cos, "tan": libmp.mpf_tan,
    "cot": libmp.mpf_tan, "sec": libmp.mpf_cos, "csc": libmp.mpf_sin,
    "arcsin": libmp.mpf_asin, "arccos": libmp.mpf_acos, "arctan": libmp.mpf_atan,
}  # fmt: skip


def _sign(value: Value) -> int:
    """-1, 0 or 1."""
    if isinstance(value, Fraction):
        return (value > 0) - (value < 0)
    return (-1 if value[0] else 1) if value[1] else 0


def _negative(value: Value) -> Value:
    return -value if isinstance(value, Fraction) else cast(Big, libmp.mpf_neg(value))


def _bounded(value: Big) -> Big:
    if value[1] and abs(size(value)) > _MOST_BITS:
        raise NoValueError("too large")
    return value


def _is_one(value: Value) -> bool:
    return abs(value) == 1 if isinstance(value, Fraction) else value[1:] == (1, 0, 1)


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    above, below = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if above is None or below is None else Fraction(above, below)


def _whole_root(value: int, degree: int) -> int | None:
    """The positive whole number whose power of this degree is the value."""
    if degree == 2:
        root = math.isqrt(value)
    elif value == 1:
        root = 1
    elif degree >= value.bit_length():
        return None
    else:
        low, high = 1, 1 << (value.bit_length() // degree + 1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if middle**degree <= value else (low, middle)
        root = low
    return root if root**degree == value else None
