"""Evaluation of a formula to a real value, exact where possible.

A formula has no value where a part of it has none among the reals: 1/0, the root of a negative
number, 0^0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import cast

from mpmath import libmp

from lmms_rpts.tasks.cmmath.grading import trees
from lmms_rpts.tasks.cmmath.grading.reals import (
    LONGEST_EXACT,
    MOST_BITS,
    Big,
    Value,
    as_big,
    exact_root,
    is_zero,
    sign,
    size,
)
from lmms_rpts.tasks.cmmath.grading.trees import Tree

_LARGEST_ANGLE = 120  # bits
_NOISE = 32  # bits at the end of a Big that rounding may have changed
_LARGEST_DEGREE = 1_000


class NoValueError(ArithmeticError):
    """The formula has no real value here, or too large a one."""


def _warm_up() -> None:
    """Have mpmath's constants at hand at the largest precision ever needed.

    Threads that made them longer at the same time could read a wrong one.
    """
    for constant in (libmp.mpf_pi, libmp.mpf_ln2, libmp.mpf_ln10, libmp.mpf_e):
        constant(4_096, "n")


_warm_up()


def evaluate(
    steps: Sequence[Tree],
    names: Mapping[str, Value],
    bits: int = 256,
    longest_exact: int = LONGEST_EXACT,
) -> Value:
    """The value of a formula where its unknowns have these values.

    Args:
        steps: the formula's, as ``trees.steps`` has them.
        names: the value of each unknown.
        bits: the precision of Bigs.
        longest_exact: beyond how many bits a Fraction becomes a Big.

    Raises:
        NoValueError: it has none.
    """
    evaluator = _Evaluator(names, bits, longest_exact)
    values: list[Value] = []
    for step in steps:
        count = len(step.parts)
        if count:
            values[-count:] = [evaluator.operation(step, values[-count:])]
        else:
            values.append(evaluator.atom(step))
    return values[0]


class _Evaluator:
    def __init__(self, names: Mapping[str, Value], bits: int, longest_exact: int) -> None:
        self._names = names
        self._bits = bits
        self._longest_exact = longest_exact

    def atom(self, tree: Tree) -> Value:
        if tree.operator == trees.NUMBER:
            return cast(Fraction, tree.value)
        if tree.operator == trees.NAME:
            return self._names[cast(str, tree.value)]
        return cast(Big, libmp.mpf_pi(self._bits, "n"))

    def operation(self, tree: Tree, values: list[Value]) -> Value:
        if tree.operator == trees.SUM:
            return self._fold(values, self._add)
        if tree.operator == trees.PRODUCT:
            return self._fold(values, self._multiply)
        if tree.operator == trees.POWER:
            return self._power(*values, varied=bool(tree.parts[1].names))
        return self._apply(tree.operator, values)

    def _apply(self, operator: str, values: list[Value]) -> Value:
        first = values[0]
        if operator == trees.QUOTIENT:
            return self._multiply(first, self._inverse(values[1]))
        if operator == trees.MINUS:
            return -first if isinstance(first, Fraction) else cast(Big, libmp.mpf_neg(first))
        if operator == trees.ABS:
            return abs(first) if isinstance(first, Fraction) else cast(Big, libmp.mpf_abs(first))
        if operator == trees.ROOT:
            return self._root(values[1], first)
        if operator == trees.LOG:
            return self._multiply(self._ln(values[1]), self._inverse(self._ln(first)))
        if operator == "ln":
            return self._ln(first)
        return self._trigonometric(operator, first)

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
        if is_zero(value):
            raise NoValueError("division by zero")
        if isinstance(value, Fraction):
            return 1 / value
        return cast(Big, libmp.mpf_div(libmp.fone, value, self._bits, "n"))

    def _ln(self, value: Value) -> Value:
        if value == 1:
            return Fraction(0)
        if sign(value) <= 0:
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
        return self._inverse(result) if function in _INVERTED else result

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
            if sign(base) >= 0 or not varied:
                return self._rational_power(base, exponent)
        return self._real_power(base, exponent)

    def _integer_power(self, base: Value, exponent: int) -> Value:
        if is_zero(base):
            if exponent <= 0:
                raise NoValueError("zero to no positive power")
            return Fraction(0)
        if isinstance(base, Fraction):
            if abs(base) == 1:
                return base if exponent % 2 else Fraction(1)
            longest = max(base.numerator.bit_length(), base.denominator.bit_length())
            if abs(exponent) * longest <= self._longest_exact:
                return base**exponent
        if (abs(size(base)) + 1) * abs(exponent) > MOST_BITS:
            raise NoValueError("too large a power")
        return _bounded(libmp.mpf_pow_int(self._big(base), exponent, self._bits, "n"))

    def _rational_power(self, base: Value, exponent: Fraction) -> Value:
        if sign(base) < 0:
            if exponent.denominator % 2 == 0:
                raise NoValueError("an even root of a negative number")
            positive = self._rational_power(self._apply(trees.MINUS, [base]), exponent)
            return self._apply(trees.MINUS, [positive]) if exponent.numerator % 2 else positive
        if is_zero(base):
            return self._integer_power(base, 1 if exponent > 0 else 0)
        root = exact_root(base, exponent.denominator) if isinstance(base, Fraction) else None
        if root is not None:
            return self._integer_power(root, exponent.numerator)
        if exponent == Fraction(1, 2):
            return cast(Big, libmp.mpf_sqrt(self._big(base), self._bits, "n"))
        return self._real_power(base, exponent)

    def _real_power(self, base: Value, exponent: Value) -> Value:
        if sign(base) <= 0:
            raise NoValueError("such a power of no positive number")
        if size(exponent) + size(Fraction(abs(size(base)) + 1)) > 40:
            raise NoValueError("too large a power")
        logarithm = libmp.mpf_log(self._big(base), self._bits + 64, "n")
        product = libmp.mpf_mul(logarithm, self._big(exponent), self._bits + 64, "n")
        return _bounded(libmp.mpf_exp(product, self._bits, "n"))


_INVERTED = frozenset({"cot", "sec", "csc"})
_TRIGONOMETRIC = {
    "sin": libmp.mpf_sin, "cos": libmp.mpf_cos, "tan": libmp.mpf_tan,
    "cot": libmp.mpf_tan, "sec": libmp.mpf_cos, "csc": libmp.mpf_sin,
    "arcsin": libmp.mpf_asin, "arccos": libmp.mpf_acos, "arctan": libmp.mpf_atan,
}  # fmt: skip


def _bounded(value: Big) -> Big:
    if value[1] and abs(size(value)) > MOST_BITS:
        raise NoValueError("too large")
    return value


def _is_one(value: Value) -> bool:
    return abs(value) == 1 if isinstance(value, Fraction) else value[1:] == (1, 0, 1)
