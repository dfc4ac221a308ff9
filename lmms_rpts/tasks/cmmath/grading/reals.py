"""Real numbers: Fractions where exact, else binary floating point of any precision.

The latter are tuples, as mpmath's ``libmp`` has them; its functions are pure, so that threads need
no lock.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias, cast

from mpmath import libmp

Big: TypeAlias = tuple[int, int, int, int]
"""Sign, mantissa, exponent, bits of the mantissa."""
Value: TypeAlias = "Fraction | Big"

LONGEST_EXACT = 4_000
"""Bits of a Fraction's numerator or denominator; a longer one goes on as a Big."""
MOST_BITS = 1 << 40
"""Of the integer part of any value: to reckon with such a number still takes no time."""


def as_big(value: Value, bits: int) -> Big:
    """A value as a Big of this precision; a Big stays as it is."""
    if isinstance(value, Fraction):
        ratio = (value.numerator, value.denominator)
        return cast(Big, libmp.from_rational(*ratio, bits, "n"))
    return value


def is_zero(value: Value) -> bool:
    return not value if isinstance(value, Fraction) else not value[1]


def sign(value: Value) -> int:
    """-1, 0 or 1."""
    if isinstance(value, Fraction):
        return (value > 0) - (value < 0)
    return (-1 if value[0] else 1) if value[1] else 0


def size(value: Value) -> int:
    """About the binary logarithm: |value| is below 2^size and, to a bit, not below 2^(size-1)."""
    if isinstance(value, Fraction):
        return value.numerator.bit_length() - value.denominator.bit_length() + 1
    return value[2] + value[3] if value[1] else -MOST_BITS


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
    if isinstance(value, Fraction):
        value = as_big(value, 128)
    if size(value) > 1023:
        return None
    return float(libmp.to_float(value, rnd="n")) if size(value) > -1000 else 0.0


def exact_root(value: Fraction, degree: int) -> Fraction | None:
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
